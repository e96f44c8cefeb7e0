"""Coding studies and what their coders send."""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User

from annotation.models import Assignment, Membership, Participant, Study, Submission
from annotation.work.allocation import accept_next
from annotation.work.answers import submit_step
from annotation.work.member_work import start_member_work
from tests.factories import make_researcher, make_study

LABELS = [
    {"label": "grammar", "category": "Form", "name": "Grammar", "description": ""},
    {"label": "facts", "category": "Content", "name": "Facts", "description": "What the text claims."},
    {"label": "vague", "category": "Null", "name": "Vague", "description": ""},
]


def coding_study(*, items: int = 3, **values: Any) -> Study:
    """A live study with ``items`` comments, one per hit, that two coders label."""
    terms: dict[str, Any] = {"ratings_per_item": 2, "hits_per_worker": None, "config": {"labels": LABELS}}
    return make_study(task_type="comment_coding", items=items, **(terms | values))


def coder(name: str, study: Study, *, role: str = "viewer") -> User:
    user = User.objects.filter(username=name).first() or make_researcher(name)
    Membership.objects.get_or_create(study=study, user=user, defaults={"role": role})
    return user


def code(participant: Participant, **by_item: str) -> list[Submission]:
    """Sends these labels (separated by spaces) for these items, in whatever order they are shown."""
    sent: list[Submission] = []
    while len(sent) < len(by_item):
        accepted = accept_next(participant_id=participant.pk)
        assignment = Assignment.objects.get(pk=accepted.id)
        name = assignment.hit.items.get().external_id
        outcome = submit_step(
            assignment_id=assignment.pk,
            participant_id=participant.pk,
            number=0,
            data={f"labels.{key}": "yes" for key in by_item[name].split()},
            timing={},
        )
        assert outcome.kind == "submitted", outcome
        sent.append(Submission.objects.get(assignment=assignment))
    return sent


def coded_study(one: dict[str, str], two: dict[str, str], **values: Any) -> tuple[Study, User, User]:
    """Two coders, anna and ben, who have sent these labels by item (s0, s1, …)."""
    study = coding_study(items=len(one), **values)
    anna, ben = coder("anna", study, role="owner"), coder("ben", study)
    code(start_member_work(study=study, user=anna), **one)
    code(start_member_work(study=study, user=ben), **two)
    return study, anna, ben
