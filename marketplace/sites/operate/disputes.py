"""Rejections that workers dispute, and the operator's decisions."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods

from marketplace.models import Assignment, DisputeStatement
from marketplace.services import disputes as service
from marketplace.services.refusals import Refusal
from marketplace.sites.operate import queries
from marketplace.sites.operate.forms import DecisionForm
from marketplace.sites.operate.page import SignedIn, for_operators, page_of, query_without_page, show


@for_operators
def disputes(request: SignedIn) -> HttpResponse:
    decided = request.GET.get("show") == "decided"
    context = {
        "page": page_of(queries.disputes(decided=decided), request),
        "decided": decided,
        "filters": query_without_page(request),
        "section": "disputes",
    }
    return show(request, "disputes.html", context)


@for_operators
@require_http_methods(["GET", "HEAD", "POST"])
def dispute(request: SignedIn, assignment_id: str) -> HttpResponseBase:
    """The statements about a rejection and, while it is open, the form that decides it."""
    assignments = Assignment.objects.select_related("hit__hit_type", "hit__requester", "worker")
    assignment = get_object_or_404(assignments.exclude(statements=None).distinct(), assignment_id=assignment_id)
    form = DecisionForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        overturn = form.cleaned_data["decision"] == DisputeStatement.Decision.OVERTURNED
        reason, actor = form.cleaned_data["reason"], request.user.get_username()
        try:
            service.decide(assignment=assignment, overturn=overturn, reason=reason, actor=actor)
        except Refusal as refused:
            form.add_error(None, refused.message)
        else:
            outcome = "overturned; the worker is paid" if overturn else "upheld"
            messages.success(request, f"The rejection is {outcome}. The worker got a message with your reason.")
            return redirect("operate_disputes")
    statements = list(assignment.statements.order_by("pk"))
    decided = any(statement.party == DisputeStatement.Party.OPERATOR for statement in statements)
    context = {
        "assignment": assignment,
        "statements": statements,
        "open": assignment.state == Assignment.State.REJECTED and not decided,
        "form": form,
        "section": "disputes",
    }
    return show(request, "dispute.html", context, status=422 if form.errors else 200)
