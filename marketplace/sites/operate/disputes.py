"""Rejections that workers object to, and what the operator decides."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods

from marketplace.services import operating
from marketplace.services.refusals import Refused
from marketplace.sites.operate import queries
from marketplace.sites.operate.forms import DecisionForm
from marketplace.sites.operate.page import SignedIn, filters_of, for_operators, page_of, show


@for_operators
def disputes(request: SignedIn) -> HttpResponse:
    decided = request.GET.get("show") == "decided"
    page = page_of(queries.disputes(decided=decided), request)
    for row in page:
        row.overturned = getattr(row, "decision", "") == operating.OVERTURNED
    context = {
        "page": page,
        "decided": decided,
        "filters": filters_of(request),
        "section": "disputes",
    }
    return show(request, "disputes.html", context)


@for_operators
@require_http_methods(["GET", "HEAD", "POST"])
def dispute(request: SignedIn, assignment_id: str) -> HttpResponseBase:
    """One open dispute: what both sides say, and the form that decides it."""
    found = get_object_or_404(queries.disputes(), assignment_id=assignment_id)
    form = DecisionForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        overturn = form.cleaned_data["decision"] == "overturned"
        try:
            operating.decide_dispute(
                assignment=found,
                overturn=overturn,
                reason=form.cleaned_data["reason"],
                actor=request.user.get_username(),
            )
        except Refused as refused:
            form.add_error(None, refused.message)
        else:
            said = "overturned; the worker is paid" if overturn else "upheld"
            messages.success(request, f"The rejection is {said}. The worker was told why.")
            return redirect("operate_disputes")
    context = {"assignment": found, "form": form, "section": "disputes"}
    return show(request, "dispute.html", context, status=422 if form.errors else 200)
