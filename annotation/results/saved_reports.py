"""Reports saved on disk, one per state of the data of a study or a generation run. Opening one again costs nothing.

A study's report is in ``VAR/reports/<number of the study>/<fingerprint>/``. The path has no short name, because other
people may reuse the short name of a deleted draft. A run's report is in ``VAR/run-reports/``, and the paper's part of a
study in ``VAR/papers/``. The fingerprint changes with everything that they are made from. What it does not cover (who
is working right now) may be as old as the report. Web machines and workers that build reports must share VAR.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from celery.exceptions import SoftTimeLimitExceeded
from django.conf import settings
from django.db.models import Count, Max, Sum
from django.forms.models import model_to_dict

from analysis.report import NUMBERS, PAGE, VERSION, write_report
from annotation.instrument import asked_around
from annotation.models import (
    Adjudication,
    Arm,
    Flag,
    Item,
    Participant,
    PartPayment,
    Payment,
    Posting,
    QuestionnaireReply,
    Rating,
    Review,
    Study,
    Submission,
    TriedPage,
)
from annotation.results.paper_folder import save_paper
from annotation.task_types.registry import get_type
from annotation.work.left_out import left_out_submissions
from annotation.work.training_rounds import can_try
from generation.models import GenerationRun, Sample

log = logging.getLogger(__name__)

#: Up to these sizes, building a report takes a few seconds, so the reader waits for it.
MOST_RATINGS_AT_ONCE = 10_000
MOST_ITEMS_AT_ONCE = 1_000
MOST_SAMPLES_AT_ONCE = 5_000
#: The same for texts whose distances are measured, which takes a language model and a tagger.
MOST_TEXTS_AT_ONCE = 100
#: Seconds after which an unfinished build counts as dead, with its process.
GIVEN_UP_AFTER = 35 * 60
#: Seconds until a failed build is tried again on the same data.
TRY_AGAIN_AFTER = 60


@dataclass(frozen=True, slots=True)
class Kept:
    """``folder`` of the newest report (None if there is none yet). ``fresh``: the data have not changed since."""

    folder: Path | None
    fresh: bool
    building: bool
    failed: bool


@dataclass(frozen=True, slots=True)
class Subject:
    """What a report is about. ``fingerprint`` identifies the state of its data; ``build`` writes it to a folder."""

    name: str
    home: Path
    fingerprint: Callable[[], str]
    is_small: Callable[[], bool]
    build: Callable[[Path], object]


def of_study(study: Study) -> Subject:
    return Subject(
        name=study.slug,
        home=Path(settings.VAR) / "reports" / str(study.pk),
        fingerprint=lambda: fingerprint(study),
        is_small=lambda: is_small(study),
        build=lambda folder: _build_report(study, folder),
    )


def of_paper(study: Study) -> Subject:
    """The paper's part of a study. It is never made while a page loads: pictures of pages take seconds each."""
    return Subject(
        name=f"{study.slug} for a paper",
        home=Path(settings.VAR) / "papers" / str(study.pk),
        fingerprint=lambda: fingerprint(study),
        is_small=lambda: False,
        build=lambda folder: save_paper(study, folder, stops=(SoftTimeLimitExceeded,)),
    )


def of_run(run: GenerationRun) -> Subject:
    return Subject(
        name=run.name,
        home=Path(settings.VAR) / "run-reports" / str(run.pk),
        fingerprint=lambda: run_fingerprint(run),
        is_small=lambda: Sample.objects.filter(run=run)[: MOST_SAMPLES_AT_ONCE + 1].count() <= MOST_SAMPLES_AT_ONCE,
        build=lambda folder: _build_run_report(run, folder),
    )


def _build_report(study: Study, folder: Path) -> None:
    from annotation.results.frames import study_data  # loads pandas, which a saved report does not need

    write_report(study_data(study), out_dir=folder, stops=(SoftTimeLimitExceeded,))


def _build_run_report(run: GenerationRun, folder: Path) -> None:
    from analysis.report.sweep import write_sweep_report
    from generation.runs.report import sweep_data

    write_sweep_report(sweep_data(run), out_dir=folder)


def run_fingerprint(run: GenerationRun) -> str:
    """Samples never change, so their number and the last one identify them all."""
    counted = Sample.objects.filter(run=run).aggregate(n=Count("pk"), last=Max("pk"))
    state = {"version": VERSION, "pk": run.pk, "state": run.state, "spec": run.spec_hash, "counted": counted}
    return hashlib.sha256(json.dumps(state, sort_keys=True, default=str).encode()).hexdigest()[:20]


def fingerprint(study: Study) -> str:
    """Identifies the state of everything that a report shows."""
    counted = [
        model.objects.filter(**{path: study}).aggregate(n=Count("pk"), last=Max("pk"))
        for model, path in (
            (Item, "study"),
            (Submission, "study"),
            (Rating, "study"),
            (Review, "submission__study"),
            (Adjudication, "study"),
            (Flag, "submission__study"),
            (PartPayment, "assignment__hit__study"),
            (Posting, "study"),
        )
    ]
    # Rewards are in no report.
    counted.append(Payment.objects.filter(study=study).exclude(kind=Payment.Kind.REWARD).aggregate(n=Count("pk")))
    # Without the arms' ``n_enrolled``: it changes with every new participant, and no report shows it.
    arms = Arm.objects.filter(study=study).values("name", "config", "texts", "reward", "wanted")
    replies, tries = QuestionnaireReply.objects.filter(study=study), TriedPage.objects.filter(study=study)
    # Whoever is turned away by their answers has sent one, too. No query where nothing of the kind can be sent.
    count_and_last = {"n": Count("pk"), "last": Max("pk")}
    counted.append(replies.aggregate(**count_and_last) if asked_around(study) else {})
    counted.append(tries.aggregate(**count_and_last) if can_try(study) else {})
    state = {
        "version": VERSION,
        "pk": study.pk,
        "study": model_to_dict(study, exclude=["members", "exclude_studies"]),
        "arms": list(arms.order_by("position")),
        "counted": counted,
        "redacted": Participant.objects.filter(study=study).exclude(redacted_at=None).count(),
        # A sync changes what is confirmed without a new submission or review.
        "left out": left_out_submissions(study).aggregate(n=Count("pk"), sum=Sum("pk")),
        "concreteness": _state_of_file(settings.CONCRETENESS),
    }
    return hashlib.sha256(json.dumps(state, sort_keys=True, default=str).encode()).hexdigest()[:20]


def _state_of_file(name: str) -> list[str | int]:
    """Changes with the file. Empty without a name."""
    if not name:
        return []
    path = Path(name).expanduser()
    return [name, path.stat().st_mtime_ns] if path.is_file() else [name]


def look(subject: Subject) -> Kept:
    """Which report is saved, and whether one is being built. Builds nothing."""
    home, name = subject.home, subject.fingerprint()
    current = home / name
    building = recent(_mark(subject, name), GIVEN_UP_AFTER)
    failed = recent(home / f"{name}.failed", TRY_AGAIN_AFTER)
    if is_whole(current):
        return Kept(current, True, building, failed)
    older = sorted((folder for folder in home.glob("*") if is_whole(folder)), key=lambda folder: folder.stat().st_mtime)
    return Kept(older[-1] if older else None, False, building, failed)


def is_small(study: Study) -> bool:
    """Whether the report is small enough to build within one request."""
    return not why_slow(study)


def why_slow(study: Study) -> str:
    """Why the report is built in the background: ``large``, or ``texts`` whose distances are measured; else empty."""
    ratings = Rating.objects.filter(study=study).order_by()[: MOST_RATINGS_AT_ONCE + 1].count()
    if ratings > MOST_RATINGS_AT_ONCE or Item.objects.filter(study=study).count() > MOST_ITEMS_AT_ONCE:
        return "large"
    declared = {section.name for section in get_type(study.task_type).sections(study.config)}
    if "variability" not in declared:
        return ""
    texts = Rating.objects.filter(study=study).exclude(text="").order_by()[: MOST_TEXTS_AT_ONCE + 1].count()
    return "texts" if texts > MOST_TEXTS_AT_ONCE else ""


def claim(subject: Subject) -> Path | None:
    """Reserve the right to build the report of the current data, with a mark that `make` or `release` deletes. None
    while another process builds it."""
    mark = _mark(subject, subject.fingerprint())
    mark.parent.mkdir(parents=True, exist_ok=True)
    if mark.exists() and not recent(mark, GIVEN_UP_AFTER):
        mark.unlink(missing_ok=True)
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return None
    return mark


def release(mark: Path) -> None:
    """Undo ``claim``: the report has been built, or will not be built after all."""
    mark.unlink(missing_ok=True)


def _mark(subject: Subject, fingerprint: str) -> Path:
    return subject.home / f"{fingerprint}.building"


def make(subject: Subject) -> bool:
    """Build and save the report of the current data, and delete older ones. False, with a log entry, if that fails.

    Only the mark of these data is deleted: another process may be building the report of newer data.
    """
    home, name = subject.home, subject.fingerprint()
    started = time.time()
    try:
        subject.build(home / name)
    except Exception:
        log.exception("The report of %s could not be built", subject.name)
        home.mkdir(parents=True, exist_ok=True)
        (home / f"{name}.failed").touch()
        return False
    finally:
        release(_mark(subject, name))
    for other in home.iterdir():
        if other.name.partition(".")[0] != name and other.stat().st_mtime < started:
            shutil.rmtree(other, ignore_errors=True) if other.is_dir() else other.unlink(missing_ok=True)
    return True


def is_whole(folder: Path) -> bool:
    """Whether the folder contains a complete report."""
    return (folder / PAGE).is_file() and (folder / NUMBERS).is_file()


def recent(path: Path, seconds: float) -> bool:
    """Whether the file exists and was modified within the last ``seconds`` seconds."""
    try:
        return time.time() - path.stat().st_mtime < seconds
    except FileNotFoundError:
        return False
