"""What is done with a study's offer on a platform: offered longer, ended, paused, resumed, deleted, given more ratings.

`pause_everywhere` and `resume_everywhere` are what a person asks for, from the console or the command line: they change
the study here and request a job. The job calls `pause_postings` or `resume_postings`, and a person who asks for an end,
a later end or a deletion gets a job that calls `end_postings`, `extend_postings` or `delete_postings`.

These go through the postings one by one and may stop anywhere; running them again continues. ``step`` gets the number
of postings done so far and their total.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import datetime

from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.audit import record
from annotation.models import Assignment, OutsideAssignment, PlatformCall, PlatformJob, Posting, Study
from annotation.platforms import changes_of, connect, offline
from annotation.platforms.base import Platform
from annotation.platforms.calls import Call, Json, PlatformTrouble
from annotation.recruiting.job_requests import request_job
from annotation.recruiting.offered_work import USED, posted_on
from annotation.recruiting.platform_calls import make_all
from annotation.recruiting.spending_guard import posting_costs, set_aside
from annotation.studies.storing import pause_study, resume_study
from common.problems import Problem, refuse_if_any

Kind, State = PlatformJob.Kind, Posting.State
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


def extend_postings(*, study: Study, platform: Platform, until: datetime, actor: str, step: Step = _no_step) -> Changed:
    """Offer everything that has places left until ``until``, even if it has ended. Raises PlatformTrouble."""
    changes = changes_of(platform)
    rows = extendable(study, platform.name).exclude(expires_at=until, state=State.OPEN)
    set_aside(study=study, platform=platform, costs=posting_costs(study, platform, rows.select_related("hit")))

    def act(posting: Posting) -> None:
        def note(results: Sequence[Json]) -> None:
            not_deleted = Posting.objects.filter(pk=posting.pk).exclude(state=State.DELETED)
            not_deleted.update(state=State.OPEN, expires_at=until)
            record(study=posting.study, actor=actor, action="extend", hit=posting.external_id, until=until)

        make_all(changes.extend(posting, until), platform, study=study, posting=posting, done=note)

    return _change_each(rows, act, step)


# --- end ---


def end_postings(*, study: Study, platform: Platform, actor: str, step: Step = _no_step) -> Changed:
    """Stop offering everything. Work in progress can still be finished. Raises PlatformTrouble."""
    offered = Posting.objects.filter(study=study, platform=platform.name, state__in=[State.OPEN, State.PAUSED])
    rows = offered.order_by("pk")

    def act(posting: Posting) -> None:
        end_posting(posting=posting, platform=platform, actor=actor)

    return _change_each(rows, act, step)


def end_posting(*, posting: Posting, platform: Platform, actor: str) -> None:
    """Stop offering the posting. Work in progress can still be finished. Raises PlatformTrouble."""
    if posting.state in (Posting.State.OPEN, Posting.State.PAUSED):
        values = {"state": Posting.State.EXPIRED, "expires_at": timezone.now()}
        _change_offer(posting, platform.expire(posting), platform, values, f"end {platform.unit}", actor)


# --- pause and resume ---


def pause_everywhere(*, study: Study, actor: str) -> PlatformJob | None:
    """Give out no new work, here and on the platform. Hits in progress can be finished.

    The study is paused here in any case. Returns the job that pauses it on the platform. None if it is on no platform,
    nothing is offered there, or the platform cannot pause; workers who come then see that the study is paused.
    Raises Invalid, and PlatformTrouble if there is no key for the platform.
    """
    paused = pause_study(study=study, actor=actor)
    name = posted_on(paused)
    offered = Posting.objects.filter(study=paused, platform=name, state=State.OPEN).order_by("pk").first()
    if offered is None or not offline(name, paused).pause(offered, 1):
        return None
    return _request_job(paused, name, Kind.PAUSE, actor)


def resume_everywhere(*, study: Study, actor: str) -> PlatformJob | None:
    """Give out work again, here and on the platform. Returns the job that resumes it there, or None.

    Raises the same errors as `pause_everywhere`.
    """
    live = resume_study(study=study, actor=actor)
    name = posted_on(live)
    if not Posting.objects.filter(study=live, platform=name, state=State.PAUSED).exists():
        return None
    return _request_job(live, name, Kind.RESUME, actor)


def _request_job(study: Study, name: str, kind: str, actor: str) -> PlatformJob:
    connect(name, study)  # if there is no key, the person who asks sees that at once
    return request_job(study=study, kind=kind, platform=name, actor=actor)


def pause_postings(*, study: Study, platform: Platform, actor: str, step: Step = _no_step) -> Changed:
    """Stop offering everything for now; work in progress can still be finished. Raises PlatformTrouble.

    If a platform cannot pause, its workers get a page that shows that the study is paused.
    """
    rows = Posting.objects.filter(study=study, platform=platform.name, state=State.OPEN).order_by("pk")

    def act(posting: Posting) -> bool:
        return pause_posting(posting=posting, platform=platform, actor=actor)

    return _change_each(rows, act, step)


def resume_postings(*, study: Study, platform: Platform, actor: str, step: Step = _no_step) -> Changed:
    """Offer again everything that was paused. Raises PlatformTrouble."""
    rows = Posting.objects.filter(study=study, platform=platform.name, state=State.PAUSED).order_by("pk")

    def act(posting: Posting) -> bool:
        return resume_posting(posting=posting, platform=platform, actor=actor)

    return _change_each(rows, act, step)


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


# --- delete ---


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
        def note(results: Sequence[Json]) -> None:
            Posting.objects.filter(pk=posting.pk).update(state=State.DELETED)
            record(study=posting.study, actor=actor, action="delete HIT", hit=posting.external_id)

        make_all(changes.delete(posting), platform, study=study, posting=posting, done=note)

    return _change_each(deletable(study, platform.name), act, step)


def _change_each(postings: QuerySet[Posting], act: Callable[[Posting], object], step: Step) -> Changed:
    """Do ``act`` for each posting. A refusal because of the posting is noted; any other trouble is raised."""
    changed, rows = Changed(), list(postings.select_related("study", "hit"))
    for position, posting in enumerate(rows, start=1):
        try:
            changed.count += act(posting) is not False
        except PlatformTrouble as trouble:
            if trouble.again or not trouble.local:
                raise
            changed.refused.append(f"{posting.external_id}: {trouble}")
        step(position, len(rows))
    return changed


# --- more ratings ---


def note_expired(study: Study) -> int:
    """Mark postings whose time has run out as ended. Returns how many."""
    over = Posting.objects.filter(study=study, state=State.OPEN, expires_at__lte=timezone.now())
    return over.update(state=State.EXPIRED)
