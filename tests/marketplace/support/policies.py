"""Review policies as boto3 sends them, and HITs with them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from marketplace import review_policies
from marketplace.models import Hit
from marketplace.services.hits import posting
from tests.marketplace.support import factories

KNOWN, PLURALITY = review_policies.KNOWN_ANSWERS, review_policies.PLURALITY
#: The answers in the example of "HIT Review Policies" in the MTurk API reference, by worker and question.
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
    work = posting.Work(
        question=factories.external_question(), lifetime=lifetime, max_assignments=max_assignments, **given
    )
    requester = factories.make_requester(balance=balance)
    return posting.create_hit(requester=requester, hit_type=factories.properties(), work=work)


def now_of(hit: Hit) -> Hit:
    return Hit.objects.get(pk=hit.pk)
