"""People's decisions on submissions. The newest counts; the earlier ones stay."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import Review, Submission
from annotation.services.audit import record
from annotation.services.refusals import FieldProblem, refuse_if_any
from annotation.task_types.questions import clean_text

MAX_NOTE = 500


@transaction.atomic
def review_submission(*, submission: Submission, decision: str, note: str, user: User) -> Review:
    """Append a decision. Saying the same twice is kept once. Raises Invalid."""
    note = clean_text(note)
    problems = []
    if decision not in Review.Decision.values:
        mend = f"Choose one of {', '.join(Review.Decision.values)}."
        problems.append(FieldProblem("decision", f"There is no decision “{decision[:40]}”.", mend))
    if len(note) > MAX_NOTE:
        mend = f"At most {MAX_NOTE} fit: shorten it."
        problems.append(FieldProblem("note", f"This is {len(note):,} characters long.", mend))
    refuse_if_any(problems)
    Submission.objects.select_for_update(no_key=True).get(pk=submission.pk)
    latest = Review.objects.filter(submission=submission).order_by("-pk").first()
    if latest and (latest.decision, latest.note, latest.user_id) == (decision, note, user.pk):
        return latest
    review = Review.objects.create(submission=submission, decision=decision, note=note, user=user)
    record(
        study=submission.study,
        actor=user.get_username(),
        action="review",
        submission=submission.pk,
        old=latest.decision if latest else None,
        new=decision,
        note=note,
    )
    return review
