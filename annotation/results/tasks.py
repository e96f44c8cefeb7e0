"""Builds reports, and looks at studies that may stop early, in the background. Each task may run twice."""

from __future__ import annotations

from celery import shared_task

from annotation.models import Study
from annotation.results import saved_reports, stopping_early
from generation.models import GenerationRun


@shared_task(name="annotation.tasks.make_report")  # type: ignore[untyped-decorator]  # Celery has no types
def make_report(study_id: int) -> bool:
    """Build and save the report of a study. True if it exists afterwards, or the study is gone."""
    study = Study.objects.filter(pk=study_id).first()
    return True if study is None else _make(saved_reports.of_study(study))


@shared_task(name="annotation.tasks.make_paper")  # type: ignore[untyped-decorator]
def make_paper(study_id: int) -> bool:
    """Make and save the paper's part of a study. True if it exists afterwards, or the study is gone."""
    study = Study.objects.filter(pk=study_id).first()
    return True if study is None else _make(saved_reports.of_paper(study))


@shared_task(name="annotation.tasks.make_run_report")  # type: ignore[untyped-decorator]
def make_run_report(run_id: int) -> bool:
    """Build and save the report of a generation run. True if it exists afterwards, or the run is gone."""
    run = GenerationRun.objects.filter(pk=run_id).first()
    return True if run is None else _make(saved_reports.of_run(run))


@shared_task(name="annotation.tasks.stop_early")  # type: ignore[untyped-decorator]
def stop_early() -> int:
    """Look at the studies whose rule for stopping asks for it. Returns how many stopped."""
    return stopping_early.look_at_due_studies()


def _make(subject: saved_reports.Subject) -> bool:
    return saved_reports.look(subject).fresh or saved_reports.make(subject)
