"""HIT types and HITs: made, extended, expired, reviewed, deleted; and what workers see of them."""

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
from marketplace.models import Assignment, Hit, HITLayout, HITType, Requester, Worker, WorkerBlock
from marketplace.money import MANY
from marketplace.questions import BadXml, TooLarge, parse_question
from marketplace.services import files, reviews
from marketplace.services import requirements as rules
from marketplace.services.events import tell
from marketplace.services.refusals import AlreadyExists, Invalid, Refused, WrongState
from marketplace.services.secrets import new_id
from marketplace.services.tokens import claim
from marketplace.services.upkeep import bring_up_to_date, dispose, give_places_back, lock_hit, settle

State = Hit.State
YEAR = 31_536_000
DEFAULT_AUTO_APPROVAL = 2_592_000
MOST_ASSIGNMENTS = 1_000_000
FAR = timedelta(seconds=YEAR)


@dataclass(frozen=True, slots=True)
class Properties:
    """What HITs of one type have in common."""

    title: str
    description: str
    reward: Decimal
    assignment_duration: int
    auto_approval_delay: int = DEFAULT_AUTO_APPROVAL
    keywords: str = ""
    requirements: Sequence[Mapping[str, Any]] = ()


@dataclass(frozen=True, slots=True)
class Work:
    """What is a HIT's own."""

    question: str
    lifetime: int
    max_assignments: int = 1
    annotation: str = ""
    layout: HITLayout | None = None
    assignment_review_policy: Mapping[str, Any] | None = None
    hit_review_policy: Mapping[str, Any] | None = None


@transaction.atomic
def create_hit_type(*, requester: Requester, properties: Properties, now: datetime | None = None) -> HITType:
    """The type with these properties, made on first use. Raises Invalid or NotFound."""
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
    except IntegrityError:  # another request has made it meanwhile
        return of_requester.get()


def _check_properties(properties: Properties) -> None:
    _check_length("Title", properties.title, least=1, most=128)
    _check_length("Description", properties.description, least=1, most=2000)
    _check_length("Keywords", properties.keywords, most=1000)
    _check_range("AssignmentDurationInSeconds", properties.assignment_duration, 30, YEAR)
    _check_range("AutoApprovalDelayInSeconds", properties.auto_approval_delay, 0, DEFAULT_AUTO_APPROVAL)


def _check_length(parameter: str, text: str, *, most: int, least: int = 0) -> None:
    if not least <= len(text) <= most or "\x00" in text:
        raise Invalid(parameter, f"It takes from {least} to {most} characters, not {len(text)}.")


def _check_range(parameter: str, value: int, least: int, most: int) -> None:
    if not least <= value <= most:
        raise Invalid(parameter, f"It takes a whole number from {least} to {most}.")


def create_hit(
    *, requester: Requester, hit_type: HITType | Properties, work: Work, token: str = "", now: datetime | None = None
) -> Hit:
    """Offer a HIT and hold what it may cost. Raises Refused; AlreadyExists for a token of the last 24 hours."""
    now = now or clock.now()
    kind = _check_work(work)
    bring_up_to_date(requester=requester, now=now)  # what expired HITs held may be needed for this one
    with transaction.atomic():
        claimed = claim(requester=requester, operation="CreateHIT", token=token, now=now)
        if claimed.target_id:
            raise AlreadyExists("HIT", claimed.target_id, code="HitAlreadyExists")
        if isinstance(hit_type, Properties):
            hit_type = create_hit_type(requester=requester, properties=hit_type, now=now)
        else:
            rules.checked(hit_type.requirements)  # a qualification type may have been deleted since
        hit = _new_hit(requester, hit_type, work, kind, token, now)
        settle(hit, now=now)
        claimed.settle(hit.hit_id)
        tell(event="HITCreated", hit=hit, now=now)
    return hit


def _new_hit(requester: Requester, hit_type: HITType, work: Work, kind: str, token: str, now: datetime) -> Hit:
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
        unique_request_token=token,
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
        raise Invalid("Question", str(error), code="ParameterTooLong") from None
    except BadXml as error:
        raise Invalid("Question", str(error), code="XMLParseError") from None
    if question.form is not None and (too_large := files.unanswerable(question.form)):
        raise Invalid("Question", too_large, code="XMLParseError")
    return question.kind


def extend_hit(*, hit: Hit, additional: int, token: str = "", now: datetime | None = None) -> Hit:
    """More assignments. A HIT made with fewer than ten stays below ten, as the fee depends on it."""
    now = now or clock.now()
    _check_range("NumberOfAdditionalAssignments", additional, 1, MOST_ASSIGNMENTS)
    bring_up_to_date(requester=hit.requester, now=now)  # what expired HITs held may be needed, here and below
    with transaction.atomic():
        claimed = claim(requester=hit.requester, operation="CreateAdditionalAssignmentsForHIT", token=token, now=now)
        if claimed.target_id:
            raise AlreadyExists("HIT extension", claimed.target_id, code="HitAlreadyExtended")
        hit = lock_hit(pk=hit.pk, now=now)
        _refuse_disposed(hit)
        _add_places(hit, additional)
        settle(hit, now=now)
        claimed.settle(hit.hit_id)
        tell(event="HITExtended", hit=hit, now=now)
    return hit


def _add_places(hit: Hit, additional: int) -> None:
    total = hit.max_assignments + additional
    if hit.max_assignments < MANY <= total or total > MOST_ASSIGNMENTS:
        raise Refused(
            f"HIT {hit.hit_id} has {hit.max_assignments} assignments. One with fewer than {MANY} cannot be extended to "
            f"{MANY} or more; the most are {MOST_ASSIGNMENTS}.",
            code="InvalidMaximumAssignmentsIncrease",
        )
    hit.max_assignments = total
    hit.n_available += additional


def _refuse_disposed(hit: Hit) -> None:
    if hit.state == State.DISPOSED:
        raise WrongState("HIT", hit.hit_id, state=hit.state, wanted="Assignable, Unassignable, Reviewable, Reviewing")


def set_expiration(*, hit: Hit, expires_at: datetime, now: datetime | None = None) -> Hit:
    """A moment that is past ends it now; a later one offers it again, and holds what that may cost."""
    now = now or clock.now()
    if expires_at > now + FAR:
        raise Invalid("ExpireAt", "It is at most 365 days ahead.")
    bring_up_to_date(requester=hit.requester, now=now)
    with transaction.atomic():
        hit = lock_hit(pk=hit.pk, now=now)
        _refuse_disposed(hit)
        was_expired = hit.expired
        hit.expires_at = max(expires_at, hit.created_at)
        settle(hit, now=now)
        if was_expired and not hit.expired:
            tell(event="HITExtended", hit=hit, now=now)
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
        settle(hit, now=now)
    return hit


@transaction.atomic
def delete_hit(*, hit: Hit, now: datetime | None = None) -> Hit:
    """Dispose of a HIT that waits for review, on all of whose submitted work a decision was made."""
    now = now or clock.now()
    hit = lock_hit(pk=hit.pk, now=now)
    if hit.state not in (State.REVIEWING, State.REVIEWABLE):
        raise WrongState("HIT", hit.hit_id, state=hit.state, wanted="Reviewing, Reviewable")
    if hit.n_submitted:
        raise Refused(
            f"HIT {hit.hit_id} has {hit.n_submitted} submitted assignments; approve or reject them first.",
            code="InvalidHITState",
        )
    dispose(hit, now=now)
    return hit


# --- What workers see ---------------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class Group:
    """The HITs of one type that a worker could take now. ``reasons`` say why they do not qualify."""

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
    standing: rules.Standing | None = None,
    now: datetime | None = None,
) -> list[Group]:
    """What is on offer for this worker, without what is hidden from them. ``standing`` is theirs, if it was read."""
    now = now or clock.now()
    give_places_back(now=now)
    on_offer = HITType.objects.filter(requester__active=True, hits__in=offered(worker=worker, now=now))
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
    """HITs with a free place of requesters who have not blocked the worker, and that they have not had."""
    hits = Hit.objects.filter(state=State.ASSIGNABLE, n_available__gt=0, expires_at__gt=now, requester__active=True)
    if worker is None:
        return hits
    had = Assignment.objects.filter(worker=worker, state__in=("Accepted", "Submitted", "Approved", "Rejected"))
    blocks = WorkerBlock.objects.filter(worker=worker)
    return hits.exclude(pk__in=had.values("hit")).exclude(requester__in=blocks.values("requester"))


def preview_hit(*, hit_type: HITType, worker: Worker | None, now: datetime | None = None) -> Hit:
    """One HIT of the group, to be looked at. Raises Refused."""
    now = now or clock.now()
    give_places_back(hit_type=hit_type, now=now)
    reasons = rules.Standing(worker, now=now).unmet(hit_type.requirements, action="Preview")
    if reasons:
        raise Refused(" ".join(reasons), code="QualificationNotMet")
    hit = offered(worker=worker, now=now).filter(hit_type=hit_type).order_by("created_at", "pk").first()
    if hit is None:
        raise Refused("There are no more of these HITs that you could work on.", code="HITNotAvailable")
    return hit
