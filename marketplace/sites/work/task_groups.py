"""Find work: groups of tasks, a preview of a task, and accepting it."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence

from django.contrib import messages
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_POST, require_safe

from common.languages import gettext as _
from common.languages import marked
from marketplace import money
from marketplace.models import Assignment, Hit, HITType, Worker
from marketplace.services.hits import assignments, offers
from marketplace.services.qualifications.requirements import Standing
from marketplace.services.refusals import Refusal
from marketplace.sites.work import queries
from marketplace.sites.work.page import (
    PER_PAGE,
    SignedIn,
    accepts_next,
    for_workers,
    page_of,
    query_without_page,
    say_refused,
    search_of,
    set_accepts_next,
    show,
)
from marketplace.sites.work.task_page import question_context

SORTS = [
    ("newest", marked("Newest first")),
    ("reward", marked("Highest reward first")),
    ("available", marked("Most tasks first")),
]
_GROUP_ID = re.compile(r"[A-Za-z0-9]{1,64}")


@for_workers
@require_safe
def groups(request: SignedIn, worker: Worker) -> HttpResponse:
    search, sort = search_of(request), request.GET.get("sort", "newest")
    least, least_problem = None, ""
    if typed := request.GET.get("least", "").strip().removeprefix("$"):
        try:
            least = money.amount(typed)
        except ValueError:  # an invalid reward filters nothing
            least_problem = _("Write an amount in dollars, such as 0.50.")
    only_qualified, standing = request.GET.get("qualified") == "1", Standing(worker)
    groups_found = offers.groups_for(worker=worker, search=search, sort=sort, least_reward=least, standing=standing)
    if only_qualified:
        groups_found = [group for group in groups_found if group.qualified]
    page, open_tasks = page_of(groups_found, request, PER_PAGE), assignments.running(worker)
    rates = queries.approval_rates(group.requester.pk for group in page)
    mine = {task.hit.hit_type_id: task for task in open_tasks}
    context = {
        "page": page,
        "rows": [
            (
                group,
                queries.reasons(standing, group.hit_type.requirements),
                rates[group.requester.pk],
                mine.get(group.hit_type.pk),
                name,
            )
            for group, name in zip(page, _names([group.hit_type for group in page]), strict=True)
        ],
        "search": search,
        "sort": sort,
        "sorts": [(name, _(text)) for name, text in SORTS],
        "least": request.GET.get("least", "")[:12],
        "least_problem": least_problem,
        "only_qualified": only_qualified,
        "filtered": bool(search or only_qualified or least),
        "query": query_without_page(request),
        "open_tasks": open_tasks,
    }
    return show(request, "groups.html", context, worker=worker, section="tasks")


def _names(hit_types: Sequence[HITType]) -> list[str]:
    """What a screen reader calls each group: its title, and where others have the same one, what tells them apart."""
    long_names = [
        f"{hit_type.title}, {money.usd(hit_type.reward)}, {hit_type.requester.name}" for hit_type in hit_types
    ]
    times_titled, times_used = Counter(hit_type.title for hit_type in hit_types), Counter(long_names)
    numbered = Counter[str]()
    names = []
    for hit_type, name in zip(hit_types, long_names, strict=True):
        if times_titled[hit_type.title] == 1:
            names.append(hit_type.title)
            continue
        numbered[name] += 1
        if times_used[name] > 1:
            counted = {"task": name, "number": numbered[name], "count": times_used[name]}
            name = _("%(task)s, %(number)s of %(count)s") % counted
        names.append(name)
    return names


@for_workers
@require_safe
def group(request: SignedIn, worker: Worker, type_id: str) -> HttpResponseBase:
    """A group with one of its tasks as a preview. No task is assigned."""
    hit_type = get_object_or_404(HITType.objects.select_related("requester"), type_id=type_id)
    standing = Standing(worker)
    if standing.unmet(hit_type.requirements, action="Discover"):
        messages.warning(request, _("You do not qualify for these tasks."))
        return redirect("market_home")
    guarded, hit = False, None
    try:
        hit = offers.preview_hit(hit_type=hit_type, worker=worker)
    except Refusal as refused:
        guarded = refused.code == "QualificationNotMet"
    context, policy = question_context(request, hit) if hit else ({}, "")
    context |= {
        "hit_type": hit_type,
        "hit": hit,
        "guarded": guarded,
        "returned": hit is not None and queries.has_returned(worker, hit),
        "n_available": queries.n_on_offer(worker, hit_type),
        "rate": queries.approval_rates([hit_type.requester.pk])[hit_type.requester.pk],
        "mine": next((one for one in assignments.running(worker) if one.hit.hit_type_id == hit_type.pk), None),
        "reasons": queries.reasons(standing, hit_type.requirements),
        "qualified": not standing.unmet(hit_type.requirements),
        "accept_next": accepts_next(request, hit_type),
    }
    response = show(request, "group.html", context, worker=worker, section="tasks")
    if policy:
        response["Content-Security-Policy"] = policy
    return response


@for_workers
@require_POST
def accept(request: SignedIn, worker: Worker, type_id: str) -> HttpResponse:
    """The next task of the group, or the one in the preview if it is still free."""
    hit_type = get_object_or_404(HITType.objects.select_related("requester"), type_id=type_id)
    hit_id = request.POST.get("hit", "").replace("\x00", "")
    previewed = Hit.objects.filter(hit_id=hit_id, hit_type=hit_type).first() if hit_id else None
    set_accepts_next(request, hit_type, on=request.POST.get("next") == "1")
    try:
        accepted = _accept(worker, hit_type, previewed)
    except Refusal as refused:
        say_refused(request, refused)
        return redirect("market_group", type_id)
    if "continued" in request.POST:
        messages.success(request, _("Submitted. This is your next task."))
    return redirect("market_task", accepted.assignment_id)


def _accept(worker: Worker, hit_type: HITType, previewed: Hit | None) -> Assignment:
    if previewed is not None:
        try:
            return assignments.accept(worker=worker, hit=previewed)
        except Refusal as refused:
            if refused.code not in ("HITNotAvailable", "HITAlreadyDone"):
                raise
    return assignments.accept(worker=worker, hit_type=hit_type)


@require_safe
def as_on_mturk(request: HttpRequest, group_id: str = "") -> HttpResponse:
    """Tools print the addresses that groups have on Amazon's site. This redirects them to the group here."""
    type_id = group_id or request.GET.get("groupId", "")
    if not _GROUP_ID.fullmatch(type_id):
        raise Http404("The address does not name a group of tasks.")
    return redirect("market_group", type_id)
