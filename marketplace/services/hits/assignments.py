"""Assignments: accepted, returned and submitted by workers; approved and rejected by requesters.

Every change happens under the HIT's lock, so no place is given out twice and nobody is paid twice.
"""

from __future__ import annotations

import re
from collections.abc import Collection
from contextlib import suppress
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import QuerySet

from common.languages import gettext as _
from common.languages import marked, number
from marketplace import clock
from marketplace.ids import new_id
from marketplace.models import Assignment, Hit, HITType, Worker, WorkerBlock
from marketplace.models.hits import LIVE_STATES
from marketplace.questions import Form, check_answers, parse_question
from marketplace.questions.answers_xml import Answers, answers_xml
from marketplace.services.hits import policy_reviews, uploaded_files
from marketplace.services.hits.due_changes import bring_up_to_date, give_places_back, lock_hit, make_ready
from marketplace.services.hits.offers import not_returned, offered
from marketplace.services.hits.state_changes import end_work, pay_and_approve, price, refuse_work, update_hit
from marketplace.services.messages.notifications import note_event
from marketplace.services.money import payments
from marketplace.services.qualifications.requirements import Standing
from marketplace.services.refusals import InvalidParameter, NotFound, Refusal, WrongState

State = Assignment.State
OVERRIDE_DAYS = 30
MOST_ANSWER_CHARACTERS = 2_000_000
TOO_LONG = marked("These answers are too long. They can have at most %(count)s characters with their XML.")
MOST_FEEDBACK = 1024
CONTROL = re.compile(r"[\x00-\x08\x0b\x0c\x0e-\x1f]")
MOST_RUNNING = 25
MOST_TRIES = 50
ARRIVED = (State.SUBMITTED, State.APPROVED, State.REJECTED)
NONE_LEFT = marked("There are no more of these tasks for you.")
ONLY_RETURNED = marked("You returned the tasks that are left. If you want one of them now, accept it again below.")


# --- Workers ------------------------------------------------------------------------------------------------


def accept(
    *, worker: Worker, hit: Hit | None = None, hit_type: HITType | None = None, now: datetime | None = None
) -> Assignment:
    """Accept this HIT, or any HIT of the group that the worker has not returned. Raises Refusal.

    Returns the assignment in progress if there is one.
    """
    now = now or clock.now()
    if not worker.active:
        raise Refusal(_("Your account is not active. Ask the people who run this marketplace."), code="WorkerInactive")
    if hit is not None:
        make_ready(hit, now)
        with transaction.atomic():
            return _accept(worker, hit.pk, now)
    if hit_type is None:
        raise TypeError("accept takes a HIT or a HIT type.")
    give_places_back(hit_type=hit_type, now=now)  # in its own transaction: it locks other HITs too
    for candidates in (_unlocked, _free):
        with suppress(_Gone):
            return candidates(worker, hit_type, now)
    if offered(worker=worker, now=now).filter(hit_type=hit_type).exists():
        raise Refusal(_(ONLY_RETURNED), code="HITNotAvailable")
    raise Refusal(_(NONE_LEFT), code="HITNotAvailable")


class _Gone(Refusal):
    """The HIT had no place left by the time it was locked."""


def _unlocked(worker: Worker, hit_type: HITType, now: datetime) -> Assignment:
    """A place on the first HIT that nobody else is accepting now, so workers who come at the same time do not wait."""
    if not connection.features.has_select_for_update_skip_locked:
        raise _Gone(_(NONE_LEFT))
    with transaction.atomic():
        rows = _on_offer(worker, hit_type, now).select_for_update(skip_locked=True, of=("self",), no_key=True)
        pk = rows.values_list("pk", flat=True).first()
        if pk is None:
            raise _Gone(_(NONE_LEFT))
        return _accept(worker, pk, now)


def _free(worker: Worker, hit_type: HITType, now: datetime) -> Assignment:
    """A place on the first HIT that still has one when it is this worker's turn."""
    for pk in list(_on_offer(worker, hit_type, now).values_list("pk", flat=True)[:MOST_TRIES]):
        with suppress(_Gone), transaction.atomic():
            return _accept(worker, pk, now)
    raise _Gone(_(NONE_LEFT))


def _on_offer(worker: Worker, hit_type: HITType, now: datetime) -> QuerySet[Hit]:
    hits = not_returned(offered(worker=worker, now=now), worker)
    return hits.filter(hit_type=hit_type).order_by("created_at", "pk")


def _accept(worker: Worker, hit_pk: int, now: datetime) -> Assignment:
    hit = lock_hit(pk=hit_pk, now=now)
    earlier = Assignment.objects.filter(hit=hit, worker=worker, state__in=LIVE_STATES).first()  # there is one at most
    if earlier is not None and earlier.state == State.ACCEPTED:
        return earlier
    if earlier is not None:
        raise Refusal(_("You have already done this task."), code="HITAlreadyDone")
    if hit.state != Hit.State.ASSIGNABLE or not hit.requester.active:
        raise _Gone(_("This task is no longer available."), code="HITNotAvailable")
    if WorkerBlock.objects.filter(requester_id=hit.requester_id, worker=worker).exists():
        raise Refusal(_("This requester has blocked you."), code="WorkerBlocked")
    reasons = Standing(worker, now=now).unmet(hit.hit_type.requirements)
    if reasons:
        raise Refusal(" ".join(reasons), code="QualificationNotMet")
    if Assignment.objects.filter(worker=worker, state=State.ACCEPTED, deadline__gt=now).count() >= MOST_RUNNING:
        too_many = _("You have %(count)s tasks in progress. Submit or return one first.")
        raise Refusal(too_many % {"count": MOST_RUNNING}, code="TooManyAccepted")
    cost = price(hit)
    assignment = Assignment.objects.create(
        assignment_id=new_id(),
        hit=hit,
        worker=worker,
        reward=cost.reward,
        fee=cost.fee,
        accepted_at=now,
        deadline=now + timedelta(seconds=hit.hit_type.assignment_duration),
    )
    hit.n_available -= 1
    hit.n_pending += 1
    update_hit(hit, now=now, freed=-cost.total, may_refuse=False)
    note_event(event="AssignmentAccepted", hit=hit, assignment=assignment, now=now)
    return assignment


def find(*, assignment_id: str, worker: Worker | None = None) -> Assignment:
    """The assignment, if it is this worker's. Raises NotFound."""
    assignments = Assignment.objects.select_related("hit__hit_type__requester", "worker").filter(
        assignment_id=assignment_id
    )
    if worker is not None:
        assignments = assignments.filter(worker=worker)
    assignment = assignments.first()
    if assignment is None:
        raise NotFound("Assignment", assignment_id)
    return assignment


def running(worker: Worker, now: datetime | None = None) -> list[Assignment]:
    """What the worker has in progress, the most urgent first."""
    now = now or clock.now()
    in_progress = Assignment.objects.filter(worker=worker, state=State.ACCEPTED, deadline__gt=now)
    in_progress = in_progress.select_related("hit__hit_type__requester").defer("hit__question")
    return list(in_progress.order_by("deadline", "pk"))


def return_(*, assignment_id: str, worker: Worker, now: datetime | None = None) -> Assignment:
    """Return a HIT unfinished. Raises Refusal."""
    now = now or clock.now()
    accepted = find(assignment_id=assignment_id, worker=worker)
    make_ready(accepted.hit, now)
    with transaction.atomic():
        hit, assignment = _lock(accepted, now)
        _need_running(assignment)
        freed = end_work(hit, assignment, State.RETURNED, ended_at=now)
        update_hit(hit, now=now, freed=freed, may_refuse=False)
    return assignment


def submit(
    *, assignment_id: str, worker: Worker | None = None, answers: Answers, now: datetime | None = None
) -> Assignment:
    """Submit the work. Doing it again changes nothing. Raises Refusal if the time is up or the work was returned.

    Without a worker, the assignment ID alone is enough, as for a form posted from another site.
    """
    now = now or clock.now()
    accepted = find(assignment_id=assignment_id, worker=worker)
    if accepted.state in ARRIVED:
        return accepted
    _need_running(accepted)
    form = form_of(accepted.hit)  # before the lock, because this can be slow
    if form is not None:
        # Our own page checks answers, too, but they can also come from elsewhere.
        unknown = set(answers) - {question.identifier for question in form.questions}
        if unknown:
            raise Refusal(
                _("The form has no question %(names)s.") % {"names": ", ".join(sorted(unknown))[:200]},
                code="InvalidAnswers",
            )
        problems = check_answers(form, answers)
        if problems:
            raise Refusal(" ".join(f"{name}: {what}" for name, what in problems.items()), code="InvalidAnswers")
    xml = answers_xml(answers, form)
    if len(xml) > MOST_ANSWER_CHARACTERS:
        raise Refusal(_(TOO_LONG) % {"count": number(MOST_ANSWER_CHARACTERS)}, code="ParameterTooLong")
    make_ready(accepted.hit, now)
    with transaction.atomic():
        hit, assignment = _lock(accepted, now)
        if assignment.state in ARRIVED:
            return assignment
        _need_running(assignment)
        uploaded_files.mark_submitted(assignment=assignment, answers=answers)
        _store(hit, assignment, xml, now)
        policy_reviews.review_assignment(hit, assignment, now=now)
    if hit.review_due_at is not None:
        bring_up_to_date(hit=hit, now=now)
        assignment.refresh_from_db()
    return assignment


def _store(hit: Hit, assignment: Assignment, xml: str, now: datetime) -> None:
    assignment.state = State.SUBMITTED
    assignment.submitted_at = now
    assignment.auto_approve_at = now + timedelta(seconds=hit.hit_type.auto_approval_delay)
    assignment.answer = xml
    assignment.save(update_fields=["state", "submitted_at", "auto_approve_at", "answer"])
    hit.n_pending -= 1
    hit.n_submitted += 1
    note_event(event="AssignmentSubmitted", hit=hit, assignment=assignment, now=now)
    update_hit(hit, now=now, may_refuse=False)


def form_of(hit: Hit) -> Form | None:
    """The HIT's form; None if it is not a QuestionForm."""
    return parse_question(hit.question).form if hit.question_kind == "QuestionForm" else None


def _lock(assignment: Assignment, now: datetime) -> tuple[Hit, Assignment]:
    hit = lock_hit(pk=assignment.hit_id, now=now)
    return hit, Assignment.objects.select_related("worker").get(pk=assignment.pk)


def _need_running(assignment: Assignment) -> None:
    if assignment.state == State.ABANDONED:
        raise Refusal(_("The time for this task is up."), code="InvalidAssignmentState")
    if assignment.state != State.ACCEPTED:
        raise WrongState("Assignment", assignment.assignment_id, state=assignment.state, allowed=State.ACCEPTED)


# --- Requesters ---------------------------------------------------------------------------------------------


def approve(
    *,
    assignment: Assignment,
    feedback: str = "",
    override: bool = False,
    by_operator: bool = False,
    now: datetime | None = None,
) -> Assignment:
    """Approve the work and pay for it. ``override`` withdraws a rejection, within 30 days of the submission.

    An operator who decides a dispute can do so after those days, and after the requester has deleted the HIT.
    """
    now = now or clock.now()
    _check_feedback(feedback)
    if override:
        bring_up_to_date(requester=assignment.hit.requester, now=now)  # money held by expired HITs may be needed
    make_ready(assignment.hit, now)
    with transaction.atomic():
        hit, assignment = _lock(assignment, now)
        rejected = assignment.state == State.REJECTED
        if assignment.state != State.SUBMITTED and not (override and rejected):
            allowed = "Submitted, Rejected" if override else "Submitted"
            raise WrongState("Assignment", assignment.assignment_id, state=assignment.state, allowed=allowed)
        withdraws = rejected and not by_operator
        if withdraws and hit.state == Hit.State.DISPOSED:
            allowed = "Assignable, Unassignable, Reviewable, Reviewing"
            raise WrongState("HIT", hit.hit_id, state=hit.state, allowed=allowed)
        days = timedelta(days=OVERRIDE_DAYS)
        if withdraws and (assignment.submitted_at is None or assignment.submitted_at < now - days):
            raise Refusal(
                f"Assignment {assignment.assignment_id} was submitted more than {OVERRIDE_DAYS} days ago. Its "
                "rejection can no longer be withdrawn.",
                code="InvalidAssignmentState",
            )
        if feedback:
            assignment.requester_feedback = feedback
        pay_and_approve(hit, assignment, approved_at=now, held=not rejected)
        update_hit(hit, now=now, may_refuse=False)
    return assignment


def _check_feedback(feedback: str) -> None:
    """Check the feedback, with the limit in the reference of Amazon's earlier API (2014-08-15)."""
    if len(feedback) > MOST_FEEDBACK:
        raise InvalidParameter("RequesterFeedback", f"It can have at most {MOST_FEEDBACK:,} characters.")
    if CONTROL.search(feedback):
        raise InvalidParameter("RequesterFeedback", "It cannot contain control characters.")


@transaction.atomic
def approve_submitted(
    *, hit: Hit, assignments: Collection[int], feedback: str = "", now: datetime | None = None
) -> list[Assignment]:
    """Approve those of one HIT's assignments that still wait for a decision; returns them, in their order.

    One transaction for each HIT: transactions that lock two HITs and their workers' accounts could deadlock.
    """
    now = now or clock.now()
    _check_feedback(feedback)
    hit = lock_hit(pk=hit.pk, now=now)
    chosen = hit.assignments.filter(pk__in=assignments, state=State.SUBMITTED)
    waiting = list(chosen.select_related("worker").order_by("submitted_at", "pk"))
    payments.lock_to_pay(requester_id=hit.requester_id, workers=[assignment.worker_id for assignment in waiting])
    for assignment in waiting:
        assignment.requester_feedback = feedback or assignment.requester_feedback
        pay_and_approve(hit, assignment, approved_at=now, held=True)
    update_hit(hit, now=now, may_refuse=False)
    return waiting


@transaction.atomic
def reject(*, assignment: Assignment, feedback: str, now: datetime | None = None) -> Assignment:
    """Reject the work. The money held for it goes back to the requester."""
    now = now or clock.now()
    _check_feedback(feedback)
    hit, assignment = _lock(assignment, now)
    if assignment.state != State.SUBMITTED:
        raise WrongState("Assignment", assignment.assignment_id, state=assignment.state, allowed=State.SUBMITTED)
    update_hit(hit, now=now, freed=refuse_work(hit, assignment, feedback=feedback, rejected_at=now), may_refuse=False)
    return assignment
