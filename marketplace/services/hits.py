"""HIT types and HITs: create, extend, expire, review and delete them; and what workers see of them."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import Max, Q, QuerySet, Sum

from marketplace import clock
from marketplace.ids import new_id
from marketplace.models import Assignment, Hit, HITLayout, HITType, Requester, Worker, WorkerBlock
from marketplace.money import MANY, fee_rises_at_many
from marketplace.questions import BadXml, TooLarge, parse_question
from marketplace.services import files, reviews
from marketplace.services import requirements as rules
from marketplace.services.events import note_event
from marketplace.services.lifecycle import dispose_of, update_hit
from marketplace.services.refusals import AlreadyExists, InvalidParameter, Refusal, WrongState
from marketplace.services.tokens import claim
from marketplace.services.upkeep import bring_up_to_date, give_places_back, lock_hit

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
    _check_properties(properties)
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
    found = of_requester.first()
    if found:
        return found
    try:
        with transaction.atomic():
            return HITType.objects.create(
                requester=requester, digest=digest, type_id=new_id(), created_at=now or clock.now(), **fields
            )
    except IntegrityError:  # another request has just created it
        return of_requester.get()


def _check_properties(properties: Properties) -> None:
    _check_length("Title", properties.title, least=1, most=128)
    _check_length("Description", properties.description, least=1, most=2000)
    _check_length("Keywords", properties.keywords, most=1000)
    _check_range("AssignmentDurationInSeconds", properties.assignment_duration, 30, YEAR)
    _check_range("AutoApprovalDelayInSeconds", properties.auto_approval_delay, 0, DEFAULT_AUTO_APPROVAL)


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
        hit = _new_hit(requester, hit_type, work, kind, now)
        update_hit(hit, now=now)
        claimed.complete(hit.hit_id)
        note_event(event="HITCreated", hit=hit, now=now)
    return hit


def _new_hit(requester: Requester, hit_type: HITType, work: Work, kind: str, now: datetime) -> Hit:
    return Hit(
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


def _check_work(work: Work) -> str:
    _check_range("MaxAssignments", work.max_assignments, 1, MOST_ASSIGNMENTS)
    _check_range("LifetimeInSeconds", work.lifetime, 30, YEAR)
    _check_length("RequesterAnnotation", work.annotation, most=255)
    reviews.check_policy("AssignmentReviewPolicy", work.assignment_review_policy)
    reviews.check_policy("HITReviewPolicy", work.hit_review_policy)
    try:
        question = parse_question(work.question)
    except TooLarge as error:
        raise InvalidParameter("Question", str(error), code="ParameterTooLong") from None
    except BadXml as error:
        raise InvalidParameter("Question", str(error), code="XMLParseError") from None
    if question.form is not None and (too_large := files.unanswerable(question.form)):
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
        _add_places(hit, additional)
        update_hit(hit, now=now)
        claimed.complete(hit.hit_id)
        note_event(event="HITExtended", hit=hit, now=now)
    return hit


def _add_places(hit: Hit, additional: int) -> None:
    total = hit.max_assignments + additional
    if (fee_rises_at_many() and hit.max_assignments < MANY <= total) or total > MOST_ASSIGNMENTS:
        raise Refusal(
            f"HIT {hit.hit_id} has MaxAssignments {hit.max_assignments}. A HIT with fewer than {MANY} cannot be "
            f"extended to {MANY} or more, and none to more than {MOST_ASSIGNMENTS:,}.",
            code="InvalidMaximumAssignmentsIncrease",
        )
    hit.max_assignments = total
    hit.n_available += additional


def _refuse_disposed(hit: Hit) -> None:
    if hit.state == State.DISPOSED:
        raise WrongState("HIT", hit.hit_id, state=hit.state, wanted="Assignable, Unassignable, Reviewable, Reviewing")


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
    wanted, becomes = (State.REVIEWING, State.REVIEWABLE) if revert else (State.REVIEWABLE, State.REVIEWING)
    if hit.state not in (wanted, becomes):
        raise WrongState("HIT", hit.hit_id, state=hit.state, wanted=wanted)
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
        raise WrongState("HIT", hit.hit_id, state=hit.state, wanted="Reviewing, Reviewable")
    if hit.n_submitted:
        raise Refusal(
            f"HIT {hit.hit_id} has submitted assignments: {hit.n_submitted}. Approve or reject all of them first.",
            code="InvalidHITState",
        )
    dispose_of(hit, now=now)
    return hit


# --- What workers see ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Group:
    """The HITs of one type that a worker could accept now. ``reasons`` say why they do not qualify."""

    hit_type: HITType
    requester: Requester
    n_available: int
    newest_at: datetime
    qualified: bool
    can_preview: bool
    reasons: list[str]


SORTS = {
    "newest": ("-newest_at", "-pk"),
    "reward": ("-reward", "-pk"),
    "available": ("-available", "-pk"),
}


def groups_for(
    *,
    worker: Worker | None,
    search: str = "",
    sort: str = "newest",
    least_reward: Decimal | None = None,
    standing: rules.Standing | None = None,
    now: datetime | None = None,
) -> list[Group]:
    """The groups on offer to this worker, without those hidden from them. Pass their ``standing`` if you have it."""
    now = now or clock.now()
    give_places_back(now=now)
    on_offer = HITType.objects.filter(requester__active=True, hits__in=offered(worker=worker, now=now))
    if least_reward:
        on_offer = on_offer.filter(reward__gte=least_reward)
    for word in search.split():
        on_offer = on_offer.filter(
            Q(title__icontains=word)
            | Q(description__icontains=word)
            | Q(keywords__icontains=word)
            | Q(requester__name__icontains=word)
        )
    found = on_offer.annotate(available=Sum("hits__n_available"), newest_at=Max("hits__created_at"))
    listed = list(found.select_related("requester").order_by(*SORTS.get(sort, SORTS["newest"])))
    standing = standing or rules.Standing(worker, now=now)
    standing.learn(requirement for each in listed for requirement in each.requirements)
    groups = []
    for each in listed:
        if not standing.unmet(each.requirements, action="Discover"):
            reasons = standing.unmet(each.requirements)
            can_preview = not standing.unmet(each.requirements, action="Preview")
            groups.append(
                Group(each, each.requester, each.available, each.newest_at, not reasons, can_preview, reasons)
            )
    return groups


def offered(*, worker: Worker | None, now: datetime) -> QuerySet[Hit]:
    """HITs with a free place that this worker has not had, of requesters who have not blocked them."""
    hits = Hit.objects.filter(state=State.ASSIGNABLE, n_available__gt=0, expires_at__gt=now, requester__active=True)
    if worker is None:
        return hits
    had = Assignment.objects.filter(worker=worker, state__in=("Accepted", "Submitted", "Approved", "Rejected"))
    blocks = WorkerBlock.objects.filter(worker=worker)
    return hits.exclude(pk__in=had.values("hit")).exclude(requester__in=blocks.values("requester"))


def not_returned(hits: QuerySet[Hit], worker: Worker | None) -> QuerySet[Hit]:
    """Those that the worker has not given back: nobody gets such a HIT again without asking for it."""
    returned = Assignment.objects.filter(worker=worker, state=Assignment.State.RETURNED)
    return hits if worker is None else hits.exclude(pk__in=returned.values("hit"))


def preview_hit(*, hit_type: HITType, worker: Worker | None, now: datetime | None = None) -> Hit:
    """One HIT of the group, for a preview; a HIT that the worker returned only if no other is left. Raises Refusal."""
    now = now or clock.now()
    give_places_back(hit_type=hit_type, now=now)
    reasons = rules.Standing(worker, now=now).unmet(hit_type.requirements, action="Preview")
    if reasons:
        raise Refusal(" ".join(reasons), code="QualificationNotMet")
    on_offer = offered(worker=worker, now=now).filter(hit_type=hit_type).order_by("created_at", "pk")
    hit = not_returned(on_offer, worker).first() or on_offer.first()
    if hit is None:
        raise Refusal("There are no more of these tasks for you.", code="HITNotAvailable")
    return hit
