"""HIT types and HITs: post, extend, expire, review and delete them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction

from marketplace import clock
from marketplace.ids import new_id
from marketplace.models import Hit, HITLayout, HITType, Requester
from marketplace.money import MANY, fee_rises_at_many
from marketplace.questions import BadXml, TooLarge, parse_question
from marketplace.services.hits import policy_reviews, uploaded_files
from marketplace.services.hits.due_changes import bring_up_to_date, lock_hit
from marketplace.services.hits.state_changes import dispose_of, update_hit
from marketplace.services.messages.notifications import note_event
from marketplace.services.qualifications import requirements as rules
from marketplace.services.refusals import AlreadyExists, InvalidParameter, Refusal, WrongState
from marketplace.services.request_tokens import claim

State = Hit.State
YEAR = 31_536_000
DEFAULT_AUTO_APPROVAL = 2_592_000
MOST_ASSIGNMENTS = 1_000_000
FAR = timedelta(seconds=YEAR)


@dataclass(frozen=True, slots=True)
class Properties:
    """The properties that HITs of one type share."""

    title: str
    description: str
    reward: Decimal
    assignment_duration: int
    auto_approval_delay: int = DEFAULT_AUTO_APPROVAL
    keywords: str = ""
    requirements: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Work:
    """The properties of one HIT alone."""

    question: str
    lifetime: int
    max_assignments: int = 1
    annotation: str = ""
    layout: HITLayout | None = None
    assignment_review_policy: Mapping[str, Any] | None = None
    hit_review_policy: Mapping[str, Any] | None = None


@transaction.atomic
def create_hit_type(*, requester: Requester, properties: Properties, now: datetime | None = None) -> HITType:
    """The type with these properties, created on first use. Raises InvalidParameter or NotFound."""
    _check_length("Title", properties.title, least=1, most=128)
    _check_length("Description", properties.description, least=1, most=2000)
    _check_length("Keywords", properties.keywords, most=1000)
    _check_range("AssignmentDurationInSeconds", properties.assignment_duration, 30, YEAR)
    _check_range("AutoApprovalDelayInSeconds", properties.auto_approval_delay, 0, DEFAULT_AUTO_APPROVAL)
    fields = {
        "title": properties.title,
        "description": properties.description,
        "keywords": properties.keywords,
        "reward": properties.reward,
        "assignment_duration": properties.assignment_duration,
        "auto_approval_delay": properties.auto_approval_delay,
        "requirements": rules.checked(properties.requirements),
    }
    digest = hashlib.sha256(json.dumps(fields, sort_keys=True, default=str).encode()).hexdigest()
    of_requester = HITType.objects.filter(requester=requester, digest=digest)
    existing = of_requester.first()
    if existing:
        return existing
    try:
        with transaction.atomic():
            return HITType.objects.create(
                requester=requester, digest=digest, type_id=new_id(), created_at=now or clock.now(), **fields
            )
    except IntegrityError:  # another request has just created it
        return of_requester.get()


def _check_length(parameter: str, text: str, *, most: int, least: int = 0) -> None:
    if not least <= len(text) <= most or "\x00" in text:
        raise InvalidParameter(parameter, f"It must have from {least:,} to {most:,} characters, not {len(text):,}.")


def _check_range(parameter: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise InvalidParameter(parameter, f"It must be a whole number from {least:,} to {most:,}.")


def create_hit(
    *, requester: Requester, hit_type: HITType | Properties, work: Work, token: str = "", now: datetime | None = None
) -> Hit:
    """Offer a HIT and hold what it can cost. Raises Refusal; AlreadyExists for a token used in the last 24 hours."""
    now = now or clock.now()
    kind = _check_work(work)
    bring_up_to_date(requester=requester, now=now)  # money held by expired HITs may be needed for this one
    with transaction.atomic():
        claimed = claim(requester=requester, operation="CreateHIT", token=token, now=now)
        if claimed.target_id:
            raise AlreadyExists("HIT", claimed.target_id, code="HitAlreadyExists")
        if isinstance(hit_type, Properties):
            hit_type = create_hit_type(requester=requester, properties=hit_type, now=now)
        else:
            rules.checked(hit_type.requirements)  # a qualification type may have been deleted since
        hit = Hit(
            hit_id=new_id(),
            requester=requester,
            hit_type=hit_type,
            layout=work.layout,
            question=work.question,
            question_kind=kind,
            annotation=work.annotation,
            max_assignments=work.max_assignments,
            n_available=work.max_assignments,
            created_at=now,
            expires_at=now + timedelta(seconds=work.lifetime),
            lifetime=work.lifetime,
            assignment_review_policy=work.assignment_review_policy,
            hit_review_policy=work.hit_review_policy,
        )
        update_hit(hit, now=now)
        claimed.complete(hit.hit_id)
        note_event(event="HITCreated", hit=hit, now=now)
    return hit


def _check_work(work: Work) -> str:
    _check_range("MaxAssignments", work.max_assignments, 1, MOST_ASSIGNMENTS)
    _check_range("LifetimeInSeconds", work.lifetime, 30, YEAR)
    _check_length("RequesterAnnotation", work.annotation, most=255)
    policy_reviews.check_policy("AssignmentReviewPolicy", work.assignment_review_policy)
    policy_reviews.check_policy("HITReviewPolicy", work.hit_review_policy)
    try:
        question = parse_question(work.question)
    except TooLarge as error:
        raise InvalidParameter("Question", str(error), code="ParameterTooLong") from None
    except BadXml as error:
        raise InvalidParameter("Question", str(error), code="XMLParseError") from None
    if question.form is not None and (too_large := uploaded_files.unanswerable(question.form)):
        raise InvalidParameter("Question", too_large, code="XMLParseError")
    return question.kind


def extend_hit(*, hit: Hit, additional: int, token: str = "", now: datetime | None = None) -> Hit:
    """Add assignments. A HIT created with fewer than ten stays below ten where the fee depends on it."""
    now = now or clock.now()
    _check_range("NumberOfAdditionalAssignments", additional, 1, MOST_ASSIGNMENTS)
    bring_up_to_date(requester=hit.requester, now=now)  # money held by expired HITs may be needed
    with transaction.atomic():
        claimed = claim(requester=hit.requester, operation="CreateAdditionalAssignmentsForHIT", token=token, now=now)
        if claimed.target_id:
            raise AlreadyExists("HIT extension", claimed.target_id, code="HitAlreadyExtended")
        hit = lock_hit(pk=hit.pk, now=now)
        _refuse_disposed(hit)
        total = hit.max_assignments + additional
        if (fee_rises_at_many() and hit.max_assignments < MANY <= total) or total > MOST_ASSIGNMENTS:
            raise Refusal(
                f"HIT {hit.hit_id} has MaxAssignments {hit.max_assignments}. A HIT with fewer than {MANY} cannot be "
                f"extended to {MANY} or more, and none to more than {MOST_ASSIGNMENTS:,}.",
                code="InvalidMaximumAssignmentsIncrease",
            )
        hit.max_assignments = total
        hit.n_available += additional
        update_hit(hit, now=now)
        claimed.complete(hit.hit_id)
        note_event(event="HITExtended", hit=hit, now=now)
    return hit


def _refuse_disposed(hit: Hit) -> None:
    if hit.state == State.DISPOSED:
        raise WrongState("HIT", hit.hit_id, state=hit.state, allowed="Assignable, Unassignable, Reviewable, Reviewing")


def set_expiration(*, hit: Hit, expires_at: datetime, now: datetime | None = None) -> Hit:
    """A time in the past ends the HIT now; a later one offers it again and holds what that can cost.

    A HIT that ends now gets the current time, whatever past time was sent: it must not expire before its last work
    arrived, or be old enough to be disposed of at once. A HIT that has already expired keeps its time.
    """
    now = now or clock.now()
    if expires_at > now + FAR:
        raise InvalidParameter("ExpireAt", "It can be at most 365 days from now.")
    bring_up_to_date(requester=hit.requester, now=now)
    with transaction.atomic():
        hit = lock_hit(pk=hit.pk, now=now)
        _refuse_disposed(hit)
        was_expired = hit.expired
        hit.expires_at = expires_at if expires_at > now else min(hit.expires_at, now)
        update_hit(hit, now=now)
        if was_expired and not hit.expired:
            note_event(event="HITExtended", hit=hit, now=now)
    return hit


@transaction.atomic
def set_review_status(*, hit: Hit, revert: bool, now: datetime | None = None) -> Hit:
    """Reviewable → Reviewing, or back."""
    now = now or clock.now()
    hit = lock_hit(pk=hit.pk, now=now)
    expected, becomes = (State.REVIEWING, State.REVIEWABLE) if revert else (State.REVIEWABLE, State.REVIEWING)
    if hit.state not in (expected, becomes):
        raise WrongState("HIT", hit.hit_id, state=hit.state, allowed=expected)
    hit.state = becomes
    hit.save(update_fields=["state"])
    return hit


def change_type(*, hit: Hit, hit_type: HITType, now: datetime | None = None) -> Hit:
    """Give the HIT other properties. Work that was accepted keeps the reward it was accepted for."""
    now = now or clock.now()
    bring_up_to_date(requester=hit.requester, now=now)
    with transaction.atomic():
        hit = lock_hit(pk=hit.pk, now=now)
        _refuse_disposed(hit)
        hit.hit_type = hit_type
        update_hit(hit, now=now)
    return hit


@transaction.atomic
def delete_hit(*, hit: Hit, now: datetime | None = None) -> Hit:
    """Dispose of a HIT that waits for review and has no undecided work."""
    now = now or clock.now()
    hit = lock_hit(pk=hit.pk, now=now)
    if hit.state not in (State.REVIEWING, State.REVIEWABLE):
        raise WrongState("HIT", hit.hit_id, state=hit.state, allowed="Reviewing, Reviewable")
    if hit.n_submitted:
        raise Refusal(
            f"HIT {hit.hit_id} has submitted assignments: {hit.n_submitted}. Approve or reject all of them first.",
            code="InvalidHITState",
        )
    dispose_of(hit, now=now)
    return hit
