"""Paying workers: what is owed, payrolls as files, and what was paid."""

from __future__ import annotations

from datetime import datetime, timedelta

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_POST

from marketplace import clock
from marketplace.models import Payout, Payroll, PayrollRow
from marketplace.money import ZERO, usd
from marketplace.services.money import payroll as service
from marketplace.services.refusals import Refusal
from marketplace.sites.operate import money_queries
from marketplace.sites.operate.forms import PaidForm, PayrollForm, ReturnedForm
from marketplace.sites.operate.page import SignedIn, ask, confirmed, csv_response, for_operators, page_of, show
from marketplace.sites.operate.queries import midnight

#: The columns of a payroll. Add new ones only at the end: these stay as they are, in this order.
COLUMNS = (
    *("payroll", "period_from", "period_until", "worker_id", "name", "email", "payment_address", "country"),
    *("rewards", "bonuses", "returned", "amount", "currency", "earned_since", "earned_until"),
    *("paid_before", "open_before"),
)
PAYMENT_COLUMNS = ("payroll", "worker_id", "name", "amount", "currency", "state", "reference", "paid_at", "marked_by")
#: The page that asks whether rows were paid lists at most this many.
MOST_NAMED = 20


@for_operators
def payrolls(request: SignedIn) -> HttpResponse:
    return _payrolls_page(request, PayrollForm(initial={"until": clock.now().date()}))


def _payrolls_page(request: SignedIn, form: PayrollForm, status: int = 200) -> HttpResponse:
    context = {
        "debt": money_queries.debt(),
        "page": page_of(money_queries.payrolls(), request),
        "form": form,
        "section": "payrolls",
    }
    return show(request, "payrolls.html", context, status=status)


@for_operators
def owed(request: SignedIn) -> HttpResponse:
    """Who is owed how much now."""
    context = {"page": page_of(money_queries.owed(), request), "debt": money_queries.debt(), "section": "payrolls"}
    return show(request, "owed.html", context)


@for_operators
@require_POST
def make(request: SignedIn) -> HttpResponseBase:
    """List everything earned until the end of the chosen day."""
    form = PayrollForm(request.POST)
    if form.is_valid():
        until = midnight(form.cleaned_data["until"] + timedelta(days=1)) - timedelta(microseconds=1)
        try:
            payroll = service.make_payroll(until=until, actor=request.user.get_username())
        except Refusal as refused:
            form.add_error("until", refused.message)
        else:
            messages.success(
                request,
                f"Payroll {payroll.number} was created. Save its file, pay the workers, then mark them as paid.",
            )
            return redirect("operate_payroll", payroll.number)
    return _payrolls_page(request, form, status=422)


@for_operators
def payroll(request: SignedIn, number: int) -> HttpResponse:
    return _payroll_page(request, _payroll_or_404(number), PaidForm())


def _payroll_or_404(number: int) -> Payroll:
    return get_object_or_404(money_queries.payrolls(), number=number)


def _payroll_page(request: SignedIn, payroll: Payroll, form: PaidForm, status: int = 200) -> HttpResponse:
    context = {
        "payroll": payroll,
        "page": page_of(money_queries.rows_of(payroll), request),
        "form": form,
        "n_open": payroll.n - payroll.n_paid,  # type: ignore[attr-defined]  # the query adds both
        "all_ticked": "all" in request.POST,
        "ticked": set(request.POST.getlist("row")),
        "section": "payrolls",
    }
    return show(request, "payroll.html", context, status=status)


@for_operators
@require_POST
def pay(request: SignedIn, number: int) -> HttpResponseBase:
    """Mark the selected rows, or all open ones, as paid. It asks first."""
    payroll = _payroll_or_404(number)
    form = PaidForm(request.POST)
    pks = (pk for pk in request.POST.getlist("row") if pk.isascii() and pk.isdigit() and len(pk) <= 18)
    rows = None if "all" in request.POST else [int(pk) for pk in pks]
    if rows == []:
        form.add_error(None, "Select the workers you have paid, or all.")
    if not form.is_valid():
        return _payroll_page(request, payroll, form, status=422)
    reference = form.cleaned_data["reference"]
    if not confirmed(request):
        unpaid_rows = money_queries.rows_of(payroll).filter(payout=None)
        unpaid = list(unpaid_rows if rows is None else unpaid_rows.filter(pk__in=rows))
        lines = [f"{row.worker.worker_id}  {row.name}  {usd(row.amount)}" for row in unpaid[:MOST_NAMED]]
        if len(unpaid) > MOST_NAMED:
            lines.append(f"and {len(unpaid) - MOST_NAMED} more")
        return ask(
            request,
            heading=f"Mark {usd(sum((row.amount for row in unpaid), ZERO))} as paid to {_workers(len(unpaid))}?",
            text=f"Reference: {reference}. You cannot undo this. If a payment comes back later, you can record that.",
            lines=lines,
            button="Mark as paid",
            back=reverse("operate_payroll", args=[payroll.number]),
            section="payrolls",
        )
    try:
        marked = service.mark_paid(payroll=payroll, rows=rows, reference=reference, actor=request.user.get_username())
    except Refusal as refused:
        form.add_error(None, refused.message)
        return _payroll_page(request, payroll, form, status=422)
    if marked.n:
        messages.success(request, f"{usd(marked.total)} marked as paid to {_workers(marked.n)}.")
    if marked.n_before or not marked.n:
        messages.warning(request, f"{marked.n_before or 'All'} had already been marked as paid and did not change.")
    return redirect("operate_payroll", number)


def _workers(n: int) -> str:
    return f"{n} worker{'s' if n != 1 else ''}"


@for_operators
@require_POST
def returned(request: SignedIn, number: int, payout_pk: int) -> HttpResponseBase:
    """Record that a payment came back. A separate page asks for the reason."""
    payout = get_object_or_404(
        Payout.objects.select_related("row__worker", "row__payroll"), pk=payout_pk, row__payroll__number=number
    )
    row = payout.row
    form = ReturnedForm(request.POST if confirmed(request) else None)
    if confirmed(request) and form.is_valid():
        try:
            service.mark_returned(payout=payout, reason=form.cleaned_data["reason"], actor=request.user.get_username())
        except Refusal as refused:
            messages.error(request, refused.message)
        else:
            messages.success(
                request, f"{usd(row.amount)} is owed to {row.worker.worker_id} again. The next payroll includes it."
            )
        return redirect("operate_payroll", number)
    return ask(
        request,
        heading=f"Record that the payment to {row.worker.worker_id} came back?",
        text=f"{usd(row.amount)}, reference {payout.reference}. The money is then owed again, "
        "and the next payroll includes it.",
        button="It came back",
        back=reverse("operate_payroll", args=[number]),
        section="payrolls",
        form=form,
        status=422 if form.errors else 200,
    )


# --- Files --------------------------------------------------------------------------------------------------


@for_operators
def payroll_csv(request: SignedIn, number: int) -> HttpResponseBase:
    """The payroll as it was created: the same bytes every time."""
    payroll = get_object_or_404(Payroll, number=number)
    lines = (
        (
            *(row.payroll.number, row.payroll.since, row.payroll.until),
            *(row.worker.worker_id, row.name, row.email, row.payment_address, row.country),
            *(row.rewards, row.bonuses, row.returned, row.amount, "USD", row.earned_since, row.earned_until),
            *(row.paid_before, row.open_before),
        )
        for row in money_queries.rows_of(payroll).iterator(chunk_size=2000)
    )
    return csv_response(f"payroll-{number}.csv", COLUMNS, lines)


@for_operators
def payments_csv(request: SignedIn, number: int) -> HttpResponseBase:
    """What has happened to each row of the payroll so far."""
    payroll = get_object_or_404(Payroll, number=number)
    name = f"payroll-{number}-payments-{clock.now():%Y-%m-%d}.csv"
    return csv_response(name, PAYMENT_COLUMNS, map(_payment, money_queries.rows_of(payroll).iterator(chunk_size=2000)))


def _payment(row: PayrollRow) -> tuple[object, ...]:
    payout = getattr(row, "payout", None)
    payment: tuple[str, datetime | None, str] = ("", None, "")
    if payout is not None:
        payment = (payout.reference, payout.created_at, payout.paid_by)
    return (row.payroll.number, row.worker.worker_id, row.name, row.amount, "USD", row.state, *payment)
