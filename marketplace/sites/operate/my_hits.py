"""A requester's HITs in the browser: list, create, expire and reopen them."""

from __future__ import annotations

from datetime import timedelta

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from marketplace import clock
from marketplace.models import Hit, Requester
from marketplace.money import usd
from marketplace.services import page_actions
from marketplace.services.hits import due_changes
from marketplace.services.money import payments
from marketplace.services.refusals import Refusal
from marketplace.sites.operate import queries
from marketplace.sites.operate.forms import UntilForm
from marketplace.sites.operate.my_account import endpoint_of
from marketplace.sites.operate.my_hit_form import HitForm
from marketplace.sites.operate.page import SignedIn, ask, confirmed, for_requesters, page_of, query_without_page, show


@for_requesters
@require_GET
def hits(request: SignedIn, requester: Requester) -> HttpResponse:
    """The requester's HITs. ``?state=`` shows those in one state, ``?q=`` those with these words."""
    due_changes.bring_up_to_date(requester=requester, now=clock.now())
    counts = queries.state_counts(requester)
    state, search = request.GET.get("state", ""), request.GET.get("q", "").strip()[:100]
    rows = queries.hits_of(requester)
    if state in counts:
        rows = rows.filter(state=state)
    if search:
        words = Q(hit_type__title__icontains=search) | Q(annotation__icontains=search)
        rows = rows.filter(words | Q(hit_id=search) | Q(hit_type__type_id=search))
    context = {
        "page": page_of(rows, request),
        "counts": counts,
        "state": state,
        "search": search,
        "filters": query_without_page(request),
        "requester": requester,
        "any": any(counts.values()),
        "endpoint": endpoint_of(request),
        "section": "hits",
    }
    return show(request, "my_hits.html", context, role="requester")


@for_requesters
@require_GET
def hit(request: SignedIn, requester: Requester, hit_id: str) -> HttpResponse:
    shown = _own_hit(requester, hit_id)
    due_changes.bring_up_to_date(hit=shown, now=clock.now())
    return _hit_page(request, shown)


def _own_hit(requester: Requester, hit_id: str) -> Hit:
    return get_object_or_404(Hit.objects.select_related("hit_type", "layout"), hit_id=hit_id, requester=requester)


def _hit_page(request: SignedIn, hit: Hit, *, until: UntilForm | None = None, status: int = 200) -> HttpResponse:
    hit.refresh_from_db()
    later = max(hit.expires_at, clock.now() + timedelta(days=7)).date()
    context = {
        "hit": hit,
        "page": page_of(queries.assignments_of(hit.requester).filter(hit=hit), request),
        "may_approve": hit.n_submitted > 0,
        "n_submitted": hit.n_submitted,
        "until": until or UntilForm(initial={"until": later}),
        "section": "hits",
    }
    return show(request, "my_hit.html", context, role="requester", status=status)


@for_requesters
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: SignedIn, requester: Requester) -> HttpResponseBase:
    """A new HIT. The page shows what it can cost before anything is created."""
    form = HitForm(requester, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        if not confirmed(request):
            rewards, fees = form.cost()
            number, reward = form.cleaned_data["assignments"], form.cleaned_data["reward"]
            return ask(
                request,
                heading=f"Create “{form.cleaned_data['title']}”?",
                text=f"It can cost up to {usd(rewards + fees)}: {number} × {usd(reward)} in rewards and {usd(fees)} in "
                "fees. The money is held, and what is not needed comes back to your balance.",
                button="Create the HIT",
                back=reverse("operate_my_new_hit"),
                section="hits",
                role="requester",
                danger=False,
            )
        try:
            hit = page_actions.create_hit(
                requester=requester,
                properties=form.properties(),
                work=form.work(),
                once=form.cleaned_data["once"],
                actor=request.user.get_username(),
            )
        except Refusal as refused:
            form.add_refusal(refused, refused.message)
        else:
            messages.success(request, "The HIT is on offer.")
            return redirect("operate_my_hit", hit.hit_id)
    context = {"form": form, "available": payments.available(requester), "section": "hits"}
    return show(request, "my_hit_new.html", context, role="requester", status=422 if form.errors else 200)


@for_requesters
@require_POST
def expire(request: SignedIn, requester: Requester, hit_id: str) -> HttpResponseBase:
    expiring = _own_hit(requester, hit_id)
    try:
        page_actions.expire_hit(hit=expiring, actor=request.user.get_username())
    except Refusal as refused:
        messages.error(request, refused.message)
    else:
        messages.success(request, "The HIT has expired. You can offer it again.")
    return redirect("operate_my_hit", hit_id)


@for_requesters
@require_POST
def reopen(request: SignedIn, requester: Requester, hit_id: str) -> HttpResponseBase:
    """Offer a HIT until the end of a day, which can be sooner or later than before."""
    reopened, form = _own_hit(requester, hit_id), UntilForm(request.POST)
    if not form.is_valid():
        return _hit_page(request, reopened, until=form, status=422)
    until = queries.midnight(form.cleaned_data["until"] + timedelta(days=1))
    try:
        page_actions.reopen_hit(hit=reopened, until=until, actor=request.user.get_username())
    except Refusal as refused:
        form.add_error("until", refused.message)
        return _hit_page(request, reopened, until=form, status=422)
    messages.success(request, f"The HIT is on offer until {clock.in_words(until)}.")
    return redirect("operate_my_hit", hit_id)
