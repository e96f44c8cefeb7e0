"""Qualifications on a platform for what workers did in a study: the result of its exam, or that they took part.

The rules themselves are checked here when somebody starts a study (`queries.exams`, `services.allocation`). The
qualifications keep workers who may not take part from accepting the work at all; they arrive there with a delay.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from annotation.models import Assignment, PlatformCall, QualificationType, Study, Worker
from annotation.platforms.base import NOT_MADE, Call, Json, Platform, PlatformTrouble
from annotation.queries.exams import exam_percent
from annotation.queries.platforms import unconfirmed_submissions
from annotation.services.audit import record
from annotation.services.platform_calls import make_all

Purpose = QualificationType.Purpose
ACTOR = "qualifications"


def prepare(*, study: Study, platform: Platform) -> int:
    """Make the qualification types that the study's postings require, and grant them. Returns how many types are new.

    Call it before anything is posted. Raises PlatformTrouble.
    """
    if not platform.qualifies:
        return 0
    new = 0
    for other, purpose in asked_of(study):
        known = QualificationType.objects.filter(study=other, platform=platform.name, purpose=purpose)
        new += not known.exists()
        grant_all(kind=_type(other, purpose, platform), platform=platform)
    return new


def asked_of(study: Study) -> list[tuple[Study, str]]:
    """The studies that decide who may take part, each with what counts there."""
    exam = Study.objects.filter(slug=study.exam_study).first() if study.exam_study else None
    found: list[tuple[Study, str]] = [(exam, Purpose.EXAM)] if exam is not None else []
    return found + [(other, Purpose.TOOK_PART) for other in study.exclude_studies.order_by("pk")]


def _type(study: Study, purpose: str, platform: Platform) -> QualificationType:
    """The type on the platform, made once. Its id is stored, so that nobody has to search for it by name."""
    known = _known(study, purpose, platform)
    if known is not None:
        return known
    calls = _type_calls(study, purpose, platform)

    def done(results: object) -> None:
        external_id = platform.qualification_id(results)  # type: ignore[arg-type]  # a list of results
        QualificationType.objects.get_or_create(
            study=study, platform=platform.name, purpose=purpose, defaults={"external_id": external_id}
        )
        record(study=study, actor=ACTOR, action="make qualification", purpose=str(purpose), id=external_id)

    make_all(calls, platform, study=study, posting=None, done=done)
    return QualificationType.objects.get(study=study, platform=platform.name, purpose=purpose)


def _known(study: Study, purpose: str, platform: Platform) -> QualificationType | None:
    return QualificationType.objects.filter(study=study, platform=platform.name, purpose=purpose).first()


def _type_calls(study: Study, purpose: str, platform: Platform) -> Sequence[Call]:
    """The calls that make the type."""
    label = Purpose(purpose).label
    return platform.qualification(
        key=f"qualification/{platform.name}/{purpose}/{study.pk}",
        name=f"{study.slug}: {label.partition(',')[0].lower()}",
        description=f"{label}: {study.title}"[:500],
    )


def calls_ahead(study: Study, platform: Platform) -> Iterator[tuple[str, Json]]:
    """Every call that `prepare` would make now: operation and parameters. Used for a dry run."""
    for other, purpose in asked_of(study) if platform.qualifies else ():
        kind = _known(other, purpose, platform)
        if kind is None:
            kind = QualificationType(study=other, platform=platform.name, purpose=purpose, external_id=NOT_MADE)
            for call in _type_calls(other, purpose, platform):
                yield call.operation, call.params([])
        for key, worker, value in _to_grant(kind):
            for call in platform.grant(kind.external_id, worker.platform_id, value=value, key=key):
                yield call.operation, call.params([])


def grant_all(*, kind: QualificationType, platform: Platform) -> int:
    """Grant the qualification to everybody who has earned it since the last time. Returns how many calls were made.

    A worker whom the platform refuses, for example an unknown one, is left out; the others still get it. Raises
    PlatformTrouble if the platform cannot be reached.
    """
    made = 0
    for key, worker, value in _to_grant(kind):
        calls = platform.grant(kind.external_id, worker.platform_id, value=value, key=key)
        try:
            make_all(calls, platform, study=kind.study, posting=None)
            made += 1
        except PlatformTrouble as trouble:
            if trouble.again:
                raise
    if made:
        record(study=kind.study, actor=ACTOR, action="grant qualifications", purpose=kind.purpose, workers=made)
    return made


def _to_grant(kind: QualificationType) -> list[tuple[str, Worker, int]]:
    """The key of the call, the worker and the value of each qualification that was earned and not granted."""
    calls_made = PlatformCall.objects.filter(study=kind.study, key__startswith=_prefix(kind))
    granted = set(calls_made.exclude(state=PlatformCall.State.PENDING).values_list("key", flat=True))
    earned = [(f"{_prefix(kind)}{worker.pk}/{value}", worker, value) for worker, value in _earned(kind).items()]
    return [each for each in earned if each[0] not in granted]


def _prefix(kind: QualificationType) -> str:
    return f"grant/{kind.pk}/"


def _earned(kind: QualificationType) -> dict[Worker, int]:
    """Workers of the platform and the value that they get. Only work that the platform has confirmed counts."""
    theirs = Assignment.objects.filter(
        participant__study=kind.study, participant__worker__platform=kind.platform, participant__synthetic=False
    )
    unconfirmed = unconfirmed_submissions(kind.study).values("assignment")
    ids = theirs.exclude(pk__in=unconfirmed).values("participant__worker")
    workers = list(Worker.objects.filter(pk__in=ids).order_by("pk"))
    if kind.purpose == Purpose.TOOK_PART:
        return dict.fromkeys(workers, 1)
    results = ((worker, exam_percent(kind.study, worker.pk)) for worker in workers)
    return {worker: percent for worker, percent in results if percent is not None}
