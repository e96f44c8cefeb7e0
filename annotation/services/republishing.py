"""Offers places again that were lost on a platform, until every hit has all its submissions.

A place is lost when its work was rejected, was excluded with its place released, or was submitted on the platform and
never arrived here. The platform itself gives out returned and abandoned places again while a posting is offered. Sync
runs this. What was ended or ran out is not offered again automatically: a person decides that (``lifecycle``).
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial

from django.db import transaction
from django.db.models import Exists, F, Max, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.models import Assignment, Hit, OutsideAssignment, Posting, Study
from annotation.platforms.base import Json, Platform
from annotation.platforms.changes import Changes
from annotation.platforms.changing import changes_of
from annotation.platforms.costs import parts_of
from annotation.queries.platform_overview import missing_places, shared_places
from annotation.services.audit import record
from annotation.services.deadlocks import again_after_deadlock
from annotation.services.platform_calls import make_all
from annotation.services.publishing import post_all

State = Posting.State
Outside = OutsideAssignment.State
Work = Assignment.State
ACTOR = "sync"


@dataclass(slots=True)
class Replaced:
    """Places released here, places added to postings, and postings planned for places that no posting can hold."""

    released: int = 0
    added: int = 0
    planned: int = 0


def replace_lost(
    *, study: Study, platform: Platform, actor: str = ACTOR, step: Callable[[int], None] = lambda done: None
) -> Replaced:
    """Release lost places here, then offer the same number again. Raises PlatformTrouble; running it again continues.

    Nothing is offered while the study is not live.
    """
    done = Replaced(released=release_lost(study=study, platform=platform.name, actor=actor))
    study.refresh_from_db(fields=["status"])
    if study.status != Study.Status.LIVE:
        return done
    changes = changes_of(platform)
    for at, (hit_id, places) in enumerate(missing_places(study, platform.name).items(), start=1):
        _offer_again(study, hit_id, places, changes, actor, done)
        step(at)
    for posting_id, places in shared_places(study, platform.name).items():
        posting = Posting.objects.select_related("study").get(pk=posting_id)
        if changes.grows and changes.may_hold(posting, places):
            grow(posting=posting, places=places, changes=changes, actor=actor)
            done.added += places - (posting.wanted or 0)
    if Posting.objects.filter(study=study, platform=platform.name, state=State.PLANNED, part__gt=0).exists():
        post_all(study=study, platform=platform)
    return done


@again_after_deadlock
@transaction.atomic
def release_lost(*, study: Study, platform: str, actor: str) -> int:
    """Free the places here of work that was rejected, or whose assignment belongs to another worker on the platform.

    Whether a released submission is analysed is decided elsewhere (``services.reviews``). Returns how many.
    """
    reported = OutsideAssignment.objects.filter(
        posting=OuterRef("posting"), external_id=OuterRef("platform_assignment_id")
    )
    mine = Q(worker_id=OuterRef("participant__worker__platform_id"))
    rejected = Exists(reported.filter(mine, state=Outside.REJECTED))
    elsewhere = Exists(reported.filter(state__in=[Outside.APPROVED, Outside.REJECTED])) & ~Exists(reported.filter(mine))
    held: QuerySet[Assignment] = Assignment.objects.filter(
        posting__study=study, posting__platform=platform, state=Work.SUBMITTED
    )
    chosen = held.filter(rejected | elsewhere).order_by("pk")
    rows = list(chosen.select_for_update(of=("self",), no_key=True).values_list("pk", "hit_id"))
    Assignment.objects.filter(pk__in=[pk for pk, _ in rows]).update(state=Work.RELEASED)
    for hit_id, freed in sorted(Counter(hit_id for _, hit_id in rows).items()):
        Hit.objects.filter(pk=hit_id).update(n_live=F("n_live") - freed, n_submitted=F("n_submitted") - freed)
    for pk, _ in rows:
        record(study=study, actor=actor, action="release", assignment=pk, why="lost on the platform")
    return len(rows)


def _offer_again(study: Study, hit_id: int, places: int, changes: Changes, actor: str, done: Replaced) -> None:
    """Add the places to an offered posting of the hit that can hold them, else plan postings for them."""
    of_hit = Posting.objects.filter(hit=hit_id, platform=changes.platform.name).select_related("study", "hit")
    offered = of_hit.filter(state=State.OPEN, expires_at__gt=timezone.now()).order_by("part")
    if not offered.exists():
        return
    for posting in offered:
        total = (posting.wanted or 0) + places
        if changes.may_hold(posting, total):
            grow(posting=posting, places=total, changes=changes, actor=actor)
            done.added += places
            return
    done.planned += _plan_parts(study, hit_id, places, changes.platform.name, actor)


def grow(*, posting: Posting, places: int, changes: Changes, actor: str) -> None:
    """Raise the posting's number of places to ``places``. Raises PlatformTrouble."""

    def done(results: Sequence[Json]) -> None:
        Posting.objects.filter(pk=posting.pk, wanted__lt=places).update(wanted=places)
        about = {"hit": posting.external_id, "old": posting.wanted, "new": places}
        record(study=posting.study, actor=actor, action="add places", **about)

    make_all(changes.grow(posting, places), changes.platform, study=posting.study, posting=posting, done=done)


@transaction.atomic
def _plan_parts(study: Study, hit_id: int, places: int, platform: str, actor: str) -> int:
    """Plan further postings of the hit, of a size that costs the low fee. Returns how many."""
    hit = Hit.objects.select_for_update(no_key=True).get(pk=hit_id)
    of_hit = Posting.objects.filter(hit=hit, platform=platform)
    if of_hit.filter(state=State.PLANNED).exists():
        return 0
    last = of_hit.aggregate(last=Max("part"))["last"]
    first = 0 if last is None else last + 1
    new = partial(Posting, study=study, hit=hit, platform=platform, state=State.PLANNED, reward=hit.reward)
    sizes = parts_of(places, split=True)
    Posting.objects.bulk_create([new(part=first + at, wanted=wanted) for at, wanted in enumerate(sizes)])
    record(study=study, actor=actor, action="plan postings", platform=platform, postings=len(sizes), places=places)
    return len(sizes)
