"""Who gets paid: completion codes, amounts, and marking them as paid, for members who can change the study."""

from __future__ import annotations

from decimal import Decimal, InvalidOperation
from urllib.parse import urlencode

from django.contrib import messages
from django.http import Http404, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from annotation.access import SEES_PAYMENTS, Capability, capabilities_in, studies_of
from annotation.audit import record
from annotation.models import Study
from annotation.recruiting.pay_states import PAY_STATES
from annotation.review import payment_lists, payments_due
from annotation.review.paying import Expected, running_marking, start_marking
from annotation.review.payment_file import payments_csv
from annotation.review.receipts import receipts_bytes
from annotation.review.tasks import start_bulk_action
from annotation.shell.page import SignedIn, member, query_without_page, say_refused, study_page
from common.problems import Refused
from common.words import counted, money

FILTERS = {"": "All", **{state: PAY_STATES[state] for state in payments_due.STATES}}


@require_safe
@member(read=SEES_PAYMENTS)
def payments(request: SignedIn, study: Study) -> HttpResponse:
    state, code = _narrowed(request)
    number = request.GET.get("page", "1")
    page, rows = payment_lists.payment_page(
        study, state=state, code=code, number=int(number) if number.isdecimal() and len(number) < 10 else 1
    )
    payable = studies_of(request.user, SEES_PAYMENTS)
    context = {
        "page": page,
        "rows": rows,
        "totals": payment_lists.totals(study),
        "marking": running_marking(study),
        "pays": bool(rows) or study.hits.filter(reward__gt=0).exists(),
        "choices": FILTERS,
        "chosen": state,
        "code": code,
        "elsewhere": [] if rows or not code else payments_due.studies_with_code(payable, code),
        "arms": study.arms.count() > 1,
        "filters": query_without_page(request),
    }
    return study_page(request, study, "review/payments.html", context, section="payments")


def _narrowed(request: SignedIn) -> tuple[str, str]:
    state = request.GET.get("show", "")
    code = request.GET.get("code", "").replace("\x00", "").strip()[:40]
    return (state if state in payments_due.STATES else ""), code


@require_http_methods(["GET", "HEAD", "POST"])
@member(read=SEES_PAYMENTS, write=SEES_PAYMENTS)
def pay(request: SignedIn, study: Study) -> HttpResponse:
    """Shows what would be marked as paid. A POST marks it if nothing has changed since, many hits in the background."""
    sent_values = request.POST if request.method == "POST" else request.GET
    pseudonym = sent_values.get("worker", "").replace("\x00", "")[:40]
    with_excluded = bool(pseudonym) and sent_values.get("excluded") == "1"
    if request.method == "POST":
        try:
            shown = Expected(int(request.POST.get("hits", "-1")[:12]), Decimal(request.POST.get("total", "")[:20]))
        except (ValueError, InvalidOperation):
            shown = Expected(-1, Decimal(0))  # which never matches
        try:
            paid, bulk = start_marking(
                study=study,
                actor=request.user.get_username(),
                pseudonym=pseudonym,
                with_excluded=with_excluded,
                expected=shown,
                start=start_bulk_action,
            )
        except Refused as refused:
            say_refused(request, refused)
            query = {"worker": pseudonym, "excluded": "1"} if with_excluded else {"worker": pseudonym}
            return redirect(f"{reverse('console_pay', args=[study.slug])}?{urlencode(query if pseudonym else {})}")
        if bulk is not None:
            return redirect("console_action", study.slug, bulk.pk)
        whom = pseudonym or counted(paid.workers, "worker")
        what = f"{counted(paid.hits, 'hit')} of {whom} marked as paid: {money(paid.total)}."
        messages.success(request, what)
        return redirect("console_payments", study.slug)
    owed = (
        payments_due.due(study, pseudonym=pseudonym, with_excluded=with_excluded)
        if pseudonym
        else payment_lists.due_to_everybody(study)
    )
    unpaid = payments_due.payable(study).filter(pseudonym=pseudonym)
    row = payments_due.rows_of(study, unpaid) if pseudonym else []
    if pseudonym and not row:
        raise Http404("No such worker.")
    context = {
        "owed": owed,
        "behind": owed.behind if isinstance(owed, payments_due.Owed) else 0,
        "row": row[0] if row else None,
        "with_excluded": with_excluded,
        "marking": running_marking(study),
    }
    return study_page(request, study, "review/pay.html", context, section="payments")


@require_safe
@member(read=SEES_PAYMENTS)
def payments_file(request: SignedIn, study: Study) -> HttpResponseBase:
    """The list as CSV. For owners and payers, ``?worker_ids=1`` adds the workers' ids on their platform."""
    state, code = _narrowed(request)
    with_worker_ids = request.GET.get("worker_ids") == "1"
    if with_worker_ids:
        if Capability.PAY not in capabilities_in(study, request.user):
            raise Http404("No such page.")
        record(study=study, actor=request.user.get_username(), action="export worker ids", kind="payments")
    headers = {
        "Content-Disposition": f'attachment; filename="{study.slug}-payments.csv"',
        "Cache-Control": "private, no-store",
    }
    pieces = payments_csv(study, state=state, code=code, with_worker_ids=with_worker_ids)
    return StreamingHttpResponse(pieces, content_type="text/csv; charset=utf-8", headers=headers)


@require_safe
@member(read="payer")
def receipts_file(request: SignedIn, study: Study) -> HttpResponseBase:
    """One file per worker, month and year, in a zip with an index. It contains workers' ids, so it leaves a trace."""
    record(study=study, actor=request.user.get_username(), action="export worker ids", kind="receipts")
    headers = {
        "Content-Disposition": f'attachment; filename="{study.slug}-receipts.zip"',
        "Cache-Control": "private, no-store",
    }
    return StreamingHttpResponse(receipts_bytes([study]), content_type="application/zip", headers=headers)
