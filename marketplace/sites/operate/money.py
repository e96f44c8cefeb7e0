"""Where the money is: balances, the ledger, what is owed, and paying it out."""

from __future__ import annotations

import re
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_POST

from marketplace import clock
from marketplace.models import LedgerAccount, LedgerEntry
from marketplace.services import operating
from marketplace.services.refusals import Refused
from marketplace.sites.operate import queries
from marketplace.sites.operate.forms import LedgerFilter
from marketplace.sites.operate.page import SignedIn, csv_response, filters_of, for_operators, page_of, show

#: What a payroll reads. New columns may follow; these stay as they are, in this order.
OWED_COLUMNS = ("worker_id", "name", "email", "country", "amount", "currency", "earned_since", "earned_until")
LEDGER_COLUMNS = ("entry", "transaction", "at", "account_kind", "account", "kind", "amount", "currency", "about")


@for_operators
def balances(request: SignedIn) -> HttpResponse:
    page = page_of(queries.balances(), request)
    for account in page:
        account.whose = queries.account_label(account)
        account.total = queries.cents(account.total)
    totals = queries.totals_by_kind()
    context = {
        "page": page,
        "totals": totals,
        "sum": sum((row.total for row in totals), queries.NOTHING),
        "section": "balances",
    }
    return show(request, "balances.html", context)


def _ledger_filter(request: SignedIn) -> tuple[LedgerFilter, dict[str, Any]]:
    """The form, and what it chooses; a filter that makes no sense is shown as such and chooses nothing."""
    form = LedgerFilter(request.GET)
    return form, (form.cleaned_data if form.is_valid() else {})


@for_operators
def ledger(request: SignedIn) -> HttpResponse:
    form, chosen = _ledger_filter(request)
    found = queries.entries(**chosen)
    page = page_of(found, request)
    context = {
        "page": page,
        "entries": queries.with_running_totals(page.object_list),
        "chosen_sum": queries.total_of(found),
        "whole_sum": queries.total_of(LedgerEntry.objects.all()),
        "filter": form,
        "filtered": any(chosen.values()),
        "filters": filters_of(request),
        "section": "ledger",
    }
    return show(request, "ledger.html", context, status=422 if form.errors else 200)


@for_operators
def ledger_csv(request: SignedIn) -> HttpResponseBase:
    _, chosen = _ledger_filter(request)
    rows = queries.entries(**chosen).order_by("pk")
    return csv_response("ledger.csv", LEDGER_COLUMNS, map(_ledger_row, rows.iterator(chunk_size=2000)))


def _ledger_row(entry: LedgerEntry) -> tuple[object, ...]:
    account, amount = entry.account, queries.cents(entry.amount)
    about = entry.about or entry.transaction.about
    whose = queries.account_label(account)
    return (
        entry.pk, entry.transaction_id, entry.created_at, account.kind, whose, entry.kind, amount, "USD", about,
    )  # fmt: skip


@for_operators
def owed(request: SignedIn) -> HttpResponse:
    found = queries.owed()
    page = page_of(found, request)
    for account in page:
        account.total = queries.cents(account.total)
    payouts = list(queries.payouts()[:10])
    for entry in payouts:
        entry.paid = -queries.cents(entry.amount)  # type: ignore[attr-defined]
    context = {
        "page": page,
        "sum": queries.total_of(LedgerEntry.objects.filter(account__kind=LedgerAccount.Kind.WORKER)),
        "payouts": payouts,
        "section": "owed",
    }
    return show(request, "owed.html", context)


@for_operators
def owed_csv(request: SignedIn) -> HttpResponseBase:
    """One row for every worker who is owed something."""
    name = f"owed-{clock.now():%Y-%m-%d}.csv"
    return csv_response(name, OWED_COLUMNS, _owed_rows())


def _owed_rows() -> Iterator[tuple[object, ...]]:
    for account in queries.owed().iterator(chunk_size=2000):
        worker = account.worker
        if worker is None:  # the query has workers' accounts only; this says so to the type checker
            continue
        email = worker.user.email if worker.user else ""
        amount = queries.cents(account.total)
        since = account.first_earned if account.last_paid is None else account.last_paid
        yield worker.worker_id, worker.name, email, worker.country, amount, "USD", since, account.last_earned


@for_operators
@require_POST
def pay_out(request: SignedIn) -> HttpResponseBase:
    """Mark the ticked workers as paid. A row pays the amount it showed: what was earned meanwhile stays owed."""
    actor, note = request.user.get_username(), request.POST.get("note", "").strip()[:100]
    shown = {pk: row for pk, row in map(_ticked, request.POST.getlist("pay")) if pk is not None}
    found = LedgerAccount.objects.filter(pk__in=shown, kind=LedgerAccount.Kind.WORKER).select_related("worker")
    paid, total = 0, queries.NOTHING
    for account in found:
        amount, n_payouts = shown[account.pk]
        try:
            total += operating.pay_out_as_shown(
                account=account, amount=amount, n_payouts=n_payouts, actor=actor, note=note
            )
            paid += 1
        except Refused as refused:
            messages.error(request, refused.message)
    if paid:
        messages.success(request, f"{total:,.2f} USD marked as paid out to {paid} worker{'s' if paid != 1 else ''}.")
    elif not found:
        messages.warning(request, "Nobody was ticked, so nothing was marked as paid out.")
    return redirect("operate_owed")


_TICK = re.compile(r"([0-9]{1,12}):([0-9]{1,10}\.[0-9]{2}):([0-9]{1,9})", re.ASCII)


def _ticked(value: str) -> tuple[int | None, tuple[Decimal, int]]:
    """A ticked box holds the account, the amount that stood beside it, and how many payouts there had been."""
    match = _TICK.fullmatch(value)
    if not match:
        return None, (queries.NOTHING, 0)
    return int(match[1]), (Decimal(match[2]), int(match[3]))
