"""A requester's own pages. The API is where they act; here they look, decide on work, and manage their keys."""

from __future__ import annotations

from django.contrib import messages
from django.db.models import Q
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from marketplace import clock, links
from marketplace.models import AccessKey, Assignment, DisputeStatement, Hit, LedgerAccount, Requester
from marketplace.services import accounts, disputes, operating, payments, upkeep
from marketplace.services.refusals import Refused
from marketplace.sites.operate import money_queries, queries
from marketplace.sites.operate.forms import OverrideForm, OwnLogFilter, ReviewForm, StatementForm
from marketplace.sites.operate.page import SignedIn, confirmed, filters_of, for_requesters, page_of, show
from marketplace.sites.operate.requesters import ask_to_revoke


def endpoint_of(request: SignedIn) -> str:
    """Where MTurk clients send their requests."""
    return links.absolute(reverse("market_api"), request)


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
        "any": any(counts.values()),
        "endpoint": endpoint_of(request),
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
    """What a worker sent, and the form that approves it, rejects it, or takes a rejection back."""
    found = _own_assignment(requester, assignment_id)
    form = _review_form(found)(request.POST or None)
    if request.method == "POST" and form.is_valid():
        decision, feedback = form.cleaned_data["do"], form.cleaned_data["feedback"]
        try:
            operating.review(assignment=found, decision=decision, feedback=feedback, actor=request.user.get_username())
        except Refused as refused:
            form.add_error(None, refused.message)
        else:
            messages.success(request, _SAID[decision])
            return redirect("operate_my_assignment", assignment_id)
    return _assignment_page(request, found, review=form, status=422 if form.errors else 200)


@for_requesters
@require_POST
def answer(request: SignedIn, requester: Requester, assignment_id: str) -> HttpResponseBase:
    """What the requester says to an objection."""
    found = _own_assignment(requester, assignment_id)
    form = StatementForm(request.POST)
    if form.is_valid():
        try:
            disputes.answer(assignment=found, text=form.cleaned_data["text"], actor=request.user.get_username())
        except Refused as refused:
            form.add_error(None, refused.message)
        else:
            messages.success(request, "Your answer is stored. Whoever runs this marketplace decides.")
            return redirect("operate_my_assignment", assignment_id)
    return _assignment_page(request, found, answering=form, status=422)


def _own_assignment(requester: Requester, assignment_id: str) -> Assignment:
    mine = Assignment.objects.select_related("hit__hit_type", "hit__requester", "worker")
    found = get_object_or_404(mine, assignment_id=assignment_id, hit__requester=requester)
    upkeep.bring_up_to_date(hit=found.hit, now=clock.now())
    found.refresh_from_db(fields=["state"])
    return found


def _review_form(found: Assignment) -> type[ReviewForm]:
    return OverrideForm if found.state == Assignment.State.REJECTED else ReviewForm


def _assignment_page(
    request: SignedIn,
    found: Assignment,
    *,
    review: ReviewForm | None = None,
    answering: StatementForm | None = None,
    status: int = 200,
) -> HttpResponse:
    found.refresh_from_db()
    statements = list(found.statements.order_by("pk"))
    decided = any(each.party == DisputeStatement.Party.OPERATOR for each in statements)
    context = {
        "assignment": found,
        "answers": queries.answers_of(found),
        "bonuses": found.bonuses.order_by("pk")[:50],
        "statements": statements,
        "may_answer": bool(statements) and not decided and found.state == Assignment.State.REJECTED,
        "answering": answering or StatementForm(),
        "form": review or _review_form(found)(),
        "section": "assignments",
    }
    return show(request, "my_assignment.html", context, role="requester", status=status)


_SAID = {
    "approve": "Approved. The worker is paid.",
    "override": "The rejection is taken back, and the worker is paid.",
    "reject": "Rejected. The worker reads your feedback and may object.",
}


@for_requesters
@require_GET
def balance(request: SignedIn, requester: Requester) -> HttpResponse:
    """What is free to spend and what is held, each with its entries: ``?of=held`` shows the latter's."""
    kind = LedgerAccount.Kind.HELD if request.GET.get("of") == "held" else LedgerAccount.Kind.REQUESTER
    upkeep.bring_up_to_date(requester=requester, now=clock.now())
    context = {
        "available": payments.available(requester),
        "held": payments.held(requester),
        "page": page_of(money_queries.entries_of(requester, kind), request),
        "of_held": kind == LedgerAccount.Kind.HELD,
        "filters": filters_of(request),
        "section": "balance",
    }
    return show(request, "my_balance.html", context, role="requester")


@for_requesters
@require_GET
def keys(request: SignedIn, requester: Requester) -> HttpResponse:
    return _keys_page(request, requester)


def _keys_page(request: SignedIn, requester: Requester, made: accounts.NewKey | None = None) -> HttpResponse:
    found = AccessKey.objects.filter(requester=requester).order_by("revoked_at", "-created_at", "-pk")
    context = {"page": page_of(found, request), "made": made, "endpoint": endpoint_of(request), "section": "keys"}
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
    if not confirmed(request):
        return ask_to_revoke(request, key, back=reverse("operate_my_keys"), section="keys", role="requester")
    accounts.revoke_access_key(key=key, actor=request.user.get_username())
    messages.success(request, f"Access key {key.access_key_id} is revoked.")
    return redirect("operate_my_keys")


@for_requesters
@require_GET
def blocks(request: SignedIn, requester: Requester) -> HttpResponse:
    found = requester.blocks.select_related("worker").order_by("-created_at", "-pk")
    return show(request, "my_blocks.html", {"page": page_of(found, request), "section": "blocks"}, role="requester")


@for_requesters
@require_GET
def log(request: SignedIn, requester: Requester) -> HttpResponse:
    """What was done for, by and to this requester: on these pages, by the API, by the operators."""
    form = OwnLogFilter(request.GET)
    found = queries.log(**form.cleaned_data) if form.is_valid() else queries.log()
    context = {
        "page": page_of(found.filter(requester=requester), request),
        "filter": form,
        "filters": filters_of(request),
        "section": "log",
    }
    return show(request, "log.html", context, role="requester", status=422 if form.errors else 200)
