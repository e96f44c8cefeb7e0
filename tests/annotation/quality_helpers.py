"""A Likert study with gold items, and people who answer it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from datetime import timedelta
from typing import Any

from django.utils import timezone

from annotation.models import Assignment, Participant, Study, Submission
from annotation.studies.importing_items import import_items
from annotation.studies.launching import publish
from annotation.table_files import Table
from annotation.task_types.items import Row
from annotation.work.answers import submit_step
from tests.factories import create_study, make_assignment, make_participant

STATEMENTS = [{"topic": "lively", "question": "The text is lively."}, {"topic": "dull", "question": "It is dull."}]
MAIN = [{"sample_id": f"m{number}", "text": f"A story about owl number {number}."} for number in range(4)]
GOLD = {"sample_id": "g", "text": "Buzz buzz buzz.", "gold:lively": "2", "gold_explanation": "It says one word."}


def table(rows: Sequence[Mapping[str, str]]) -> Table:
    columns = list(dict.fromkeys(name for row in rows for name in row))
    made = [Row(number, {name: row.get(name, "") for name in columns}) for number, row in enumerate(rows, start=1)]
    return Table(columns, made)


def gold_study(rows: Sequence[Mapping[str, str]] = (*MAIN, GOLD), *, live: bool = True, **given: Any) -> Study:
    """One text and one gold text per hit, unless ``given`` says otherwise."""
    values = {"title": "Owls", "ratings_per_item": 6, "hits_per_worker": None, "feedback_box": False}
    study = create_study(
        slug=given.pop("slug", "owls"),
        task_type="likert",
        values=values | given.pop("values", {}),
        config={"statements": STATEMENTS},
        texts={},
        actor="test",
        owner=given.pop("owner", None),
        **given,
    )
    import_items(study=study, table=table(rows), actor="test")
    if live:
        publish(study=study, actor="test")
        study.refresh_from_db()
    return study


def rate(participant: Participant, *, gold: int = 2, main: int = 6, dull: int = 1, seconds: float = 60.0) -> Submission:
    """A whole hit: ``gold`` and ``main`` are the answers to “lively” on the gold text and on the other."""
    assignment = make_assignment(participant=participant)
    Assignment.objects.filter(pk=assignment.pk).update(accepted_at=timezone.now() - timedelta(seconds=seconds))
    items = [place.item for place in assignment.hit.places.select_related("item")]
    for number, index in enumerate(assignment.order["items"]):
        lively = gold if items[index].role == "gold" else main
        outcome = submit_step(
            assignment_id=assignment.pk,
            participant_id=participant.pk,
            number=number,
            data={"lively": str(lively), "dull": str(dull)},
            timing={"lively": {"seconds": 4.0}, "dull": {"seconds": 4.0}},
        )
    assert outcome.kind == "submitted", outcome
    return Submission.objects.get(assignment=assignment)


def someone(study: Study) -> Participant:
    return make_participant(study=study)
