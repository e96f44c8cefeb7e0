"""Qualifications on a platform for what workers did in a study: the result of its exam, that they took part, or that
they did all that one worker can do.

The rules themselves are checked here when somebody starts a study (`queries.exams`, `services.allocation`). The
qualifications keep workers who may not take part from accepting the work at all; they arrive there with a delay.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from django.db.models import Count

from annotation.models import Assignment, PlatformCall, QualificationType, Study, Submission, Worker
from annotation.platforms.base import NOT_MADE, Call, Json, Platform, PlatformTrouble, is_bounded
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
    for other, purpose in asked_of(study, platform.name):
        known = QualificationType.objects.filter(study=other, platform=platform.name, purpose=purpose)
        new += not known.exists()
        grant_all(kind=_type(other, purpose, platform), platform=platform)
    return new


def asked_of(study: Study, platform: str) -> list[tuple[Study, str]]:
    """The studies that decide who may take part, each with what counts there."""
    exam = Study.objects.filter(slug=study.exam_study).first() if study.exam_study else None
    found: list[tuple[Study, str]] = [(exam, Purpose.EXAM)] if exam is not None else []
    found += [(other, Purpose.TOOK_PART) for other in study.exclude_studies.order_by("pk")]
    return found + ([(study, Purpose.LIMIT)] if is_bounded(study, platform) else [])


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
    for other, purpose in asked_of(study, platform.name) if platform.qualifies else ():
        kind = _known(other, purpose, platform)
        if kind is None:
            kind = QualificationType(study=other, platform=platform.name, purpose=purpose, external_id=NOT_MADE)
            for call in _type_calls(other, purpose, platform):
                yield call.operation, call.params([])
        for key, worker, value in _to_grant(kind, _earned(kind)):
            for call in platform.grant(kind.external_id, worker.platform_id, value=value, key=key):
                yield call.operation, call.params([])


def grant_all(*, kind: QualificationType, platform: Platform) -> int:
    """Grant the qualification to everybody who has earned it since the last time. Returns how many calls were made.

    A worker who has not earned it any more, because one person can do more hits now, loses it. A worker whom the
    platform refuses, for example an unknown one, is left out; the others still get it. Raises PlatformTrouble if the
    platform cannot be reached.
    """
    earned = _earned(kind)
    lost = [platform.revoke(kind.external_id, worker, key=key) for key, worker in _to_revoke(kind, earned)]
    given = [
        platform.grant(kind.external_id, worker.platform_id, value=value, key=key)
        for key, worker, value in _to_grant(kind, earned)
    ]
    made = 0
    for calls in [*lost, *given]:
        try:
            make_all(calls, platform, study=kind.study, posting=None)
            made += 1
        except PlatformTrouble as trouble:
            if trouble.again:
                raise
    if made:
        record(study=kind.study, actor=ACTOR, action="grant qualifications", purpose=kind.purpose, workers=made)
    return made


def _to_grant(kind: QualificationType, earned: Mapping[Worker, int]) -> list[tuple[str, Worker, int]]:
    """The key of the call, the worker and the value of each qualification that was earned and not granted."""
    granted = _made_calls(kind, "grant")
    keys = [(f"{_prefix(kind)}{worker.pk}/{value}", worker, value) for worker, value in earned.items()]
    return [each for each in keys if each[0] not in granted]


def _to_revoke(kind: QualificationType, earned: Mapping[Worker, int]) -> list[tuple[str, str]]:
    """The key of the call and the worker's id on the platform, for those who had done all before the limit rose."""
    if kind.purpose != Purpose.LIMIT:
        return []
    still, gone = {worker.pk for worker in earned}, _made_calls(kind, "revoke")
    found = {}
    for key in _made_calls(kind, "grant"):
        worker = int(key.split("/")[2])
        name = key.replace("grant/", "revoke/", 1)
        if worker not in still and name not in gone:
            found[worker] = name
    return [(found[pk], name) for pk, name in Worker.objects.filter(pk__in=found).values_list("pk", "platform_id")]


def _made_calls(kind: QualificationType, verb: str) -> set[str]:
    calls = PlatformCall.objects.filter(study=kind.study, key__startswith=f"{verb}/{kind.pk}/")
    return set(calls.exclude(state=PlatformCall.State.PENDING).values_list("key", flat=True))


def _prefix(kind: QualificationType) -> str:
    return f"grant/{kind.pk}/"


def _earned(kind: QualificationType) -> dict[Worker, int]:
    """Workers of the platform and the value that they get. Only work that the platform has confirmed counts."""
    if kind.purpose == Purpose.LIMIT:
        return _at_limit(kind)
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


def _at_limit(kind: QualificationType) -> dict[Worker, int]:
    """Workers with as many confirmed submissions as one person can send. The value is that number."""
    most = kind.study.hits_per_worker
    if most is None:
        return {}
    sent = Submission.objects.filter(study=kind.study, participant__worker__platform=kind.platform)
    counted = sent.exclude(pk__in=unconfirmed_submissions(kind.study)).order_by().values("participant__worker")
    full = counted.annotate(n=Count("pk")).filter(n__gte=most).values("participant__worker")
    return dict.fromkeys(Worker.objects.filter(pk__in=full).order_by("pk"), most)
