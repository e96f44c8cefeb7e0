"""Where the money is: balances and the ledger."""

from __future__ import annotations

from typing import Any

from django.http import HttpResponse, HttpResponseBase

from marketplace.money import cents
from marketplace.sites.operate import money_queries
from marketplace.sites.operate.forms import LedgerFilter
from marketplace.sites.operate.page import SignedIn, csv_response, for_operators, page_of, query_without_page, show
from marketplace.templatetags.operate import whose

LEDGER_COLUMNS = (
    *("entry", "transaction", "at", "account_kind", "account", "kind", "amount", "currency", "about", "balance_after"),
)


@for_operators
def balances(request: SignedIn) -> HttpResponse:
    totals = money_queries.totals_by_kind()
    context = {
        "page": page_of(money_queries.balances(), request),
        "totals": totals,
        "sum": money_queries.sum_of(totals),
        "section": "balances",
    }
    return show(request, "balances.html", context)


def _ledger_filter(request: SignedIn) -> tuple[LedgerFilter, dict[str, Any]]:
    """The form and its filters. An invalid filter shows an error and filters nothing."""
    form = LedgerFilter(request.GET)
    return form, (form.cleaned_data if form.is_valid() else {})


@for_operators
def ledger(request: SignedIn) -> HttpResponse:
    form, chosen = _ledger_filter(request)
    entries = money_queries.entries(**chosen)
    filtered = any(chosen.values())
    context = {
        "page": page_of(entries, request),
        "chosen_sum": money_queries.total_of(entries) if filtered else None,
        "whole_sum": money_queries.sum_of(money_queries.totals_by_kind()),
        "filter": form,
        "filtered": filtered,
        "filters": query_without_page(request),
        "section": "ledger",
    }
    return show(request, "ledger.html", context, status=422 if form.errors else 200)


@for_operators
def ledger_csv(request: SignedIn) -> HttpResponseBase:
    _, chosen = _ledger_filter(request)
    rows = money_queries.entries(**chosen).order_by("pk")
    lines = (
        (
            *(entry.pk, entry.transaction_id, entry.created_at, entry.account.kind, whose(entry.account), entry.kind),
            *(cents(entry.amount), "USD", entry.about or entry.transaction.about, cents(entry.balance_after)),
        )
        for entry in rows.iterator(chunk_size=2000)
    )
    return csv_response("ledger.csv", LEDGER_COLUMNS, lines)
