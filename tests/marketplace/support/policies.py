"""HITs with review policies, work on them, and what the reviews have written."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marketplace import policies
from marketplace.models import Assignment, Hit, ReviewEntry, Worker
from marketplace.services import assignments, hits
from tests.marketplace.support import factories

KNOWN, PLURALITY = policies.KNOWN_ANSWERS, policies.PLURALITY
#: The answers of three workers in "HIT Review Policies" of the MTurk API reference.
EXAMPLE = {
    "1": {"A": ["coat"], "B": ["blue"], "C": ["large"], "D": ["Furry"]},
    "2": {"A": ["sweater"], "B": ["blue"], "C": ["large"], "D": ["fur"]},
    "3": {"A": ["coat"], "B": ["green"], "C": ["large"], "D": ["furr"]},
}


def policy(name: str, **parameters: Any) -> dict[str, Any]:
    """As boto3 sends it; a mapping becomes MapEntries."""
    written = []
    for key, value in parameters.items():
        if isinstance(value, Mapping):
            entries = [{"Key": question, "Values": list(answer)} for question, answer in value.items()]
            written.append({"Key": key, "MapEntries": entries})
        else:
            values = [str(value)] if isinstance(value, str | int) else list(value)
            written.append({"Key": key, "Values": values})
    return {"PolicyName": name, "Parameters": written}


def known(**parameters: Any) -> dict[str, Any]:
    return policy(KNOWN, **{"AnswerKey": {"q1": ["2"], "q2": ["4"]}} | parameters)


def plurality(**parameters: Any) -> dict[str, Any]:
    return policy(PLURALITY, **{"QuestionIds": ["q1"], "QuestionAgreementThreshold": 50} | parameters)


def make_hit(*, max_assignments: int = 1, balance: str = "100.00", lifetime: int = 3600, **given: Any) -> Hit:
    work = hits.Work(
        question=factories.external_question(), lifetime=lifetime, max_assignments=max_assignments, **given
    )
    requester = factories.make_requester(balance=balance)
    return hits.create_hit(requester=requester, hit_type=factories.properties(), work=work)


def answer(hit: Hit, worker: Worker | None = None, /, **answers: str) -> Assignment:
    assignment = factories.make_assignment(hit=hit, worker=worker)
    return assignments.submit(assignment_id=assignment.assignment_id, answers=answers)


def results(hit: Hit, level: str) -> list[tuple[str, str, str]]:
    rows = ReviewEntry.objects.filter(hit=hit, level=level, status="").order_by("pk")
    return [(row.question_id, row.key, row.value) for row in rows]


def actions(hit: Hit, level: str = "HIT") -> list[tuple[str, str, str]]:
    rows = ReviewEntry.objects.filter(hit=hit, level=level).exclude(status="").order_by("pk")
    return [(row.key, row.status, row.value) for row in rows]


def now_of(hit: Hit) -> Hit:
    return Hit.objects.get(pk=hit.pk)
