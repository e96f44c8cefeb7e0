"""What happens to a HIT and the work on it: its state, its places, and the money held for them.

Nothing here reads the clock or takes a lock: callers hold the HIT's lock (``due_changes.lock_hit``) and pass the time.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db.models import Max, Min

from marketplace.models import Assignment, Hit
from marketplace.money import ZERO, assignment_fee
from marketplace.services.messages.notifications import note_event
from marketplace.services.money import payments
from marketplace.services.money.payments import InsufficientFunds
from marketplace.services.qualifications import builtin_types

State = Assignment.State
DISPOSED_AFTER = timedelta(days=120)
#: The fields of a HIT that can change.
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
    """The price by the HIT's current type. An extension never crosses ten assignments, where the fee changes."""
    masters = builtin_types.asks_for_masters(hit.hit_type.requirements)
    reward = hit.hit_type.reward
    return Price(reward, assignment_fee(reward, max_assignments=hit.max_assignments, masters=masters))


def end_work(hit: Hit, assignment: Assignment, state: State, *, ended_at: datetime) -> Decimal:
    """End an accepted assignment; returns the money it held. The caller settles the HIT."""
    assignment.state = state
    assignment.ended_at = ended_at
    assignment.save(update_fields=["state", "ended_at"])
    hit.n_pending -= 1
    hit.n_available += 1
    note_event(event=f"Assignment{state.value}", hit=hit, assignment=assignment, now=ended_at)
    return assignment.reward + assignment.fee


def pay_and_approve(hit: Hit, assignment: Assignment, *, approved_at: datetime, held: bool) -> None:
    """Approve and pay, once: the ledger refuses a second reward for an assignment. The caller settles the HIT."""
    payments.pay_reward(assignment=assignment, requester_id=hit.requester_id, held=held, now=approved_at)
    if assignment.state == State.SUBMITTED:
        hit.n_submitted -= 1
        hit.n_completed += 1
    assignment.state = State.APPROVED
    assignment.approved_at = approved_at
    assignment.save(update_fields=["state", "approved_at", "requester_feedback"])
    note_event(event="AssignmentApproved", hit=hit, assignment=assignment, now=approved_at)


def refuse_work(hit: Hit, assignment: Assignment, *, feedback: str, rejected_at: datetime) -> Decimal:
    """Reject submitted work; returns the money it held. The caller settles the HIT."""
    assignment.state = State.REJECTED
    assignment.rejected_at = rejected_at
    assignment.requester_feedback = feedback
    assignment.save(update_fields=["state", "rejected_at", "requester_feedback"])
    hit.n_submitted -= 1
    hit.n_completed += 1
    note_event(event="AssignmentRejected", hit=hit, assignment=assignment, now=rejected_at)
    return assignment.reward + assignment.fee


def dispose_of(hit: Hit, *, now: datetime) -> None:
    """Dispose of a HIT. The caller has checked that this is allowed."""
    hit.state = Hit.State.DISPOSED
    update_hit(hit, now=now)
    note_event(event="HITDisposed", hit=hit, now=now)


def update_hit(hit: Hit, *, now: datetime, freed: Decimal = ZERO, may_refuse: bool = True) -> None:
    """Save a HIT whose counters or expiry changed, with its new state, held money and due time.

    ``freed`` is money that assignments no longer hold (negative: money that they now hold). Raises InsufficientFunds.
    With ``may_refuse=False``, for changes that the requester did not ask for, the HIT expires instead.
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
    if hit.n_available and not hit.expired and before != Hit.State.DISPOSED:
        hit.state = Hit.State.ASSIGNABLE
    elif hit.n_pending and before != Hit.State.DISPOSED:
        hit.state = Hit.State.UNASSIGNABLE
    elif before not in (Hit.State.DISPOSED, Hit.State.REVIEWING):
        hit.state = Hit.State.REVIEWABLE
    reviewable = hit.state == Hit.State.REVIEWABLE and before in (Hit.State.ASSIGNABLE, Hit.State.UNASSIGNABLE)
    if hit.state not in (Hit.State.REVIEWABLE, Hit.State.REVIEWING):
        hit.review_due_at = None
    elif reviewable and hit.hit_review_policy:
        hit.review_due_at = now
    moments = [next_change(hit)]
    if hit.n_submitted and hit.state != Hit.State.DISPOSED:
        undecided = hit.assignments.filter(state=State.SUBMITTED)
        moments.append(undecided.aggregate(first=Min("auto_approve_at"))["first"])
    hit.due_at = min((moment for moment in moments if moment), default=None)
    hit.save(update_fields=CHANGING if hit.pk else None)
    if hit.expired and not was_expired and before != Hit.State.DISPOSED:
        note_event(event="HITExpired", hit=hit, now=min(hit.expires_at, now))
    if reviewable:
        note_event(event="HITReviewable", hit=hit, now=now)


def _hold(hit: Hit, now: datetime, freed: Decimal) -> None:
    open_ = hit.expires_at > now and hit.state != Hit.State.DISPOSED
    needed = price(hit).total * hit.n_available if open_ else ZERO
    payments.hold(requester_id=hit.requester_id, amount=needed - hit.held_open - freed, about=hit.hit_id, now=now)
    hit.held_open = needed


def next_change(hit: Hit) -> datetime | None:
    """When places or the HIT's state next change by themselves, apart from approvals."""
    if hit.state == Hit.State.DISPOSED:
        return None
    moments = [None if hit.expired else hit.expires_at, hit.review_due_at, disposal_time(hit)]
    if hit.n_pending:
        running = hit.assignments.filter(state=State.ACCEPTED)
        moments.append(running.aggregate(first=Min("deadline"))["first"])
    return min((moment for moment in moments if moment), default=None)


def disposal_time(hit: Hit) -> datetime | None:
    """When the HIT is disposed of by itself: long after its expiry and last submission, once all work is decided."""
    if hit.state == Hit.State.DISPOSED or hit.n_pending or hit.n_submitted or not hit.expired:
        return None
    last = hit.assignments.aggregate(last=Max("submitted_at"))["last"]
    return max(hit.expires_at, last or hit.expires_at) + DISPOSED_AFTER
