"""What people do on the operators' and requesters' pages, each with its row in the log."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db import transaction

from marketplace import clock
from marketplace.models import Assignment, Bonus, Hit, Requester, Worker
from marketplace.money import ZERO
from marketplace.services.accounts import worker_accounts
from marketplace.services.audit_log import record
from marketplace.services.hits import assignments, posting
from marketplace.services.hits.due_changes import AT_ONCE, bring_up_to_date
from marketplace.services.money import payments
from marketplace.services.refusals import AlreadyExists, Refusal

_ACTIONS = {"approve": "work approved", "reject": "work rejected", "override": "rejection taken back"}
#: The most assignments that one page approves.
MOST_AT_ONCE = 1000
SENT_BEFORE = "You have already sent this form. Nothing was done twice."


# --- Work ---------------------------------------------------------------------------------------------------


def review(*, assignment: Assignment, decision: str, feedback: str, actor: str) -> None:
    """A requester's decision on the page: approve, reject, or override (a rejection). Raises Refusal."""
    bring_up_to_date(requester=assignment.hit.requester, now=clock.now())  # first: it commits HIT by HIT
    with transaction.atomic():
        if decision == "reject":
            if not feedback:
                raise Refusal("Tell the worker why. A rejection costs them money and counts against them.")
            assignments.reject(assignment=assignment, feedback=feedback)
        elif decision in ("approve", "override"):
            assignments.approve(assignment=assignment, feedback=feedback, override=decision == "override")
        else:
            raise Refusal("Choose whether to approve or to reject.")
        _record_decision(assignment, decision, feedback, actor)


def _record_decision(assignment: Assignment, decision: str, feedback: str, actor: str) -> None:
    record(
        actor=actor,
        action=_ACTIONS[decision],
        about=assignment.assignment_id,
        requester=assignment.hit.requester,
        worker=assignment.worker,
        feedback=feedback,
    )


@dataclass(frozen=True, slots=True)
class Approved:
    """What `approve_all` approved. ``n_before`` assignments already had a decision and did not change."""

    n: int
    n_before: int
    rewards: Decimal


def approve_all(*, requester: Requester, assignment_ids: Collection[str], feedback: str, actor: str) -> Approved:
    """Approve this requester's submitted work among these assignments. Raises Refusal.

    Each HIT's work is approved and committed by itself, under the HIT's lock and in portions. If the server stops in
    between, the rest stays submitted, and sending the same list again approves only that.
    """
    bring_up_to_date(requester=requester, now=clock.now())
    chosen = Assignment.objects.filter(assignment_id__in=assignment_ids, hit__requester=requester)
    submitted = chosen.filter(state=Assignment.State.SUBMITTED).order_by("hit__pk", "pk")
    of_hits: dict[int, list[int]] = {}
    for hit_pk, pk in submitted.values_list("hit__pk", "pk"):
        of_hits.setdefault(hit_pk, []).append(pk)
    hits_by_pk = Hit.objects.defer("question").in_bulk(list(of_hits))
    n, rewards = 0, ZERO
    for hit_pk, pks in of_hits.items():
        for start in range(0, len(pks), AT_ONCE):
            portion = pks[start : start + AT_ONCE]
            with transaction.atomic():
                approved = assignments.approve_submitted(hit=hits_by_pk[hit_pk], assignments=portion, feedback=feedback)
                for assignment in approved:
                    _record_decision(assignment, "approve", feedback, actor)
            n, rewards = n + len(approved), rewards + sum((work.reward for work in approved), ZERO)
    return Approved(n, len(set(assignment_ids)) - n, rewards)


@transaction.atomic
def give_bonus(*, assignment: Assignment, amount: Decimal, reason: str, once: str, actor: str) -> Bonus:
    """Pay a bonus for submitted work. The same ``once`` of a form pays only once. Raises Refusal."""
    requester, worker = assignment.hit.requester, assignment.worker
    try:
        bonus = payments.send_bonus(
            requester=requester, worker=worker, assignment=assignment, amount=amount, reason=reason, token=once
        )
    except AlreadyExists:
        raise Refusal(SENT_BEFORE) from None
    assignment_id = assignment.assignment_id
    record(
        actor=actor,
        action="bonus paid",
        about=assignment_id,
        requester=requester,
        worker=worker,
        amount=amount,
        reason=reason,
    )
    return bonus


# --- HITs ---------------------------------------------------------------------------------------------------


def create_hit(
    *, requester: Requester, properties: posting.Properties, work: posting.Work, once: str, actor: str
) -> Hit:
    """Offer a HIT from the page. The same ``once`` of a form makes only one HIT. Raises Refusal."""
    bring_up_to_date(requester=requester, now=clock.now())
    with transaction.atomic():
        try:
            hit = posting.create_hit(requester=requester, hit_type=properties, work=work, token=once)
        except AlreadyExists:
            raise Refusal(SENT_BEFORE) from None
        record(
            actor=actor,
            action="HIT created",
            about=hit.hit_id,
            requester=requester,
            title=properties.title,
            reward=properties.reward,
            assignments=work.max_assignments,
        )
    return hit


def expire_hit(*, hit: Hit, actor: str) -> Hit:
    """End a HIT now: nobody else can accept it, and the money held for its open places is released. Raises Refusal."""
    return _set_end(hit, clock.now(), "HIT expired", actor)


def reopen_hit(*, hit: Hit, until: datetime, actor: str) -> Hit:
    """Offer a HIT until this time, which can be sooner or later than before. Raises Refusal."""
    return _set_end(hit, until, "HIT offered until", actor)


def _set_end(hit: Hit, expires_at: datetime, action: str, actor: str) -> Hit:
    bring_up_to_date(requester=hit.requester, now=clock.now())
    with transaction.atomic():
        changed = posting.set_expiration(hit=hit, expires_at=expires_at)
        record(actor=actor, action=action, about=hit.hit_id, requester=hit.requester, expires=changed.expires_at)
    return changed


# --- Workers ------------------------------------------------------------------------------------------------


@transaction.atomic
def block_worker(*, requester: Requester, worker: Worker, reason: str, actor: str) -> None:
    """Block the worker: they no longer see any of the requester's HITs."""
    worker_accounts.block(requester=requester, worker=worker, reason=reason)
    record(
        actor=actor, action="worker blocked", about=worker.worker_id, requester=requester, worker=worker, reason=reason
    )


@transaction.atomic
def unblock_worker(*, requester: Requester, worker: Worker, actor: str) -> bool:
    """Let the worker work for the requester again; returns whether they were blocked."""
    if not worker_accounts.unblock(requester=requester, worker=worker):
        return False
    record(actor=actor, action="worker unblocked", about=worker.worker_id, requester=requester, worker=worker)
    return True
