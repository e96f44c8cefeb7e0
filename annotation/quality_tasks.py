"""Checks the quality of submissions in the background. Each task may run twice."""

from __future__ import annotations

from celery import shared_task

from annotation.models import Study
from annotation.services import quality_control
from common.task_queue import handed_over


@shared_task(name="annotation.tasks.check_quality")  # type: ignore[untyped-decorator]  # Celery has no types
def check_quality(study_id: int, actor: str) -> int:
    """Check all submissions of a study. Returns how many there are."""
    study = Study.objects.filter(pk=study_id).first()
    return 0 if study is None else quality_control.check_quality(study=study, actor=actor).submissions


@shared_task(name="annotation.tasks.check_due_quality")  # type: ignore[untyped-decorator]
def check_due_quality() -> int:
    """Check every study with submissions that no check has seen. Returns the number of studies."""
    return quality_control.check_due()


def start(study: Study, actor: str) -> bool:
    """Queue a check. False if the task queue does not respond; the next night's check then does the work."""
    return handed_over(lambda: check_quality.delay(study.pk, actor))
