"""Studies of the type form, made from rows of a file and the settings of a study file."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from annotation.models import Study
from annotation.studies.checking import check_settings
from annotation.task_types.items import Row
from annotation.task_types.registry import get_type
from tests.factories import make_study


def make_form_study(rows: Sequence[Mapping[str, str]], config: Mapping[str, Any], **values: Any) -> Study:
    """A live study; ``config`` as in a study file."""
    task = get_type("form")
    clean, problems = check_settings(form=task.config_form, settings=config, prefix="config.")
    assert problems == []
    items, row_problems = task.read_items([Row(number, row) for number, row in enumerate(rows, start=1)], clean)
    assert row_problems == []
    return make_study(task_type="form", config=clean, payloads=items, **values)
