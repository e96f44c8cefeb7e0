"""Pauses and resumes a study here and on its platform: the same from the console and from the command line."""

from __future__ import annotations

from annotation.models import PlatformJob, Posting, Study
from annotation.platforms import connect, platform_class
from annotation.queries.platform_overview import posted_on
from annotation.services.platform_jobs import request_job
from annotation.services.studies import pause_study, resume_study

Kind, State = PlatformJob.Kind, Posting.State


def pause(*, study: Study, actor: str) -> PlatformJob | None:
    """Give out no new work, here and on the platform. Hits in progress can be finished.

    The study is paused here in any case. Returns the job that pauses it on the platform. None if it is on no platform,
    nothing is offered there, or the platform cannot pause; workers who come then see that the study is paused.
    Raises Invalid, and PlatformTrouble if there is no key for the platform.
    """
    paused = pause_study(study=study, actor=actor)
    name = posted_on(paused)
    offered = Posting.objects.filter(study=paused, platform=name, state=State.OPEN).order_by("pk").first()
    if offered is None or not platform_class(name).offline().pause(offered, 1):
        return None
    return _request(paused, name, Kind.PAUSE, actor)


def resume(*, study: Study, actor: str) -> PlatformJob | None:
    """Give out work again, here and on the platform. Returns the job that resumes it there, or None.

    Raises the same errors as `pause`.
    """
    live = resume_study(study=study, actor=actor)
    name = posted_on(live)
    if not Posting.objects.filter(study=live, platform=name, state=State.PAUSED).exists():
        return None
    return _request(live, name, Kind.RESUME, actor)


def _request(study: Study, name: str, kind: str, actor: str) -> PlatformJob:
    connect(name)  # if there is no key, the person who asks sees that at once
    return request_job(study=study, kind=kind, platform=name, actor=actor)
