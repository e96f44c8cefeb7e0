"""Offers places again that were lost on a platform, until every hit has all its submissions.

A place is lost when its work was rejected, was excluded with its place released, or was submitted on the platform and
never arrived here. The platform itself gives out returned and abandoned places again while a posting is offered. Sync
runs this. What was ended or ran out is not offered again automatically: a person decides that (``changing_offers``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.db.models import Exists, F, Max, Q, QuerySet
from django.utils import timezone

from annotation.audit import record
from annotation.deadlocks import again_after_deadlock
from annotation.many_ids import among
from annotation.models import Assignment, Hit, OutsideAssignment, Posting, Study
from annotation.platforms import changes_of
from annotation.platforms.base import Platform
from annotation.platforms.calls import Json
from annotation.platforms.changes import Changes
from annotation.platforms.costs import parts_of
from annotation.recruiting.changing_offers import end_posting
from annotation.recruiting.matching import reported_with_same_id
from annotation.recruiting.offered_work import behind_wanted, missing_places, shared_places
from annotation.recruiting.overturned_rejections import restore_places, surplus_postings
from annotation.recruiting.platform_calls import make_all
from annotation.recruiting.publishing import post_all
from annotation.recruiting.spending_guard import growth_cost, posting_costs, set_aside

State = Posting.State
Outside = OutsideAssignment.State
Work = Assignment.State
ACTOR = "sync"


@dataclass(slots=True)
class Replaced:
    """Places released here, places added to postings, postings planned for places that no posting can hold, and places
    that submissions got back because their rejection was undone."""

    released: int = 0
    added: int = 0
    planned: int = 0
    restored: int = 0


def replace_lost(
    *, study: Study, platform: Platform, actor: str = ACTOR, step: Callable[[int], None] = lambda count: None
) -> Replaced:
    """Release lost places here, then offer the same number again. Raises PlatformTrouble; running it again continues.

    Nothing is offered while the study is not live. Several processes may run it at once: each posting's total is
    decided in one place, here (`want_places`), and each step to it is one call, whoever makes it.
    """
    platform.fees()  # may ask the endpoint, so not in a transaction
    replaced = Replaced(released=release_lost(study=study, platform=platform.name, actor=actor))
    restored = restore_places(study=study, platform=platform.name, actor=actor)
    replaced.restored = len(restored)
    for posting in surplus_postings(restored, platform.name):
        end_posting(posting=posting, platform=platform, actor=actor)
    changes = changes_of(platform)
    if not want_places(study=study, changes=changes, actor=actor, done=replaced):
        return replaced
    for position, posting_id in enumerate(behind_wanted(study, platform.name).values_list("pk", flat=True), start=1):
        replaced.added += grow(posting_id=posting_id, changes=changes, actor=actor)
        step(position)
    if Posting.objects.filter(study=study, platform=platform.name, state=State.PLANNED, part__gt=0).exists():
        post_all(study=study, platform=platform)
    return replaced


@again_after_deadlock
@transaction.atomic
def release_lost(*, study: Study, platform: str, actor: str) -> int:
    """Free the places here of work that was rejected, or whose assignment belongs to another worker on the platform.

    Whether a released submission is analysed is decided elsewhere (``work.decisions``). Returns how many.
    """
    decided = reported_with_same_id().filter(state__in=[Outside.APPROVED, Outside.PARTIAL, Outside.REJECTED])
    elsewhere = Q(Exists(decided), outside=None)
    held: QuerySet[Assignment] = Assignment.objects.filter(
        posting__study=study, posting__platform=platform, state=Work.SUBMITTED
    )
    chosen = held.filter(Q(outside__state=Outside.REJECTED) | elsewhere).order_by("pk")
    rows = list(chosen.select_for_update(of=("self",), no_key=True).values_list("pk", "hit_id"))
    Assignment.objects.filter(pk__in=among(pk for pk, _ in rows)).update(state=Work.RELEASED)
    for hit_id, freed in sorted(Counter(hit_id for _, hit_id in rows).items()):
        Hit.objects.filter(pk=hit_id).update(n_live=F("n_live") - freed, n_submitted=F("n_submitted") - freed)
    for pk, _ in rows:
        record(study=study, actor=actor, action="release", assignment=pk, why="lost on the platform")
    return len(rows)


@again_after_deadlock
@transaction.atomic
def want_places(*, study: Study, changes: Changes, actor: str, done: Replaced) -> bool:
    """Decide how many places each posting should have, so that every hit gets what it wants. Makes no calls.

    The count and the decision are one transaction under the study's lock: the next process counts these places as
    given. Returns False, and decides nothing, if the study is not live. Raises Invalid if a budget does not allow it.
    """
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    if now.status != Study.Status.LIVE:
        return False
    platform = changes.platform.name
    for hit_id, places in missing_places(now, platform).items():
        of_hit = Posting.objects.filter(hit=hit_id, platform=platform, state=State.OPEN, expires_at__gt=timezone.now())
        postings = list(of_hit.order_by("part"))
        with_room = next(
            (posting for posting in postings if changes.may_hold(posting, (posting.wanted or 0) + places)), None
        )
        if with_room is not None:
            _want(with_room, (with_room.wanted or 0) + places, changes.platform)
        elif postings:
            done.planned += _plan_parts(now, hit_id, places, changes.platform, actor)
    for posting in Posting.objects.filter(pk__in=(totals := shared_places(now, platform))):
        if changes.grows and changes.may_hold(posting, totals[posting.pk]):
            _want(posting, totals[posting.pk], changes.platform)
    return True


def _want(posting: Posting, places: int, platform: Platform) -> None:
    set_aside(study=posting.study, platform=platform, costs=growth_cost(posting, places, platform))
    offered = posting.wanted if posting.offered is None else posting.offered
    Posting.objects.filter(pk=posting.pk).update(wanted=places, offered=offered)


def grow(*, posting_id: int, changes: Changes, actor: str) -> int:
    """Make the platform's number of places equal to the one wanted here. Raises PlatformTrouble.

    Returns how many places this process added. Two processes may do this at once: both make the same call, which takes
    effect once, and the next total is asked for only when it is done.
    """
    added = 0
    while (posting := _ask_for_places(posting_id)) is not None:
        done = partial(_note_grown, posting, actor)
        calls = changes.grow(posting, posting.asked or 0)
        make_all(calls, changes.platform, study=posting.study, posting=posting, done=done)
        if not Posting.objects.filter(pk=posting_id, offered__gte=posting.asked).exists():
            break  # somebody changed the posting by hand: the next sync counts again
        added += (posting.asked or 0) - (posting.offered or 0)
    return added


@transaction.atomic
def _ask_for_places(posting_id: int) -> Posting | None:
    """The posting with the total to ask for next in ``asked``; None if it has all its places or has ended."""
    posting = Posting.objects.select_for_update(of=("self",), no_key=True).select_related("study").get(pk=posting_id)
    ended = posting.expires_at is not None and posting.expires_at <= timezone.now()
    if posting.state not in (State.OPEN, State.PAUSED) or ended:
        return None
    if posting.asked is None:
        if posting.wanted is None or posting.offered is None or posting.wanted <= posting.offered:
            return None
        posting.asked = posting.wanted
        posting.save(update_fields=["asked"])
    return posting


def _note_grown(posting: Posting, actor: str, results: Sequence[Json]) -> None:
    Posting.objects.filter(pk=posting.pk, asked=posting.asked).update(offered=posting.asked, asked=None)
    detail = {"hit": posting.external_id, "old": posting.offered, "new": posting.asked}
    record(study=posting.study, actor=actor, action="add places", **detail)


def _plan_parts(study: Study, hit_id: int, places: int, platform: Platform, actor: str) -> int:
    """Plan further postings of the hit, of a size that costs the low fee. Returns how many."""
    hit = Hit.objects.select_for_update(no_key=True).get(pk=hit_id)
    of_hit = Posting.objects.filter(hit=hit, platform=platform.name)
    if of_hit.filter(state=State.PLANNED).exists():
        return 0
    last = of_hit.aggregate(last=Max("part"))["last"]
    first = 0 if last is None else last + 1
    offered = of_hit.order_by("part").first()
    pays = offered.pays if offered is not None else hit.reward  # in one listing of all arms, the lowest reward
    new = partial(Posting, study=study, hit=hit, platform=platform.name, state=State.PLANNED, reward=pays)
    new = partial(new, account=platform.account)
    sizes = parts_of(places, split=True)
    parts = Posting.objects.bulk_create([new(part=first + number, wanted=size) for number, size in enumerate(sizes)])
    set_aside(study=study, platform=platform, costs=posting_costs(study, platform, parts))
    record(study=study, actor=actor, action="plan postings", platform=platform.name, postings=len(sizes), places=places)
    return len(sizes)
