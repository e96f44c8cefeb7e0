"""Reports kept on disk, one per state of a study's data, so that looking again costs nothing.

A report stands in ``VAR/reports/<number of the study>/<fingerprint>/``; its name may pass from a deleted draft to a
study of other people. The fingerprint changes with whatever the report is made from; what it does not cover (who is at
work right now) may be as old as the report. Web machines and workers that build reports have to share VAR.
"""

from __future__ import annotations

import hashlib
import json
import logging
import shutil
import time
from dataclasses import dataclass
from pathlib import Path

from django.conf import settings
from django.db.models import Count, Max
from django.forms.models import model_to_dict

from analysis.reports import NUMBERS, PAGE, VERSION, build_report
from annotation.models import Flag, Item, Rating, Review, Study, Submission

log = logging.getLogger(__name__)

#: Up to these sizes a report takes a few seconds and is built while the reader waits.
MOST_RATINGS_AT_ONCE = 10_000
MOST_ITEMS_AT_ONCE = 1_000
#: A build that has not ended by then has died with its process.
GIVEN_UP_AFTER = 35 * 60
#: A build that failed is not tried again on the same data before this many seconds.
TRY_AGAIN_AFTER = 60


@dataclass(frozen=True, slots=True)
class Kept:
    """What there is: ``folder`` of the newest report (None: none yet), and whether it is of the data as they are."""

    folder: Path | None
    fresh: bool
    building: bool
    failed: bool


def fingerprint(study: Study) -> str:
    """Names the state of everything that a report shows."""
    counted = [
        model.objects.filter(**{path: study}).aggregate(n=Count("pk"), last=Max("pk"))
        for model, path in (
            (Item, "study"),
            (Submission, "study"),
            (Rating, "study"),
            (Review, "submission__study"),
            (Flag, "submission__study"),
        )
    ]
    state = {"version": VERSION, "pk": study.pk, "study": model_to_dict(study, exclude=["members"]), "counted": counted}
    return hashlib.sha256(json.dumps(state, sort_keys=True, default=str).encode()).hexdigest()[:20]


def folder_of(study: Study) -> Path:
    return Path(settings.VAR) / "reports" / str(study.pk)


def look(study: Study) -> Kept:
    """What is kept of this study, without making anything."""
    home, name = folder_of(study), fingerprint(study)
    wanted = home / name
    building = recent(home / f"{name}.building", GIVEN_UP_AFTER)
    failed = recent(home / f"{name}.failed", TRY_AGAIN_AFTER)
    if is_whole(wanted):
        return Kept(wanted, True, building, failed)
    older = sorted((each for each in home.glob("*") if is_whole(each)), key=lambda each: each.stat().st_mtime)
    return Kept(older[-1] if older else None, False, building, failed)


def is_small(study: Study) -> bool:
    """Whether a reader may wait for the report within one request."""
    ratings = Rating.objects.filter(study=study).order_by()[: MOST_RATINGS_AT_ONCE + 1].count()
    return ratings <= MOST_RATINGS_AT_ONCE and Item.objects.filter(study=study).count() <= MOST_ITEMS_AT_ONCE


def claim(study: Study) -> bool:
    """Take it on to build the report of the present data. False while another process is at it."""
    mark = folder_of(study) / f"{fingerprint(study)}.building"
    mark.parent.mkdir(parents=True, exist_ok=True)
    if mark.exists() and not recent(mark, GIVEN_UP_AFTER):
        mark.unlink(missing_ok=True)
    try:
        mark.touch(exist_ok=False)
    except FileExistsError:
        return False
    return True


def release(study: Study) -> None:
    """Undo ``claim`` where the report will not be built after all."""
    for mark in folder_of(study).glob("*.building"):
        mark.unlink(missing_ok=True)


def make(study: Study) -> bool:
    """Build and keep the report of the present data, drop older ones. False, with a log entry, where that fails."""
    home, name = folder_of(study), fingerprint(study)
    started = time.time()
    try:
        build_report(study, out_dir=home / name)
    except Exception:
        log.exception("The report of %s could not be built", study.slug)
        home.mkdir(parents=True, exist_ok=True)
        (home / f"{name}.failed").touch()
        return False
    finally:
        release(study)
    for other in home.iterdir():
        if other.name.partition(".")[0] != name and other.stat().st_mtime < started:
            shutil.rmtree(other, ignore_errors=True) if other.is_dir() else other.unlink(missing_ok=True)
    return True


def is_whole(folder: Path) -> bool:
    return (folder / PAGE).is_file() and (folder / NUMBERS).is_file()


def recent(path: Path, seconds: float) -> bool:
    """Whether the file is there and was touched within so many seconds."""
    try:
        return time.time() - path.stat().st_mtime < seconds
    except FileNotFoundError:
        return False
