"""The state of a study's work on a platform: what is offered, in progress, sent, decided and lost, in a few queries."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db.models import Count, Exists, F, Max, Min, OuterRef, Q, QuerySet, Sum
from django.utils import timezone

from annotation.models import Assignment, Compensation, Hit, OutsideAssignment, Payment, PlatformCall, Posting, Study
from annotation.platforms import known, platform_class
from annotation.platforms.link import PLATFORM as LINK
from annotation.platforms.parts import shares_listing
from annotation.queries.pay import exact_sum
from annotation.queries.platforms import submission_of

Outside = OutsideAssignment.State
Work = Assignment.State
State = Posting.State
#: States of work that was sent on the platform, decided or not. It has used a place there.
USED = (Outside.SUBMITTED, Outside.APPROVED, Outside.PARTIAL, Outside.REJECTED)
#: States of postings that the platform still has.
POSTED = (State.OPEN, State.PAUSED, State.EXPIRED)
#: How many objections a page lists.
MOST_OBJECTIONS = 40
#: Extra time before an assignment counts as ended on the platform. Longer than the extra time on the arrival page.
GRACE = timedelta(minutes=10)
#: How often a posting is polled when nothing is known to happen on it. Notifications and arrivals make it due at once.
QUIET = timedelta(hours=1)


def posted_on(study: Study) -> str:
    """The platform on which the study's hits are posted; empty if they are on none."""
    first = Posting.objects.filter(study=study).exclude(platform=LINK).order_by("pk").first()
    return first.platform if first is not None else ""


@dataclass(frozen=True, slots=True)
class Stand:
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


def stand(study: Study, platform: str) -> Stand:
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
    return Stand(
        postings=by_state,
        places=sums["places"] or 0,
        out=in_progress(study, platform).count(),
        sent=dict(outside.order_by().values_list("state").annotate(n=Count("pk"))),
        here_only=_here_only(study, platform).count(),
        unplaced=unplaced(study, platform),
        rewards=_paid(study, platform),
        first_end=sums["first"],
        last_end=sums["last"],
        synced_at=sums["synced"],
        refused=calls.count(),
    )


def _paid(study: Study, platform: str) -> Decimal:
    paid = Payment.objects.filter(study=study, platform=platform).exclude(platform_id="")
    return exact_sum(paid.aggregate(usd=Sum("amount"))["usd"])


def in_progress(study: Study, platform: str) -> QuerySet[Assignment]:
    """Assignments of posted hits that somebody is working on, according to this server."""
    return Assignment.objects.filter(posting__study=study, posting__platform=platform, state=Work.ACCEPTED)


def _here_only(study: Study, platform: str) -> QuerySet[Assignment]:
    """Sent here and holding a place, while the platform reports no assignment of this id."""
    reported = OutsideAssignment.objects.filter(
        posting=OuterRef("posting"), external_id=OuterRef("platform_assignment_id")
    )
    held = Assignment.objects.filter(posting__study=study, posting__platform=platform, state=Work.SUBMITTED)
    return held.filter(~Exists(reported))


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
    sent = [(outside, submission_of(outside)) for outside in rejected.order_by("-objected_at", "-pk")[:MOST_OBJECTIONS]]
    return [(outside, submission.pk if submission else None) for outside, submission in sent]


# --- lost places ---


def lost(study: Study, platform: str) -> QuerySet[OutsideAssignment]:
    """Assignments that used a place on the platform and gave the study nothing.

    These are rejected ones, ones that were sent here and then released (excluded), and decided ones of which nothing
    arrived here from this worker. What is still undecided is not lost.
    """
    mine = Q(
        posting=OuterRef("posting"),
        platform_assignment_id=OuterRef("external_id"),
        participant__worker__platform_id=OuterRef("worker_id"),
    )
    kept = Exists(Assignment.objects.filter(mine, state=Work.SUBMITTED))
    released = Exists(Assignment.objects.filter(mine, state=Work.RELEASED))
    reported = OutsideAssignment.objects.filter(posting__study=study, posting__platform=platform)
    return reported.filter(
        Q(state=Outside.REJECTED)
        | Q(released, state__in=[Outside.SUBMITTED, Outside.APPROVED, Outside.PARTIAL]) & ~Q(kept)
        | Q(~Q(kept), state__in=[Outside.APPROVED, Outside.PARTIAL])
    )


def missing_places(study: Study, platform: str) -> dict[int, int]:
    """How many places of each hit (by id) nobody can take any more on the platform. Hits that lack none are left out.

    A posting that is offered, or about to be, gives as many places as it wants, less those lost. An ended one gives
    only those that were used or are still in progress. Work that was sent here and never reported holds its place.

    In one listing of all arms, a posting's place is for any hit, so only the sum is exact: what one hit's posting has
    too many serves the others.
    """
    given: Counter[int] = Counter()
    postings = Posting.objects.filter(study=study, platform=platform, hit__isnull=False)
    offered = Q(state__in=[State.PLANNED, State.OPEN, State.PAUSED])
    for hit_id, places in postings.filter(offered).order_by().values_list("hit_id").annotate(n=Sum("wanted")):
        given[hit_id] += places or 0
    used = OutsideAssignment.objects.filter(posting__in=postings.exclude(offered), state__in=USED)
    given.update(_per_hit(used, "posting__hit_id"))
    given.update(
        _per_hit(in_progress(study, platform).exclude(posting__state__in=[State.OPEN, State.PAUSED]), "posting__hit_id")
    )
    given.update(_per_hit(_here_only(study, platform), "posting__hit_id"))
    given.subtract(_per_hit(lost(study, platform), "posting__hit_id"))
    hits = Hit.objects.filter(study=study, postings__platform=platform).distinct().order_by("position")
    wanted = dict(hits.values_list("pk", "wanted"))
    missing = {pk: n - given[pk] for pk, n in wanted.items() if n > given[pk]}
    if not shares_listing(study, platform):
        return missing
    left = max(0, sum(wanted.values()) - sum(given[pk] for pk in wanted))
    shared: dict[int, int] = {}
    for pk, places in missing.items():
        shared[pk] = min(places, left)
        left -= shared[pk]
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
    wanted = dict(study.hits.order_by().values_list("reward").annotate(n=Sum("wanted")))
    if shares_listing(study, platform):
        wanted = dict.fromkeys(shared.values_list("reward", flat=True), sum(wanted.values()))
    needed: Counter[int] = Counter()
    if platform_class(platform).confirms:
        needed.update(_per_hit(lost(study, platform).exclude(state=Outside.REJECTED), "posting"))
        needed.subtract(_per_hit(_here_only(study, platform), "posting"))
    offered = shared.filter(state__in=[State.OPEN, State.PAUSED]).order_by("pk")
    totals = {
        pk: (wanted.get(reward, 0) + needed[pk], has or 0)
        for pk, reward, has in offered.values_list("pk", "reward", "wanted")
    }
    return {pk: total for pk, (total, has) in totals.items() if total > has}


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


# --- polling ---


def unsettled(study: Study, now: datetime | None = None) -> QuerySet[Posting]:
    """Postings on which something can still happen: offered, in progress, or waiting for a decision.

    After its end, a worker can still have an assignment until the study's time limit is over. A posting is settled once
    it was polled after that and nothing on it is undecided.
    """
    moment = now or timezone.now()
    ended = moment - timedelta(minutes=study.time_limit_minutes) - GRACE
    undecided = Exists(OutsideAssignment.objects.filter(posting=OuterRef("pk"), state=Outside.SUBMITTED))
    after = F("expires_at") + timedelta(minutes=study.time_limit_minutes) + GRACE
    polled_since = Q(expires_at__lt=ended, synced_at__gte=after)
    posted = Posting.objects.filter(study=study, state__in=POSTED).exclude(platform=LINK)
    return posted.exclude(~Q(undecided) & polled_since).order_by("pk")


def due(study: Study, now: datetime | None = None) -> QuerySet[Posting]:
    """The unsettled postings to poll now: those with work in progress, with work that the platform has not reported
    yet, or with an automatic approval that is due. The others are polled once an hour (``QUIET``), and so are those of
    platforms that tell this server about every change."""
    moment = now or timezone.now()
    busy = Exists(Assignment.objects.filter(posting=OuterRef("pk"), state=Work.ACCEPTED))
    reported = OutsideAssignment.objects.filter(
        posting=OuterRef("posting"), external_id=OuterRef("platform_assignment_id")
    )
    unreported = Exists(Assignment.objects.filter(Q(posting=OuterRef("pk"), state=Work.SUBMITTED) & ~Exists(reported)))
    by_itself = Exists(
        OutsideAssignment.objects.filter(
            posting=OuterRef("pk"), state=Outside.SUBMITTED, approves_itself_at__lte=moment
        )
    )
    quiet = Q(synced_at__isnull=True) | Q(synced_at__lt=moment - min(QUIET, 12 * sync_interval()))
    told = Q(platform__in=[name for name, platform in known().items() if platform.pushes()])
    return unsettled(study, moment).filter((Q(busy) | Q(unreported)) & ~told | Q(by_itself) | quiet)


def sync_interval() -> timedelta:
    """How often studies are synced, from the settings."""
    return timedelta(seconds=settings.PLATFORM_SYNC_SECONDS)


def studies_to_sync(now: datetime | None = None) -> list[Study]:
    """Studies on a platform with something to poll now, whatever their status."""
    posted = Posting.objects.filter(state__in=POSTED).exclude(platform=LINK)
    candidates = Study.objects.filter(pk__in=posted.values("study")).order_by("pk")
    return [study for study in candidates if due(study, now).exists() or _unpaid(study)]


def _unpaid(study: Study) -> bool:
    return Compensation.objects.filter(study=study, paid_at=None).exclude(external_id="").exists()


# --- reconcile ---


def by_platform_id(study: Study) -> Mapping[tuple[int, str], list[Assignment]]:
    """The study's assignments on platforms by posting and the platform's id, newest first, whatever their state."""
    found: defaultdict[tuple[int, str], list[Assignment]] = defaultdict(list)
    rows = Assignment.objects.filter(posting__study=study).exclude(platform_assignment_id="")
    for work in rows.select_related("participant__worker", "hit", "posting").order_by("-pk"):
        found[work.posting_id or 0, work.platform_assignment_id].append(work)
    return found
