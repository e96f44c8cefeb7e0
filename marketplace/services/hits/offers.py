"""HITs on offer: the groups that a worker sees, and a preview."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal

from django.db.models import Max, Q, QuerySet, Sum

from common.languages import gettext as _
from marketplace import clock
from marketplace.models import Assignment, Hit, HITType, Requester, Worker, WorkerBlock
from marketplace.services.hits.due_changes import give_places_back
from marketplace.services.qualifications import requirements as rules
from marketplace.services.refusals import Refusal

State = Hit.State


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
    annotated = on_offer.annotate(available=Sum("hits__n_available"), newest_at=Max("hits__created_at"))
    listed = list(annotated.select_related("requester").order_by(*SORTS.get(sort, SORTS["newest"])))
    standing = standing or rules.Standing(worker, now=now)
    standing.learn(requirement for hit_type in listed for requirement in hit_type.requirements)
    groups = []
    for hit_type in listed:
        if not standing.unmet(hit_type.requirements, action="Discover"):
            reasons = standing.unmet(hit_type.requirements)
            can_preview = not standing.unmet(hit_type.requirements, action="Preview")
            groups.append(
                Group(
                    hit_type,
                    hit_type.requester,
                    hit_type.available,
                    hit_type.newest_at,
                    not reasons,
                    can_preview,
                    reasons,
                )
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
        raise Refusal(_("There are no more of these tasks for you."), code="HITNotAvailable")
    return hit
