"""What a study owes to its workers: one row per worker, found by their completion code.

Simulated workers are never paid and never listed. Nothing is owed for a submission that a person excluded, unless
somebody decides to pay it anyway.
"""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Count, Exists, Max, OuterRef, Q, QuerySet, Sum

from annotation.many_ids import among
from annotation.models import Invitation, Participant, PartPayment, Payment, Study, Submission
from annotation.recruiting.pay_states import paying, rewards, with_pay_state
from annotation.work.hourly_pay import exact_sum
from annotation.work.part_pay import unpaid_parts

#: The states that a list can be filtered by, and that a worker's row can have: see `pay_states.PAY_STATES`.
STATES = ("to_pay", "to_approve", "waiting", "paid", "partly_paid", "rejected", "excluded", "unconfirmed", "no_reward")
#: Workers whose work is read at a time.
AT_ONCE = 500
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

    ``state`` is one of STATES; only then the work of everybody is read. With ``code``, those with this completion code.
    """
    stopped = PartPayment.objects.filter(assignment__participant=OuterRef("pk"))
    submitted = Submission.objects.filter(participant=OuterRef("pk"))
    apart = Payment.objects.filter(
        *(Q(study=study, submission=None, part=None), ~Q(worker_id="")),
        platform=OuterRef("worker__platform"),
        worker_id=OuterRef("worker__platform_id"),
    )
    worked = Q(Exists(submitted)) | Q(Exists(stopped)) | Q(Exists(apart))
    participants = Participant.objects.filter(worked, study=study, synthetic=False).order_by("pseudonym")
    if code:
        participants = participants.filter(completion_code=as_code(code))
    if state not in STATES:
        return participants
    rows = zip(participants.values_list("pk", flat=True), payment_rows(study, list(participants)), strict=True)
    return participants.filter(pk__in=among(pk for pk, row in rows if row.state == state))


def rows_of(study: Study, participants: Iterable[Participant]) -> list[PaymentRow]:
    """The rows of those participants who are in the list, by pseudonym. It reads their work only."""
    numbers = [participant.pk for participant in participants]
    return payment_rows(study, list(payable(study).filter(pk__in=among(numbers)))) if numbers else []


def payment_rows(study: Study, participants: Sequence[Participant]) -> list[PaymentRow]:
    """Rows for participants from `payable`, with the name on their personal link if they have one."""
    rows: list[PaymentRow] = []
    for start in range(0, len(participants), AT_ONCE):
        rows += _rows(study, [participant.pk for participant in participants[start : start + AT_ONCE]])
    return rows


def _rows(study: Study, of: list[int]) -> list[PaymentRow]:
    """A number of queries that does not depend on how many they are."""
    work = _work_by_pay(study, of)
    rewarded = rewards(study).filter(submission__participant__in=of).order_by().values_list("submission__participant")
    hits_rewarded = dict(rewarded.annotate(n=Count("submission", distinct=True)))
    here = Payment.objects.filter(study=study, submission__participant__in=of).values_list("submission__participant")
    paid_here = {key: _Paid(*sums) for key, *sums in _summed(here)}
    workers = Participant.objects.filter(pk__in=of)
    people = workers.select_related("arm", "worker").defer("arm__shown_config", "arm__shown_texts").in_bulk()
    ids = {participant.worker.platform_id for participant in people.values()}
    outside = Payment.objects.filter(study=study, submission=None, part=None, worker_id__in=ids).exclude(worker_id="")
    sums_apart = {
        (one, other): _Paid(*sums) for one, other, *sums in _summed(outside.values_list("platform", "worker_id"))
    }
    parts_due = _parts_of(unpaid_parts(study), of)
    parts_paid = _parts_of(PartPayment.objects.exclude(payments=None), of)
    invitations = Invitation.objects.filter(study=study, worker__participations__in=of)
    names = dict(invitations.values_list("worker_id", "name"))
    rows = []
    for participant in (people[pk] for pk in of):
        hits, usd = work[participant.pk]
        worker, n_parts = participant.worker, parts_due[participant.pk][0]
        paid, apart = (
            paid_here.get(participant.pk, _Paid()),
            sums_apart.get((worker.platform, worker.platform_id), _Paid()),
        )
        had = parts_paid[participant.pk][1]
        rows.append(
            PaymentRow(
                pseudonym=participant.pseudonym,
                code=participant.completion_code,
                arm=participant.arm.name,
                hits_done=hits.total(),
                hits_due=hits["to_pay"] + n_parts,
                due=usd["to_pay"] + parts_due[participant.pk][1],
                hits_paid=hits_rewarded.get(participant.pk, 0) + apart.rewards,
                paid=paid.usd + apart.usd + had,
                hits_excluded=hits["excluded"],
                excluded_usd=usd["excluded"],
                last_paid_at=max(filter(None, [paid.last, apart.last]), default=None),
                platform=worker.platform,
                platform_id=worker.platform_id,
                name=names.get(participant.worker_id, ""),
                hits_open=hits["to_approve"],
                open=usd["to_approve"],
                hits_later=hits["waiting"],
                hits_rejected=hits["rejected"],
                hits_unconfirmed=hits["unconfirmed"],
                hits_partly=hits["partly_paid"],
                extra=paid.extra + apart.extra + had,
            )
        )
    return rows


def _work_by_pay(study: Study, of: list[int]) -> dict[int, tuple[Counter[str], defaultdict[str, Decimal]]]:
    """By participant, their submissions and their rewards by the state of their pay."""
    work: dict[int, tuple[Counter[str], defaultdict[str, Decimal]]] = {
        pk: (Counter(), defaultdict(lambda: NOTHING)) for pk in of
    }
    submissions = with_pay_state(study, of=of).order_by().values_list("participant", "pay", "assignment__hit__reward")
    for pk, pay, reward, n in submissions.annotate(n=Count("pk")):
        hits, usd = work[pk]
        hits[pay] += n
        usd[pay] += exact_sum(reward) * n
    return work


class _Paid:
    """Sums over payments: how many rewards and compensations, USD in all and without rewards, and the last time."""

    def __init__(self, rewards: int = 0, usd: Any = None, extra: Any = None, last: datetime | None = None) -> None:
        self.rewards, self.usd, self.extra, self.last = rewards, exact_sum(usd), exact_sum(extra), last


def _summed(paid: QuerySet[Payment, Any]) -> QuerySet[Payment, Any]:
    """The numbers of `_Paid`, by the columns of the query."""
    compensated = Q(kind__in=[Payment.Kind.REWARD, Payment.Kind.COMPENSATION])
    extra = Sum("amount", filter=~Q(kind=Payment.Kind.REWARD))
    return paid.order_by().annotate(
        n=Count("pk", filter=compensated), usd=Sum("amount"), extra=extra, last=Max("created_at")
    )


def _parts_of(parts: QuerySet[PartPayment], of: list[int]) -> defaultdict[int, tuple[int, Decimal]]:
    """By participant, how many part payments, and USD."""
    of_them = parts.filter(assignment__participant__in=of).order_by().values_list("assignment__participant")
    counted = of_them.annotate(n=Count("pk", distinct=True), usd=Sum("amount"))
    return defaultdict(lambda: (0, NOTHING), {pk: (n, exact_sum(usd)) for pk, n, usd in counted})


def due(study: Study, *, pseudonym: str = "", code: str = "", with_excluded: bool = False) -> Due:
    """What must be paid by hand to everybody, or to the worker with this pseudonym or code.

    Leaves out what a platform pays when work is approved: that would be paid twice. ``with_excluded``: also what is
    excluded, or still waits for a decision.
    """
    states = ("to_pay", "excluded", "waiting") if with_excluded else ("to_pay",)
    owed_parts, of = unpaid_parts(study), None
    if pseudonym or code:
        participants = Participant.objects.filter(study=study)
        participants = participants.filter(pseudonym=pseudonym) if pseudonym else participants
        participants = participants.filter(completion_code=as_code(code)) if code else participants
        of = list(participants.values_list("pk", flat=True))
        owed_parts = owed_parts.filter(assignment__participant__in=of)
    submissions = with_pay_state(study, of=of).filter(pay__in=states)
    if with_excluded:
        submissions = submissions.exclude(assignment__posting__platform__in=paying())
    rows = list(submissions.order_by("pk").values_list("pk", "participant_id", "assignment__hit__reward"))
    parts = list(owed_parts.order_by("pk").values_list("pk", "assignment__participant_id", "amount"))
    people = {participant for _, participant, _ in rows} | {participant for _, participant, _ in parts}
    return Due({pk: reward for pk, _, reward in rows}, len(people), {pk: amount for pk, _, amount in parts})


@dataclass(frozen=True, slots=True)
class Owed:
    """The hits that wait for pay, by how many workers, in USD. ``behind``: the newest work of so many workers is not
    counted."""

    hits: int
    workers: int
    total: Decimal
    behind: int = 0


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
