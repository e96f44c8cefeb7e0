"""What time alone brings about: work is abandoned, HITs expire, submitted work is approved, old HITs are disposed of.

It happens when the periodic task comes by, or before a HIT is read or changed, whichever is first; either way with the
times at which it was due, so that nobody can tell which it was.
"""

from __future__ import annotations

import logging
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import Max, Min, QuerySet

from marketplace import clock
from marketplace.models import Assignment, Hit, HITType, Requester
from marketplace.money import ZERO, assignment_fee
from marketplace.services import builtin, payments
from marketplace.services.events import tell
from marketplace.services.payments import InsufficientFunds

logger = logging.getLogger(__name__)
State = Assignment.State
DISPOSED_AFTER = timedelta(days=120)
#: So many assignments of a HIT end or are paid in one transaction, while others wait for its lock (on SQLite, for any).
AT_ONCE = 100
#: What changes of a HIT after it was made.
CHANGING = (
    *("hit_type", "max_assignments", "expires_at", "expired", "state", "held_open", "due_at", "review_due_at"),
    *("n_pending", "n_available", "n_submitted", "n_completed"),
)


@dataclass(frozen=True, slots=True)
class Price:
    """What one assignment of a HIT costs."""

    reward: Decimal
    fee: Decimal

    @property
    def total(self) -> Decimal:
        return self.reward + self.fee


def price(hit: Hit) -> Price:
    """By the HIT's present type. Whether it has ten assignments or more never changes: extending may not cross it."""
    masters = builtin.asks_for_masters(hit.hit_type.requirements)
    reward = hit.hit_type.reward
    return Price(reward, assignment_fee(reward, max_assignments=hit.max_assignments, masters=masters))


def bring_up_to_date(
    *,
    hit: Hit | None = None,
    requester: Requester | None = None,
    now: datetime | None = None,
    keep_going: bool = False,
) -> int:
    """Do what is due, to one HIT, to a requester's, or to all; how many HITs were looked at.

    Each HIT is done, and committed, by itself and in portions, so this is no part of another transaction. With
    ``keep_going`` a HIT that fails is put into the log, and the others are done.
    """
    now = now or clock.now()
    due = Hit.objects.filter(due_at__lte=now)
    if hit is not None:
        due = due.filter(pk=hit.pk)
    if requester is not None:
        due = due.filter(requester=requester)
    return _do(due, now, keep_going=keep_going)


def give_places_back(*, hit_type: HITType | None = None, now: datetime) -> int:
    """Before HITs are offered: end work on them that ran out of time. What else is due does not change the offer."""
    due = Hit.objects.filter(due_at__lte=now, expires_at__gt=now, n_pending__gt=0)
    return _do(due if hit_type is None else due.filter(hit_type=hit_type), now)


def _do(due: QuerySet[Hit], now: datetime, *, keep_going: bool = False) -> int:
    found = list(due.order_by("due_at", "pk").values_list("pk", flat=True))
    for pk in found:
        try:
            while _a_portion_was_due(pk, now):
                pass
        except Exception:
            if not keep_going:
                raise
            logger.exception("The HIT with the key %s could not be brought up to date.", pk)
    return len(found)


def _a_portion_was_due(pk: int, now: datetime) -> bool:
    """Some of what is due to the HIT, and no more than others can wait for."""
    with transaction.atomic():
        hit = _locked(pk)
        if not _is_due(hit, now):
            return False
        _catch_up(hit, _horizon(hit, now))
    return True


def lock_hit(*, pk: int, now: datetime) -> Hit:
    """The HIT under a lock, with everything done that was due. Inside the caller's transaction."""
    hit = _locked(pk)
    if _is_due(hit, now):
        _catch_up(hit, now)
    return hit


def make_ready(hit: Hit, now: datetime) -> None:
    """Before a transaction that locks this HIT: if there is much to be done first, others need not wait for all of it.

    It goes by what the caller has read, which may be old: `lock_hit` does what is left.
    """
    if _is_due(hit, now):
        bring_up_to_date(hit=hit, now=now)


def _locked(pk: int) -> Hit:
    locked = Hit.objects.select_for_update(of=("self",), no_key=True)
    return locked.select_related("hit_type", "requester").defer("question").get(pk=pk)


def _is_due(hit: Hit, now: datetime) -> bool:
    return hit.due_at is not None and hit.due_at <= now


def _horizon(hit: Hit, now: datetime) -> datetime:
    """How far one transaction goes."""
    queues = (_undecided(hit, now).values_list("auto_approve_at"), _late(hit, now).values_list("deadline"))
    ends = [moment for queue in queues for (moment,) in queue[AT_ONCE - 1 : AT_ONCE] if moment]
    return min([now, *ends])


def _catch_up(hit: Hit, now: datetime) -> None:
    """All that was due by now, in the order of time and each at its time, as if it had been done one by one."""
    submitted = hit.assignments.filter(state=State.SUBMITTED)
    paid = submitted if hit.hit_review_policy else submitted.filter(auto_approve_at__lte=now)  # a review may pay any
    payments.lock_to_pay(requester_id=hit.requester_id, workers=paid.values_list("worker__pk", flat=True))
    while _is_due(hit, now):
        # Approvals change neither places nor what is held for them: all until the next change are one step.
        change = _next_change(hit)
        moment = now if change is None else min(change, now)
        for assignment in _undecided(hit, moment):
            pay_and_approve(hit, assignment, at=assignment.auto_approve_at or moment, held=True)
        settle(hit, now=moment, freed=_abandon(hit, moment), may_refuse=False)
        if hit.review_due_at is not None and hit.review_due_at <= moment:
            from marketplace.services import reviews  # which acts by what is here

            reviews.review_hit(hit, now=moment)
        disposal = _disposal(hit)
        if disposal is not None and disposal <= moment:
            dispose(hit, now=disposal)


def _undecided(hit: Hit, now: datetime) -> QuerySet[Assignment]:
    """Work that counts as approved by now, in its order."""
    found = hit.assignments.filter(state=State.SUBMITTED, auto_approve_at__lte=now)
    return found.order_by("auto_approve_at", "pk")


def _late(hit: Hit, now: datetime) -> QuerySet[Assignment]:
    """Work that has run out of time by now, in its order."""
    return hit.assignments.filter(state=State.ACCEPTED, deadline__lte=now).order_by("deadline", "pk")


def _abandon(hit: Hit, now: datetime) -> Decimal:
    """End what ran out of time; what it held."""
    late = _late(hit, now) if hit.n_pending else ()
    return sum((end(hit, assignment, State.ABANDONED, at=assignment.deadline) for assignment in late), ZERO)


def end(hit: Hit, assignment: Assignment, state: State, *, at: datetime) -> Decimal:
    """Take an accepted assignment back; what it held. The caller settles the HIT."""
    assignment.state = state
    assignment.ended_at = at
    assignment.save(update_fields=["state", "ended_at"])
    hit.n_pending -= 1
    hit.n_available += 1
    tell(event=f"Assignment{state.value}", hit=hit, assignment=assignment, now=at)
    return assignment.reward + assignment.fee


def pay_and_approve(hit: Hit, assignment: Assignment, *, at: datetime, held: bool) -> None:
    """Approve and pay, once: the ledger takes the reward of an assignment only once. The caller settles the HIT."""
    payments.pay_reward(assignment=assignment, requester_id=hit.requester_id, held=held, now=at)
    if assignment.state == State.SUBMITTED:
        hit.n_submitted -= 1
        hit.n_completed += 1
    assignment.state = State.APPROVED
    assignment.approved_at = at
    assignment.save(update_fields=["state", "approved_at", "requester_feedback"])
    tell(event="AssignmentApproved", hit=hit, assignment=assignment, now=at)


def refuse_work(hit: Hit, assignment: Assignment, *, feedback: str, at: datetime) -> Decimal:
    """Reject work that was handed in; what it held. The caller settles the HIT."""
    assignment.state = State.REJECTED
    assignment.rejected_at = at
    assignment.requester_feedback = feedback
    assignment.save(update_fields=["state", "rejected_at", "requester_feedback"])
    hit.n_submitted -= 1
    hit.n_completed += 1
    tell(event="AssignmentRejected", hit=hit, assignment=assignment, now=at)
    return assignment.reward + assignment.fee


def dispose(hit: Hit, *, now: datetime) -> None:
    """The end of a HIT; the caller has checked that it may end."""
    hit.state = Hit.State.DISPOSED
    settle(hit, now=now)
    tell(event="HITDisposed", hit=hit, now=now)


def settle(hit: Hit, *, now: datetime, freed: Decimal = ZERO, may_refuse: bool = True) -> None:
    """After its counters or its expiry changed: the HIT's state, what it holds, when it is due again; all saved.

    ``freed`` is what assignments no longer hold (negative: what they hold now). Raises InsufficientFunds, unless the
    requester did not ask for this: then the HIT expires instead.
    """
    try:
        _hold(hit, now, freed)
    except InsufficientFunds:
        if may_refuse:
            raise
        hit.expires_at = now
        _hold(hit, now, freed)
    before, was_expired = hit.state, hit.expired
    hit.expired = hit.expires_at <= now
    hit.state = _next_state(hit)
    reviewable = hit.state == Hit.State.REVIEWABLE and before in (Hit.State.ASSIGNABLE, Hit.State.UNASSIGNABLE)
    if hit.state not in (Hit.State.REVIEWABLE, Hit.State.REVIEWING):
        hit.review_due_at = None
    elif reviewable and hit.hit_review_policy:
        hit.review_due_at = now
    hit.due_at = _due_at(hit)
    hit.save(update_fields=CHANGING if hit.pk else None)
    if hit.expired and not was_expired and before != Hit.State.DISPOSED:
        tell(event="HITExpired", hit=hit, now=min(hit.expires_at, now))
    if reviewable:
        tell(event="HITReviewable", hit=hit, now=now)


def _hold(hit: Hit, now: datetime, freed: Decimal) -> None:
    open_ = hit.expires_at > now and hit.state != Hit.State.DISPOSED
    wanted = price(hit).total * hit.n_available if open_ else ZERO
    payments.hold(requester_id=hit.requester_id, amount=wanted - hit.held_open - freed, about=hit.hit_id, now=now)
    hit.held_open = wanted


def _next_state(hit: Hit) -> str:
    if hit.state == Hit.State.DISPOSED:
        return hit.state
    if hit.n_available and not hit.expired:
        return Hit.State.ASSIGNABLE
    if hit.n_pending:
        return Hit.State.UNASSIGNABLE
    return hit.state if hit.state == Hit.State.REVIEWING else Hit.State.REVIEWABLE


def _due_at(hit: Hit) -> datetime | None:
    moments = [_next_change(hit)]
    if hit.n_submitted and hit.state != Hit.State.DISPOSED:
        undecided = hit.assignments.filter(state=State.SUBMITTED)
        moments.append(undecided.aggregate(first=Min("auto_approve_at"))["first"])
    return min((moment for moment in moments if moment), default=None)


def _next_change(hit: Hit) -> datetime | None:
    """When places or the HIT's state change by themselves next, leaving approvals aside."""
    if hit.state == Hit.State.DISPOSED:
        return None
    moments = [None if hit.expired else hit.expires_at, hit.review_due_at, _disposal(hit)]
    if hit.n_pending:
        running = hit.assignments.filter(state=State.ACCEPTED)
        moments.append(running.aggregate(first=Min("deadline"))["first"])
    return min((moment for moment in moments if moment), default=None)


def _disposal(hit: Hit) -> datetime | None:
    """When the HIT goes by itself: long after it expired and the last work on it came in, once all is decided."""
    if hit.state == Hit.State.DISPOSED or hit.n_pending or hit.n_submitted or not hit.expired:
        return None
    last = hit.assignments.aggregate(last=Max("submitted_at"))["last"]
    return max(hit.expires_at, last or hit.expires_at) + DISPOSED_AFTER
