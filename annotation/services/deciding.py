"""Decisions that go to the platform: approve sent work (which pays), reject it, undo that, pay a bonus, stop offering.

Whether a submission counts in the analysis is decided elsewhere: see ``services.reviews``. Nothing here happens
automatically or twice: each decision is a call in ``platform_calls``, and a reward is paid once per submission.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from decimal import Decimal

from django.db.models import Exists, OuterRef, QuerySet, TextField, Value
from django.db.models.functions import Cast, Concat
from django.utils import timezone

from annotation.models import Assignment, OutsideAssignment, Payment, PlatformCall, Posting, Study, Submission
from annotation.platforms.base import Call, Json, Platform, PlatformTrouble
from annotation.platforms.changing import changes_of
from annotation.platforms.costs import CENT
from annotation.platforms.one_listing import ONE_LISTING
from annotation.queries.left_out import excluded_submissions
from annotation.queries.platforms import submission_of
from annotation.services.audit import record
from annotation.services.overturning import restore_places, surplus_postings
from annotation.services.payments import record_extra, record_reward
from annotation.services.platform_calls import make_all
from annotation.services.spending import spending, with_fee
from annotation.services.syncing import sync_postings
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
    """Approve each of them, with one call for many where the platform has one. If it refuses one, continue with the
    rest."""
    done = Decided(refused=[])
    assert done.refused is not None  # noqa: S101 - just made
    rows = list(outside)
    if platform.most_at_once and len(rows) > 1:
        study, rows = rows[0].posting.study, _approve_together(rows, platform, actor, done)
        differences = pay_differences(study=study, platform=platform, actor=actor)
        done.total += differences.total
        done.refused += differences.refused or []
        step(done.count)
    for each in rows:
        try:
            done.total += approve(outside=each, platform=platform, actor=actor)
            done.count += 1
        except PlatformTrouble as trouble:
            if trouble.again:
                raise
            done.refused.append(f"{each.external_id}: {trouble.what}")
        step(done.count)
    return done


def approve_in_pages(*, outside: Iterable[OutsideAssignment], platform: Platform, actor: str) -> set[int]:
    """Approve many with few calls, in pages of what the platform allows. Returns the ids of those that need no call of
    their own; a later sync records what the platform has not done yet. Raises PlatformTrouble."""
    rows = list(outside)
    if not platform.most_at_once or len(rows) < 2:
        return set()
    done = Decided(refused=[])
    rest = _approve_together(rows, platform, actor, done)
    pay_differences(study=rows[0].posting.study, platform=platform, actor=actor)
    return {each.pk for each in rows} - {each.pk for each in rest}


def _approve_together(
    rows: list[OutsideAssignment], platform: Platform, actor: str, done: Decided
) -> list[OutsideAssignment]:
    """Approve work that waits for a decision with few calls, then ask what the platform has done. Notes it in ``done``.

    Returns what is left to approve one by one: what was rejected before, and all if the platform refuses the call.
    """
    waiting = [each for each in rows if each.state == OutsideState.SUBMITTED]
    rest = [each for each in rows if each.state != OutsideState.SUBMITTED]
    study = rows[0].posting.study
    for at in range(0, len(waiting), platform.most_at_once):
        part = waiting[at : at + platform.most_at_once]
        try:
            make_all(platform.approve_many(part), platform, study=study, posting=None)
        except PlatformTrouble as trouble:
            if trouble.again:
                raise
            rest += part
            continue
        record(study=study, actor=actor, action="approve together", assignments=len(part))
        postings = list(Posting.objects.filter(pk__in={each.posting_id for each in part}).order_by("pk"))
        sync_postings(study=study, postings=postings, platform=platform)
        approved = OutsideAssignment.objects.filter(pk__in=[each.pk for each in part], state=OutsideState.APPROVED)
        paid = [each.posting.pays for each in approved.select_related("posting__hit")]
        done.count += len(paid)
        done.total += sum(paid, Decimal(0))
        done.waiting += len(part) - len(paid)
    return rest


def approve(*, outside: OutsideAssignment, platform: Platform, actor: str, feedback: str = "") -> Decimal:
    """Approve sent work, which pays its reward and, with one listing for all arms, the rest of what its arm pays.

    Returns the amount. This undoes a rejection, where the platform can. Raises PlatformTrouble.
    """
    reward = outside.posting.pays
    undone = outside.state == OutsideState.REJECTED
    calls = platform.approve(outside, feedback=feedback, override=undone)
    _decide(calls, platform, outside, OutsideState.APPROVED, lambda: _pay(outside, reward, actor))
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
    done = Decided(refused=[])
    assert done.refused is not None  # noqa: S101 - just made
    if not study.platforms.get(platform.name, {}).get(ONE_LISTING):
        return done
    for each in _lacking_differences(study, platform):
        try:
            amount = pay_difference(outside=each, platform=platform, actor=actor)
        except PlatformTrouble as trouble:
            if trouble.again:
                raise
            done.refused.append(f"{each.external_id}: {trouble.what}")
            continue
        done.count, done.total = done.count + bool(amount), done.total + amount
    return done


def _lacking_differences(study: Study, platform: Platform) -> QuerySet[OutsideAssignment]:
    """Approved work on hits that pay more than their listing, without the bonus for it."""
    worth_more = Submission.objects.filter(
        assignment__posting=OuterRef("posting"),
        assignment__platform_assignment_id=OuterRef("external_id"),
        participant__worker__platform_id=OuterRef("worker_id"),
        assignment__hit__reward__gt=OuterRef("posting__reward"),
    )
    key = Concat(
        Value(f"bonus/{platform.name}/"),
        Cast(OuterRef("pk"), TextField()),
        Value(f"/{DIFFERENCE}"),
        output_field=TextField(),
    )
    paid = Payment.objects.filter(study=study, key=key)
    approved = OutsideAssignment.objects.filter(
        Exists(worth_more), ~Exists(paid), posting__study=study, posting__platform=platform.name
    )
    rows = approved.filter(state=OutsideState.APPROVED)
    return rows.select_related("posting__study", "posting__hit").order_by("pk")


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
    about = {"assignment": outside.external_id, "reason": reason.strip()}
    make_all(
        changes_of(platform).ask_back(outside, reason.strip()),
        platform,
        study=study,
        posting=outside.posting,
        done=lambda results: record(study=study, actor=actor, action="ask for return", **about),
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

    # What an arm pays above the listing was set aside with the place.
    costs = {} if key == DIFFERENCE else {f"bonus/{platform.name}/{outside.pk}/{key}": with_fee(amount, platform)}
    with spending(study=study, platform=platform, costs=costs):
        make_all(calls, platform, study=study, posting=outside.posting, done=done, exact=True)


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
