"""What a background job does on a platform, and how it ends: with a result or with what a person has to fix."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from datetime import datetime, timedelta

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.utils import timezone

from annotation.models import OutsideAssignment, PlatformCall, PlatformJob, Posting, Study
from annotation.platforms import connect, known
from annotation.platforms.base import Platform, PlatformTrouble
from annotation.platforms.changing import changes_of
from annotation.queries import platform_overview as overview
from annotation.services import compensating, deciding, lifecycle, platform_jobs, publishing, republishing, syncing
from annotation.services.first_posting import post_all_or_take_back
from annotation.services.lifecycle import Changed
from annotation.services.platform_calls import make_all
from annotation.services.platform_jobs import Lock, LockLost, TimeUp
from common.problems import Refused
from common.words import counted

logger = logging.getLogger(__name__)
Kind, State = PlatformJob.Kind, PlatformJob.State
SYNC = "sync"
#: How long after a rejection a platform is asked for objections.
OBJECTIONS_FOR = timedelta(days=40)


def do_job(job_id: int) -> bool:
    """Do a job's work, or continue it. False if another process does it or nothing is left to do.

    It may run twice, also at once: only one holds the lock, and no call takes effect twice.
    """
    lock = platform_jobs.take_lock(job_id)
    if lock is None:
        return False
    try:
        said = _WORK[lock.job.kind](lock, connect(lock.job.platform))
    except LockLost:
        return False
    except (TimeUp, SoftTimeLimitExceeded):
        if lock.end(State.WAITING):
            platform_jobs.send(job_id)
    except PlatformTrouble as trouble:
        lock.end(State.FAILED, trouble.what, trouble.fix)
    except Refused as refused:
        lock.end(State.FAILED, " ".join(p.what for p in refused.problems), " ".join(p.fix for p in refused.problems))
    except Exception:
        logger.exception("The platform job %s (%s) failed", job_id, lock.job)
        what = "Something unexpected went wrong. The server's log has the details."
        lock.end(
            State.FAILED, what, "Try again: it continues where it stopped. If it stops again, ask your administrator."
        )
    else:
        lock.end(State.DONE, said)
    return True


def _publish(lock: Lock, platform: Platform) -> str:
    job = lock.job
    publishing.plan_postings(study=job.study, platform=platform, actor=job.actor)
    total = publishing.progress(job.study, platform).total
    lock.step(0, total)
    done = post_all_or_take_back(
        study=job.study, platform=platform, actor=job.actor, step=lambda count: lock.step(count, total)
    )
    subscribe(job.study, platform)
    return f"{platform.title} has {done.posted:,} of {counted(done.total, platform.unit)}."


def subscribe(study: Study, platform: Platform) -> None:
    """Subscribe to notices about the postings. Polling finds everything without them, so a refusal is only logged."""
    made = PlatformCall.objects.filter(study=study, state=PlatformCall.State.DONE, posting__platform=platform.name)
    results = made.exclude(result={}).values_list("result", flat=True).distinct()
    posting = Posting.objects.filter(study=study, platform=platform.name).order_by("pk").first()
    if posting is None:
        return
    try:
        make_all(changes_of(platform).subscribe(list(results)), platform, study=study, posting=posting)
    except PlatformTrouble as trouble:
        logger.warning("%s sends no notifications about %s: %s", platform.title, study.slug, trouble)


def _sync(lock: Lock, platform: Platform) -> str:
    """Poll, then offer lost places again, unless the owner chose not to.

    What was polled since the sync was asked for is left out, so that the next process continues an interrupted one.
    """
    study = lock.job.study
    lifecycle.note_expired(study)
    rows = overview.due(study) if lock.job.params.get("due") else overview.unsettled(study)
    rows = rows.filter(platform=platform.name).exclude(synced_at__gte=lock.job.asked_at)
    postings = list(rows.select_related("study", "hit"))
    lock.step(0, len(postings))
    found = syncing.sync_postings(
        study=study, postings=postings, platform=platform, step=lambda done: lock.step(done, len(postings))
    )
    deciding.pay_differences(study=study, platform=platform, actor=platform.name)
    paid = compensating.note_paid(study=study, platform=platform)
    syncing.note_objections(platform=platform)
    said = [f"{counted(found.postings, platform.unit)} asked for, {found.changed:,} new or changed."]
    said += [f"{counted(found.deleted, platform.unit)} no longer there."] if found.deleted else []
    said += [f"{counted(paid, 'compensation')} paid."] if paid else []
    if replaces_lost(study):
        replaced = republishing.replace_lost(study=study, platform=platform)
        again = replaced.added + replaced.planned
        said += [f"Lost places offered again: {again:,}."] if again else []
    return " ".join(said)


def replaces_lost(study: Study) -> bool:
    """Whether lost places are offered again automatically: yes, unless whoever published the study chose not to."""
    job = PlatformJob.objects.filter(study=study, kind=Kind.PUBLISH).first()
    return True if job is None else bool(job.params.get("replace", True))


def _add(lock: Lock, platform: Platform) -> str:
    done = republishing.replace_lost(study=lock.job.study, platform=platform, actor=lock.job.actor, step=lock.step)
    return f"{counted(done.added, 'place')} added, {counted(done.planned, 'further ' + platform.unit)} posted."


def _extend(lock: Lock, platform: Platform) -> str:
    until = datetime.fromisoformat(str(lock.job.params["until"]))
    done = lifecycle.extend(study=lock.job.study, platform=platform, until=until, actor=lock.job.actor, step=lock.step)
    return _said(done, platform, "offered longer")


def _end(lock: Lock, platform: Platform) -> str:
    done = lifecycle.end(study=lock.job.study, platform=platform, actor=lock.job.actor, step=lock.step)
    return _said(done, platform, "ended")


def _pause(lock: Lock, platform: Platform) -> str:
    if not _is_still(lock.job.study, Study.Status.PAUSED):
        return "The study has been resumed, so nothing was paused."
    done = lifecycle.pause(study=lock.job.study, platform=platform, actor=lock.job.actor, step=lock.step)
    return _said(done, platform, "paused")


def _resume(lock: Lock, platform: Platform) -> str:
    if not _is_still(lock.job.study, Study.Status.LIVE):
        return "The study is not live any more, so nothing was offered again."
    done = lifecycle.resume(study=lock.job.study, platform=platform, actor=lock.job.actor, step=lock.step)
    return _said(done, platform, "offered again")


def _is_still(study: Study, status: str) -> bool:
    """Whether the study has the status that the job was requested for: somebody may have changed it since."""
    study.refresh_from_db(fields=["status"])
    return study.status == status


def _delete(lock: Lock, platform: Platform) -> str:
    done = lifecycle.delete_postings(study=lock.job.study, platform=platform, actor=lock.job.actor, step=lock.step)
    return _said(done, platform, "deleted")


def _said(done: Changed, platform: Platform, verb: str) -> str:
    refused = f" Refused: {'; '.join(done.refused[:5])}" if done.refused else ""
    return f"{counted(done.count, platform.unit)} {verb}.{refused}"


_WORK: Mapping[str, Callable[[Lock, Platform], str]] = {
    Kind.PUBLISH: _publish,
    Kind.SYNC: _sync,
    Kind.POLL: _sync,
    Kind.ADD: _add,
    Kind.EXTEND: _extend,
    Kind.PAUSE: _pause,
    Kind.RESUME: _resume,
    Kind.END: _end,
    Kind.DELETE: _delete,
}


# --- without being asked ---


def request_due_syncs() -> int:
    """Request a sync of each study that is due, whatever its status. Returns how many."""
    since = timezone.now() - timedelta(seconds=settings.PLATFORM_SYNC_SECONDS)
    synced = PlatformJob.objects.filter(kind=Kind.SYNC, asked_at__gt=since).values_list("study", flat=True)
    recent, count = set(synced), 0
    for study in overview.studies_to_sync():
        platform = overview.posted_on(study)
        if study.pk in recent or not platform:
            continue
        try:
            platform_jobs.request_job(study=study, kind=Kind.SYNC, platform=platform, actor=SYNC, params={"due": True})
        except Refused:
            continue  # somebody has just asked for one
        count += 1
    return count


def look_for_objections() -> int:
    """Ask each platform on which work was rejected lately whether workers object. Returns how many new ones there are.

    Their HITs are settled, so that no sync would ask.
    """
    lately = timezone.now() - OBJECTIONS_FOR
    rejected = OutsideAssignment.objects.filter(state=OutsideAssignment.State.REJECTED, seen_at__gt=lately)
    count = 0
    for name in rejected.order_by().values_list("posting__platform", flat=True).distinct():
        try:
            count += syncing.note_objections(platform=connect(name))
        except PlatformTrouble as trouble:
            logger.warning("Objections on %s: %s", name, trouble)
    return count


def handle_notices() -> int:
    """Poll what the platforms' notices are about. A notice is removed only after its poll has succeeded.

    Returns the number of postings polled. Trouble is logged: the next regular poll finds the same.
    """
    count = 0
    for name in known():
        try:
            platform = connect(name)
            for notice in changes_of(platform).notices():
                postings = Posting.objects.filter(platform=name, external_id__in=notice.external_ids)
                for posting in postings.select_related("study", "hit"):
                    syncing.sync_posting(posting=posting, platform=platform)
                    count += 1
                notice.handled()
        except PlatformTrouble as trouble:
            if settings.MTURK_QUEUE_URL and trouble.again:
                logger.warning("Notices of %s: %s", name, trouble)
    return count


def look_up(name: str, kind: str, resource: str) -> bool:
    """Look at what a notice of the platform is about: a submission, or a whole study. False if it is not ours.

    Trouble is logged: the next regular poll finds the same.
    """
    try:
        platform = connect(name)
        if kind == "submission":
            return syncing.sync_assignment(platform=platform, name=resource)
        postings = Posting.objects.filter(platform=name, external_id=resource).select_related("study", "hit")
        for posting in postings:
            syncing.sync_postings(study=posting.study, postings=[posting], platform=platform)
        return bool(postings)
    except PlatformTrouble as trouble:
        logger.warning("A notice of %s about %s: %s", name, resource, trouble)
        return False
