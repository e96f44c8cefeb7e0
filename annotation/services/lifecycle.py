"""A study's work on a platform after it was published: offer it longer, add ratings, pause it, end it, delete it.

Each function goes through the postings one by one and may stop anywhere; running it again continues. ``step`` gets the
number of postings done so far and their total.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from functools import partial

from django.db import transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.models import Assignment, OutsideAssignment, Posting, Study
from annotation.platforms.base import Json, Platform, PlatformTrouble
from annotation.platforms.changing import changes_class, changes_of
from annotation.platforms.costs import Cost, Offered
from annotation.platforms.link import PLATFORM as LINK
from annotation.queries.item_places import places_for
from annotation.queries.platform_overview import USED
from annotation.services import deciding
from annotation.services.audit import record
from annotation.services.platform_calls import make_all
from annotation.services.publishing import offered_hits, settings_of
from annotation.services.spending import posting_costs, set_aside
from annotation.services.studies import change_study
from common.problems import Problem, invalid, refuse_if_any
from common.words import counted

State = Posting.State
Step = Callable[[int, int], None]
MOST_DAYS = 365


@dataclass(slots=True)
class Changed:
    """How many postings were changed, and what the platform refused, in words."""

    count: int = 0
    refused: list[str] = field(default_factory=list)


def _no_step(done: int, total: int) -> None:
    return None


def check_extension(*, study: Study, platform: str, days: int) -> None:
    """Raises Invalid if the study's work cannot be offered for ``days`` more days from now."""
    problems = []
    if not 1 <= days <= MOST_DAYS:
        problems.append(Problem("days", f"{days:,} is not a number of days.", f"Enter 1 to {MOST_DAYS}."))
    if study.status != Study.Status.LIVE:
        what = f"The study is {study.get_status_display().lower()}, so workers could not start."
        problems.append(Problem("status", what, "Resume it first." if study.status == "paused" else ""))
    if not extendable(study, platform).exists():
        problems.append(Problem("postings", "There is nothing to offer longer.", "Publish the study first."))
    refuse_if_any(problems)


def extendable(study: Study, platform: str) -> QuerySet[Posting]:
    """Postings with places that are not used up."""
    posted = Posting.objects.filter(study=study, platform=platform, state__in=[State.OPEN, State.PAUSED, State.EXPIRED])
    used = Count("outside", filter=Q(outside__state__in=USED))
    return posted.annotate(n_used=used).filter(Q(wanted__isnull=True) | Q(wanted__gt=F("n_used"))).order_by("pk")


def extend(*, study: Study, platform: Platform, until: datetime, actor: str, step: Step = _no_step) -> Changed:
    """Offer everything that has places left until ``until``, even if it has ended. Raises PlatformTrouble."""
    changes = changes_of(platform)
    rows = extendable(study, platform.name).exclude(expires_at=until, state=State.OPEN)
    set_aside(study=study, platform=platform, costs=posting_costs(study, platform, rows.select_related("hit")))

    def act(posting: Posting) -> None:
        done = partial(_note_extended, posting, until, actor)
        make_all(changes.extend(posting, until), platform, study=study, posting=posting, done=done)

    return _each(rows, act, step)


def _note_extended(posting: Posting, until: datetime, actor: str, results: Sequence[Json]) -> None:
    Posting.objects.filter(pk=posting.pk).exclude(state=State.DELETED).update(state=State.OPEN, expires_at=until)
    record(study=posting.study, actor=actor, action="extend", hit=posting.external_id, until=until)


def end(*, study: Study, platform: Platform, actor: str, step: Step = _no_step) -> Changed:
    """Stop offering everything. Work in progress can still be finished. Raises PlatformTrouble."""
    offered = Posting.objects.filter(study=study, platform=platform.name, state__in=[State.OPEN, State.PAUSED])
    rows = offered.order_by("pk")

    def act(posting: Posting) -> None:
        deciding.end_posting(posting=posting, platform=platform, actor=actor)

    return _each(rows, act, step)


def pause(*, study: Study, platform: Platform, actor: str, step: Step = _no_step) -> Changed:
    """Stop offering everything for now; work in progress can still be finished. Raises PlatformTrouble.

    If a platform cannot pause, its workers get a page that shows that the study is paused.
    """
    rows = Posting.objects.filter(study=study, platform=platform.name, state=State.OPEN).order_by("pk")

    def act(posting: Posting) -> bool:
        return deciding.pause_posting(posting=posting, platform=platform, actor=actor)

    return _each(rows, act, step)


def resume(*, study: Study, platform: Platform, actor: str, step: Step = _no_step) -> Changed:
    """Offer again everything that was paused. Raises PlatformTrouble."""
    rows = Posting.objects.filter(study=study, platform=platform.name, state=State.PAUSED).order_by("pk")

    def act(posting: Posting) -> bool:
        return deciding.resume_posting(posting=posting, platform=platform, actor=actor)

    return _each(rows, act, step)


def deletable(study: Study, platform: str) -> QuerySet[Posting]:
    """Postings that the platform can delete: ended or used up, with nobody working on them and everything decided."""
    mine = OuterRef("pk")
    undecided = Exists(OutsideAssignment.objects.filter(posting=mine, state=OutsideAssignment.State.SUBMITTED))
    working = Exists(Assignment.objects.filter(posting=mine, state=Assignment.State.ACCEPTED))
    posted = Posting.objects.filter(study=study, platform=platform, state__in=[State.OPEN, State.EXPIRED])
    used_up = Q(n_used__gte=F("wanted"))
    counts = posted.annotate(n_used=Count("outside", filter=Q(outside__state__in=USED)))
    return counts.filter(~undecided & ~working).filter(Q(state=State.EXPIRED) | used_up).order_by("pk")


def delete_postings(*, study: Study, platform: Platform, actor: str, step: Step = _no_step) -> Changed:
    """Delete on the platform what `deletable` finds. What arrived here stays. Raises PlatformTrouble."""
    changes = changes_of(platform)

    def act(posting: Posting) -> None:
        done = partial(_note_deleted, posting, actor)
        make_all(changes.delete(posting), platform, study=study, posting=posting, done=done)

    return _each(deletable(study, platform.name), act, step)


def _note_deleted(posting: Posting, actor: str, results: Sequence[Json]) -> None:
    Posting.objects.filter(pk=posting.pk).update(state=State.DELETED)
    record(study=posting.study, actor=actor, action="delete HIT", hit=posting.external_id)


def _each(postings: QuerySet[Posting], act: Callable[[Posting], object], step: Step) -> Changed:
    """Do ``act`` for each posting. A refusal because of the posting is noted; any other trouble is raised."""
    changed, rows = Changed(), list(postings.select_related("study", "hit"))
    for at, posting in enumerate(rows, start=1):
        try:
            changed.count += act(posting) is not False
        except PlatformTrouble as trouble:
            if trouble.again or not trouble.local:
                raise
            changed.refused.append(f"{posting.external_id}: {trouble}")
        step(at, len(rows))
    return changed


# --- more ratings ---


def cost_of_more(study: Study, platform: Platform, ratings: int) -> Cost:
    """What it costs to raise the ratings per item to ``ratings``: only the new submissions, offered as new postings."""
    more = max(0, ratings - study.ratings_per_item)
    places = places_for(study, more)
    extra = [Offered(each.hits, each.reward, places) for each in offered_hits(study)] if more else []
    return platform.cost(extra, settings_of(study, platform))


@transaction.atomic
def add_ratings(*, study: Study, ratings: int, actor: str) -> Study:
    """Raise the ratings per item; the next sync or ``republishing`` offers the places. Raises Invalid, also if nobody
    could take them, because everything has ended.

    Where more places open a posting again that has ended, it counts as offered from now on.
    """
    if ratings <= study.ratings_per_item:
        what = f"Items already get {counted(study.ratings_per_item, 'rating')}."
        raise invalid("ratings_per_item", what, f"Enter a number above {study.ratings_per_item}.")
    posted = Posting.objects.filter(study=study).exclude(platform=LINK)
    ended = posted.filter(state=State.EXPIRED)
    last = ended.order_by("pk").first()
    reopens = last is not None and changes_class(last.platform).reopens
    if last is not None and not reopens and not posted.exclude(state__in=[State.EXPIRED, State.DELETED]).exists():
        what = "The offer on the platform has ended, so nobody could take the new places."
        raise invalid("postings", what, "Offer it longer first, then add ratings.")
    changed = change_study(study=study, values={"ratings_per_item": str(ratings)}, actor=actor)
    if reopens:
        ended.update(state=State.OPEN, expires_at=None)
    return changed


def note_expired(study: Study) -> int:
    """Mark postings whose time has run out as ended. Returns how many."""
    over = Posting.objects.filter(study=study, state=State.OPEN, expires_at__lte=timezone.now())
    return over.update(state=State.EXPIRED)
