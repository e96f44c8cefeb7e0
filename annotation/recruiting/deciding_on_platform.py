"""Decisions that a platform carries out: approve sent work (which pays), reject it, undo that, pay a bonus, ask for a
return, block a worker.

Whether a submission counts in the analysis is decided elsewhere: see ``work.decisions``. Nothing here happens
automatically or twice: each decision is a call in ``platform_calls``, and a reward is paid once per submission.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Exists, OuterRef, QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from annotation.audit import record
from annotation.models import (
    OutsideAssignment,
    Participant,
    Payment,
    Posting,
    Study,
    Submission,
)
from annotation.platforms import changes_of
from annotation.platforms.base import Platform
from annotation.platforms.calls import Call, PlatformTrouble
from annotation.platforms.costs import CENT
from annotation.platforms.listings import ONE_LISTING
from annotation.recruiting.changing_offers import end_posting
from annotation.recruiting.matching import submission_of
from annotation.recruiting.overturned_rejections import restore_places, surplus_postings
from annotation.recruiting.pay_states import paying
from annotation.recruiting.platform_calls import make_all
from annotation.recruiting.recorded_payments import record_extra, record_reward
from annotation.recruiting.spending_guard import spending, with_fee
from annotation.recruiting.syncing import sync_postings
from annotation.task_types.questions import clean_text
from annotation.work.left_out import excluded_submissions
from common.problems import invalid
from common.words import money

OutsideState = OutsideAssignment.State
#: The key of the bonus for what a hit pays above the price of its listing, and the reason that its worker reads.
DIFFERENCE = "arm"
REST_OF_PAY = "The rest of the pay for your version of the task, as promised before you started."


@dataclass(slots=True)
class Decided:
    """How many decisions the platform accepted, what they cost in rewards (USD), and what it refused, in words."""

    count: int = 0
    total: Decimal = Decimal(0)
    refused: list[str] | None = None
    #: Asked for in one call, and not confirmed by the platform yet.
    waiting: int = 0


def to_approve(study: Study) -> QuerySet[OutsideAssignment]:
    """Sent work that waits for a decision, that the platform confirms, and that is not excluded. One query."""
    arrived = Submission.objects.filter(study=study, assignment__outside=OuterRef("pk"))
    arrived = arrived.exclude(pk__in=excluded_submissions(study))
    undecided = OutsideAssignment.objects.filter(posting__study=study, state=OutsideState.SUBMITTED)
    return undecided.filter(Exists(arrived)).order_by("pk")


def approve_all(
    *,
    outside: Iterable[OutsideAssignment],
    platform: Platform,
    actor: str,
    step: Callable[[int], None] = lambda count: None,
) -> Decided:
    """Approve each of them, with one call for many where the platform has one. If it refuses one, continue with the
    rest."""
    decided = Decided(refused=[])
    assert decided.refused is not None  # noqa: S101 - just made
    rows = list(outside)
    if platform.most_at_once and len(rows) > 1:
        study, rows = rows[0].posting.study, _approve_together(rows, platform, actor, decided)
        differences = pay_differences(study=study, platform=platform, actor=actor)
        decided.total += differences.total
        decided.refused += differences.refused or []
        step(decided.count)
    for row in rows:
        try:
            decided.total += approve(outside=row, platform=platform, actor=actor)
            decided.count += 1
        except PlatformTrouble as trouble:
            if trouble.again:
                raise
            decided.refused.append(f"{row.external_id}: {trouble.what}")
        step(decided.count)
    return decided


def approve_in_pages(*, outside: Iterable[OutsideAssignment], platform: Platform, actor: str) -> set[int]:
    """Approve many with few calls, in pages of what the platform allows. Returns the ids of those that need no call of
    their own; a later sync records what the platform has not done yet. Raises PlatformTrouble."""
    rows = list(outside)
    if not platform.most_at_once or len(rows) < 2:
        return set()
    decided = Decided(refused=[])
    one_by_one = _approve_together(rows, platform, actor, decided)
    pay_differences(study=rows[0].posting.study, platform=platform, actor=actor)
    return {row.pk for row in rows} - {row.pk for row in one_by_one}


def _approve_together(
    rows: list[OutsideAssignment], platform: Platform, actor: str, decided: Decided
) -> list[OutsideAssignment]:
    """Approve work that waits for a decision with few calls, then ask what the platform has done. Notes it in ``done``.

    Returns what is left to approve one by one: what was rejected before, and all if the platform refuses the call.
    """
    waiting = [row for row in rows if row.state == OutsideState.SUBMITTED]
    one_by_one = [row for row in rows if row.state != OutsideState.SUBMITTED]
    study = rows[0].posting.study
    for start in range(0, len(waiting), platform.most_at_once):
        page = waiting[start : start + platform.most_at_once]
        try:
            make_all(platform.approve_many(page), platform, study=study, posting=None)
        except PlatformTrouble as trouble:
            if trouble.again:
                raise
            one_by_one += page
            continue
        record(study=study, actor=actor, action="approve together", assignments=len(page))
        postings = list(Posting.objects.filter(pk__in={row.posting_id for row in page}).order_by("pk"))
        sync_postings(study=study, postings=postings, platform=platform)
        approved = OutsideAssignment.objects.filter(pk__in=[row.pk for row in page], state=OutsideState.APPROVED)
        paid = [row.posting.pays for row in approved.select_related("posting__hit")]
        decided.count += len(paid)
        decided.total += sum(paid, Decimal(0))
        decided.waiting += len(page) - len(paid)
    return one_by_one


def approve(*, outside: OutsideAssignment, platform: Platform, actor: str, feedback: str = "") -> Decimal:
    """Approve sent work, which pays its reward and, with one listing for all arms, the rest of what its arm pays.

    Returns the amount. This undoes a rejection, where the platform can. Raises PlatformTrouble.
    """
    study, reward = outside.posting.study, outside.posting.pays
    undone = outside.state == OutsideState.REJECTED

    def note() -> None:
        if reward:
            record_reward(outside=outside, actor=actor)
        record(study=study, actor=actor, action="approve", assignment=outside.external_id, amount=str(reward))

    calls = platform.approve(outside, feedback=feedback, override=undone)
    _decide(calls, platform, outside, OutsideState.APPROVED, note)
    if undone:
        restored = restore_places(study=outside.posting.study, platform=platform.name, actor=actor)
        for posting in surplus_postings(restored, platform.name):
            end_posting(posting=posting, platform=platform, actor=actor)
    return reward + pay_difference(outside=outside, platform=platform, actor=actor)


def pay_difference(*, outside: OutsideAssignment, platform: Platform, actor: str) -> Decimal:
    """Pay what the hit pays above the price of its listing as a bonus, once. Returns the amount, zero if there is none.

    Raises PlatformTrouble. The approval stands: `pay_differences` pays it later.
    """
    submission = submission_of(outside)
    if submission is None or not outside.posting.one_listing:
        return Decimal(0)
    amount = (submission.assignment.hit.reward - outside.posting.pays).quantize(CENT)
    paid = Payment.objects.filter(key=f"bonus/{platform.name}/{outside.pk}/{DIFFERENCE}")
    if amount <= 0 or paid.exists():
        return Decimal(0)
    send_bonus(outside=outside, amount=amount, reason=REST_OF_PAY, platform=platform, actor=actor, key=DIFFERENCE)
    return amount


def pay_differences(*, study: Study, platform: Platform, actor: str) -> Decided:
    """Pay the differences of all approved work that lack theirs: the platform approved it, or an earlier try failed."""
    decided = Decided(refused=[])
    assert decided.refused is not None  # noqa: S101 - just made
    if not study.platforms.get(platform.name, {}).get(ONE_LISTING):
        return decided
    # Approved work on hits that pay more than their listing, without the bonus for it.
    worth_more = Submission.objects.filter(
        assignment__outside=OuterRef("pk"), assignment__hit__reward__gt=OuterRef("posting__reward")
    )
    key = Concat(
        Value(f"bonus/{platform.name}/"),
        Cast(OuterRef("pk"), TextField()),
        Value(f"/{DIFFERENCE}"),
        output_field=TextField(),
    )
    has_bonus = Payment.objects.filter(study=study, key=key)
    approved = OutsideAssignment.objects.filter(
        Exists(worth_more),
        ~Exists(has_bonus),
        posting__study=study,
        posting__platform=platform.name,
        state=OutsideState.APPROVED,
    )
    for outside in approved.select_related("posting__study", "posting__hit").order_by("pk"):
        try:
            amount = pay_difference(outside=outside, platform=platform, actor=actor)
        except PlatformTrouble as trouble:
            if trouble.again:
                raise
            decided.refused.append(f"{outside.external_id}: {trouble.what}")
            continue
        decided.count, decided.total = decided.count + bool(amount), decided.total + amount
    return decided


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
    detail = {"assignment": outside.external_id, "reason": feedback} | ({"category": category} if category else {})
    _decide(
        calls,
        platform,
        outside,
        OutsideState.REJECTED,
        lambda: record(study=study, actor=actor, action="reject", **detail),
        exact=True,
    )


def ask_back(*, outside: OutsideAssignment, reason: str, platform: Platform, actor: str) -> None:
    """Ask the worker to return work that waits for a decision. They need not do it. Raises Invalid, PlatformTrouble."""
    if not reason.strip():
        raise invalid("reason", "There is no reason.", "Write why, as the worker reads it.")
    if outside.state != OutsideState.SUBMITTED:
        what = f"This work is {outside.get_state_display().lower()} on the platform."
        raise invalid("state", what, "Only work that waits for a decision can be returned.")
    study = outside.posting.study
    detail = {"assignment": outside.external_id, "reason": reason.strip()}
    make_all(
        changes_of(platform).ask_back(outside, reason.strip()),
        platform,
        study=study,
        posting=outside.posting,
        done=lambda results: record(study=study, actor=actor, action="ask for return", **detail),
        exact=True,
    )


def _decide(
    calls: Sequence[Call],
    platform: Platform,
    outside: OutsideAssignment,
    state: str,
    then: Callable[[], object],
    *,
    exact: bool = False,
) -> None:
    """Make the calls. They also succeed if the platform already has this decision. ``exact``: see `make_all`."""

    def done(results: object) -> None:
        OutsideAssignment.objects.filter(pk=outside.pk).update(state=state, seen_at=timezone.now())
        then()

    make_all(calls, platform, study=outside.posting.study, posting=outside.posting, done=done, exact=exact)
    outside.refresh_from_db()


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
        detail = {"assignment": outside.external_id, "amount": str(amount), "reason": reason}
        record(study=study, actor=actor, action="bonus", **detail)

    # What an arm pays above the listing was set aside with the place.
    costs = {} if key == DIFFERENCE else {f"bonus/{platform.name}/{outside.pk}/{key}": with_fee(amount, platform)}
    with spending(study=study, platform=platform, costs=costs):
        make_all(calls, platform, study=study, posting=outside.posting, done=done, exact=True)


def block_worker(
    *, participant: Participant, reason: str, actor: str, connect: Callable[[str, Study], Platform]
) -> None:
    """Block the worker on their platform from all work of this account. A link has nothing to block.

    To exclude them from the study, use ``work.decisions``. The worker may read ``reason``. Raises Invalid,
    PlatformTrouble.
    """
    reason = clean_text(reason).strip()
    if not reason:
        raise invalid("reason", "There is no reason.", "Write why, as the worker reads it.")
    worker, study = participant.worker, participant.study
    if worker.platform not in paying():
        return
    platform = connect(worker.platform, study)
    make_all(
        platform.block(worker.platform_id, reason=reason),
        platform,
        study=study,
        posting=None,
        done=lambda results: record(study=study, actor=actor, action="block worker", worker=participant.pseudonym),
    )
