"""Answers of the training, and those to items that explain, as descriptions, exports and bundles contain them."""

from __future__ import annotations

import math
from collections.abc import Iterator
from typing import Any

from analysis.description import TrainingDescription
from analysis.study_tables import TryRow
from annotation.models import Participant, Study, TriedPage
from annotation.results.row_pages import pages_by_pk
from annotation.task_types.questionnaires import Training
from annotation.work.training_rounds import can_try, training_size

CHUNK = 5_000


def describe_training(study: Study, training: Training) -> TrainingDescription | None:
    """None if the study has no training."""
    items = training_size(study)
    if not items:
        return None
    skipped = 0
    if training.skip_if_passed:
        began = Participant.objects.filter(study=study, assignments__steps__isnull=False)
        skipped = began.exclude(tried_pages__training=True).distinct().count()
    return TrainingDescription(
        items=items,
        needed=training.needed_of(items),
        tries=training.tries,
        show_right=training.show_right,
        skip_if_passed=list(training.skip_if_passed),
        skipped=skipped,
    )


def try_rows(study: Study, *, simulated: bool | None = None) -> Iterator[TryRow]:
    """One row for each rating of each try, in the order in which they were sent."""
    if not can_try(study):
        return
    tried = TriedPage.objects.filter(study=study).order_by("pk")
    if simulated is not None:
        tried = tried.filter(participant__synthetic=simulated)
    columns = (
        *("pk", "participant__pseudonym", "participant__synthetic", "participant__arm__name", "item__role"),
        *("assignment__submission", "item__external_id", "attempt", "place", "ratings", "passed", "received_at"),
    )
    nothing: dict[str, Any] = {"question": "", "target": "", "value": None, "text": "", "right": None}
    for batch in pages_by_pk(tried.values_list(*columns), CHUNK):
        for _, worker, synthetic, arm, role, submission, item, attempt, place, ratings, passed, sent_at in batch:
            for row in ratings or [nothing]:
                yield TryRow(
                    worker=worker,
                    synthetic=synthetic,
                    arm=arm,
                    role=role,
                    submission=submission or 0,
                    item=item,
                    attempt=attempt,
                    place=place,
                    question=row["question"],
                    target=row["target"],
                    value=math.nan if row["value"] is None else float(row["value"]),
                    text=row["text"],
                    right=_mark(row["right"]),
                    passed=_mark(passed),
                    answered_at=sent_at,
                )


def _mark(verdict: bool | None) -> str:
    return "" if verdict is None else "yes" if verdict else "no"
