"""The operator's first page and the log."""

from __future__ import annotations

from dataclasses import dataclass, replace

from django.db.models import Count, Q
from django.http import HttpResponse
from django.urls import reverse

from marketplace import clock, links
from marketplace.models import AccessKey, AuditRow, Hit, Invitation, LedgerEntry, Requester, Worker
from marketplace.sites.operate import money_queries, queries
from marketplace.sites.operate.forms import LogFilter
from marketplace.sites.operate.page import SignedIn, for_operators, page_of, query_without_page, show


@dataclass(frozen=True, slots=True)
class Step:
    """One of the steps to set up a marketplace, in order."""

    text: str
    url: str
    done: bool
    is_next: bool = False


def overview(request: SignedIn) -> HttpResponse:
    """Who takes part, where the money is, what the operator must do, and at the start, the steps to get going."""
    totals = money_queries.totals_by_kind()
    requesters = Requester.objects.aggregate(all=Count("pk"), active=Count("pk", filter=Q(active=True)))
    workers = Worker.objects.aggregate(all=Count("pk"), active=Count("pk", filter=Q(active=True)))
    steps = first_steps(bool(requesters["all"]), bool(workers["all"]))
    context = {
        "requesters": requesters,
        "workers": workers,
        "open_links": Invitation.objects.filter(used_by=None, expires_at__gt=clock.now()).count(),
        "totals": totals,
        "sum": money_queries.sum_of(totals),
        "debt": money_queries.debt(),
        "n_disputes": queries.disputes().count(),
        "broke": list(queries.requesters_without_money()[:5]),
        "steps": steps,
        "getting_started": not all(step.done for step in steps),
        "endpoint": links.absolute(reverse("market_api"), request),
        "latest": AuditRow.objects.order_by("-pk")[:8],
        "section": "home",
    }
    return show(request, "overview.html", context)


def first_steps(any_requester: bool, any_worker: bool) -> list[Step]:
    has_deposit = any_requester and LedgerEntry.objects.filter(kind=LedgerEntry.Kind.DEPOSIT).exists()
    has_key = any_requester and AccessKey.objects.exists()
    newest_pk = Requester.objects.order_by("-pk").values_list("pk", flat=True).first()
    requester = reverse("operate_requester", args=[newest_pk]) if newest_pk else ""
    new = reverse("operate_new_requester")
    steps = [
        Step("Create a requester, who posts tasks and pays for them", new, any_requester),
        Step("Make a deposit for the requester", requester, has_deposit),
        Step("Create an access key for the requester's programs", requester, has_key),
        Step("Invite workers by link", reverse("operate_invitations"), any_worker),
        Step(
            "Create the first HIT: point an MTurk client at the address below",
            "",
            has_key and Hit.objects.exists(),
        ),
    ]
    first = next((number for number, step in enumerate(steps) if not step.done), None)
    return [replace(step, is_next=number == first) for number, step in enumerate(steps)]


@for_operators
def log(request: SignedIn) -> HttpResponse:
    """Who did what, newest first; filtered by requester, kind, days and words."""
    form = LogFilter(request.GET)
    rows = queries.log(**form.cleaned_data) if form.is_valid() else queries.log()
    context = {"page": page_of(rows, request), "filter": form, "filters": query_without_page(request), "section": "log"}
    return show(request, "log.html", context, status=422 if form.errors else 200)
