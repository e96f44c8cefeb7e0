"""What a person needs to decide on submissions: platform records, comparisons, effects."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from decimal import ROUND_HALF_UP, Decimal

from django.db.models import Avg, Count, Max, Q, QuerySet
from django.utils import timezone

from annotation.many_ids import among
from annotation.models import (
    Assignment,
    BulkAction,
    Flag,
    OutsideAssignment,
    Participant,
    PayDecision,
    Payment,
    PlatformCall,
    Rating,
    Study,
    Submission,
)
from annotation.platforms import changes_class
from annotation.platforms.changes import ASK_BACK
from annotation.platforms.costs import CENT, NO_FEES, Fees
from annotation.recruiting.pay_states import paying, with_pay_state
from annotation.work.left_out import excluded_submissions, left_out_submissions
from common.words import counted, moment_in_utc, money

#: A platform lets a rejection be undone for this long.
UNDO = timedelta(days=30)
#: The states in which approving, rejecting or rewarding changes something, and the reasons if it does not.
APPROVABLE = ("to_approve", "waiting", "to_pay", "excluded", "rejected")
REJECTABLE = ("to_approve", "waiting", "to_pay", "excluded")
#: States in which a worker can be asked to return their work.
RETURNABLE = ("to_approve", "excluded")
NOT_NOW = {
    "paid": "already paid",
    "approved": "already approved",
    "partly_paid": "already paid in part",
    "rejected": "already rejected",
    "unconfirmed": "not confirmed by the platform",
    "no_reward": "without a reward, or from simulated workers",
}
#: Submissions read in one query.
AT_ONCE = 5_000
#: The fees of a platform for the account that pays for the study.
FeesOf = Callable[[str, Study], Fees]


def outside_of(submission: Submission) -> OutsideAssignment | None:
    """The platform's record of this submission, from the same worker; None if it has none (yet)."""
    outside = OutsideAssignment.objects.filter(assignments=submission.assignment_id)
    return outside.select_related("posting__study", "posting__hit").first()


@dataclass(frozen=True, slots=True)
class PayView:
    """The pay of one submission: its state, what the platform reports, the decisions here, and what was paid."""

    state: str
    outside: OutsideAssignment | None
    decisions: list[PayDecision]
    payments: list[Payment]
    undo_until: datetime | None
    asked_back_at: datetime | None = None

    @property
    def can_ask_back(self) -> bool:
        """Whether the worker can be asked to return it. They are asked once."""
        if self.outside is None or self.state not in RETURNABLE or self.asked_back_at is not None:
            return False
        return changes_class(self.outside.posting.platform).asks_back

    @property
    def can_approve(self) -> bool:
        return self.state in APPROVABLE and (self.outside is None or self.state != "rejected" or self.undoable)

    @property
    def can_reject(self) -> bool:
        return self.state in REJECTABLE

    @property
    def undoable(self) -> bool:
        return self.undo_until is None or self.undo_until > timezone.now()


def pay_view(submission: Submission) -> PayView:
    """What the submission's page shows about its pay."""
    state = (
        with_pay_state(submission.study, of=[submission.participant_id])
        .values_list("pay", flat=True)
        .get(pk=submission.pk)
    )
    outside = outside_of(submission)
    rejected = outside is not None and outside.state == OutsideAssignment.State.REJECTED
    return PayView(
        state=state,
        outside=outside,
        decisions=list(submission.pay_decisions.order_by("-pk")),
        payments=list(submission.payments.order_by("pk")),
        undo_until=outside.seen_at + UNDO if outside is not None and rejected else None,
        asked_back_at=_asked_back([outside.pk]).get(outside.pk) if outside is not None else None,
    )


def _asked_back(ids: Sequence[int]) -> dict[int, datetime]:
    """When the workers of these assignments of the platform were asked to return them."""
    keys = {f"{ASK_BACK}{pk}": pk for pk in ids}
    done = PlatformCall.objects.filter(key__in=keys, state=PlatformCall.State.DONE)
    return {keys[key]: asked_at for key, asked_at in done.values_list("key", "done_at") if asked_at is not None}


@dataclass(frozen=True, slots=True)
class Compared:
    """One rating and the mean of the other workers' ratings of the same item; ``n`` is the number of those."""

    topic: str
    item: str
    target: str
    own: float
    others: float
    n: int

    @property
    def far(self) -> float:
        return self.own - self.others


def compared_with_others(submission: Submission) -> list[Compared]:
    """The submission's ratings of items that others rated, too. What the analysis leaves out of that does not count."""
    own_ratings = [
        rating
        for rating in submission.ratings.select_related("item").defer("item__payload").order_by("pk")
        if rating.item_id is not None and rating.value is not None
    ]
    ratings = Rating.objects.filter(item__in={rating.item_id for rating in own_ratings}, value__isnull=False)
    raters = ratings.order_by().values_list("participant", flat=True).distinct()
    mean_of_others = (
        ratings.exclude(participant=submission.participant_id)
        .exclude(submission__in=left_out_submissions(submission.study, list(raters)))
        .order_by()
        .values_list("item_id", "question", "target")
        .annotate(mean=Avg("value"), n=Count("pk"))
    )
    means = {(item, question, target): (mean, n) for item, question, target, mean, n in mean_of_others}
    compared = []
    for rating in own_ratings:
        others = means.get((rating.item_id, rating.question, rating.target))
        if others is not None and rating.item is not None and rating.value is not None:
            name = rating.item.external_id
            compared.append(Compared(rating.question, name, rating.target, rating.value, *others))
    return compared


@dataclass(slots=True)
class Preview:
    """What an action would do. ``left_out`` contains the reasons why rows are left out, with the number of rows;
    ``paid_before`` is a sentence about equal bonuses."""

    submissions: int = 0
    workers: int = 0
    approved: int = 0
    rejected: int = 0
    excluded_too: int = 0
    hand: int = 0
    rewards: Decimal = Decimal(0)
    fees: Decimal = Decimal(0)
    ratings: int = 0
    places: int = 0
    left_out: list[tuple[str, int]] = field(default_factory=list)
    paid_before: str = ""

    @property
    def total(self) -> Decimal:
        return self.rewards + self.fees

    @property
    def nothing(self) -> bool:
        return not (self.submissions or self.workers)


def preview_of(bulk: BulkAction, fees: FeesOf = lambda platform, study: NO_FEES) -> Preview:
    """The effect and the cost of an action, without rows that it would not change. ``fees`` gives a platform's."""
    if bulk.action in ("exclude_workers", "block"):
        ids = [row["participant"] for row in bulk.rows]
        submissions = Submission.objects.filter(participant__in=among(ids))
        used = submissions.exclude(pk__in=excluded_submissions(bulk.study))
        return Preview(
            places=submissions.filter(assignment__state=Assignment.State.SUBMITTED).count(),
            ratings=Rating.objects.filter(submission__in=used).count(),
            submissions=used.count(),
            workers=Participant.objects.filter(pk__in=among(ids)).count(),
        )
    if bulk.action in ("include", "exclude"):
        ids = [row["submission"] for row in bulk.rows]
        out = set(excluded_submissions(bulk.study))
        changing = [pk for pk in ids if (pk in out) is (bulk.action == "include")]
        submissions = Submission.objects.filter(pk__in=among(changing))
        placed = submissions.filter(assignment__state=Assignment.State.SUBMITTED)
        already = "already included" if bulk.action == "include" else "already excluded"
        return Preview(
            places=placed.count() if bulk.action == "exclude" else 0,
            submissions=len(changing),
            workers=submissions.values("participant").distinct().count(),
            ratings=Rating.objects.filter(submission__in=submissions).count(),
            left_out=[(already, len(ids) - len(changing))] if len(changing) < len(ids) else [],
        )
    preview = _of_pay(bulk, fees)
    preview.paid_before = _paid_before(bulk)
    return preview


def _paid_before(bulk: BulkAction) -> str:
    """That these workers have had a bonus of the same amount for the same reason in the study, with the last date."""
    if bulk.action != "bonus" or not bulk.amount:
        return ""
    workers = Participant.objects.filter(submissions__in=among(row["submission"] for row in bulk.rows))
    bonuses = Payment.objects.filter(study=bulk.study, kind=Payment.Kind.BONUS, submission__participant__in=workers)
    sums = bonuses.filter(amount=bulk.amount, reason=bulk.note).aggregate(
        n=Count("pk"), workers=Count("submission__participant", distinct=True), last=Max("created_at")
    )
    if not sums["n"]:
        return ""
    return (
        f"{counted(sums['workers'], 'worker')} had the same bonus before: {counted(sums['n'], 'payment')} of "
        f"{money(bulk.amount)} for the same reason, the last on {moment_in_utc(sums['last'])}."
    )


@dataclass(frozen=True, slots=True)
class _Paid:
    """One row about money: its state, worker, reward and fee."""

    state: str
    worker: int | None
    reward: Decimal
    platform: str
    fee_of: int
    excluded: bool
    asked_back: bool = False


def _of_pay(bulk: BulkAction, fees: FeesOf) -> Preview:
    preview = Preview()
    paid_by_row = _rows(bulk)
    left_out: Counter[str] = Counter()
    workers: set[int | None] = set()
    charged: dict[str, Fees] = {}
    for row in bulk.rows:
        # If nothing arrived here, the row is about what the platform reports.
        kind = "outside" if row.get("submission") is None else "submission"
        paid = paid_by_row[(kind, row[kind])]
        decision = row.get("decision", bulk.action)
        if reason := _why_not(decision, paid):
            left_out[reason] += 1
            continue
        preview.submissions += 1
        workers.add(paid.worker)
        if decision == "ask_back":
            continue
        if decision == "reject":
            preview.rejected += 1
            continue
        preview.approved += 1
        preview.excluded_too += paid.excluded
        preview.hand += not paid.platform
        amount = bulk.amount if decision == "bonus" and bulk.amount is not None else paid.reward
        preview.rewards += amount
        if paid.platform:
            charged[paid.platform] = charged.get(paid.platform) or fees(paid.platform, bulk.study)
            preview.fees += charged[paid.platform].of(amount, 1 if decision == "bonus" else paid.fee_of)
    preview.workers = len(workers)
    preview.fees = preview.fees.quantize(CENT, ROUND_HALF_UP)
    preview.left_out = left_out.most_common()
    return preview


def _why_not(decision: str, paid: _Paid) -> str:
    if decision == "bonus":
        barred = paid.state in ("unconfirmed", "simulated")
        return NOT_NOW.get(paid.state, "from simulated workers") if barred else ""
    if decision == "ask_back" and not (paid.platform and changes_class(paid.platform).asks_back):
        return "from elsewhere than a platform on which workers can be asked to return work"
    if decision == "ask_back" and paid.asked_back:
        return "asked for before"
    allowed = {"reject": REJECTABLE, "ask_back": RETURNABLE}.get(decision, APPROVABLE)
    return "" if paid.state in allowed else NOT_NOW.get(paid.state, "not to be decided")


def _rows(bulk: BulkAction) -> dict[tuple[str, int], _Paid]:
    """The rows by their `_subject`."""
    ids = [row["submission"] for row in bulk.rows if row.get("submission") is not None]
    outside = [row["outside"] for row in bulk.rows if row.get("submission") is None]
    out = set(excluded_submissions(bulk.study))
    paid_by_row: dict[tuple[str, int], _Paid] = {}
    pays = paying()
    already_asked: set[int] = set()
    # In parts, because databases limit the number of values in one query.
    for part in (ids[start : start + AT_ONCE] for start in range(0, len(ids), AT_ONCE)):
        if bulk.action == "ask_back":
            reported_work = Submission.objects.filter(pk__in=part, assignment__outside__isnull=False)
            submission_of = dict(reported_work.values_list("assignment__outside", "pk"))
            already_asked |= {submission_of[pk] for pk in _asked_back(list(submission_of))}
        rows = (
            with_pay_state(bulk.study)
            .filter(pk__in=part)
            .values_list(
                "pk",
                "pay",
                "participant__worker",
                "assignment__hit__reward",
                "assignment__posting__platform",
                "assignment__posting__wanted",
                "participant__synthetic",
            )
        )
        for pk, state, worker, reward, platform, n_wanted, synthetic in rows:
            shown = "simulated" if synthetic else state
            paying_platform = platform if platform in pays else ""
            paid_by_row["submission", pk] = _Paid(
                shown, worker, reward, paying_platform, n_wanted or 1, pk in out, pk in already_asked
            )
    states = {"submitted": "to_approve", "approved": "paid", "rejected": "rejected"}
    for reported in OutsideAssignment.objects.filter(pk__in=among(outside)).select_related("posting__hit"):
        state = states.get(reported.state, "returned")
        paid_by_row["outside", reported.pk] = _Paid(
            state, None, reported.posting.pays, reported.posting.platform, reported.posting.wanted or 1, False
        )
    return paid_by_row


def latest_actions(study_id: int, most: int = 5) -> list[BulkAction]:
    """The study's latest confirmed actions, without their rows."""
    actions = BulkAction.objects.filter(~Q(state=BulkAction.State.SHOWN), study=study_id).order_by("-pk")
    return list(actions.defer("rows", "refused")[:most])


def flags_of(bulk: BulkAction) -> str:
    """A reason to suggest for excluding submissions or workers: the flags of the submissions, with numbers."""
    if bulk.action == "exclude":
        flags = Flag.objects.filter(submission__in=among(row["submission"] for row in bulk.rows))
    elif bulk.action == "exclude_workers":
        flags = Flag.objects.filter(submission__participant__in=among(row["participant"] for row in bulk.rows))
    else:
        return ""
    return in_reasons(flags)


def in_reasons(flags: QuerySet[Flag]) -> str:
    """``Flagged: too fast (220), same text (3).``; empty if there are no flags."""
    reasons = (
        flags.order_by().values_list("reason").annotate(n=Count("submission", distinct=True)).order_by("-n", "reason")
    )
    named = ", ".join(f"{reason.replace('_', ' ')} ({n:,})" for reason, n in reasons[:8])
    return f"Flagged: {named}." if named else ""
