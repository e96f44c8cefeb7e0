"""What people do on the operators' and requesters' pages, each with its row in the log."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import QuerySet

from marketplace import access, clock
from marketplace.models import Assignment, Bonus, Hit, Requester, Worker
from marketplace.money import ZERO
from marketplace.services import assignments, hits, payments, qualifications
from marketplace.services.log import record
from marketplace.services.refusals import AlreadyExists, Refusal
from marketplace.services.upkeep import AT_ONCE, bring_up_to_date

_ACTIONS = {"approve": "work approved", "reject": "work rejected", "override": "rejection taken back"}
#: The most assignments that one page approves.
MOST_AT_ONCE = 1000
SENT_BEFORE = "You have already sent this form. Nothing was done twice."


@transaction.atomic
def make_operator(*, user: User, actor: str) -> None:
    """Let a user run the marketplace. Safe to repeat."""
    if not access.is_operator(user):
        access.add_operator(user)
        record(actor=actor, action="operator made", about=user.get_username())


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
    own = Assignment.objects.filter(assignment_id__in=assignment_ids, hit__requester=requester)
    n, rewards = 0, ZERO
    for hit, portion in _by_hit(own):
        for assignment in _approve_portion(hit, portion, feedback, actor):
            n, rewards = n + 1, rewards + assignment.reward
    return Approved(n, len(set(assignment_ids)) - n, rewards)


def _by_hit(own: QuerySet[Assignment, Assignment]) -> Iterator[tuple[Hit, tuple[int, ...]]]:
    of_hits: dict[int, list[int]] = {}
    for hit_pk, pk in (
        own.filter(state=Assignment.State.SUBMITTED).order_by("hit__pk", "pk").values_list("hit__pk", "pk")
    ):
        of_hits.setdefault(hit_pk, []).append(pk)
    found = Hit.objects.defer("question").in_bulk(list(of_hits))
    for hit_pk, keys in of_hits.items():
        for start in range(0, len(keys), AT_ONCE):
            yield found[hit_pk], tuple(keys[start : start + AT_ONCE])


@transaction.atomic
def _approve_portion(hit: Hit, keys: Collection[int], feedback: str, actor: str) -> list[Assignment]:
    done = assignments.approve_submitted(hit=hit, assignments=keys, feedback=feedback)
    for assignment in done:
        _record_decision(assignment, "approve", feedback, actor)
    return done


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
    about = assignment.assignment_id
    record(
        actor=actor, action="bonus paid", about=about, requester=requester, worker=worker, amount=amount, reason=reason
    )
    return bonus


# --- HITs ---------------------------------------------------------------------------------------------------


def create_hit(*, requester: Requester, properties: hits.Properties, work: hits.Work, once: str, actor: str) -> Hit:
    """Offer a HIT from the page. The same ``once`` of a form makes only one HIT. Raises Refusal."""
    bring_up_to_date(requester=requester, now=clock.now())
    with transaction.atomic():
        try:
            hit = hits.create_hit(requester=requester, hit_type=properties, work=work, token=once)
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
        changed = hits.set_expiration(hit=hit, expires_at=expires_at)
        record(actor=actor, action=action, about=hit.hit_id, requester=hit.requester, expires=changed.expires_at)
    return changed


# --- Workers ------------------------------------------------------------------------------------------------


@transaction.atomic
def block_worker(*, requester: Requester, worker: Worker, reason: str, actor: str) -> None:
    """Block the worker: they no longer see any of the requester's HITs."""
    qualifications.block(requester=requester, worker=worker, reason=reason)
    record(
        actor=actor, action="worker blocked", about=worker.worker_id, requester=requester, worker=worker, reason=reason
    )


@transaction.atomic
def unblock_worker(*, requester: Requester, worker: Worker, actor: str) -> bool:
    """Let the worker work for the requester again; returns whether they were blocked."""
    if not qualifications.unblock(requester=requester, worker=worker):
        return False
    record(actor=actor, action="worker unblocked", about=worker.worker_id, requester=requester, worker=worker)
    return True
