"""People's decisions on submissions. The newest counts; earlier ones stay.

Excluding a submission can release its place on the hit, so that somebody else fills it. Including it again takes the
place back if it is still free. The order of locks is participant, submission, assignment, hit.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence

from django.contrib.auth.models import User
from django.db import transaction
from django.db.models import F
from django.utils import timezone

from annotation.audit import record
from annotation.deadlocks import again_after_deadlock
from annotation.models import Assignment, AuditEntry, Hit, Participant, Review, Submission
from annotation.task_types.questions import clean_text
from annotation.work.allocation import free_slot
from annotation.work.repeated_work import rated_before
from common.problems import Problem, refuse_if_any

State = Assignment.State
Decision = Review.Decision
MAX_NOTE = 500
#: The entry in the log about an exclusion that a rejection brought with it.
WITH_REJECTION = "exclude with rejection"


@again_after_deadlock
@transaction.atomic
def review_submission(*, submission: Submission, decision: str, note: str, user: User, release: bool = False) -> Review:
    """Append a decision. The same decision twice is stored once. Raises Invalid.

    With ``release``, an excluded submission frees its place. Its worker does not get the hit again.
    """
    note = clean_text(note)
    refuse_if_any(_problems(decision, note))
    Submission.objects.select_for_update(no_key=True).get(pk=submission.pk)
    if decision == Decision.EXCLUDE and release:
        release_places(submissions=[submission], actor=user.get_username())
    elif decision == Decision.INCLUDE:
        _take_back(submission, user)
    return _append(submission, decision, note, user)


@again_after_deadlock
@transaction.atomic
def exclude_worker(*, participant: Participant, note: str, user: User, release: bool = False) -> int:
    """Exclude everything that this participant sent, and give them no more hits. Returns the number of submissions.

    A hit that they are working on stays theirs: they can send it, and it is excluded like the rest. Raises Invalid.
    """
    note = clean_text(note)
    refuse_if_any(_problems(Decision.EXCLUDE, note))
    locked = Participant.objects.select_for_update(no_key=True).get(pk=participant.pk)
    if locked.excluded_at is None:
        Participant.objects.filter(pk=locked.pk).update(excluded_at=timezone.now())
    submissions = _lock_submissions(locked)
    if release:
        release_places(submissions=submissions, actor=user.get_username())
    for submission in submissions:
        _append(submission, Decision.EXCLUDE, note, user)
    if locked.excluded_at is None:
        _record_worker("exclude worker", locked, user, submissions=len(submissions), note=note)
    return len(submissions)


@again_after_deadlock
@transaction.atomic
def include_worker(*, participant: Participant, note: str, user: User) -> int:
    """Undo `exclude_worker`: give the participant hits again, and include what it excluded. Returns how many.

    Submissions that were excluded before stay excluded. Raises Invalid.
    """
    note = clean_text(note)
    refuse_if_any(_problems(Decision.INCLUDE, note))
    locked = Participant.objects.select_for_update(no_key=True).get(pk=participant.pk)
    if locked.excluded_at is None:
        return 0
    Participant.objects.filter(pk=locked.pk).update(excluded_at=None)
    included = []
    for submission in _lock_submissions(locked):
        # Those that are excluded now and were not before.
        reviews = submission.reviews.order_by("-pk")
        latest, before = reviews.first(), reviews.filter(created_at__lt=locked.excluded_at).first()
        is_excluded = latest is not None and latest.decision == Decision.EXCLUDE
        if is_excluded and (before is None or before.decision == Decision.INCLUDE):
            included.append(submission)
    for submission in included:
        _take_back(submission, user)
        _append(submission, Decision.INCLUDE, note, user)
    _record_worker("include worker", locked, user, submissions=len(included), note=note)
    return len(included)


def _lock_submissions(participant: Participant) -> list[Submission]:
    return list(participant.submissions.select_for_update(of=("self",), no_key=True).order_by("pk"))


def _record_worker(action: str, participant: Participant, user: User, **detail: object) -> None:
    record(
        study=participant.study,
        actor=user.get_username(),
        action=action,
        worker=participant.pseudonym,
        **detail,
    )


def _problems(decision: str, note: str) -> list[Problem]:
    problems = []
    if decision not in Decision.values:
        fix = f"Choose one of {', '.join(Decision.values)}."
        problems.append(Problem("decision", f"There is no decision “{decision[:40]}”.", fix))
    if len(note) > MAX_NOTE:
        fix = f"At most {MAX_NOTE} fit: shorten it."
        problems.append(Problem("note", f"This is {len(note):,} characters long.", fix))
    return problems


@again_after_deadlock
@transaction.atomic
def exclude_rejected(*, submission: Submission, reason: str, actor: str) -> None:
    """Leave work out of the analysis that ``actor`` (a user or a command) has just rejected for this reason.

    Its place is released elsewhere, where the platform offers it again. Work that is excluded already stays as it is.
    """
    Submission.objects.select_for_update(no_key=True).get(pk=submission.pk)
    latest = Review.objects.filter(submission=submission).order_by("-pk").first()
    if latest is None or latest.decision != Decision.EXCLUDE:
        user = User.objects.filter(username=actor).first()
        note = f"Rejected: {clean_text(reason)}"[:MAX_NOTE]
        review = _append(submission, Decision.EXCLUDE, note, user, actor=actor)
        record(study=submission.study, actor=actor, action=WITH_REJECTION, submission=submission.pk, review=review.pk)


@transaction.atomic
def include_forgiven(*, submission: Submission, actor: str) -> bool:
    """Undo `exclude_rejected`, because the rejection is undone. False if a person excluded the work separately.

    It does not take back the place: see ``overturned_rejections``.
    """
    Submission.objects.select_for_update(no_key=True).get(pk=submission.pk)
    latest = Review.objects.filter(submission=submission).order_by("-pk").first()
    if latest is None or latest.decision != Decision.EXCLUDE:
        return False
    came_with = AuditEntry.objects.filter(study=submission.study_id, action=WITH_REJECTION, detail__review=latest.pk)
    if not came_with.exists():
        return False
    user = User.objects.filter(username=actor).first()
    _append(submission, Decision.INCLUDE, "Rejection undone.", user, actor=actor)
    return True


def _append(submission: Submission, decision: str, note: str, user: User | None, *, actor: str = "") -> Review:
    latest = Review.objects.filter(submission=submission).order_by("-pk").first()
    if latest and (latest.decision, latest.note, latest.user) == (decision, note, user):
        return latest
    review = Review.objects.create(submission=submission, decision=decision, note=note, user=user)
    record(
        study=submission.study,
        actor=user.get_username() if user else actor,
        action="review",
        submission=submission.pk,
        old=latest.decision if latest else None,
        new=decision,
        note=note,
    )
    return review


def release_places(*, submissions: Sequence[Submission], actor: str) -> None:
    """Free the places of submissions that have one. Locks all assignments first, then the hits in a fixed order.

    Runs in the caller's transaction.
    """
    chosen = Assignment.objects.filter(submission__in=submissions, state=State.SUBMITTED)
    rows = list(chosen.select_for_update(of=("self",), no_key=True).order_by("pk").values_list("pk", "hit_id"))
    Assignment.objects.filter(pk__in=[pk for pk, _ in rows]).update(state=State.RELEASED)
    for hit_id, freed in sorted(Counter(hit_id for _, hit_id in rows).items()):
        Hit.objects.filter(pk=hit_id).update(n_live=F("n_live") - freed, n_submitted=F("n_submitted") - freed)
    released = {pk for pk, _ in rows}
    for submission in submissions:
        if submission.assignment_id in released:
            record(study=submission.study, actor=actor, action="release", submission=submission.pk)


def _take_back(submission: Submission, user: User) -> None:
    """Give a released submission a place on its hit again if one is free. If not, it stays an extra submission, and so
    does one with a text that its worker had rated before."""
    assignment = Assignment.objects.select_for_update(no_key=True).get(pk=submission.assignment_id)
    if assignment.state != State.RELEASED or Assignment.objects.filter(rated_before(), pk=assignment.pk).exists():
        return
    hit = Hit.objects.select_for_update(no_key=True).get(pk=assignment.hit_id)
    if hit.n_live >= hit.wanted:
        return
    assignment.state, assignment.extra = State.SUBMITTED, False
    assignment.slot = free_slot(hit.pk, hit.n_live, preferred=assignment.slot)
    assignment.save(update_fields=["state", "extra", "slot"])
    Hit.objects.filter(pk=hit.pk).update(n_live=F("n_live") + 1, n_submitted=F("n_submitted") + 1)
    record(study=submission.study, actor=user.get_username(), action="take back place", submission=submission.pk)
