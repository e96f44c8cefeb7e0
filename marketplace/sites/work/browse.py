"""Finding work: groups of tasks, a look at one, and accepting it."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from marketplace.models import Assignment, Hit, HITType, Worker
from marketplace.services import assignments, hits
from marketplace.services.refusals import Refused
from marketplace.services.requirements import Standing
from marketplace.sites.work import queries
from marketplace.sites.work.page import SignedIn, for_workers, page_of, query_without_page, say_refused, search_of, show
from marketplace.sites.work.tasks import question_context

SORT_WORDS = {
    "newest": "Newest first",
    "oldest": "Oldest first",
    "reward": "Highest reward first",
    "most": "Most tasks first",
    "available": "Most tasks first",
    "title": "Title",
}
SORTS = [(name, SORT_WORDS.get(name, name.capitalize())) for name in hits.SORTS]


@for_workers
@require_safe
def groups(request: SignedIn, worker: Worker) -> HttpResponse:
    search, sort = search_of(request), request.GET.get("sort", "newest")
    only_qualified, standing = request.GET.get("qualified") == "1", Standing(worker)
    found = hits.groups_for(worker=worker, search=search, sort=sort, standing=standing)
    if only_qualified:
        found = [group for group in found if group.qualified]
    page = page_of(found, request)
    context = {
        "page": page,
        "rows": [(group, queries.reasons(standing, group.hit_type.requirements)) for group in page],
        "search": search,
        "sort": sort,
        "sorts": SORTS,
        "only_qualified": only_qualified,
        "filtered": bool(search or only_qualified),
        "query": query_without_page(request),
        "open_tasks": assignments.running(worker),
    }
    return show(request, "groups.html", context, worker=worker, section="tasks")


@for_workers
@require_safe
def group(request: SignedIn, worker: Worker, type_id: str) -> HttpResponseBase:
    """A group with one of its tasks as a preview; nothing is given out."""
    hit_type = get_object_or_404(HITType.objects.select_related("requester"), type_id=type_id)
    standing = Standing(worker)
    if standing.unmet(hit_type.requirements, action="Discover"):
        return _nothing_here(request)
    guarded, hit = _preview(worker, hit_type)
    context, policy = question_context(request, hit) if hit else ({}, "")
    context |= {
        "hit_type": hit_type,
        "hit": hit,
        "guarded": guarded,
        "n_available": queries.n_on_offer(worker, hit_type),
        "mine": next((one for one in assignments.running(worker) if one.hit.hit_type_id == hit_type.pk), None),
        "reasons": queries.reasons(standing, hit_type.requirements),
        "qualified": not standing.unmet(hit_type.requirements),
    }
    response = show(request, "group.html", context, worker=worker, section="tasks")
    if policy:
        response["Content-Security-Policy"] = policy
    return response


def _nothing_here(request: SignedIn) -> HttpResponse:
    messages.warning(request, "This group of tasks is not for you.")
    return redirect("market_home")


def _preview(worker: Worker, hit_type: HITType) -> tuple[bool, Hit | None]:
    """Whether only those who qualify may see it, and the task to be looked at."""
    try:
        return False, hits.preview_hit(hit_type=hit_type, worker=worker)
    except Refused as refused:
        return refused.code == "QualificationNotMet", None


@for_workers
@require_POST
def accept(request: SignedIn, worker: Worker, type_id: str) -> HttpResponse:
    """The next task of the group, or the one that was looked at if it is still free."""
    hit_type = get_object_or_404(HITType.objects.select_related("requester"), type_id=type_id)
    hit_id = request.POST.get("hit", "").replace("\x00", "")
    wanted = Hit.objects.filter(hit_id=hit_id, hit_type=hit_type).first() if hit_id else None
    try:
        accepted = _accept(worker, hit_type, wanted)
    except Refused as refused:
        say_refused(request, refused)
        return redirect("market_group", type_id)
    return redirect("market_task", accepted.assignment_id)


def _accept(worker: Worker, hit_type: HITType, wanted: Hit | None) -> Assignment:
    if wanted is not None:
        try:
            return assignments.accept(worker=worker, hit=wanted)
        except Refused as refused:
            if refused.code not in ("HITNotAvailable", "HITAlreadyDone"):
                raise
    return assignments.accept(worker=worker, hit_type=hit_type)
