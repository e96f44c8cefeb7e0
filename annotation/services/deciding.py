"""Decisions that go to the platform: approve sent work (which pays), reject it, undo that, pay a bonus, end a HIT.

Whether a submission counts in the analysis is decided elsewhere: see ``services.reviews``. Nothing here happens
automatically or twice: each decision is a call in ``platform_calls``, and a reward is paid once per submission.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from django.db.models import QuerySet
from django.utils import timezone

from annotation.models import Assignment, OutsideAssignment, Payment, PlatformCall, Posting, Study, Submission
from annotation.platforms.costs import CENT
from annotation.platforms.mturk.api import Mturk, PlatformTrouble
from annotation.queries.left_out import excluded_submissions
from annotation.queries.platforms import submission_of
from annotation.services.audit import record
from annotation.services.platform_calls import intend, make
from common.problems import invalid
from common.words import money

OutsideState = OutsideAssignment.State
MOST_FEEDBACK = 1024


@dataclass(slots=True)
class Decided:
    """How many decisions the platform accepted, what they cost in rewards (USD), and what it refused, in words."""

    count: int = 0
    total: Decimal = Decimal(0)
    refused: list[str] | None = None


def to_approve(study: Study) -> QuerySet[OutsideAssignment]:
    """Sent work that waits for a decision, arrived here as the platform reports, and is not excluded."""
    waiting = OutsideAssignment.objects.filter(posting__study=study, state=OutsideState.SUBMITTED)
    return waiting.filter(pk__in=[each.pk for each in waiting if _may_be_approved(each)]).order_by("pk")


def _may_be_approved(outside: OutsideAssignment) -> bool:
    sent = submission_of(outside)
    return sent is not None and not excluded_submissions(sent.study).filter(submission=sent).exists()


def approve_all(
    *, outside: Iterable[OutsideAssignment], api: Mturk, actor: str, step: Callable[[int], None] = lambda done: None
) -> Decided:
    """Approve each. If the platform refuses one, the rest continue."""
    done = Decided(refused=[])
    assert done.refused is not None  # noqa: S101 - just made
    for each in outside:
        try:
            done.total += approve(outside=each, api=api, actor=actor)
            done.count += 1
        except PlatformTrouble as trouble:
            if trouble.again:
                raise
            done.refused.append(f"{each.external_id}: {trouble.what}")
        step(done.count)
    return done


def approve(*, outside: OutsideAssignment, api: Mturk, actor: str, feedback: str = "") -> Decimal:
    """Approve sent work, which pays its reward. Returns the amount. This undoes a rejection from the last 30 days.

    Raises PlatformTrouble.
    """
    study, sent = outside.posting.study, submission_of(outside)
    override = outside.state == OutsideState.REJECTED
    params: dict[str, Any] = {"AssignmentId": outside.external_id}
    params |= {"RequesterFeedback": feedback[:MOST_FEEDBACK]} if feedback else {}
    params |= {"OverrideRejection": True} if override else {}
    verb = "override" if override else "approve"
    call = intend(
        study=study,
        posting=outside.posting,
        key=f"{verb}/{outside.pk}",
        operation="approve_assignment",
        params=params,
    )
    reward = outside.posting.hit.reward if outside.posting.hit else Decimal(0)
    _decide(call, api, outside, OutsideState.APPROVED, partial(_pay, study, sent, outside, reward, actor))
    return reward


def reject(*, outside: OutsideAssignment, api: Mturk, actor: str, feedback: str) -> None:
    """Refuse to pay sent work. The worker reads ``feedback``. Raises Invalid, PlatformTrouble."""
    if not feedback.strip():
        raise invalid("feedback", "There is no reason.", "Write why, as the worker reads it.")
    if len(feedback) > MOST_FEEDBACK:
        what = f"The reason is {len(feedback):,} characters long."
        raise invalid("feedback", what, f"Shorten it to {MOST_FEEDBACK:,}.")
    study = outside.posting.study
    if Payment.objects.filter(platform_id=outside.external_id).exists():
        raise invalid("state", "This work has been paid.", "It cannot be rejected any more.")
    call = intend(
        study=study,
        posting=outside.posting,
        key=f"reject/{outside.pk}",
        operation="reject_assignment",
        params={"AssignmentId": outside.external_id, "RequesterFeedback": feedback},
    )
    _decide(
        call,
        api,
        outside,
        OutsideState.REJECTED,
        lambda: record(study=study, actor=actor, action="reject", assignment=outside.external_id, reason=feedback),
    )


def _decide(call: PlatformCall, api: Mturk, outside: OutsideAssignment, state: str, then: Callable[[], object]) -> None:
    """Make the call. It also succeeds if the platform already has this decision."""

    def done(result: dict[str, Any]) -> None:
        OutsideAssignment.objects.filter(pk=outside.pk).update(state=state, seen_at=timezone.now())
        then()

    def decided_before(api: Mturk, call: PlatformCall) -> dict[str, Any] | None:
        there = api.call("get_assignment", AssignmentId=outside.external_id)["Assignment"]
        same = there["WorkerId"] == outside.worker_id and there["AssignmentStatus"].lower() == state
        return {} if same else None

    make(call, api, search=decided_before, search_on=("InvalidAssignmentState",), done=done, with_token=False)
    outside.refresh_from_db()


def _pay(study: Study, sent: Submission | None, outside: OutsideAssignment, reward: Decimal, actor: str) -> None:
    """Record what the platform has paid, once per submission."""
    if sent is not None and reward and not Payment.objects.filter(submission=sent).exists():
        Payment.objects.create(
            study=study,
            submission=sent,
            amount=reward,
            platform=outside.posting.platform,
            platform_id=outside.external_id,
            actor=actor,
            created_at=timezone.now(),
        )
    record(study=study, actor=actor, action="approve", assignment=outside.external_id, amount=str(reward))


def send_bonus(*, outside: OutsideAssignment, amount: Decimal, reason: str, api: Mturk, actor: str, key: str) -> None:
    """Pay a bonus of ``amount`` USD. ``key`` tells bonuses for the same work apart. Raises Invalid, PlatformTrouble."""
    if amount <= 0 or amount != amount.quantize(CENT):
        raise invalid("amount", f"{money(amount)} cannot be paid.", "Write whole cents above zero, such as 0.50.")
    if not reason.strip():
        raise invalid("reason", "There is no reason.", "Write why, as the worker reads it.")
    study = outside.posting.study
    call = intend(
        study=study,
        posting=outside.posting,
        key=f"bonus/{outside.pk}/{key}",
        operation="send_bonus",
        params={
            "WorkerId": outside.worker_id,
            "AssignmentId": outside.external_id,
            "BonusAmount": str(amount),
            "Reason": reason,
        },
    )

    def done(result: dict[str, Any]) -> None:
        about = {"assignment": outside.external_id, "amount": str(amount), "reason": reason}
        record(study=study, actor=actor, action="bonus", **about)

    make(call, api, search=lambda api, call: {}, search_on=("AlreadyProcessed",), done=done)


def end_posting(*, posting: Posting, api: Mturk, actor: str) -> None:
    """Stop offering the posting. Work in progress may be finished. Raises PlatformTrouble."""
    if posting.state != Posting.State.OPEN:
        return
    call = intend(
        study=posting.study,
        posting=posting,
        key=f"expire/{posting.pk}",
        operation="update_expiration_for_hit",
        params={"HITId": posting.external_id, "ExpireAt": 0},
    )

    def done(result: dict[str, Any]) -> None:
        now = timezone.now()
        Posting.objects.filter(pk=posting.pk).update(state=Posting.State.EXPIRED, expires_at=now)
        record(study=posting.study, actor=actor, action="end HIT", hit=posting.external_id)

    make(call, api, done=done, with_token=False)


def still_out(study: Study) -> int:
    """How many assignments of posted hits are in progress, according to this server's data."""
    return Assignment.objects.filter(hit__study=study, posting__isnull=False, state=Assignment.State.ACCEPTED).count()
