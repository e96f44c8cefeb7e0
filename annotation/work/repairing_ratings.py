"""Corrects derived data after somebody changed rows by hand or fixed a task type."""

from __future__ import annotations

from collections.abc import Callable

from django.db import transaction
from django.db.models import Count, F, Q

from annotation.audit import record
from annotation.models import Assignment, Hit, Study, Submission
from annotation.models.work import LIVE_STATES
from annotation.work import answers


@transaction.atomic
def recount(*, study: Study, actor: str) -> int:
    """Set the hits' counters from the assignments. Returns how many hits were wrong."""
    counted = Hit.objects.filter(study=study).annotate(
        true_live=Count("assignments", filter=Q(assignments__state__in=LIVE_STATES, assignments__extra=False)),
        true_submitted=Count("assignments", filter=Q(assignments__state=Assignment.State.SUBMITTED)),
    )
    wrong = list(
        counted.exclude(n_live=F("true_live"), n_submitted=F("true_submitted")).values_list(
            "pk", "true_live", "true_submitted"
        )
    )
    for pk, n_live, n_submitted in wrong:
        Hit.objects.filter(pk=pk).update(n_live=n_live, n_submitted=n_submitted)
    if wrong:
        record(study=study, actor=actor, action="recount", hits=len(wrong))
    return len(wrong)


def rebuild_ratings(*, study: Study, actor: str, progress: Callable[[int], None] | None = None) -> tuple[int, int]:
    """Derive all ratings again from the stored steps. Returns (submissions read, submissions whose ratings changed).

    Each submission has its own transaction, so workers do not have to wait. Repeating this is safe.
    """
    seen, changed = 0, 0
    submissions = Submission.objects.filter(study=study, participant__redacted_at=None)  # others have no steps any more
    for submission in submissions.order_by("pk").iterator(chunk_size=500):
        rows, _ = answers.rebuild_ratings(submission=submission)
        seen, changed = seen + 1, changed + bool(rows)
        if progress:
            progress(1)
    if changed:
        record(study=study, actor=actor, action="rebuild ratings", submissions=seen, changed=changed)
    return seen, changed
