"""What the analysis does in the background. Each task may run twice."""

from __future__ import annotations

from celery import shared_task

from analysis.reports import kept
from annotation.models import Study


@shared_task(name="analysis.tasks.make_report")  # type: ignore[untyped-decorator]  # Celery has no types
def make_report(study_id: int) -> bool:
    """Build and keep the report of a study. True if it is there afterwards, or the study is gone."""
    study = Study.objects.filter(pk=study_id).first()
    if study is None or kept.look(study).fresh:
        return True
    return kept.make(study)
