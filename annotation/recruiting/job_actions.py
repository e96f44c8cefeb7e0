"""What a background job does on a platform, and how it ends: with a result or with what a person has to fix."""

from __future__ import annotations

import logging
from collections.abc import Callable
from datetime import datetime

from celery.exceptions import SoftTimeLimitExceeded

from annotation.models import PlatformCall, PlatformJob, Posting, Study
from annotation.platforms import changes_of, connect
from annotation.platforms.base import Platform
from annotation.platforms.calls import PlatformTrouble
from annotation.recruiting import (
    changing_offers,
    compensating,
    deciding_on_platform,
    job_requests,
    lost_places,
    polling,
    publishing,
    syncing,
)
from annotation.recruiting.changing_offers import Changed
from annotation.recruiting.job_requests import Lock, LockLost, TimeUp
from annotation.recruiting.platform_calls import make_all
from annotation.recruiting.publishing import post_all_or_take_back
from common.problems import Refused
from common.words import counted

logger = logging.getLogger(__name__)
Kind, State = PlatformJob.Kind, PlatformJob.State

#: What is done for each kind of job. It returns the result in words.
Work = Callable[[Lock, Platform], str]
WORK: dict[str, Work] = {}


def _does(*kinds: str) -> Callable[[Work], Work]:
    """Registers a function as the work of these kinds of jobs."""

    def register(work: Work) -> Work:
        WORK.update(dict.fromkeys(kinds, work))
        return work

    return register


def do_job(job_id: int) -> bool:
    """Do a job's work, or continue it. False if another process does it or nothing is left to do.

    It may run twice, also at once: only one holds the lock, and no call takes effect twice.
    """
    lock = job_requests.take_lock(job_id)
    if lock is None:
        return False
    try:
        summary = WORK[lock.job.kind](lock, connect(lock.job.platform, lock.job.study))
    except LockLost:
        return False
    except (TimeUp, SoftTimeLimitExceeded):
        if lock.end(State.WAITING):
            job_requests.send(job_id)
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
        lock.end(State.DONE, summary)
    return True


@_does(Kind.PUBLISH)
def _publish(lock: Lock, platform: Platform) -> str:
    job = lock.job
    publishing.plan_postings(study=job.study, platform=platform, actor=job.actor)
    total = publishing.progress(job.study, platform).total
    lock.step(0, total)
    posted = post_all_or_take_back(
        study=job.study, platform=platform, actor=job.actor, step=lambda count: lock.step(count, total)
    )
    subscribe(job.study, platform)
    return f"{platform.title} has {posted.posted:,} of {counted(posted.total, platform.unit)}."


def subscribe(study: Study, platform: Platform) -> None:
    """Subscribe to notices about the postings. Polling finds everything without them, so a refusal is only logged."""
    calls = PlatformCall.objects.filter(study=study, state=PlatformCall.State.DONE, posting__platform=platform.name)
    results = calls.exclude(result={}).values_list("result", flat=True).distinct()
    posting = Posting.objects.filter(study=study, platform=platform.name).order_by("pk").first()
    if posting is None:
        return
    try:
        make_all(changes_of(platform).subscribe(list(results)), platform, study=study, posting=posting)
    except PlatformTrouble as trouble:
        logger.warning("%s sends no notifications about %s: %s", platform.title, study.slug, trouble)


@_does(Kind.SYNC, Kind.POLL)
def _sync(lock: Lock, platform: Platform) -> str:
    """Poll, then offer lost places again, unless the owner chose not to.

    What was polled since the sync was asked for is left out, so that the next process continues an interrupted one.
    """
    study = lock.job.study
    changing_offers.note_expired(study)
    rows = polling.due(study) if lock.job.params.get("due") else polling.unsettled(study)
    rows = rows.filter(platform=platform.name).exclude(synced_at__gte=lock.job.asked_at)
    postings = list(rows.select_related("study", "hit"))
    lock.step(0, len(postings))
    synced = syncing.sync_postings(
        study=study, postings=postings, platform=platform, step=lambda done: lock.step(done, len(postings))
    )
    deciding_on_platform.pay_differences(study=study, platform=platform, actor=platform.name)
    paid = compensating.note_paid(study=study, platform=platform)
    syncing.note_objections(platform=platform)
    parts = [f"{counted(synced.postings, platform.unit)} asked for, {synced.changed:,} new or changed."]
    parts += [f"{counted(synced.deleted, platform.unit)} no longer there."] if synced.deleted else []
    parts += [f"{counted(paid, 'compensation')} paid."] if paid else []
    if replaces_lost(study):
        replaced = lost_places.replace_lost(study=study, platform=platform)
        n_offered = replaced.added + replaced.planned
        parts += [f"Lost places offered again: {n_offered:,}."] if n_offered else []
    return " ".join(parts)


def replaces_lost(study: Study) -> bool:
    """Whether lost places are offered again automatically: yes, unless whoever published the study chose not to."""
    job = PlatformJob.objects.filter(study=study, kind=Kind.PUBLISH).first()
    return True if job is None else bool(job.params.get("replace", True))


@_does(Kind.ADD)
def _add(lock: Lock, platform: Platform) -> str:
    replaced = lost_places.replace_lost(study=lock.job.study, platform=platform, actor=lock.job.actor, step=lock.step)
    return f"{counted(replaced.added, 'place')} added, {counted(replaced.planned, 'further ' + platform.unit)} posted."


@_does(Kind.EXTEND)
def _extend(lock: Lock, platform: Platform) -> str:
    until = datetime.fromisoformat(str(lock.job.params["until"]))
    changed = changing_offers.extend_postings(
        study=lock.job.study, platform=platform, until=until, actor=lock.job.actor, step=lock.step
    )
    return _summary(changed, platform, "offered longer")


@_does(Kind.END)
def _end(lock: Lock, platform: Platform) -> str:
    changed = changing_offers.end_postings(
        study=lock.job.study, platform=platform, actor=lock.job.actor, step=lock.step
    )
    return _summary(changed, platform, "ended")


@_does(Kind.PAUSE)
def _pause(lock: Lock, platform: Platform) -> str:
    if not _is_still(lock.job.study, Study.Status.PAUSED):
        return "The study has been resumed, so nothing was paused."
    changed = changing_offers.pause_postings(
        study=lock.job.study, platform=platform, actor=lock.job.actor, step=lock.step
    )
    return _summary(changed, platform, "paused")


@_does(Kind.RESUME)
def _resume(lock: Lock, platform: Platform) -> str:
    if not _is_still(lock.job.study, Study.Status.LIVE):
        return "The study is not live any more, so nothing was offered again."
    changed = changing_offers.resume_postings(
        study=lock.job.study, platform=platform, actor=lock.job.actor, step=lock.step
    )
    return _summary(changed, platform, "offered again")


def _is_still(study: Study, status: str) -> bool:
    """Whether the study has the status that the job was requested for: somebody may have changed it since."""
    study.refresh_from_db(fields=["status"])
    return study.status == status


@_does(Kind.DELETE)
def _delete(lock: Lock, platform: Platform) -> str:
    changed = changing_offers.delete_postings(
        study=lock.job.study, platform=platform, actor=lock.job.actor, step=lock.step
    )
    return _summary(changed, platform, "deleted")


def _summary(changed: Changed, platform: Platform, verb: str) -> str:
    refused = f" Refused: {'; '.join(changed.refused[:5])}" if changed.refused else ""
    return f"{counted(changed.count, platform.unit)} {verb}.{refused}"
