"""Qualification types, workers' requests and tests, grants and revocations, blocks."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, transaction

from marketplace import clock
from marketplace.ids import new_id
from marketplace.models import Qualification, QualificationRequest, QualificationType, Requester, Worker, WorkerBlock
from marketplace.questions import BadXml, TooLarge, check_answers, parse_question
from marketplace.questions.answer_key import check_answer_key, score
from marketplace.questions.answers_xml import Answers, answers_xml, values_of
from marketplace.services import builtin
from marketplace.services.log import record
from marketplace.services.messages import send
from marketplace.services.refusals import AlreadyExists, InvalidParameter, NotFound, Refusal, WrongState
from marketplace.services.requirements import Standing

State = QualificationRequest.State
GRANTED, REVOKED = Qualification.Status.GRANTED, Qualification.Status.REVOKED
OPEN = (State.STARTED, State.PENDING)


def unmet(worker: Worker | None, requirements: list[Mapping[str, Any]], action: str = "Accept") -> list[str]:
    """Why the worker cannot take this action on a HIT with these requirements; empty if they can."""
    return Standing(worker).unmet(requirements, action=action)


# --- Types --------------------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Terms:
    """How to get a qualification. A field that is None stays unset, or keeps its value."""

    description: str | None = None
    status: str | None = None
    test: str | None = None
    answer_key: str | None = None
    test_duration: int | None = None
    retry_delay: int | None = None
    auto_granted: bool | None = None
    auto_value: int | None = None


@transaction.atomic
def create_type(
    *, requester: Requester, name: str, keywords: str = "", terms: Terms, now: datetime | None = None
) -> QualificationType:
    """Create a type. Raises InvalidParameter, or AlreadyExists if the requester has a type with that name."""
    if not 1 <= len(name) <= 200:
        raise InvalidParameter("Name", "It must have from 1 to 200 characters.")
    made = QualificationType(
        type_id=new_id(),
        requester=requester,
        name=name,
        keywords=keywords,
        description="",
        status="Active",
        created_at=now or clock.now(),
    )
    _apply(made, terms)
    found = QualificationType.objects.filter(requester=requester, name=name, deleted_at=None).first()
    if found:
        raise AlreadyExists("QualificationType", found.type_id)
    try:
        with transaction.atomic():
            made.save()
    except IntegrityError:
        raise AlreadyExists("QualificationType", name) from None
    return made


@transaction.atomic
def update_type(*, type: QualificationType, terms: Terms) -> QualificationType:
    """Change the fields that are set. With a new test and no answer key, the requester decides requests by hand."""
    locked = QualificationType.objects.select_for_update(no_key=True).get(pk=type.pk)
    if terms.test is None and (terms.answer_key is not None or terms.test_duration is not None):
        raise InvalidParameter("Test", "Send the test together with its answer key and duration.")
    _apply(locked, terms)
    locked.save()
    return locked


def _apply(type: QualificationType, terms: Terms) -> None:
    if terms.test is not None:
        _check_test(terms)
        type.test, type.answer_key, type.test_duration = terms.test, terms.answer_key or "", terms.test_duration
    elif terms.answer_key is not None:
        raise InvalidParameter("AnswerKey", "There is no test that this is the key to.")
    for name in ("description", "status", "retry_delay", "auto_granted", "auto_value"):
        value = getattr(terms, name)
        if value is not None:
            setattr(type, name, value)
    if type.auto_granted and type.test:
        raise InvalidParameter("AutoGranted", "A qualification with a test cannot be granted automatically.")
    if terms.auto_value is not None and not type.auto_granted:
        raise InvalidParameter("AutoGrantedValue", "Send it only with AutoGranted.")
    if not 1 <= len(type.description) <= 2000:
        raise InvalidParameter("Description", "It must have from 1 to 2,000 characters.")
    if type.retry_delay is not None and not 0 <= type.retry_delay <= 31_536_000:
        raise InvalidParameter("RetryDelayInSeconds", "It must be a whole number from 0 to 31536000.")


def _check_test(terms: Terms) -> None:
    if terms.test_duration is None:
        raise InvalidParameter("TestDurationInSeconds", "A test needs a duration.")
    if not 1 <= terms.test_duration <= 31_536_000:
        raise InvalidParameter("TestDurationInSeconds", "It must be a whole number from 1 to 31536000.")
    parameter = "Test"
    try:
        form = parse_question(terms.test or "").form
        if form is None or form.takes_files:
            raise BadXml("A test must be a QuestionForm without files.")
        parameter = "AnswerKey"
        if terms.answer_key is not None:
            check_answer_key(terms.answer_key)
    except TooLarge as error:
        raise InvalidParameter(parameter, str(error), code="ParameterTooLong") from None
    except BadXml as error:
        raise InvalidParameter(parameter, str(error), code="XMLParseError") from None


@transaction.atomic
def delete_type(*, type: QualificationType, now: datetime | None = None) -> None:
    """Delete a type. HITs can no longer require it, and open requests are rejected. Workers who have it keep it."""
    now = now or clock.now()
    QualificationType.objects.filter(pk=type.pk, deleted_at=None).update(deleted_at=now, status="Inactive")
    type.requests.filter(state__in=OPEN).update(
        state=State.REJECTED, decided_at=now, reason="The qualification no longer exists."
    )


def find_type(type_id: str) -> QualificationType:
    """Any requester's type, or a built-in one. Raises NotFound."""
    if builtin.is_builtin(type_id):
        return builtin.builtin_type(type_id)
    found = QualificationType.objects.filter(type_id=type_id, deleted_at=None).first()
    if found is None:
        raise NotFound("QualificationType", type_id)
    return found


# --- Requests and tests -------------------------------------------------------------------------------------


def may_request(type: QualificationType, worker: Worker, now: datetime | None = None) -> str:
    """Why the worker cannot request it now; empty if they can."""
    now = now or clock.now()
    if type.deleted_at or type.status != "Active" or not type.requestable:
        return "This qualification cannot be requested."
    if not worker.active:
        return "Your account is not active."
    last = type.requests.filter(worker=worker).order_by("-started_at", "-pk").first()
    if last is None:
        return ""
    if last.state == State.STARTED and last.deadline and last.deadline > now:
        return ""  # the test is open: the worker can continue it
    if last.state == State.PENDING:
        return "You have requested it. The requester has not decided yet."
    if type.retry_delay is None:
        return "This qualification can be requested only once."
    again = (last.submitted_at or last.started_at) + timedelta(seconds=type.retry_delay)
    return f"You can request it again from {clock.in_words(again)}." if again > now else ""


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
    made = QualificationRequest(
        request_id=new_id(), type=type, worker=worker, state=State.PENDING, started_at=now, submitted_at=now
    )
    if type.test:
        made.state, made.submitted_at, made.test = State.STARTED, None, type.test
        made.deadline = now + timedelta(seconds=type.test_duration or 0)
    made.save()
    if type.auto_granted:
        _decide(made, granted=type.auto_value, now=now)
    return made


@transaction.atomic
def take_test(*, request: QualificationRequest, answers: Answers, now: datetime | None = None) -> QualificationRequest:
    """Submit a test: scored and granted if there is an answer key, otherwise Pending. Raises Refusal, also if late."""
    now = now or clock.now()
    asked = _locked_request(request.pk)
    if asked.state != State.STARTED:
        raise Refusal("This test has already been submitted.", code="InvalidQualificationRequestState")
    if asked.deadline and asked.deadline <= now:
        raise Refusal("The time for this test is up.", code="InvalidQualificationRequestState")
    form = parse_question(asked.test).form
    if form is None:
        raise TypeError("A test is a QuestionForm: that was checked when its type was made.")
    problems = check_answers(form, answers)
    if problems:
        raise Refusal(" ".join(f"{name}: {what}" for name, what in problems.items()), code="InvalidAnswers")
    asked.answer = answers_xml(answers, form)
    asked.submitted_at = now
    asked.state = State.PENDING
    asked.save(update_fields=["answer", "submitted_at", "state"])
    if asked.type.answer_key:
        _decide(asked, granted=score(asked.type.answer_key, values_of(answers)), now=now)
    return asked


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
        _give(request.type, request.worker, granted, now)


def _give(type: QualificationType, worker: Worker, value: int, now: datetime) -> Qualification:
    row, _ = Qualification.objects.update_or_create(
        type=type, worker=worker, defaults={"value": value, "status": GRANTED, "granted_at": now, "reason": ""}
    )
    return row


@transaction.atomic
def accept_request(*, request: QualificationRequest, value: int | None, now: datetime | None = None) -> None:
    """Grant the request, with the value 1 unless another value is given."""
    asked = _locked_request(request.pk)
    _need_pending(asked)
    _decide(asked, granted=1 if value is None else value, now=now or clock.now())


@transaction.atomic
def reject_request(*, request: QualificationRequest, reason: str = "", now: datetime | None = None) -> None:
    now = now or clock.now()
    asked = _locked_request(request.pk)
    _need_pending(asked)
    _decide(asked, granted=None, now=now, reason=reason)
    if reason:
        subject = f"Your request for “{asked.type.name}” was rejected"[:200]
        send(worker=asked.worker, requester=asked.type.requester, subject=subject, text=reason, now=now)


def _need_pending(request: QualificationRequest) -> None:
    if request.state != State.PENDING:
        raise WrongState("QualificationRequest", request.request_id, state=request.state, wanted=State.PENDING)


# --- Grants -------------------------------------------------------------------------------------------------


@transaction.atomic
def associate(
    *, type: QualificationType, worker: Worker, value: int = 1, notify: bool = True, now: datetime | None = None
) -> Qualification:
    """Give a worker a qualification, or change its value."""
    now = now or clock.now()
    row = _give(type, worker, value, now)
    if notify:
        text = f"You now have the qualification “{type.name}”, with the value {value}."
        send(
            worker=worker, requester=type.requester, subject="You have been granted a qualification", text=text, now=now
        )
    return row


@transaction.atomic
def disassociate(
    *, type: QualificationType, worker: Worker, reason: str = "", now: datetime | None = None
) -> Qualification:
    """Revoke it. Raises NotFound if the worker does not have it."""
    now = now or clock.now()
    rows = Qualification.objects.select_for_update(of=("self",), no_key=True)
    row = rows.filter(type=type, worker=worker, status=GRANTED).first()
    if row is None:
        raise NotFound("Qualification", f"{type.type_id} of worker {worker.worker_id}")
    row.status, row.reason = REVOKED, reason
    row.save(update_fields=["status", "reason"])
    if reason:
        subject = f"Your qualification “{type.name}” was revoked"[:200]
        send(worker=worker, requester=type.requester, subject=subject, text=reason, now=now)
    return row


@transaction.atomic
def grant(*, type: QualificationType, worker: Worker, value: int = 1, actor: str) -> Qualification:
    """An operator's grant, for example of Masters."""
    row = associate(type=type, worker=worker, value=value)
    record(actor=actor, action="qualification granted", about=type.name, worker=worker, value=value)
    return row


@transaction.atomic
def revoke(*, type: QualificationType, worker: Worker, reason: str = "", actor: str) -> Qualification:
    """An operator's revocation."""
    row = disassociate(type=type, worker=worker, reason=reason)
    record(actor=actor, action="qualification revoked", about=type.name, worker=worker, reason=reason)
    return row


# --- Blocks -------------------------------------------------------------------------------------------------


@transaction.atomic
def block(*, requester: Requester, worker: Worker, reason: str, now: datetime | None = None) -> WorkerBlock:
    """The worker can accept no more HITs from this requester. They can finish those in progress."""
    row, _ = WorkerBlock.objects.update_or_create(
        requester=requester,
        worker=worker,
        defaults={"reason": reason},
        create_defaults={"reason": reason, "created_at": now or clock.now()},
    )
    return row


@transaction.atomic
def unblock(*, requester: Requester, worker: Worker) -> bool:
    """Remove a block; returns whether the worker was blocked."""
    n, _ = WorkerBlock.objects.filter(requester=requester, worker=worker).delete()
    return bool(n)
