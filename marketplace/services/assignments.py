"""Assignments: accepted, returned and submitted by workers; approved and rejected by requesters.

Every change happens under the HIT's lock, so that places are never given out twice and nobody is paid twice.
"""

from __future__ import annotations

from contextlib import suppress
from datetime import datetime, timedelta

from django.db import connection, transaction
from django.db.models import QuerySet

from marketplace import clock
from marketplace.answers import Answers, answers_xml
from marketplace.models import Assignment, Hit, HITType, Worker, WorkerBlock
from marketplace.models.hits import LIVE_STATES
from marketplace.questions import Form, check_answers, parse_question
from marketplace.services import files, reviews
from marketplace.services.events import tell
from marketplace.services.hits import offered
from marketplace.services.refusals import NotFound, Refused, WrongState
from marketplace.services.requirements import Standing
from marketplace.services.secrets import new_id
from marketplace.services.upkeep import (
    bring_up_to_date,
    end,
    give_places_back,
    lock_hit,
    make_ready,
    pay_and_approve,
    price,
    refuse_work,
    settle,
)

State = Assignment.State
OVERRIDE_DAYS = 30
MOST_ANSWER_CHARACTERS = 2_000_000
MOST_RUNNING = 25
MOST_TRIES = 50
ARRIVED = (State.SUBMITTED, State.APPROVED, State.REJECTED)
NONE_LEFT = "There are no more of these HITs that you could work on."


# --- Workers ------------------------------------------------------------------------------------------------


def accept(
    *, worker: Worker, hit: Hit | None = None, hit_type: HITType | None = None, now: datetime | None = None
) -> Assignment:
    """A place on this HIT, or on any of the group. One that is in progress already is given back. Raises Refused."""
    now = now or clock.now()
    _refuse_worker(worker)
    if hit is not None:
        make_ready(hit, now)
        with transaction.atomic():
            return _accept(worker, hit.pk, now)
    if hit_type is None:
        raise TypeError("accept takes a HIT or a HIT type.")
    give_places_back(hit_type=hit_type, now=now)  # on its own: it locks HITs besides the one accepted
    for candidates in (_unlocked, _free):
        with suppress(_Gone):
            return candidates(worker, hit_type, now)
    raise Refused(NONE_LEFT, code="HITNotAvailable")


class _Gone(Refused):
    """The HIT had no place left by the time it was locked."""


def _unlocked(worker: Worker, hit_type: HITType, now: datetime) -> Assignment:
    """A place on the first HIT that nobody else is taking a place of: so those who come at once do not wait."""
    if not connection.features.has_select_for_update_skip_locked:
        raise _Gone(NONE_LEFT)
    with transaction.atomic():
        rows = _on_offer(worker, hit_type, now).select_for_update(skip_locked=True, of=("self",), no_key=True)
        pk = rows.values_list("pk", flat=True).first()
        if pk is None:
            raise _Gone(NONE_LEFT)
        return _accept(worker, pk, now)


def _free(worker: Worker, hit_type: HITType, now: datetime) -> Assignment:
    """A place on the first HIT that still has one when it is this worker's turn."""
    for pk in list(_on_offer(worker, hit_type, now).values_list("pk", flat=True)[:MOST_TRIES]):
        with suppress(_Gone), transaction.atomic():
            return _accept(worker, pk, now)
    raise _Gone(NONE_LEFT)


def _on_offer(worker: Worker, hit_type: HITType, now: datetime) -> QuerySet[Hit]:
    return offered(worker=worker, now=now).filter(hit_type=hit_type).order_by("created_at", "pk")


def _refuse_worker(worker: Worker) -> None:
    if not worker.active:
        raise Refused("Your account is not active. Ask whoever runs this marketplace.", code="WorkerInactive")


def _accept(worker: Worker, hit_pk: int, now: datetime) -> Assignment:
    hit = lock_hit(pk=hit_pk, now=now)
    theirs = Assignment.objects.filter(hit=hit, worker=worker, state__in=LIVE_STATES).first()  # there is one at most
    if theirs is not None and theirs.state == State.ACCEPTED:
        return theirs
    if theirs is not None:
        raise Refused("You have done this HIT already.", code="HITAlreadyDone")
    if hit.state != Hit.State.ASSIGNABLE or not hit.requester.active:
        raise _Gone("This HIT is not available any more.", code="HITNotAvailable")
    if WorkerBlock.objects.filter(requester_id=hit.requester_id, worker=worker).exists():
        raise Refused("This requester does not take work from you.", code="WorkerBlocked")
    reasons = Standing(worker, now=now).unmet(hit.hit_type.requirements)
    if reasons:
        raise Refused(" ".join(reasons), code="QualificationNotMet")
    if Assignment.objects.filter(worker=worker, state=State.ACCEPTED, deadline__gt=now).count() >= MOST_RUNNING:
        raise Refused(f"You have {MOST_RUNNING} HITs in progress. Submit or return one first.", code="TooManyAccepted")
    return _take_place(worker, hit, now)


def _take_place(worker: Worker, hit: Hit, now: datetime) -> Assignment:
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
    settle(hit, now=now, freed=-cost.total, may_refuse=False)
    tell(event="AssignmentAccepted", hit=hit, assignment=assignment, now=now)
    return assignment


def find(*, assignment_id: str, worker: Worker | None = None) -> Assignment:
    """The assignment, if it is this worker's. Raises NotFound."""
    found = Assignment.objects.select_related("hit__hit_type__requester", "worker").filter(assignment_id=assignment_id)
    if worker is not None:
        found = found.filter(worker=worker)
    assignment = found.first()
    if assignment is None:
        raise NotFound("Assignment", assignment_id)
    return assignment


def running(worker: Worker, now: datetime | None = None) -> list[Assignment]:
    """What the worker has in progress, the most urgent first."""
    now = now or clock.now()
    theirs = Assignment.objects.filter(worker=worker, state=State.ACCEPTED, deadline__gt=now)
    theirs = theirs.select_related("hit__hit_type__requester").defer("hit__question")
    return list(theirs.order_by("deadline", "pk"))


def return_(*, assignment_id: str, worker: Worker, now: datetime | None = None) -> Assignment:
    """Give a HIT back unfinished. Raises Refused."""
    now = now or clock.now()
    found = find(assignment_id=assignment_id, worker=worker)
    make_ready(found.hit, now)
    with transaction.atomic():
        hit, assignment = _lock(found, now)
        _need_running(assignment)
        freed = end(hit, assignment, State.RETURNED, at=now)
        settle(hit, now=now, freed=freed, may_refuse=False)
    return assignment


def submit(
    *, assignment_id: str, worker: Worker | None = None, answers: Answers, now: datetime | None = None
) -> Assignment:
    """Hand the work in. Sending it again changes nothing. Raises Refused when its time is up, or it was returned.

    Without a worker the assignment id alone tells whose it is, as with a form that is posted from another site.
    """
    now = now or clock.now()
    found = find(assignment_id=assignment_id, worker=worker)
    if found.state in ARRIVED:
        return found
    _need_running(found)
    form = form_of(found.hit)  # all of this before the lock: it may take its time
    if form is not None:
        _check_form(form, answers)
    xml = answers_xml(answers, form)
    if len(xml) > MOST_ANSWER_CHARACTERS:
        raise Refused("These answers are too long to be stored.", code="ParameterTooLong")
    make_ready(found.hit, now)
    with transaction.atomic():
        hit, assignment = _lock(found, now)
        if assignment.state in ARRIVED:
            return assignment
        _need_running(assignment)
        files.mark_submitted(assignment=assignment, answers=answers)
        _store(hit, assignment, xml, now)
        reviews.review_assignment(hit, assignment, now=now)
    if hit.review_due_at is not None:
        bring_up_to_date(hit=hit, now=now)
        assignment.refresh_from_db()
    return assignment


def _check_form(form: Form, answers: Answers) -> None:
    """Our own page has checked a form's answers; this is for whoever sends them past it."""
    unknown = set(answers) - {question.identifier for question in form.questions}
    if unknown:
        raise Refused(f"The form has no question {', '.join(sorted(unknown))[:200]}.", code="InvalidAnswers")
    problems = check_answers(form, answers)
    if problems:
        raise Refused(" ".join(f"{name}: {what}" for name, what in problems.items()), code="InvalidAnswers")


def _store(hit: Hit, assignment: Assignment, xml: str, now: datetime) -> None:
    assignment.state = State.SUBMITTED
    assignment.submitted_at = now
    assignment.auto_approve_at = now + timedelta(seconds=hit.hit_type.auto_approval_delay)
    assignment.answer = xml
    assignment.save(update_fields=["state", "submitted_at", "auto_approve_at", "answer"])
    hit.n_pending -= 1
    hit.n_submitted += 1
    tell(event="AssignmentSubmitted", hit=hit, assignment=assignment, now=now)
    settle(hit, now=now, may_refuse=False)


def form_of(hit: Hit) -> Form | None:
    """The form that the HIT consists of, if it does."""
    return parse_question(hit.question).form if hit.question_kind == "QuestionForm" else None


def _lock(assignment: Assignment, now: datetime) -> tuple[Hit, Assignment]:
    hit = lock_hit(pk=assignment.hit_id, now=now)
    return hit, Assignment.objects.select_related("worker").get(pk=assignment.pk)


def _need_running(assignment: Assignment) -> None:
    if assignment.state == State.ABANDONED:
        raise Refused("The time for this HIT is up.", code="InvalidAssignmentState")
    if assignment.state != State.ACCEPTED:
        raise WrongState("Assignment", assignment.assignment_id, state=assignment.state, wanted=State.ACCEPTED)


# --- Requesters ---------------------------------------------------------------------------------------------


def approve(
    *,
    assignment: Assignment,
    feedback: str = "",
    override: bool = False,
    by_operator: bool = False,
    now: datetime | None = None,
) -> Assignment:
    """Accept the work and pay for it. ``override`` takes a rejection back, within 30 days of the submission.

    An operator, who settles a dispute, is not bound by those days, nor by the requester's deleting the HIT.
    """
    now = now or clock.now()
    if override:
        bring_up_to_date(requester=assignment.hit.requester, now=now)  # what expired HITs held may be needed
    make_ready(assignment.hit, now)
    with transaction.atomic():
        hit, assignment = _lock(assignment, now)
        rejected = assignment.state == State.REJECTED
        if assignment.state != State.SUBMITTED and not (override and rejected):
            wanted = "Submitted, Rejected" if override else "Submitted"
            raise WrongState("Assignment", assignment.assignment_id, state=assignment.state, wanted=wanted)
        if rejected and not by_operator:
            _check_override(hit, assignment, now)
        if feedback:
            assignment.requester_feedback = feedback
        pay_and_approve(hit, assignment, at=now, held=not rejected)
        settle(hit, now=now, may_refuse=False)
    return assignment


def _check_override(hit: Hit, assignment: Assignment, now: datetime) -> None:
    if hit.state == Hit.State.DISPOSED:
        raise WrongState("HIT", hit.hit_id, state=hit.state, wanted="Assignable, Unassignable, Reviewable, Reviewing")
    if assignment.submitted_at is None or assignment.submitted_at < now - timedelta(days=OVERRIDE_DAYS):
        raise Refused(
            f"Assignment {assignment.assignment_id} was submitted more than {OVERRIDE_DAYS} days ago; its rejection "
            "stands.",
            code="InvalidAssignmentState",
        )


@transaction.atomic
def reject(*, assignment: Assignment, feedback: str, now: datetime | None = None) -> Assignment:
    """Refuse the work; what was held for it goes back."""
    now = now or clock.now()
    hit, assignment = _lock(assignment, now)
    if assignment.state != State.SUBMITTED:
        raise WrongState("Assignment", assignment.assignment_id, state=assignment.state, wanted=State.SUBMITTED)
    settle(hit, now=now, freed=refuse_work(hit, assignment, feedback=feedback, at=now), may_refuse=False)
    return assignment
