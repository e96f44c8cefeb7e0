"""What the pages of one worker show. Everything here is filtered by that worker."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from django.db.models import Count, Q, QuerySet, Sum
from django.http import Http404

from common.languages import gettext as _
from common.languages import number
from marketplace import clock
from marketplace.models import Assignment, Hit, HITType, Worker
from marketplace.services.hits.offers import not_returned, offered
from marketplace.services.qualifications.requirements import Standing

State = Assignment.State


def their_assignments(worker: Worker) -> QuerySet[Assignment, Assignment]:
    """The worker's assignments, latest first."""
    assignments = Assignment.objects.filter(worker=worker).select_related("worker", "hit__hit_type__requester")
    return assignments.order_by("-accepted_at", "-pk")


def their_assignment(worker: Worker, assignment_id: str) -> Assignment:
    """The worker's assignment. Raises Http404 if it does not exist or is another worker's."""
    assignment = their_assignments(worker).filter(assignment_id=assignment_id).first()
    if assignment is None:
        raise Http404("No such task.")
    return assignment


@dataclass(frozen=True, slots=True)
class ApprovalRate:
    """How much of the work that a requester decided on was approved."""

    approved: int = 0
    decided: int = 0

    def __str__(self) -> str:
        if not self.decided:
            return _("no decisions yet")
        shares = {"percent": 100 * self.approved // self.decided, "count": number(self.decided)}
        # Translators: a share of decided tasks, such as 97% of 120.
        return _("%(percent)s%% of %(count)s") % shares


def approval_rates(requesters: Iterable[int]) -> dict[int, ApprovalRate]:
    """The rate of each of these requesters, by primary key, in one query."""
    keys = set(requesters)
    decided = Assignment.objects.filter(hit__requester__in=keys, state__in=[State.APPROVED, State.REJECTED])
    counts = (
        decided.order_by()
        .values_list("hit__requester")
        .annotate(approved=Count("pk", filter=Q(state=State.APPROVED)), decided=Count("pk"))
    )
    rates = {key: ApprovalRate(approved, decided) for key, approved, decided in counts}
    return {key: rates.get(key, ApprovalRate()) for key in keys}


def n_on_offer(worker: Worker, hit_type: HITType) -> int:
    """How many places of this group are left for the worker, whether they qualify or not."""
    hits = offered(worker=worker, now=clock.now()).filter(hit_type=hit_type)
    return hits.aggregate(n=Sum("n_available"))["n"] or 0


def has_returned(worker: Worker, hit: Hit) -> bool:
    """Whether the worker gave this HIT back."""
    return Assignment.objects.filter(worker=worker, hit=hit, state=State.RETURNED).exists()


def is_more_for(worker: Worker, hit_type: HITType) -> bool:
    """Whether the worker could accept another task of this group, not counting those that they returned."""
    if not not_returned(offered(worker=worker, now=clock.now()), worker).filter(hit_type=hit_type).exists():
        return False
    return not Standing(worker).unmet(hit_type.requirements)


@dataclass(frozen=True, slots=True)
class Reason:
    """One requirement of a group, in words. ``type_id`` is set if the worker can request what is missing."""

    met: bool
    text: str
    type_id: str = ""


def reasons(standing: Standing, requirements: Iterable[Mapping[str, Any]]) -> list[Reason]:
    """The requirements of a group in order, met or not."""
    requirements = list(requirements)
    standing.learn(requirements)
    in_words = []
    for requirement in requirements:
        met, type_, comparator = standing.meets(requirement), standing.type_of(requirement), requirement["Comparator"]
        if met and comparator in ("Exists", "DoesNotExist"):
            has = comparator == "Exists"
            if type_:
                text = (
                    _("You have the qualification “%(name)s”.")
                    if has
                    else _("You do not have the qualification “%(name)s”.")
                )
                text %= {"name": type_.name}
            else:
                text = _("%(name)s: you have it.") if has else _("%(name)s: you do not have it.")
                text %= {"name": standing.name(requirement)}
            in_words.append(Reason(True, text))
        else:
            can_ask = type_ is not None and type_.requestable and type_.deleted_at is None and type_.status == "Active"
            requestable = type_.type_id if type_ and can_ask and not met else ""
            in_words.append(Reason(met, standing.in_words(requirement), requestable))
    return in_words
