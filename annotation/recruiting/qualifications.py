"""Qualifications on a platform for what workers did in a study: the result of its exam, that they took part, that they
did all that one worker can do, or that they took one of the parts in which a hit is offered.

The rules themselves are checked here when somebody starts a study (`work.exams`, `work.allocation`). The
qualifications keep workers who may not take part from accepting the work at all. Every minute, those that workers have
earned are granted. The ones that decide what a worker is offered next are granted at once (`grant_now`).
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from datetime import timedelta
from typing import Any

from celery import current_app
from django.db.models import Count, Q, QuerySet
from django.utils import timezone

from annotation.audit import record
from annotation.many_ids import among
from annotation.models import Assignment, PlatformCall, QualificationType, Study, Submission, Worker
from annotation.platforms import connect_account, platform_class
from annotation.platforms.base import Platform
from annotation.platforms.calls import NOT_MADE, Call, Json, PlatformTrouble
from annotation.platforms.listings import hits_in_parts, is_bounded
from annotation.recruiting.platform_calls import make_all
from annotation.work.confirmation import unconfirmed_submissions
from annotation.work.exams import exam_percent
from common.task_queue import handed_over

Purpose = QualificationType.Purpose
State = Assignment.State
SENT = (State.SUBMITTED, State.RELEASED, State.STOPPED)
#: Work that counts as the worker's: nobody does the same hit twice.
HELD = (State.ACCEPTED, *SENT)
ACTOR = "qualifications"
TASK = "annotation.tasks.grant_now"
#: How long work that the platform has not confirmed keeps the qualification that its worker got for it at once.
UNTIL_CONFIRMED = timedelta(hours=1)


def prepare(*, study: Study, platform: Platform) -> int:
    """Make the qualification types that the study's postings require, and grant them. Returns how many types are new.

    Call it before anything is posted. Raises PlatformTrouble.
    """
    if not platform.qualifies:
        return 0
    new = 0
    for kind in required_qualifications(study, platform):
        if not kind.pk:
            _make(kind, platform)
            new += 1
        grant_all(kind=_stored(kind) or kind, platform=platform)
    return new


def required_qualifications(study: Study, platform: Platform) -> list[QualificationType]:
    """The qualifications that decide who may take part. Those that the account does not have yet are not saved."""
    exam = Study.objects.filter(slug=study.exam_study).first() if study.exam_study else None
    kinds = [QualificationType(study=exam, purpose=Purpose.EXAM)] if exam is not None else []
    kinds += [
        QualificationType(study=other, purpose=Purpose.TOOK_PART) for other in study.exclude_studies.order_by("pk")
    ]
    kinds += [QualificationType(study=study, purpose=Purpose.LIMIT)] if is_bounded(study, platform.name) else []
    kinds += [
        QualificationType(study=study, purpose=Purpose.PART, hit=hit) for hit in hits_in_parts(study, platform.name)
    ]
    for kind in kinds:
        kind.platform, kind.account, kind.external_id = platform.name, platform.account, NOT_MADE
    return [_stored(kind) or kind for kind in kinds]


def _stored(kind: QualificationType) -> QualificationType | None:
    same = QualificationType.objects.filter(study=kind.study_id, platform=kind.platform, purpose=kind.purpose)
    return same.filter(hit=kind.hit_id, account=kind.account_id).select_related("study", "account").first()


def _make(kind: QualificationType, platform: Platform) -> None:
    """Make the type on the platform, once. Its id is stored, so that nobody has to search for it by name."""

    def done(results: object) -> None:
        external_id = platform.qualification_id(results)  # type: ignore[arg-type]  # a list of results
        values = {"study": kind.study, "platform": kind.platform, "purpose": kind.purpose, "hit": kind.hit}
        values |= {"account": kind.account}
        QualificationType.objects.get_or_create(**values, defaults={"external_id": external_id})
        record(study=kind.study, actor=ACTOR, action="make qualification", purpose=str(kind.purpose), id=external_id)

    make_all(_type_calls(kind, platform), platform, study=kind.study, posting=None, done=done)


def _type_calls(kind: QualificationType, platform: Platform) -> Sequence[Call]:
    """The calls that make the type."""
    label = Purpose(kind.purpose).label
    number = f" {kind.hit.position + 1}" if kind.hit else ""
    of_hit = f"/{kind.hit_id}" if kind.hit else ""
    return platform.qualification(
        key=f"qualification/{platform.name}/{kind.purpose}/{kind.study_id}{of_hit}{platform.own_mark}",
        name=f"{kind.study.slug}: {label.partition(',')[0].lower()}{number}",
        description=f"{label}: {kind.study.title}"[:500],
    )


def calls_ahead(study: Study, platform: Platform) -> Iterator[tuple[str, Json]]:
    """Every call that `prepare` would make now: operation and parameters. Used for a dry run."""
    for kind in required_qualifications(study, platform) if platform.qualifies else ():
        if not kind.pk:
            for call in _type_calls(kind, platform):
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
    revocations = [platform.revoke(kind.external_id, worker, key=key) for key, worker in _to_revoke(kind, earned)]
    grants = [
        platform.grant(kind.external_id, worker.platform_id, value=value, key=key)
        for key, worker, value in _to_grant(kind, earned)
    ]
    n_calls = 0
    for calls in [*revocations, *grants]:
        try:
            make_all(calls, platform, study=kind.study, posting=None)
            n_calls += 1
        except PlatformTrouble as trouble:
            if trouble.again:
                raise
    if n_calls:
        record(study=kind.study, actor=ACTOR, action="grant qualifications", purpose=kind.purpose, workers=n_calls)
    return n_calls


def _to_grant(kind: QualificationType, earned: Mapping[Worker, int]) -> list[tuple[str, Worker, int]]:
    """The key of the call, the worker and the value of each qualification that was earned and not granted."""
    granted, revoked = _made_calls(kind, "grant"), _made_calls(kind, "revoke")
    grants = [(_key(kind, worker, value, revoked), worker, value) for worker, value in earned.items()]
    return [grant for grant in grants if grant[0] not in granted]


def _key(kind: QualificationType, worker: Worker, value: int, revoked: Collection[str]) -> str:
    """The key of the call that grants the value. After it was taken back, granting it again is another call."""
    name = f"{kind.pk}/{worker.pk}/{value}"
    times = sum(key == f"revoke/{name}" or key.startswith(f"revoke/{name}/") for key in revoked)
    return f"grant/{name}/{times}" if times else f"grant/{name}"


def _to_revoke(kind: QualificationType, earned: Mapping[Worker, int]) -> list[tuple[str, str]]:
    """The key of the call and the worker's id on the platform, for those who have it and have not earned it any more:
    the limit was raised, or they returned their part."""
    if kind.purpose not in (Purpose.LIMIT, Purpose.PART):
        return []
    keep, revoked = {worker.pk for worker in earned}, _made_calls(kind, "revoke")
    if kind.purpose == Purpose.LIMIT:
        # Who got it at once keeps it, because the platform may not have been asked since.
        recent = Q(received_at__gt=timezone.now() - UNTIL_CONFIRMED)
        keep |= set(_at_limit(kind, also=recent).values_list("participant__worker", flat=True))
    lost = {}
    for key in _made_calls(kind, "grant"):
        worker = int(key.split("/")[2])
        name = key.replace("grant/", "revoke/", 1)
        if worker not in keep and name not in revoked:
            lost[worker] = name
    return [(lost[pk], name) for pk, name in Worker.objects.filter(pk__in=among(lost)).values_list("pk", "platform_id")]


def _made_calls(kind: QualificationType, verb: str) -> set[str]:
    calls = PlatformCall.objects.filter(study=kind.study, key__startswith=f"{verb}/{kind.pk}/")
    return set(calls.exclude(state=PlatformCall.State.PENDING).values_list("key", flat=True))


def _earned(kind: QualificationType) -> dict[Worker, int]:
    """Workers of the platform and the value that they get. Only work that the platform has confirmed counts."""
    if kind.purpose == Purpose.LIMIT:
        return dict.fromkeys(_workers(_at_limit(kind)), kind.study.hits_per_worker or 0)
    if kind.purpose == Purpose.PART:
        of_hit = Assignment.objects.filter(hit=kind.hit_id, state__in=HELD, participant__synthetic=False)
        of_worker = of_hit.filter(participant__worker__platform=kind.platform)
        return dict.fromkeys(_workers(of_worker.values("participant__worker")), 1)
    of_worker = Assignment.objects.filter(
        participant__study=kind.study, participant__worker__platform=kind.platform, participant__synthetic=False
    )
    unconfirmed = unconfirmed_submissions(kind.study).values("assignment")
    ids = of_worker.exclude(pk__in=unconfirmed).values("participant__worker")
    workers = list(Worker.objects.filter(pk__in=ids).order_by("pk"))
    if kind.purpose == Purpose.TOOK_PART:
        return dict.fromkeys(workers, 1)
    results = ((worker, exam_percent(kind.study, worker.pk)) for worker in workers)
    return {worker: percent for worker, percent in results if percent is not None}


def _at_limit(kind: QualificationType, *, also: Q | None = None) -> QuerySet[Submission, Any]:
    """Ids of workers with as many confirmed submissions as one person can send; ``also`` counts as confirmed, too."""
    limit = kind.study.hits_per_worker
    submissions = Submission.objects.filter(study=kind.study, participant__worker__platform=kind.platform)
    confirmed = ~Q(pk__in=unconfirmed_submissions(kind.study))
    counted = (
        submissions.filter(confirmed if also is None else confirmed | also).order_by().values("participant__worker")
    )
    at_limit = counted.annotate(n=Count("pk")).filter(n__gte=limit) if limit is not None else counted.none()
    return at_limit.values("participant__worker")


def _workers(ids: QuerySet[Any, Any]) -> QuerySet[Worker]:
    return Worker.objects.filter(pk__in=ids).order_by("pk")


# --- at once ---


def due_now(work: Assignment) -> list[tuple[QualificationType, int]]:
    """What this work earns its worker, with its value: they took a part, or sent all that one person can do.

    It is granted before the platform confirms the work, because the worker may accept the next HIT within a second. If
    the platform never confirms it, the worker loses it again.
    """
    if work.posting is None or work.participant.synthetic or not platform_class(work.posting.platform).qualifies:
        return []
    kinds = QualificationType.objects.filter(
        study=work.hit.study_id, platform=work.posting.platform, account=work.posting.account_id
    ).select_related("account")
    part = kinds.filter(hit=work.hit_id).first() if work.state in HELD else None
    earned = [(part, 1)] if part else []
    most = work.hit.study.hits_per_worker
    limit = kinds.filter(purpose=Purpose.LIMIT).first()
    if limit and most is not None and work.participant.assignments.filter(state__in=SENT).count() >= most:
        earned.append((limit, most))
    return earned


def is_granted(work: Assignment) -> bool:
    """Whether everything that this work earns its worker has been granted."""
    return all(_granting(work, kind, value) is None for kind, value in due_now(work))


def grant_now(*, assignment_id: int) -> int:
    """Grant what this work earns its worker. Returns how many calls were made. Raises PlatformTrouble."""
    work = Assignment.objects.select_related("hit__study", "participant__worker", "posting").get(pk=assignment_id)
    n_calls = 0
    for kind, value in due_now(work):
        key = _granting(work, kind, value)
        if key is not None:
            platform = connect_account(kind.platform, kind.account)
            worker_id = work.participant.worker.platform_id
            make_all(
                platform.grant(kind.external_id, worker_id, value=value, key=key),
                platform,
                study=kind.study,
                posting=None,
            )
            n_calls += 1
    return n_calls


def _granting(work: Assignment, kind: QualificationType, value: int) -> str | None:
    """The key of the call that grants this, or None if it was made."""
    key = _key(kind, work.participant.worker, value, _made_calls(kind, "revoke"))
    calls = PlatformCall.objects.filter(key=key).exclude(state=PlatformCall.State.PENDING)
    return None if calls.exists() else key


def ask_to_grant(work: Assignment) -> bool:
    """Wake a worker process to grant what this work earns. True if something is to be granted, so it may be waited for.

    If the queue does not respond, the scheduler grants it within a minute.
    """
    if is_granted(work):
        return False
    return handed_over(lambda: current_app.signature(TASK, args=(work.pk,)).delay())
