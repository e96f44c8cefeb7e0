"""Tests of task types. The checks in these modules are plain functions; their asserts show differences as in tests."""

import pytest

pytest.register_assert_rewrite(*(f"tests.annotation.task_types.{name}" for name in ("suite", "walking", "sources")))
