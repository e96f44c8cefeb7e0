"""What a study owes to whom: one row per worker, found by their completion code.

Simulated workers are never paid and never listed. Nothing is owed for a submission that a person excluded, unless
somebody decides to pay it anyway.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Count, Max, Q, QuerySet, Sum

from annotation.models import Invitation, Participant, Study, Submission
from annotation.queries.left_out import excluded_submissions
from annotation.queries.platforms import is_posted, unconfirmed_submissions

PER_PAGE = 50
#: The states that a list can be filtered by, and that a worker's row can have.
STATES = ("to_pay", "paid", "excluded", "no_reward")
NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class PaymentRow:
    """One worker: what they did, what the study owes them and what they were paid, in USD."""

    pseudonym: str
    code: str
    arm: str
    hits_done: int
    hits_due: int
    due: Decimal
    hits_paid: int
    paid: Decimal
    hits_excluded: int
    excluded_usd: Decimal
    last_paid_at: datetime | None
    platform: str
    platform_id: str
    name: str = ""

    @property
    def state(self) -> str:
        if self.hits_due:
            return "to_pay"
        if self.hits_paid:
            return "paid"
        return "excluded" if self.hits_excluded else "no_reward"


@dataclass(frozen=True, slots=True)
class Due:
    """What would be paid now: submissions with their rewards, and the number of workers who sent them."""

    rewards: dict[int, Decimal]
    workers: int

    @property
    def hits(self) -> int:
        return len(self.rewards)

    @property
    def total(self) -> Decimal:
        return sum(self.rewards.values(), NOTHING)


def as_code(typed: str) -> str:
    """A completion code in its stored form, however somebody typed it."""
    return "".join(letter for letter in typed.upper() if letter.isalnum())[:20]


def payments(study: Study, *, state: str = "", code: str = "") -> QuerySet[Participant]:
    """Workers who submitted something, by pseudonym, with the sums of `PaymentRow`. ``state`` is one of STATES."""
    open_reward = Q(submissions__payment=None, submissions__assignment__hit__reward__gt=0)
    left_out = Q(submissions__in=excluded_submissions(study))
    due, excluded = open_reward & ~left_out, open_reward & left_out
    reward = "submissions__assignment__hit__reward"
    found = (
        Participant.objects.filter(study=study, synthetic=False, submissions__isnull=False)
        .select_related("arm", "worker")
        .defer("arm__shown_config", "arm__shown_texts")
        .annotate(
            hits_done=Count("submissions"),
            hits_due=Count("submissions", filter=due),
            due=Sum(reward, filter=due),
            hits_paid=Count("submissions__payment"),
            paid=Sum("submissions__payment__amount"),
            hits_excluded=Count("submissions", filter=excluded),
            excluded_usd=Sum(reward, filter=excluded),
            last_paid_at=Max("submissions__payment__created_at"),
        )
        .order_by("pseudonym")
    )
    if code:
        found = found.filter(completion_code=as_code(code))
    return found.filter(**_NARROWED[state]) if state in _NARROWED else found


_NARROWED: dict[str, dict[str, int]] = {
    "to_pay": {"hits_due__gt": 0},
    "paid": {"hits_due": 0, "hits_paid__gt": 0},
    "excluded": {"hits_due": 0, "hits_paid": 0, "hits_excluded__gt": 0},
    "no_reward": {"hits_due": 0, "hits_paid": 0, "hits_excluded": 0},
}


def payment_rows(study: Study, found: Sequence[Participant]) -> list[PaymentRow]:
    """Rows for participants of `payments`, with the name on their personal link if they have one."""
    workers = [each.worker_id for each in found]
    names = dict(Invitation.objects.filter(study=study, worker__in=workers).values_list("worker_id", "name"))
    return [_row(each, names.get(each.worker_id, "")) for each in found]


def payment_page(
    study: Study, *, state: str = "", code: str = "", number: int = 1
) -> tuple[Page[Participant], list[PaymentRow]]:
    """One page of the list; the nearest page if that number does not exist."""
    page = Paginator(payments(study, state=state, code=code), PER_PAGE).get_page(number)
    return page, payment_rows(study, list(page.object_list))


def due(study: Study, *, pseudonym: str = "", code: str = "", with_excluded: bool = False) -> Due:
    """What is owed to everybody, or to the worker with this pseudonym or code."""
    found = Submission.objects.filter(
        study=study, participant__synthetic=False, payment=None, assignment__hit__reward__gt=0
    )
    if pseudonym:
        found = found.filter(participant__pseudonym=pseudonym)
    if code:
        found = found.filter(participant__completion_code=as_code(code))
    if not with_excluded:
        found = found.exclude(pk__in=excluded_submissions(study))
    if is_posted(study):
        found = found.exclude(pk__in=unconfirmed_submissions(study).values("pk"))
    rows = list(found.order_by("pk").values_list("pk", "participant_id", "assignment__hit__reward"))
    return Due({pk: reward for pk, _, reward in rows}, len({participant for _, participant, _ in rows}))


def totals(study: Study) -> dict[str, Any]:
    """What is owed and paid in the whole study, and how many simulated workers the list leaves out."""
    open_now = due(study)
    paid = study.payments.aggregate(hits=Count("pk"), usd=Sum("amount"))
    simulated = Submission.objects.filter(study=study, participant__synthetic=True).values("participant").distinct()
    return {"due": open_now, "paid_hits": paid["hits"], "paid": _usd(paid["usd"]), "simulated": simulated.count()}


def studies_with_code(studies: QuerySet[Study], code: str) -> list[Study]:
    """Those of ``studies`` in which somebody has this completion code."""
    wanted = as_code(code)
    return list(studies.filter(participants__completion_code=wanted).distinct().order_by("pk")[:5]) if wanted else []


def _usd(total: Decimal | None) -> Decimal:
    """A sum to a tenth of a cent: SQLite adds decimals as binary fractions."""
    return NOTHING if total is None else total.quantize(Decimal("0.001"))


def _row(participant: Any, name: str) -> PaymentRow:
    return PaymentRow(
        pseudonym=participant.pseudonym,
        code=participant.completion_code,
        arm=participant.arm.name,
        hits_done=participant.hits_done,
        hits_due=participant.hits_due,
        due=_usd(participant.due),
        hits_paid=participant.hits_paid,
        paid=_usd(participant.paid),
        hits_excluded=participant.hits_excluded,
        excluded_usd=_usd(participant.excluded_usd),
        last_paid_at=participant.last_paid_at,
        platform=participant.worker.platform,
        platform_id=participant.worker.platform_id,
        name=name,
    )
