"""The same message to several workers of a study, through the platform that they come from."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from django.db.models import QuerySet

from annotation.audit import record
from annotation.models import Assignment, Participant, Posting, Study
from annotation.platforms import all_platforms, platform_class
from annotation.platforms.base import Platform
from annotation.platforms.calls import Json
from annotation.recruiting.offered_work import posted_on
from annotation.recruiting.platform_calls import make_all
from annotation.task_types.questions import clean_text, one_line
from common.problems import Problem, invalid, refuse_if_any
from common.words import counted


@dataclass(frozen=True, slots=True)
class Written:
    """How many workers were written to, and whom the platform did not reach: its reasons, by pseudonym."""

    workers: int
    not_reached: Mapping[str, str]


def readers(study: Study, pseudonym: str = "") -> QuerySet[Participant]:
    """The people who began work of the study on a platform through which one can write to them; or only this one."""
    writing = [name for name, platform in all_platforms().items() if platform.writes]
    posted_work = Assignment.objects.filter(posting__study=study, posting__platform__in=writing)
    people = Participant.objects.filter(
        study=study, synthetic=False, redacted_at=None, assignments__in=posted_work, worker__platform=posted_on(study)
    )
    people = people.filter(pseudonym=pseudonym) if pseudonym else people
    return people.distinct().select_related("worker").order_by("pseudonym")


def write_to_workers(
    *,
    study: Study,
    pseudonym: str = "",
    subject: str,
    text: str,
    key: str,
    actor: str,
    connect: Callable[[str, Study], Platform],
) -> Written:
    """Write to everybody who began work of the study on its platform, or to the worker with this pseudonym.

    The same ``key`` sends the same message once, whatever fails in between. Raises Invalid, PlatformTrouble.
    """
    name = posted_on(study)
    posting = Posting.objects.filter(study=study, platform=name).exclude(external_id="").order_by("pk").first()
    if posting is None or not platform_class(name).writes:
        raise invalid("platform", "This study is on no platform that passes on messages.", "Write to them yourself.")
    subject, text = one_line(subject), clean_text(text).strip()
    problems, limits = [], platform_class(name)
    for field, written, most in (("subject", subject, limits.most_subject), ("text", text, limits.most_text)):
        if not written:
            problems.append(Problem(field, f"The {field} is empty.", "Write it."))
        elif len(written) > most:
            what = f"The {field} has {counted(len(written), 'character')}."
            problems.append(Problem(field, what, f"Shorten it to {most:,}."))
    refuse_if_any(problems)
    pseudonyms = {participant.worker.platform_id: participant.pseudonym for participant in readers(study, pseudonym)}
    if not pseudonyms:
        raise invalid("worker", "No worker of this study has begun work on the platform.", "Wait until somebody has.")
    platform = connect(name, study)

    def done(results: Sequence[Json]) -> None:
        detail = {"worker": pseudonym} if pseudonym else {"workers": len(pseudonyms)}
        record(study=study, actor=actor, action="write to workers", **detail, subject=subject, note=text)

    calls = platform.message(posting, list(pseudonyms), subject=subject, text=text, key=f"{study.pk}/{key}")
    results = make_all(calls, platform, study=study, posting=posting, done=done)
    missed = platform.not_reached(results)
    return Written(len(pseudonyms), {pseudonyms.get(worker, worker): reason for worker, reason in missed.items()})
