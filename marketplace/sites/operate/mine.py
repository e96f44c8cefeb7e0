"""A requester's own pages. The API is where they act; here they look, decide on work, and manage their keys."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from marketplace import clock
from marketplace.models import AccessKey, Assignment, Hit, Requester
from marketplace.services import accounts, operating, payments, upkeep
from marketplace.services.refusals import Refused
from marketplace.sites.operate import queries
from marketplace.sites.operate.forms import ReviewForm
from marketplace.sites.operate.page import SignedIn, filters_of, for_requesters, page_of, show


@for_requesters
@require_GET
def hits(request: SignedIn, requester: Requester) -> HttpResponse:
    """The requester's HITs; ``?state=`` shows those in one state, ``?q=`` those with these words."""
    upkeep.bring_up_to_date(requester=requester, now=clock.now())
    counts = queries.state_counts(requester)
    state, search = request.GET.get("state", ""), request.GET.get("q", "").strip()[:100]
    found = queries.hits_of(requester)
    if state in counts:
        found = found.filter(state=state)
    if search:
        words = Q(hit_type__title__icontains=search) | Q(annotation__icontains=search)
        found = found.filter(words | Q(hit_id=search) | Q(hit_type__type_id=search))
    context = {
        "page": page_of(found, request),
        "counts": counts,
        "state": state,
        "search": search,
        "filters": filters_of(request),
        "requester": requester,
        "section": "hits",
    }
    return show(request, "my_hits.html", context, role="requester")


@for_requesters
@require_GET
def hit(request: SignedIn, requester: Requester, hit_id: str) -> HttpResponse:
    found = get_object_or_404(Hit.objects.select_related("hit_type"), hit_id=hit_id, requester=requester)
    upkeep.bring_up_to_date(hit=found, now=clock.now())
    found.refresh_from_db()
    rows = queries.assignments_of(requester).filter(hit=found)
    context = {"hit": found, "page": page_of(rows, request), "section": "hits"}
    return show(request, "my_hit.html", context, role="requester")


@for_requesters
@require_GET
def my_assignments(request: SignedIn, requester: Requester) -> HttpResponse:
    upkeep.bring_up_to_date(requester=requester, now=clock.now())
    state = request.GET.get("state", "")
    state = state if state in Assignment.State.values else ""
    context = {
        "page": page_of(queries.assignments_of(requester, state=state), request),
        "states": Assignment.State.values,
        "state": state,
        "filters": filters_of(request),
        "section": "assignments",
    }
    return show(request, "my_assignments.html", context, role="requester")


@for_requesters
@require_http_methods(["GET", "HEAD", "POST"])
def assignment(request: SignedIn, requester: Requester, assignment_id: str) -> HttpResponseBase:
    """What a worker sent, and the buttons that approve or reject it."""
    mine = Assignment.objects.select_related("hit__hit_type", "hit__requester", "worker")
    found = get_object_or_404(mine, assignment_id=assignment_id, hit__requester=requester)
    upkeep.bring_up_to_date(hit=found.hit, now=clock.now())
    form = ReviewForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            actor, decision = request.user.get_username(), request.POST.get("do", "")
            feedback = form.cleaned_data["feedback"]
            operating.review(assignment=found, decision=decision, feedback=feedback, actor=actor)
        except Refused as refused:
            form.add_error(None, refused.message)
        else:
            messages.success(request, _SAID[decision])
            return redirect("operate_my_assignment", assignment_id)
    found.refresh_from_db()
    context = {
        "assignment": found,
        "answers": queries.answers_of(found),
        "bonuses": found.bonuses.order_by("pk")[:50],
        "form": form,
        "section": "assignments",
    }
    return show(request, "my_assignment.html", context, role="requester", status=422 if form.errors else 200)


_SAID = {
    "approve": "Approved. The worker is paid.",
    "override": "The rejection is taken back, and the worker is paid.",
    "reject": "Rejected. The worker reads your feedback and may object.",
}


@for_requesters
@require_GET
def balance(request: SignedIn, requester: Requester) -> HttpResponse:
    upkeep.bring_up_to_date(requester=requester, now=clock.now())
    page = page_of(queries.entries_of(requester), request)
    context = {
        "available": payments.available(requester),
        "held": payments.held(requester),
        "page": page,
        "entries": queries.with_running_totals(page.object_list),
        "section": "balance",
    }
    return show(request, "my_balance.html", context, role="requester")


@for_requesters
@require_GET
def keys(request: SignedIn, requester: Requester) -> HttpResponse:
    return _keys_page(request, requester)


def _keys_page(request: SignedIn, requester: Requester, made: accounts.NewKey | None = None) -> HttpResponse:
    found = AccessKey.objects.filter(requester=requester).order_by("revoked_at", "-created_at", "-pk")
    context = {"page": page_of(found, request), "made": made, "section": "keys"}
    return show(request, "my_keys.html", context, role="requester")


@for_requesters
@require_POST
def make_key(request: SignedIn, requester: Requester) -> HttpResponse:
    """The answer is the only page that ever shows the secret, so it is no redirect."""
    made = accounts.create_access_key(requester=requester, actor=request.user.get_username())
    return _keys_page(request, requester, made)


@for_requesters
@require_POST
def revoke_key(request: SignedIn, requester: Requester, key_pk: int) -> HttpResponseBase:
    key = get_object_or_404(AccessKey, pk=key_pk, requester=requester)
    accounts.revoke_access_key(key=key, actor=request.user.get_username())
    messages.success(request, f"Access key {key.access_key_id} is revoked.")
    return redirect("operate_my_keys")


@for_requesters
@require_GET
def blocks(request: SignedIn, requester: Requester) -> HttpResponse:
    found = requester.blocks.select_related("worker").order_by("-created_at", "-pk")
    return show(request, "my_blocks.html", {"page": page_of(found, request), "section": "blocks"}, role="requester")
