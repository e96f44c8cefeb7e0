"""What happens by time alone: work is abandoned, HITs expire, submitted work is approved, old HITs are disposed of.

It happens when the periodic task runs, or before a HIT is read or changed, whichever is first. Either way it is
recorded with the time when it was due, so nobody can see the difference.
"""

from __future__ import annotations

import logging
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from marketplace import clock
from marketplace.models import Assignment, Hit, HITType, Requester
from marketplace.money import ZERO
from marketplace.services.hits import policy_reviews
from marketplace.services.hits.state_changes import (
    disposal_time,
    dispose_of,
    end_work,
    next_change,
    pay_and_approve,
    update_hit,
)
from marketplace.services.money import payments

logger = logging.getLogger(__name__)
State = Assignment.State
#: How many assignments of a HIT end or are paid in one transaction, while others wait for its lock.
AT_ONCE = 100


def bring_up_to_date(
    *,
    hit: Hit | None = None,
    requester: Requester | None = None,
    now: datetime | None = None,
    keep_going: bool = False,
) -> int:
    """Do what is due for one HIT, a requester's HITs, or all. Returns how many HITs were checked.

    It commits each HIT separately and in portions, so do not call it inside a transaction. With ``keep_going``, it logs
    a HIT that fails and continues with the others.
    """
    now = now or clock.now()
    due = Hit.objects.filter(due_at__lte=now)
    if hit is not None:
        due = due.filter(pk=hit.pk)
    if requester is not None:
        due = due.filter(requester=requester)
    return _do(due, now, keep_going=keep_going)


def give_places_back(*, hit_type: HITType | None = None, now: datetime) -> int:
    """Call before HITs are offered: ends work that ran out of time. Nothing else that is due changes the offer."""
    due = Hit.objects.filter(due_at__lte=now, expires_at__gt=now, n_pending__gt=0)
    return _do(due if hit_type is None else due.filter(hit_type=hit_type), now)


def _do(due: QuerySet[Hit], now: datetime, *, keep_going: bool = False) -> int:
    hit_pks = list(due.order_by("due_at", "pk").values_list("pk", flat=True))
    for pk in hit_pks:
        try:
            while _a_portion_was_due(pk, now):
                pass
        except Exception:
            if not keep_going:
                raise
            logger.exception("The HIT with the primary key %s could not be brought up to date.", pk)
    return len(hit_pks)


def _a_portion_was_due(pk: int, now: datetime) -> bool:
    """Do part of what is due for the HIT, so that others wait only briefly. Returns whether anything was due."""
    with transaction.atomic():
        hit = _locked(pk)
        if not _is_due(hit, now):
            return False
        queues = (_undecided(hit, now).values_list("auto_approve_at"), _late(hit, now).values_list("deadline"))
        ends = [moment for queue in queues for (moment,) in queue[AT_ONCE - 1 : AT_ONCE] if moment]
        _catch_up(hit, min([now, *ends]))
    return True


def lock_hit(*, pk: int, now: datetime) -> Hit:
    """The HIT under a lock, after doing everything that was due. Call it in a transaction."""
    hit = _locked(pk)
    if _is_due(hit, now):
        _catch_up(hit, now)
    return hit


def make_ready(hit: Hit, now: datetime) -> None:
    """Call before a transaction that locks this HIT, so that others need not wait while much is due.

    It uses the caller's row, which may be out of date: `lock_hit` does the rest.
    """
    if _is_due(hit, now):
        bring_up_to_date(hit=hit, now=now)


def _locked(pk: int) -> Hit:
    locked = Hit.objects.select_for_update(of=("self",), no_key=True)
    return locked.select_related("hit_type", "requester").defer("question").get(pk=pk)


def _is_due(hit: Hit, now: datetime) -> bool:
    return hit.due_at is not None and hit.due_at <= now


def _catch_up(hit: Hit, now: datetime) -> None:
    """Do everything due by now, in order and each with its own time, as if it had been done one by one."""
    submitted = hit.assignments.filter(state=State.SUBMITTED)
    paid = submitted if hit.hit_review_policy else submitted.filter(auto_approve_at__lte=now)  # a review can pay anyone
    payments.lock_to_pay(requester_id=hit.requester_id, workers=paid.values_list("worker__pk", flat=True))
    while _is_due(hit, now):
        # Approvals change neither places nor the money held for them: all until the next change are one step.
        change = next_change(hit)
        moment = now if change is None else min(change, now)
        for assignment in _undecided(hit, moment):
            pay_and_approve(hit, assignment, approved_at=assignment.auto_approve_at or moment, held=True)
        late = _late(hit, moment) if hit.n_pending else ()
        freed = sum((end_work(hit, work, State.ABANDONED, ended_at=work.deadline) for work in late), ZERO)
        update_hit(hit, now=moment, freed=freed, may_refuse=False)
        if hit.review_due_at is not None and hit.review_due_at <= moment:
            policy_reviews.review_hit(hit, now=moment)
        disposal = disposal_time(hit)
        if disposal is not None and disposal <= moment:
            dispose_of(hit, now=disposal)


def _undecided(hit: Hit, now: datetime) -> QuerySet[Assignment]:
    """Work that counts as approved by now, in order."""
    undecided = hit.assignments.filter(state=State.SUBMITTED, auto_approve_at__lte=now)
    return undecided.order_by("auto_approve_at", "pk")


def _late(hit: Hit, now: datetime) -> QuerySet[Assignment]:
    """Work that has run out of time by now, in order."""
    return hit.assignments.filter(state=State.ACCEPTED, deadline__lte=now).order_by("deadline", "pk")
