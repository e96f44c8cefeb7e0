"""Workers' requests for qualifications, and their tests."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from common.languages import gettext as _
from marketplace import clock
from marketplace.ids import new_id
from marketplace.models import QualificationRequest, QualificationType, Worker
from marketplace.questions import check_answers, parse_question
from marketplace.questions.answer_key import score
from marketplace.questions.answers_xml import Answers, answers_xml, values_of
from marketplace.services.messages.worker_messages import send
from marketplace.services.qualifications.grants import give
from marketplace.services.refusals import Refusal, WrongState

State = QualificationRequest.State
OPEN = (State.STARTED, State.PENDING)


def may_request(type: QualificationType, worker: Worker, now: datetime | None = None) -> str:
    """Why the worker cannot request it now; empty if they can."""
    now = now or clock.now()
    if type.deleted_at or type.status != "Active" or not type.requestable:
        return _("This qualification cannot be requested.")
    if not worker.active:
        return _("Your account is not active.")
    last = type.requests.filter(worker=worker).order_by("-started_at", "-pk").first()
    if last is None:
        return ""
    if last.state == State.STARTED and last.deadline and last.deadline > now:
        return ""  # the test is open: the worker can continue it
    if last.state == State.PENDING:
        return _("You have requested it. The requester has not decided yet.")
    if type.retry_delay is None:
        return _("This qualification can be requested only once.")
    again = (last.submitted_at or last.started_at) + timedelta(seconds=type.retry_delay)
    return _("You can request it again from %(time)s.") % {"time": clock.in_words(again)} if again > now else ""


@transaction.atomic
def request(*, type: QualificationType, worker: Worker, now: datetime | None = None) -> QualificationRequest:
    """Request a qualification. The request is then Granted, Pending, or (with a test) Started. Returns an open test."""
    now = now or clock.now()
    Worker.objects.select_for_update(no_key=True).get(pk=worker.pk)  # so two tabs request one after the other
    refusal = may_request(type, worker, now)
    if refusal:
        raise Refusal(refusal, code="QualificationNotRequestable")
    started = type.requests.filter(worker=worker, state=State.STARTED)
    running = started.filter(deadline__gt=now).first()
    if running:
        return running
    started.update(state=State.ABANDONED)
    new_request = QualificationRequest(
        request_id=new_id(), type=type, worker=worker, state=State.PENDING, started_at=now, submitted_at=now
    )
    if type.test:
        new_request.state, new_request.submitted_at, new_request.test = State.STARTED, None, type.test
        new_request.deadline = now + timedelta(seconds=type.test_duration or 0)
    new_request.save()
    if type.auto_granted:
        _decide(new_request, granted=type.auto_value, now=now)
    return new_request


@transaction.atomic
def take_test(*, request: QualificationRequest, answers: Answers, now: datetime | None = None) -> QualificationRequest:
    """Submit a test: scored and granted if there is an answer key, otherwise Pending. Raises Refusal, also if late."""
    now = now or clock.now()
    locked = _locked_request(request.pk)
    if locked.state != State.STARTED:
        raise Refusal(_("This test has already been submitted."), code="InvalidQualificationRequestState")
    if locked.deadline and locked.deadline <= now:
        raise Refusal(_("The time for this test is up."), code="InvalidQualificationRequestState")
    form = parse_question(locked.test).form
    if form is None:
        raise TypeError("A test is a QuestionForm: that was checked when its type was made.")
    problems = check_answers(form, answers)
    if problems:
        raise Refusal(" ".join(f"{name}: {what}" for name, what in problems.items()), code="InvalidAnswers")
    locked.answer = answers_xml(answers, form)
    locked.submitted_at = now
    locked.state = State.PENDING
    locked.save(update_fields=["answer", "submitted_at", "state"])
    if locked.type.answer_key:
        _decide(locked, granted=score(locked.type.answer_key, values_of(answers)), now=now)
    return locked


def _locked_request(pk: int) -> QualificationRequest:
    locked = QualificationRequest.objects.select_for_update(of=("self",), no_key=True)
    return locked.select_related("type", "worker").get(pk=pk)


def _decide(request: QualificationRequest, *, granted: int | None, now: datetime, reason: str = "") -> None:
    """Grant with a value, or reject if there is none."""
    request.state = State.REJECTED if granted is None else State.GRANTED
    request.decided_at = now
    request.reason = reason
    request.save(update_fields=["state", "decided_at", "reason"])
    if granted is not None:
        give(request.type, request.worker, granted, now)


@transaction.atomic
def accept_request(*, request: QualificationRequest, value: int | None, now: datetime | None = None) -> None:
    """Grant the request, with the value 1 unless another value is given."""
    locked = _locked_request(request.pk)
    _need_pending(locked)
    _decide(locked, granted=1 if value is None else value, now=now or clock.now())


@transaction.atomic
def reject_request(*, request: QualificationRequest, reason: str = "", now: datetime | None = None) -> None:
    now = now or clock.now()
    locked = _locked_request(request.pk)
    _need_pending(locked)
    _decide(locked, granted=None, now=now, reason=reason)
    if reason:
        subject = f"Your request for “{locked.type.name}” was rejected"[:200]
        send(worker=locked.worker, requester=locked.type.requester, subject=subject, text=reason, now=now)


def _need_pending(request: QualificationRequest) -> None:
    if request.state != State.PENDING:
        raise WrongState("QualificationRequest", request.request_id, state=request.state, allowed=State.PENDING)
