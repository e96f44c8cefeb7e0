"""What the analysis does in the background. Each task may run twice."""

from __future__ import annotations

from celery import shared_task

from analysis.reports import kept
from annotation.models import Study
from generation.models import GenerationRun


@shared_task(name="analysis.tasks.make_report")  # type: ignore[untyped-decorator]  # Celery has no types
def make_report(study_id: int) -> bool:
    """Build and keep the report of a study. True if it is there afterwards, or the study is gone."""
    study = Study.objects.filter(pk=study_id).first()
    return True if study is None else _make(kept.of_study(study))


@shared_task(name="analysis.tasks.make_run_report")  # type: ignore[untyped-decorator]
def make_run_report(run_id: int) -> bool:
    """Build and keep the report of a generation run. True if it is there afterwards, or the run is gone."""
    run = GenerationRun.objects.filter(pk=run_id).first()
    return True if run is None else _make(kept.of_run(run))


def _make(subject: kept.Subject) -> bool:
    return kept.look(subject).fresh or kept.make(subject)
