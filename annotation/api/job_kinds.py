"""What the API's jobs do that no other background work does: exports as files, checks, simulated workers, messages."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from django.conf import settings

from annotation.api.job_files import folder_of
from annotation.api.jobs import Running, does
from annotation.models import Assignment, Study
from annotation.platforms import connect
from annotation.recruiting.compensating import compensate
from annotation.recruiting.messages import write_to_workers
from annotation.results import exports
from annotation.review.quality_control import check_quality
from annotation.work.bots import Mix, simulate_workers
from common.files import replaced
from common.problems import invalid
from common.words import counted

EXPORT, CHECK, SIMULATE, MESSAGE, COMPENSATE = "export", "quality_check", "simulate", "message", "compensate"


def _study_of(running: Running) -> Study:
    study = running.job.study
    if study is None:
        raise invalid("study", "The study was deleted.", "There is nothing to do.")
    return study


@does(EXPORT)
def _export(running: Running) -> Mapping[str, Any]:
    study, params = _study_of(running), running.job.params
    chosen = {name: params[name] for name in ("kind", "format", "with_worker_ids", "simulated")}
    try:
        pieces = exports.pieces(study, **chosen)
    except exports.ExportError as error:
        raise invalid("kind", str(error)) from None
    name = exports.file_name(study, kind=chosen["kind"], format=chosen["format"], simulated=chosen["simulated"])
    folder, size = folder_of(running.job), 0
    folder.mkdir(parents=True, exist_ok=True)
    with replaced(folder / name) as file:
        for piece in pieces:
            size += file.write(piece)
            running.step(size)
    running.noted = 0.0
    running.step(size, size)
    return {"file_name": name, "content_type": exports.CONTENT_TYPES[chosen["format"]], "bytes": size}


@does(CHECK)
def _check(running: Running) -> Mapping[str, Any]:
    study, checked = _study_of(running), 0
    total = study.submissions.count()

    def note(count: int) -> None:
        nonlocal checked
        checked += count
        running.step(checked, total)

    check = check_quality(study=study, actor=running.job.user.get_username(), progress=note)
    flags = sum(check.flags.values())
    message = f"{counted(check.submissions, 'submission')} checked, {counted(flags, 'new flag')}."
    return {"message": message, "submissions": check.submissions, "new_flags": check.flags}


@does(SIMULATE)
def _simulate(running: Running) -> Mapping[str, Any]:
    """Workers are the same for the same seed, so a job that begins again continues theirs."""
    study, params = _study_of(running), running.job.params
    if study.status != Study.Status.LIVE:
        state = study.get_status_display().lower()
        raise invalid("status", f"The study is {state}; simulated workers need a live study.", "Launch it first.")
    sent = 0

    def note() -> None:
        nonlocal sent
        sent += 1
        running.step(sent)

    tally = simulate_workers(
        study=study,
        base_url=settings.BASE_URL,
        workers=params["workers"],
        mix=Mix(),
        seed=params["seed"],
        at_once=4,
        progress=note,
    )
    if tally.problems and not tally.submissions:
        raise invalid("workers", tally.problems[0], "Check that the server can reach itself at HITSERVER_BASE_URL.")
    message = f"{counted(tally.workers, 'simulated worker')} sent {counted(tally.submissions, 'submission')}."
    figures = {"workers": tally.workers, "submissions": tally.submissions, "turned_away": tally.turned_away}
    return {"message": message, **figures, "problems": tally.problems[:20]}


@does(MESSAGE)
def _message(running: Running) -> Mapping[str, Any]:
    """The job's number is the message's key, so nobody gets it twice."""
    study, params = _study_of(running), running.job.params
    written = write_to_workers(
        study=study,
        pseudonym=params["worker"],
        subject=params["subject"],
        text=params["text"],
        key=f"job{running.job.pk}",
        actor=running.job.user.get_username(),
        connect=connect,
    )
    reached = written.workers - len(written.not_reached)
    return {"message": f"Sent to {counted(reached, 'worker')}.", "not_reached": dict(written.not_reached)}


@does(COMPENSATE)
def _compensate(running: Running) -> Mapping[str, Any]:
    study, params = _study_of(running), running.job.params
    works = Assignment.objects.select_related("hit__study", "posting", "participant__worker")
    work = works.get(pk=params["assignment"], hit__study=study)
    owed = compensate(
        work=work,
        amount=Decimal(params["amount"]),
        reason=params["reason"],
        platform=connect(work.participant.worker.platform, study),
        actor=running.job.user.get_username(),
    )
    how = "Paid as a bonus." if owed.paid_at else "The worker can accept a HIT that pays it."
    return {"message": how, "worker": work.participant.pseudonym, "amount": str(owed.amount)}
