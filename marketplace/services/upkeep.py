"""What time alone brings about: work is abandoned, HITs expire, submitted work is approved, old HITs are disposed of.

It happens when the periodic task comes by, or before a HIT is read or changed, whichever is first; either way with the
times at which it was due, so that nobody can tell which it was.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.db import transaction
from django.db.models import Max, Min

from marketplace import clock
from marketplace.models import Assignment, Hit, Requester
from marketplace.money import ZERO, assignment_fee
from marketplace.services import builtin, payments
from marketplace.services.events import tell
from marketplace.services.payments import InsufficientFunds

State = Assignment.State
DISPOSED_AFTER = timedelta(days=120)


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


def bring_up_to_date(*, hit: Hit | None = None, requester: Requester | None = None, now: datetime | None = None) -> int:
    """Do what is due, to one HIT, to a requester's, or to all; how many HITs were looked at."""
    now = now or clock.now()
    due = Hit.objects.filter(due_at__lte=now)
    if hit is not None:
        due = due.filter(pk=hit.pk)
    if requester is not None:
        due = due.filter(requester=requester)
    found = list(due.order_by("pk").values_list("pk", flat=True))
    for pk in found:
        with transaction.atomic():
            lock_hit(pk=pk, now=now)
    return len(found)


def lock_hit(*, pk: int, now: datetime) -> Hit:
    """The HIT under a lock, with everything done that was due. Inside the caller's transaction."""
    locked = Hit.objects.select_for_update(of=("self",), no_key=True)
    hit = locked.select_related("hit_type").defer("question").get(pk=pk)
    if hit.due_at is not None and hit.due_at <= now:
        _catch_up(hit, now)
    return hit


def _catch_up(hit: Hit, now: datetime) -> None:
    freed = _abandon(hit, now)
    for assignment in hit.assignments.filter(state=State.SUBMITTED, auto_approve_at__lte=now).order_by("pk"):
        pay_and_approve(hit, assignment, at=assignment.auto_approve_at or now, held=True)
    settle(hit, now=now, freed=freed, may_refuse=False)
    disposal = _disposal(hit)
    if disposal is not None and disposal <= now:
        dispose(hit, now=disposal)


def _abandon(hit: Hit, now: datetime) -> Decimal:
    """End what ran out of time; what it held."""
    freed = ZERO
    for assignment in hit.assignments.filter(state=State.ACCEPTED, deadline__lte=now).order_by("pk"):
        freed += end(hit, assignment, State.ABANDONED, at=assignment.deadline)
    return freed


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
    hit.due_at = _due_at(hit)
    hit.save()
    if hit.expired and not was_expired and before != Hit.State.DISPOSED:
        tell(event="HITExpired", hit=hit, now=min(hit.expires_at, now))
    if hit.state == Hit.State.REVIEWABLE and before in (Hit.State.ASSIGNABLE, Hit.State.UNASSIGNABLE):
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
    if hit.state == Hit.State.DISPOSED:
        return None
    moments = [None if hit.expired else hit.expires_at, _disposal(hit)]
    if hit.n_pending:
        running = hit.assignments.filter(state=State.ACCEPTED)
        moments.append(running.aggregate(first=Min("deadline"))["first"])
    if hit.n_submitted:
        undecided = hit.assignments.filter(state=State.SUBMITTED)
        moments.append(undecided.aggregate(first=Min("auto_approve_at"))["first"])
    return min((moment for moment in moments if moment), default=None)


def _disposal(hit: Hit) -> datetime | None:
    """When the HIT goes by itself: long after it expired and the last work on it came in, once all is decided."""
    if hit.state == Hit.State.DISPOSED or hit.n_pending or hit.n_submitted or not hit.expired:
        return None
    last = hit.assignments.aggregate(last=Max("submitted_at"))["last"]
    return max(hit.expires_at, last or hit.expires_at) + DISPOSED_AFTER
