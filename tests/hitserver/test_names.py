"""Names say what they hold: `found`, `each` and their like say nothing."""

from __future__ import annotations

from pathlib import Path

import pytest

from bench.walks import APPS, Size, sources

#: Of all names that are bound: in projects that read well, it is 0.0 to 0.2 percent.
MOST_PLACEHOLDERS = 0.01


def size_of(*apps: str) -> Size:
    size = Size()
    for app in apps:
        for path in sources(app):
            size.add(path)
    return size


def test_hardly_any_name_is_a_placeholder() -> None:
    size = size_of(*APPS)

    assert size.bindings > 10_000
    assert size.placeholders / size.bindings <= MOST_PLACEHOLDERS


def test_the_count_finds_placeholders(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("bench.walks.TREE", tmp_path)
    file = tmp_path / "module.py"
    file.write_text("def f(given, hits):\n    found = [each for each in hits]\n    return found, given\n")
    size = Size()
    size.add(file)

    assert (size.placeholders, size.bindings) == (3, 4)
