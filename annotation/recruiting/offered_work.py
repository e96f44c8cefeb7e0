"""The state of a study's work on a platform: what is offered, in progress, sent, decided and lost, in a few queries."""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from annotation.models import Assignment, Hit, OutsideAssignment, Payment, PlatformCall, Posting, Study
from annotation.platforms import platform_class
from annotation.platforms.link import PLATFORM as LINK
from annotation.platforms.listings import shares_listing
from annotation.recruiting.matching import reported_with_same_id, submission_of
from annotation.work.hourly_pay import exact_sum

Outside = OutsideAssignment.State
Work = Assignment.State
State = Posting.State
#: States of work that was sent on the platform, decided or not. It has used a place there.
USED = (Outside.SUBMITTED, Outside.APPROVED, Outside.PARTIAL, Outside.REJECTED)
#: States of postings that the platform still has.
POSTED = (State.OPEN, State.PAUSED, State.EXPIRED)
#: How many objections a page lists.
MOST_OBJECTIONS = 40


def posted_on(study: Study) -> str:
    """The platform on which the study's hits are posted; empty if they are on none."""
    first = Posting.objects.filter(study=study).exclude(platform=LINK).order_by("pk").first()
    return first.platform if first is not None else ""


@dataclass(frozen=True, slots=True)
class OfferCounts:
    """Postings by state, places offered, and assignments by what became of them.

    ``out``: assignments in progress, by this server's data. ``here_only``: sent here and not (yet) reported by the
    platform. ``rewards``: paid through the platform, in USD. ``refused``: calls that the platform refused.
    """

    postings: Mapping[str, int]
    places: int
    out: int
    sent: Mapping[str, int]
    here_only: int
    unplaced: int
    rewards: Decimal
    first_end: datetime | None
    last_end: datetime | None
    synced_at: datetime | None
    refused: int

    @property
    def total(self) -> int:
        return sum(self.postings.values())

    @property
    def n_posted(self) -> int:
        return self.total - self.postings.get(State.PLANNED, 0)

    @property
    def open(self) -> int:
        return self.postings.get(State.OPEN, 0)

    @property
    def paused(self) -> int:
        return self.postings.get(State.PAUSED, 0)

    @property
    def undecided(self) -> int:
        return self.sent.get(Outside.SUBMITTED, 0)


def offer_counts(study: Study, platform: str) -> OfferCounts:
    """The counts of everything that the study has on one platform."""
    postings = Posting.objects.filter(study=study, platform=platform)
    by_state = dict(postings.order_by().values_list("state").annotate(n=Count("pk")))
    sums = postings.aggregate(
        places=Sum("wanted", filter=~Q(state=State.PLANNED)),
        first=Min("expires_at", filter=Q(state=State.OPEN)),
        last=Max("expires_at", filter=Q(state=State.OPEN)),
        synced=Max("synced_at"),
    )
    outside = OutsideAssignment.objects.filter(posting__study=study, posting__platform=platform)
    calls = PlatformCall.objects.filter(study=study, state=PlatformCall.State.REFUSED)
    payments = Payment.objects.filter(study=study, platform=platform)
    return OfferCounts(
        postings=by_state,
        places=sums["places"] or 0,
        out=in_progress(study, platform).count(),
        sent=dict(outside.order_by().values_list("state").annotate(n=Count("pk"))),
        here_only=_here_only(study, platform).count(),
        unplaced=unplaced(study, platform),
        rewards=exact_sum(payments.exclude(platform_id="").aggregate(usd=Sum("amount"))["usd"]),
        first_end=sums["first"],
        last_end=sums["last"],
        synced_at=sums["synced"],
        refused=calls.count(),
    )


def in_progress(study: Study, platform: str) -> QuerySet[Assignment]:
    """Assignments of posted hits that somebody is working on, according to this server."""
    return Assignment.objects.filter(posting__study=study, posting__platform=platform, state=Work.ACCEPTED)


def count_in_progress(study: Study) -> int:
    """How many assignments of posted hits are in progress, according to this server's data."""
    return Assignment.objects.filter(hit__study=study, posting__isnull=False, state=Assignment.State.ACCEPTED).count()


def _here_only(study: Study, platform: str) -> QuerySet[Assignment]:
    """Sent here and holding a place, while the platform reports no assignment of this id."""
    held = Assignment.objects.filter(posting__study=study, posting__platform=platform, state=Work.SUBMITTED)
    return held.filter(~Exists(reported_with_same_id()))


def open_calls(study: Study) -> QuerySet[PlatformCall]:
    """Calls that failed or were refused, newest first: what a person may have to fix."""
    return (
        PlatformCall.objects.filter(study=study)
        .exclude(state=PlatformCall.State.DONE)
        .exclude(error="")
        .order_by("-pk")
    )


def objections(study: Study) -> list[tuple[OutsideAssignment, int | None]]:
    """Rejections that workers object to and nobody has decided, newest first, each with its submission's number."""
    rejected = OutsideAssignment.objects.filter(posting__study=study, state=Outside.REJECTED).exclude(objection_url="")
    with_submission = [
        (outside, submission_of(outside)) for outside in rejected.order_by("-objected_at", "-pk")[:MOST_OBJECTIONS]
    ]
    return [(outside, submission.pk if submission else None) for outside, submission in with_submission]


# --- lost places ---


def lost(study: Study, platform: str) -> QuerySet[OutsideAssignment]:
    """Assignments that used a place on the platform and gave the study nothing.

    These are rejected ones, ones that were sent here and then released (excluded), and decided ones of which nothing
    arrived here from this worker. What is still undecided is not lost.
    """
    work = Assignment.objects.filter(outside=OuterRef("pk"))
    has_place, is_released = Exists(work.filter(state=Work.SUBMITTED)), Exists(work.filter(state=Work.RELEASED))
    reported = OutsideAssignment.objects.filter(posting__study=study, posting__platform=platform)
    return reported.filter(
        Q(state=Outside.REJECTED)
        | Q(is_released, state__in=[Outside.SUBMITTED, Outside.APPROVED, Outside.PARTIAL]) & ~Q(has_place)
        | Q(~Q(has_place), state__in=[Outside.APPROVED, Outside.PARTIAL])
    )


def missing_places(study: Study, platform: str) -> dict[int, int]:
    """How many places of each hit (by id) nobody can take any more on the platform. Hits that lack none are left out.

    A posting that is offered, or about to be, gives as many places as it wants, less those lost. An ended one gives
    only those that were used or are still in progress. Work that was sent here and never reported holds its place.

    In one listing of all arms, a posting's place is for any hit, so only the sum is exact: what one hit's posting has
    too many serves the others.
    """
    given_out: Counter[int] = Counter()
    postings = Posting.objects.filter(study=study, platform=platform, hit__isnull=False)
    offered = Q(state__in=[State.PLANNED, State.OPEN, State.PAUSED])
    for hit_id, places in postings.filter(offered).order_by().values_list("hit_id").annotate(n=Sum("wanted")):
        given_out[hit_id] += places or 0
    used = OutsideAssignment.objects.filter(posting__in=postings.exclude(offered), state__in=USED)
    given_out.update(_per_hit(used, "posting__hit_id"))
    given_out.update(
        _per_hit(in_progress(study, platform).exclude(posting__state__in=[State.OPEN, State.PAUSED]), "posting__hit_id")
    )
    given_out.update(_per_hit(_here_only(study, platform), "posting__hit_id"))
    given_out.subtract(_per_hit(lost(study, platform), "posting__hit_id"))
    hits = Hit.objects.filter(study=study, postings__platform=platform).distinct().order_by("position")
    wanted_places = dict(hits.values_list("pk", "wanted"))
    lacking = {pk: number - given_out[pk] for pk, number in wanted_places.items() if number > given_out[pk]}
    if not shares_listing(study, platform):
        return lacking
    n_left = max(0, sum(wanted_places.values()) - sum(given_out[pk] for pk in wanted_places))
    shared: dict[int, int] = {}
    for pk, places in lacking.items():
        shared[pk] = min(places, n_left)
        n_left -= shared[pk]
    return {pk: places for pk, places in shared.items() if places}


def shared_places(study: Study, platform: str) -> dict[int, int]:
    """For postings that offer all hits of a reward (by id): how many places each needs in total. Postings with enough
    places are left out.

    On a platform that confirms its workers, rejected and returned work frees its place. Work that is lost here in any
    other way needs one more place; work that was sent here and never reported has used one that was given out.
    """
    shared = Posting.objects.filter(study=study, platform=platform, reward__isnull=False, hit__isnull=True)
    if not shared.exists():
        return {}
    wanted_places = dict(study.hits.order_by().values_list("reward").annotate(n=Sum("wanted")))
    if shares_listing(study, platform):
        wanted_places = dict.fromkeys(shared.values_list("reward", flat=True), sum(wanted_places.values()))
    needed: Counter[int] = Counter()
    if platform_class(platform).confirms:
        needed.update(_per_hit(lost(study, platform).exclude(state=Outside.REJECTED), "posting"))
        needed.subtract(_per_hit(_here_only(study, platform), "posting"))
    offered = shared.filter(state__in=[State.OPEN, State.PAUSED]).order_by("pk")
    totals = {
        pk: (wanted_places.get(reward, 0) + needed[pk], current or 0)
        for pk, reward, current in offered.values_list("pk", "reward", "wanted")
    }
    return {pk: total for pk, (total, current) in totals.items() if total > current}


def unplaced(study: Study, platform: str) -> int:
    """How many places nobody can take any more, or that are wanted here but not yet offered on the platform."""
    shared = shared_places(study, platform)
    has = Posting.objects.filter(pk__in=shared).aggregate(n=Sum("wanted"))["n"] or 0
    behind = behind_wanted(study, platform).aggregate(n=Sum(F("wanted") - F("offered")))["n"] or 0
    return sum(missing_places(study, platform).values()) + sum(shared.values()) - has + behind


def behind_wanted(study: Study, platform: str) -> QuerySet[Posting]:
    """Offered postings that have fewer places on the platform than wanted, or about which a call is in progress.

    Nothing is added to a posting that has ended.
    """
    offered = Posting.objects.filter(study=study, platform=platform, state__in=[State.OPEN, State.PAUSED])
    lasts = Q(expires_at__isnull=True) | Q(expires_at__gt=timezone.now())
    return offered.filter(lasts, Q(wanted__gt=F("offered")) | Q(asked__isnull=False)).order_by("pk")


def _per_hit(rows: QuerySet, by: str) -> dict[int, int]:  # type: ignore[type-arg]  # of several models
    return dict(rows.order_by().values_list(by).annotate(n=Count("pk", distinct=True)))
