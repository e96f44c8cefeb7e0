"""Qualification types: create, change, delete and find them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime

from django.db import IntegrityError, transaction

from marketplace import clock
from marketplace.ids import new_id
from marketplace.models import QualificationRequest, QualificationType, Requester
from marketplace.questions import BadXml, TooLarge, parse_question
from marketplace.questions.answer_key import check_answer_key
from marketplace.services.qualifications import builtin_types
from marketplace.services.refusals import AlreadyExists, InvalidParameter, NotFound

State = QualificationRequest.State
OPEN = (State.STARTED, State.PENDING)


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
    type = QualificationType(
        type_id=new_id(),
        requester=requester,
        name=name,
        keywords=keywords,
        description="",
        status="Active",
        created_at=now or clock.now(),
    )
    _apply(type, terms)
    namesake = QualificationType.objects.filter(requester=requester, name=name, deleted_at=None).first()
    if namesake:
        raise AlreadyExists("QualificationType", namesake.type_id)
    try:
        with transaction.atomic():
            type.save()
    except IntegrityError:
        raise AlreadyExists("QualificationType", name) from None
    return type


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
    if builtin_types.is_builtin(type_id):
        return builtin_types.builtin_type(type_id)
    type = QualificationType.objects.filter(type_id=type_id, deleted_at=None).first()
    if type is None:
        raise NotFound("QualificationType", type_id)
    return type
