"""What the services make, change and refuse."""

from collections.abc import Callable
from typing import Any

import pytest

from annotation.models import Study
from annotation.studies.storing import Frozen
from common.problems import Invalid
from tests.factories import create_study, make_study


def create(**given: Any) -> Study:
    values = {"slug": "sets", "task_type": "abs_hds", "config": {}, "texts": {}, "actor": "ann", "owner": None} | given
    values["values"] = {"title": "Sets"} | given.get("values", {})
    return create_study(**values)


def draft(**values: Any) -> Study:
    return make_study(live=False, **values)


def refused(act: Callable[..., Any], **given: Any) -> dict[str, str]:
    """The field of each problem, with its message."""
    with pytest.raises((Invalid, Frozen)) as caught:
        act(**given)
    problems = caught.value.problems
    assert all(problem.what for problem in problems)
    return {problem.where: f"{problem.what} {problem.fix}" for problem in problems}
