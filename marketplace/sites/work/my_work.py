"""A worker's past work: states, feedback, objections, and money."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_safe

from common.languages import gettext as _
from marketplace import clock
from marketplace.models import Assignment, Bonus, DisputeStatement, Hit, LedgerEntry, Worker
from marketplace.questions.answers_xml import read_answers
from marketplace.services import disputes
from marketplace.services.hits import due_changes
from marketplace.services.money import payments
from marketplace.services.refusals import Refusal
from marketplace.sites.work import queries
from marketplace.sites.work.forms import DisputeForm
from marketplace.sites.work.page import PER_PAGE, SignedIn, for_workers, page_of, query_without_page, say_refused, show

State = Assignment.State
SHOWN_PAYOUTS = 50


@for_workers
@require_safe
def history(request: SignedIn, worker: Worker) -> HttpResponse:
    bring_theirs_up_to_date(worker)
    state = request.GET.get("state", "")
    rows = queries.their_assignments(worker).defer("hit__question", "answer")
    if state in State.values:
        rows = rows.filter(state=state)
    context = {
        "page": page_of(rows, request, PER_PAGE),
        "query": query_without_page(request),
        "states": State.values,
        "state": state,
    }
    return show(request, "history.html", context, worker=worker, section="history")


def bring_theirs_up_to_date(worker: Worker) -> None:
    """Update the worker's tasks, so that the page shows which ran out of time and which work is approved by now."""
    undecided = Assignment.objects.filter(worker=worker, state__in=[State.ACCEPTED, State.SUBMITTED])
    for hit in Hit.objects.filter(pk__in=undecided.values("hit"), due_at__lte=clock.now()):
        due_changes.bring_up_to_date(hit=hit)


@for_workers
@require_http_methods(["GET", "POST"])
def assignment(request: SignedIn, worker: Worker, assignment_id: str) -> HttpResponseBase:
    shown = queries.their_assignment(worker, assignment_id)
    due_changes.bring_up_to_date(hit=shown.hit)
    shown.refresh_from_db()
    form = DisputeForm(request.POST or None)
    statements = list(shown.statements.order_by("pk"))
    decided = any(statement.party == DisputeStatement.Party.OPERATOR for statement in statements)
    if request.method == "POST" and form.is_valid():
        try:
            disputes.object_to(assignment_id=assignment_id, worker=worker, text=form.cleaned_data["comment"])
        except Refusal as refused:
            say_refused(request, refused)
        else:
            messages.success(request, _("Your objection is saved. You will get a message with the decision."))
        return redirect("market_assignment", assignment_id)
    context = {
        "assignment": shown,
        "hit_type": shown.hit.hit_type,
        "bonuses": Bonus.objects.filter(assignment=shown, worker=worker).order_by("created_at"),
        "answers": read_answers(shown.answer) if shown.answer else {},
        "form": form,
        "statements": statements,
        "may_dispute": shown.state == State.REJECTED and not decided,
    }
    status = 422 if request.method == "POST" else 200
    return show(request, "assignment.html", context, worker=worker, section="history", status=status)


@for_workers
@require_safe
def earnings(request: SignedIn, worker: Worker) -> HttpResponse:
    bring_theirs_up_to_date(worker)
    payouts = LedgerEntry.objects.filter(account__worker=worker, kind=LedgerEntry.Kind.PAYOUT).order_by("-created_at")
    bonuses = Bonus.objects.filter(worker=worker).select_related("requester", "assignment__hit__hit_type")
    context = {
        "earnings": payments.earnings(worker),
        "payouts": payouts.select_related("transaction")[:SHOWN_PAYOUTS],
        "bonuses": bonuses.defer("assignment__hit__question").order_by("-created_at")[:SHOWN_PAYOUTS],
    }
    return show(request, "earnings.html", context, worker=worker, section="earnings")
