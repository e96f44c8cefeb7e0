"""Studies with chosen ratings: what the analysis reads, written as a table."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from annotation.models import Assignment, Hit, Item, Participant, Rating, Study, Submission
from annotation.task_types.items import ItemData
from tests.factories import make_participant, make_study

PLAIN = {"write_first": False, "rate_first": False}
#: (item, worker) → value, or target → value where parts of the item are rated.
Values = Mapping[tuple[str, str], float | Mapping[str, float]]


def a_set(
    name: str, *, label: float | None = None, label_name: str = "temp", responses: Sequence[str] = (), context: str = ""
) -> ItemData:
    """A response set as the importer of the HDS types makes it."""
    return ItemData(
        name,
        {
            "sample_id": name,
            "context": context or f"Context of {name}",
            "responses": list(responses) or ["One answer here.", "Another answer there.", "Something else."],
            "label_name": "" if label is None else label_name,
            "label_value": label,
            "label_text": "" if label is None else f"{label:g}",
            "extra": [],
        },
    )


def a_pair(name: str, labels: tuple[float, float]) -> ItemData:
    """Two sets of one context, as the ranking type has them."""
    parts = [a_set(name, label=label, context="The same").payload for label in labels]
    return ItemData(name, {"context": "The same", "sets": parts})


def rated_study(
    items: Sequence[ItemData],
    values: Values,
    *,
    task_type: str = "abs_hds",
    question: str = "diversity",
    scale: str = "diversity",
    synthetic: Sequence[str] = (),
    **study_values: Any,
) -> Study:
    """A live study in which each worker rated each item of ``values``; workers are named by their platform id."""
    study_values = {"config": PLAIN, "ratings_per_item": 20, **study_values}
    study = make_study(task_type=task_type, payloads=list(items), **study_values)
    people: dict[str, Participant] = {}
    for (item, worker), value in values.items():
        if worker not in people:
            people[worker] = make_participant(study=study, name=worker, synthetic=worker in synthetic)
        given = value if isinstance(value, Mapping) else {"": value}
        add_submission(study, people[worker], item, question, scale, given)
    return study


def add_submission(
    study: Study, participant: Participant, item: str, question: str, scale: str, given: Mapping[str, float]
) -> Submission:
    """One finished hit of one item."""
    hit = Hit.objects.get(study=study, items__external_id=item)
    now = timezone.now()
    assignment = Assignment.objects.create(
        hit=hit,
        participant=participant,
        state=Assignment.State.SUBMITTED,
        slot=hit.n_submitted,
        ordinal=1 + participant.assignments.count(),
        seed=1,
        order={},
        accepted_at=now - timedelta(seconds=40),
        expires_at=now,
        ended_at=now,
    )
    Hit.objects.filter(pk=hit.pk).update(n_live=hit.n_live + 1, n_submitted=hit.n_submitted + 1)
    submission = Submission.objects.create(
        assignment=assignment, study=study, participant=participant, answers=[], seconds=40.0, received_at=now
    )
    found = Item.objects.get(study=study, external_id=item)
    Rating.objects.bulk_create(
        Rating(
            study=study,
            submission=submission,
            participant=participant,
            item=found,
            question=question,
            target=target,
            scale=scale,
            value=value,
            seconds=8.0,
            created_at=now,
        )
        for target, value in given.items()
    )
    return submission
