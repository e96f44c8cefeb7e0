"""Making what is derived agree again with what was received, after rows were changed by hand or a type was mended."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction

from annotation.models import Study, Submission
from annotation.services import allocation, answers
from annotation.services.audit import record


@transaction.atomic
def recount(*, study: Study, actor: str) -> int:
    """Set the hits' counters from the assignments; how many were wrong."""
    wrong = allocation.recount(study=study)
    if wrong:
        record(study=study, actor=actor, action="recount", hits=wrong)
    return wrong


def rebuild_ratings(*, study: Study, actor: str, progress: Callable[[int], None] | None = None) -> tuple[int, int]:
    """Derive all ratings anew from the stored steps: (submissions seen, submissions whose ratings changed).

    Each submission is a transaction of its own, so that workers are not kept waiting; doing it again is safe.
    """
    seen, changed = 0, 0
    for submission in Submission.objects.filter(study=study).order_by("pk").iterator(chunk_size=500):
        rows, _ = answers.rebuild_ratings(submission=submission)
        seen, changed = seen + 1, changed + bool(rows)
        if progress:
            progress(1)
    if changed:
        record(study=study, actor=actor, action="rebuild ratings", submissions=seen, changed=changed)
    return seen, changed
