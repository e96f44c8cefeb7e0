"""Studies whose items are the outputs of another study."""

from __future__ import annotations

from typing import Any

import pytest
from django.contrib.auth.models import User

from annotation.models import Study, Submission
from annotation.studies.launching import publish
from annotation.studies.outputs import set_feed
from annotation.work.excluding import review_submission
from common.problems import Refused
from tests.factories import make_study, make_submission


def source(*, submissions: int = 0, **values: Any) -> Study:
    """A live study whose submissions make two sets each: a diverse one (label 1) and a similar one (label 0)."""
    study = make_study(task_type="con_test", **({"items": 2, "ratings_per_item": 50} | values))
    for _ in range(submissions):
        make_submission(study=study)
    return study


def draft(task_type: str = "abs_hds", **values: Any) -> Study:
    return make_study(task_type=task_type, items=0, live=False, **values)


def fed(of: Study, *, follow: bool = False, arms: tuple[str, ...] = (), **values: Any) -> Study:
    """A live study that judges the outputs made so far."""
    study = draft(**values)
    set_feed(study=study, source=of, arms=arms, follow=follow, actor="ann")
    publish(study=study, actor="ann")
    return Study.objects.get(pk=study.pk)


def decide(submission: Submission, decision: str) -> None:
    user, _ = User.objects.get_or_create(username="reviewer")
    review_submission(submission=submission, decision=decision, note="", user=user)


def said(refused: pytest.ExceptionInfo[Refused]) -> str:
    return " ".join(f"{problem.what} {problem.fix}" for problem in refused.value.problems)
