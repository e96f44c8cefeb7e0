"""Decisions that go to the platform: approve sent work (which pays), reject it, undo that, pay a bonus, stop offering.

Whether a submission counts in the analysis is decided elsewhere: see ``services.reviews``. Nothing here happens
automatically or twice: each decision is a call in ``platform_calls``, and a reward is paid once per submission.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Exists, OuterRef, QuerySet
from django.utils import timezone

from annotation.models import Assignment, OutsideAssignment, Payment, PlatformCall, Posting, Study, Submission
from annotation.platforms.base import Call, Json, Platform, PlatformTrouble
from annotation.platforms.changing import changes_of
from annotation.platforms.costs import CENT
from annotation.queries.left_out import excluded_submissions
from annotation.queries.platforms import submission_of
from annotation.services.audit import record
from annotation.services.payments import record_extra, record_reward
from annotation.services.platform_calls import make_all
from common.problems import invalid
from common.words import money

OutsideState = OutsideAssignment.State


@dataclass(slots=True)
class Decided:
    """How many decisions the platform accepted, what they cost in rewards (USD), and what it refused, in words."""

    count: int = 0
    total: Decimal = Decimal(0)
    refused: list[str] | None = None


def to_approve(study: Study) -> QuerySet[OutsideAssignment]:
    """Sent work that waits for a decision, that the platform confirms, and that is not excluded. One query."""
    arrived = Submission.objects.filter(
        study=study,
        assignment__posting=OuterRef("posting"),
        assignment__platform_assignment_id=OuterRef("external_id"),
        participant__worker__platform_id=OuterRef("worker_id"),
    ).exclude(pk__in=excluded_submissions(study))
    waiting = OutsideAssignment.objects.filter(posting__study=study, state=OutsideState.SUBMITTED)
    return waiting.filter(Exists(arrived)).order_by("pk")


def approve_all(
    *,
    outside: Iterable[OutsideAssignment],
    platform: Platform,
    actor: str,
    step: Callable[[int], None] = lambda done: None,
) -> Decided:
    """Approve each of them. If the platform refuses one, continue with the rest."""
    done = Decided(refused=[])
    assert done.refused is not None  # noqa: S101 - just made
    for each in outside:
        try:
            done.total += approve(outside=each, platform=platform, actor=actor)
            done.count += 1
        except PlatformTrouble as trouble:
            if trouble.again:
                raise
            done.refused.append(f"{each.external_id}: {trouble.what}")
        step(done.count)
    return done


def approve(*, outside: OutsideAssignment, platform: Platform, actor: str, feedback: str = "") -> Decimal:
    """Approve sent work, which pays its reward. Returns the amount. This undoes a rejection, where the platform can.

    Raises PlatformTrouble.
    """
    reward = outside.posting.pays
    calls = platform.approve(outside, feedback=feedback, override=outside.state == OutsideState.REJECTED)
    _decide(calls, platform, outside, OutsideState.APPROVED, lambda: _pay(outside, reward, actor))
    return reward


def reject(*, outside: OutsideAssignment, platform: Platform, actor: str, feedback: str, category: str = "") -> None:
    """Refuse to pay sent work. The worker reads ``feedback``; some platforms need a ``category`` too.

    Raises Invalid, PlatformTrouble.
    """
    if not feedback.strip():
        raise invalid("feedback", "There is no reason.", "Write why, as the worker reads it.")
    study = outside.posting.study
    paid = Payment.objects.filter(platform=outside.posting.platform, kind=Payment.Kind.REWARD)
    if paid.filter(platform_id=outside.external_id).exists():
        raise invalid("state", "This work has been paid.", "It cannot be rejected any more.")
    calls = platform.reject(outside, feedback=feedback, category=category)
    about = {"assignment": outside.external_id, "reason": feedback} | ({"category": category} if category else {})
    _decide(
        calls,
        platform,
        outside,
        OutsideState.REJECTED,
        lambda: record(study=study, actor=actor, action="reject", **about),
    )


def ask_back(*, outside: OutsideAssignment, reason: str, platform: Platform, actor: str) -> None:
    """Ask the worker to return work that waits for a decision. They need not do it. Raises Invalid, PlatformTrouble."""
    if not reason.strip():
        raise invalid("reason", "There is no reason.", "Write why, as the worker reads it.")
    if outside.state != OutsideState.SUBMITTED:
        what = f"This work is {outside.get_state_display().lower()} on the platform."
        raise invalid("state", what, "Only work that waits for a decision can be returned.")
    study = outside.posting.study
    about = {"assignment": outside.external_id, "reason": reason.strip()}
    make_all(
        changes_of(platform).ask_back(outside, reason.strip()),
        platform,
        study=study,
        posting=outside.posting,
        done=lambda results: record(study=study, actor=actor, action="ask for return", **about),
    )


def _decide(
    calls: Sequence[Call], platform: Platform, outside: OutsideAssignment, state: str, then: Callable[[], object]
) -> None:
    """Make the calls. They also succeed if the platform already has this decision."""

    def done(results: object) -> None:
        OutsideAssignment.objects.filter(pk=outside.pk).update(state=state, seen_at=timezone.now())
        then()

    make_all(calls, platform, study=outside.posting.study, posting=outside.posting, done=done)
    outside.refresh_from_db()


def _pay(outside: OutsideAssignment, reward: Decimal, actor: str) -> None:
    """Record what the platform has paid, once per submission and assignment."""
    if reward:
        record_reward(outside=outside, actor=actor)
    record(
        study=outside.posting.study, actor=actor, action="approve", assignment=outside.external_id, amount=str(reward)
    )


def send_bonus(
    *, outside: OutsideAssignment, amount: Decimal, reason: str, platform: Platform, actor: str, key: str
) -> None:
    """Pay a bonus of ``amount`` USD. ``key`` tells bonuses for the same work apart. Raises Invalid, PlatformTrouble."""
    if amount <= 0 or amount != amount.quantize(CENT):
        raise invalid("amount", f"{money(amount)} cannot be paid.", "Write whole cents above zero, such as 0.50.")
    if not reason.strip():
        raise invalid("reason", "There is no reason.", "Write why, as the worker reads it.")
    study = outside.posting.study
    calls = platform.bonus(outside, amount=amount, reason=reason, key=key)

    def done(results: object) -> None:
        record_extra(
            study=study,
            kind=Payment.Kind.BONUS,
            key=f"bonus/{platform.name}/{outside.pk}/{key}",
            amount=amount,
            reason=reason,
            platform=platform.name,
            platform_id=outside.external_id,
            worker_id=outside.worker_id,
            submission=submission_of(outside),
            actor=actor,
        )
        about = {"assignment": outside.external_id, "amount": str(amount), "reason": reason}
        record(study=study, actor=actor, action="bonus", **about)

    make_all(calls, platform, study=study, posting=outside.posting, done=done)


def end_posting(*, posting: Posting, platform: Platform, actor: str) -> None:
    """Stop offering the posting. Work in progress can still be finished. Raises PlatformTrouble."""
    if posting.state in (Posting.State.OPEN, Posting.State.PAUSED):
        about = {"state": Posting.State.EXPIRED, "expires_at": timezone.now()}
        _change_offer(posting, platform.expire(posting), platform, about, f"end {platform.unit}", actor)


def pause_posting(*, posting: Posting, platform: Platform, actor: str) -> bool:
    """Stop offering the posting for now. False if the platform cannot do that, or it is not offered.

    Raises PlatformTrouble.
    """
    calls = platform.pause(posting, _times("pause", posting))
    if posting.state != Posting.State.OPEN or not calls:
        return False
    _change_offer(posting, calls, platform, {"state": Posting.State.PAUSED}, f"pause {platform.unit}", actor)
    return True


def resume_posting(*, posting: Posting, platform: Platform, actor: str) -> bool:
    """Offer a paused posting again. False if it was not paused. Raises PlatformTrouble."""
    if posting.state != Posting.State.PAUSED:
        return False
    calls = platform.resume(posting, _times("resume", posting))
    _change_offer(posting, calls, platform, {"state": Posting.State.OPEN}, f"resume {platform.unit}", actor)
    return True


def _times(verb: str, posting: Posting) -> int:
    """Which time this is, counted from 1, so that each time is a separate call."""
    before = PlatformCall.objects.filter(posting=posting, key__startswith=f"{verb}/", state=PlatformCall.State.DONE)
    return before.count() + 1


def _change_offer(
    posting: Posting, calls: Sequence[Call], platform: Platform, values: Json, action: str, actor: str
) -> None:
    def done(results: object) -> None:
        Posting.objects.filter(pk=posting.pk).update(**values)
        record(study=posting.study, actor=actor, action=action, posting=posting.external_id)

    make_all(calls, platform, study=posting.study, posting=posting, done=done)


def still_out(study: Study) -> int:
    """How many assignments of posted hits are in progress, according to this server's data."""
    return Assignment.objects.filter(hit__study=study, posting__isnull=False, state=Assignment.State.ACCEPTED).count()
