"""What a study owes to its workers: one row per worker, found by their completion code.

Simulated workers are never paid and never listed. Nothing is owed for a submission that a person excluded, unless
somebody decides to pay it anyway.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, Exists, F, Max, OuterRef, Q, QuerySet, Subquery, Sum
from django.db.models.functions import Coalesce

from annotation.models import Invitation, Participant, PartPayment, Payment, Study, Submission
from annotation.recruiting.pay_states import in_state, paying, rewards, with_pay_state
from annotation.work.hourly_pay import exact_sum
from annotation.work.part_pay import unpaid_parts

#: The states that a list can be filtered by, and that a worker's row can have: see `pay_states.PAY_STATES`.
STATES = ("to_pay", "to_approve", "waiting", "paid", "partly_paid", "rejected", "excluded", "unconfirmed", "no_reward")
#: How many hits of each are counted in a row.
_COUNTED = {
    "due": "to_pay",
    "open": "to_approve",
    "later": "waiting",
    "partly": "partly_paid",
    "excluded": "excluded",
    "rejected": "rejected",
}
NOTHING = Decimal(0)


@dataclass(frozen=True, slots=True)
class PaymentRow:
    """One worker: what they did, what the study owes them and what they were paid, in USD.

    ``hits_due`` are paid by hand and include stopped hits; ``hits_open`` wait for an approval on the platform, which
    pays them; ``hits_later`` are due when the time for a decision has passed. ``paid`` includes bonuses, compensations
    and part pay, but nothing for ``hits_partly``: what the platform paid for those is not known here.
    """

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
    hits_open: int = 0
    open: Decimal = NOTHING
    hits_later: int = 0
    hits_rejected: int = 0
    hits_unconfirmed: int = 0
    hits_partly: int = 0
    extra: Decimal = NOTHING

    @property
    def state(self) -> str:
        counts = {
            "to_pay": self.hits_due,
            "to_approve": self.hits_open,
            "waiting": self.hits_later,
            "paid": self.hits_paid,
            "partly_paid": self.hits_partly,
            "rejected": self.hits_rejected,
            "excluded": self.hits_excluded,
            "unconfirmed": self.hits_unconfirmed,
        }
        return next((state for state, count in counts.items() if count), "no_reward")


@dataclass(frozen=True, slots=True)
class Due:
    """What would be paid now: submissions with their rewards, and the number of workers who did them.

    ``parts``: what is owed for stopped hits, by the number of the `PartPayment`.
    """

    rewards: dict[int, Decimal]
    workers: int
    parts: dict[int, Decimal] = field(default_factory=dict)

    @property
    def hits(self) -> int:
        return len(self.rewards) + len(self.parts)

    @property
    def total(self) -> Decimal:
        return sum([*self.rewards.values(), *self.parts.values()], NOTHING)


def as_code(typed: str) -> str:
    """A completion code in its stored form: capital letters and digits, without spaces and hyphens."""
    return "".join(letter for letter in typed.upper() if letter.isalnum())[:20]


def payable(study: Study, *, state: str = "", code: str = "") -> QuerySet[Participant]:
    """Workers who submitted something, stopped for part pay or were paid, by pseudonym: a list to take a page from, of
    which `rows_of` makes rows.

    ``state`` is one of STATES; only then the query sums up the work of everybody. With ``code``, those with this
    completion code.
    """
    if state in STATES:
        return payments(study, state=state, code=code)
    stopped = PartPayment.objects.filter(assignment__participant=OuterRef("pk"))
    submitted = Submission.objects.filter(participant=OuterRef("pk"))
    worked = Q(Exists(submitted)) | Q(Exists(stopped)) | Q(Exists(paid_apart_to(study)))
    participants = Participant.objects.filter(worked, study=study, synthetic=False).order_by("pseudonym")
    return participants.filter(completion_code=as_code(code)) if code else participants


def rows_of(study: Study, participants: Iterable[Participant]) -> list[PaymentRow]:
    """The rows of those participants who are in the list, by pseudonym. It reads their work only."""
    numbers = [participant.pk for participant in participants]
    return payment_rows(study, list(payments(study, of=numbers))) if numbers else []


def payments(
    study: Study, *, state: str = "", code: str = "", of: Collection[int] | None = None
) -> QuerySet[Participant]:
    """The workers of `payable` with the sums of `PaymentRow`; ``of``: only these participants."""
    reward = "submissions__assignment__hit__reward"
    is_in = {name: Q(submissions__in=in_state(study, pay, of=of)) for name, pay in _COUNTED.items()}
    here = Payment.objects.filter(study=study, submission__participant=OuterRef("pk"))
    apart, rewarded = paid_apart_to(study), rewards(study)
    listed = payable(study, code=code)
    if of is not None:
        listed, rewarded = listed.filter(pk__in=list(of)), rewarded.filter(submission__participant__in=list(of))
    owed, had = _parts_of(unpaid_parts(study)), _parts_of(PartPayment.objects.exclude(payments=None))
    compensated = Q(kind__in=[Payment.Kind.REWARD, Payment.Kind.COMPENSATION])
    participants = (
        listed.select_related("arm", "worker")
        .defer("arm__shown_config", "arm__shown_texts")
        .annotate(
            hits_done=Count("submissions"),
            parts_due=Coalesce(Subquery(owed.annotate(n=Count("pk")).values("n")), 0),
            hits_due=Count("submissions", filter=is_in["due"]) + F("parts_due"),
            due=Sum(reward, filter=is_in["due"]),
            parts_usd=Subquery(owed.annotate(usd=Sum("amount")).values("usd")),
            parts_paid=Subquery(had.annotate(usd=Sum("amount")).values("usd")),
            hits_open=Count("submissions", filter=is_in["open"]),
            open=Sum(reward, filter=is_in["open"]),
            hits_later=Count("submissions", filter=is_in["later"]),
            hits_rejected=Count("submissions", filter=is_in["rejected"]),
            hits_partly=Count("submissions", filter=is_in["partly"]),
            hits_unconfirmed=Count("submissions", filter=Q(submissions__in=in_state(study, "unconfirmed", of=of))),
            hits_excluded=Count("submissions", filter=is_in["excluded"]),
            excluded_usd=Sum(reward, filter=is_in["excluded"]),
            paid_apart=Coalesce(Subquery(_summed(apart.filter(compensated), Count("pk"))), 0),
            hits_paid=Count("submissions", filter=Q(submissions__in=rewarded.values("submission"))) + F("paid_apart"),
            paid=Subquery(_summed(here, Sum("amount"))),
            extra=Subquery(_summed(here.exclude(kind=Payment.Kind.REWARD), Sum("amount"))),
            last_paid_at=Subquery(_summed(here, Max("created_at"))),
            apart_usd=Subquery(_summed(apart, Sum("amount"))),
            apart_extra=Subquery(_summed(apart.exclude(kind=Payment.Kind.REWARD), Sum("amount"))),
            apart_at=Subquery(_summed(apart, Max("created_at"))),
        )
    )
    if state not in STATES:
        return participants
    # Rows with this state have hits in it, and none in the states that come before it.
    counts = list(_ORDER.values())
    if state not in _ORDER:
        return participants.filter(**dict.fromkeys(counts, 0))
    before = dict.fromkeys(counts[: counts.index(_ORDER[state])], 0)
    return participants.filter(**before, **{f"{_ORDER[state]}__gt": 0})


def paid_apart_to(study: Study) -> QuerySet[Payment]:
    """What the study paid the participant of the outer query for work of which nothing arrived here."""
    apart = Q(submission=None, part=None, platform=OuterRef("worker__platform"))
    apart &= Q(worker_id=OuterRef("worker__platform_id")) & ~Q(worker_id="")
    return Payment.objects.filter(apart, study=study)


def _summed(paid: QuerySet[Payment], total: Any) -> QuerySet[Payment, Any]:
    """One total over the rows, as a subquery."""
    return paid.order_by().values("study").annotate(total=total).values("total")


def _parts_of(parts: QuerySet[PartPayment]) -> QuerySet[PartPayment, Any]:
    """The part payments of each participant, as a subquery to count or sum."""
    of_participant = parts.filter(assignment__participant=OuterRef("pk"))
    return of_participant.order_by().values("assignment__participant")


_ORDER = {
    "to_pay": "hits_due",
    "to_approve": "hits_open",
    "waiting": "hits_later",
    "paid": "hits_paid",
    "partly_paid": "hits_partly",
    "rejected": "hits_rejected",
    "excluded": "hits_excluded",
    "unconfirmed": "hits_unconfirmed",
}


def payment_rows(study: Study, participants: Sequence[Participant]) -> list[PaymentRow]:
    """Rows for participants from `payments`, with the name on their personal link if they have one."""
    workers = [participant.worker_id for participant in participants]
    names = dict(Invitation.objects.filter(study=study, worker__in=workers).values_list("worker_id", "name"))
    annotated: Sequence[Any] = participants
    return [
        PaymentRow(
            pseudonym=participant.pseudonym,
            code=participant.completion_code,
            arm=participant.arm.name,
            hits_done=participant.hits_done,
            hits_due=participant.hits_due,
            due=exact_sum(participant.due) + exact_sum(participant.parts_usd),
            hits_paid=participant.hits_paid,
            paid=exact_sum(participant.paid) + exact_sum(participant.apart_usd) + exact_sum(participant.parts_paid),
            hits_excluded=participant.hits_excluded,
            excluded_usd=exact_sum(participant.excluded_usd),
            last_paid_at=max(filter(None, [participant.last_paid_at, participant.apart_at]), default=None),
            platform=participant.worker.platform,
            platform_id=participant.worker.platform_id,
            name=names.get(participant.worker_id, ""),
            hits_open=participant.hits_open,
            open=exact_sum(participant.open),
            hits_later=participant.hits_later,
            hits_rejected=participant.hits_rejected,
            hits_unconfirmed=participant.hits_unconfirmed,
            hits_partly=participant.hits_partly,
            extra=exact_sum(participant.extra) + exact_sum(participant.apart_extra) + exact_sum(participant.parts_paid),
        )
        for participant in annotated
    ]


def due(study: Study, *, pseudonym: str = "", code: str = "", with_excluded: bool = False) -> Due:
    """What must be paid by hand to everybody, or to the worker with this pseudonym or code.

    Leaves out what a platform pays when work is approved: that would be paid twice. ``with_excluded``: also what is
    excluded, or still waits for a decision.
    """
    states = ("to_pay", "excluded", "waiting") if with_excluded else ("to_pay",)
    submissions = Submission.objects.filter(pk__in=in_state(study, *states))
    if with_excluded:
        submissions = submissions.exclude(assignment__posting__platform__in=paying())
    owed_parts = unpaid_parts(study)
    if pseudonym:
        submissions = submissions.filter(participant__pseudonym=pseudonym)
        owed_parts = owed_parts.filter(assignment__participant__pseudonym=pseudonym)
    if code:
        submissions = submissions.filter(participant__completion_code=as_code(code))
        owed_parts = owed_parts.filter(assignment__participant__completion_code=as_code(code))
    rows = list(submissions.order_by("pk").values_list("pk", "participant_id", "assignment__hit__reward"))
    parts = list(owed_parts.order_by("pk").values_list("pk", "assignment__participant_id", "amount"))
    people = {participant for _, participant, _ in rows} | {participant for _, participant, _ in parts}
    return Due({pk: reward for pk, _, reward in rows}, len(people), {pk: amount for pk, _, amount in parts})


@dataclass(frozen=True, slots=True)
class Owed:
    """The hits that wait for pay, by how many workers, in USD."""

    hits: int
    workers: int
    total: Decimal


def owed_by_state(study: Study) -> dict[str, Owed]:
    """What is to be paid by hand (``to_pay``, the same as `due`), and what the platform pays if everything that waits
    for a decision there is approved (``to_approve``).

    The database counts each worker's hits. It does not add up rewards, which SQLite does in binary fractions.
    """
    states = ("to_pay", "to_approve")
    submissions = with_pay_state(study).filter(pay__in=states).order_by()
    by_worker = submissions.values_list("pay", "participant", "assignment__hit__reward").annotate(n=Count("pk"))
    parts = unpaid_parts(study).order_by().values_list("assignment__participant", "amount").annotate(n=Count("pk"))
    counts = [*by_worker, *(("to_pay", *part) for part in parts)]
    return {
        state: Owed(
            hits=sum(n for pay, _, _, n in counts if pay == state),
            workers=len({participant for pay, participant, _, _ in counts if pay == state}),
            total=sum((usd * n for pay, _, usd, n in counts if pay == state), NOTHING),
        )
        for state in states
    }


def payment_totals(study: Study) -> dict[str, Any]:
    """What is owed and paid in the whole study, and how many simulated workers the list leaves out. It reads all of
    the work; see `payment_lists.totals` for pages."""
    owed = owed_by_state(study)
    reward = Q(kind=Payment.Kind.REWARD)
    paid = study.payments.aggregate(
        hits=Count("pk", filter=reward), usd=Sum("amount"), extra=Sum("amount", filter=~reward)
    )
    simulated = Submission.objects.filter(study=study, participant__synthetic=True).values("participant").distinct()
    return {
        "due": owed["to_pay"],
        "open": owed["to_approve"],
        "paid_hits": paid["hits"],
        "paid": exact_sum(paid["usd"]),
        "extra": exact_sum(paid["extra"]),
        "unmatched": study.payments.filter(submission=None, part=None).count(),
        "simulated": simulated.count(),
    }


def studies_with_code(studies: QuerySet[Study], code: str) -> list[Study]:
    """Those of ``studies`` in which somebody has this completion code."""
    plain_code = as_code(code)
    return (
        list(studies.filter(participants__completion_code=plain_code).distinct().order_by("pk")[:5])
        if plain_code
        else []
    )
