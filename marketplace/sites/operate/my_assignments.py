"""Workers' submissions to a requester: show them, approve one or several, reject them, or pay a bonus."""

from __future__ import annotations

from decimal import Decimal

from django.contrib import messages
from django.db.models import Sum
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from common.words import counted
from marketplace import clock
from marketplace.models import Assignment, DisputeStatement, Requester
from marketplace.money import bonus_fee, usd
from marketplace.services import disputes, page_actions
from marketplace.services.hits import due_changes
from marketplace.services.refusals import Refusal
from marketplace.sites.operate import queries
from marketplace.sites.operate.forms import ApprovalForm, BonusForm, OverrideForm, ReviewForm, StatementForm
from marketplace.sites.operate.page import SignedIn, ask, confirmed, for_requesters, page_of, query_without_page, show

State = Assignment.State
PAID_FOR = (State.SUBMITTED, State.APPROVED, State.REJECTED)
#: The page that asks whether to approve assignments lists at most this many of them.
MOST_NAMED = 20


@for_requesters
@require_GET
def my_assignments(request: SignedIn, requester: Requester) -> HttpResponse:
    due_changes.bring_up_to_date(requester=requester, now=clock.now())
    state = request.GET.get("state", "")
    state = state if state in State.values else ""
    n_submitted = Assignment.objects.filter(hit__requester=requester, state=State.SUBMITTED).count()
    context = {
        "page": page_of(queries.assignments_of(requester, state=state), request),
        "states": State.values,
        "state": state,
        "may_approve": n_submitted > 0 and state in ("", State.SUBMITTED),
        "n_submitted": n_submitted,
        "filters": query_without_page(request),
        "section": "assignments",
    }
    return show(request, "my_assignments.html", context, role="requester")


# --- Several at once ----------------------------------------------------------------------------------------


@for_requesters
@require_POST
def approve(request: SignedIn, requester: Requester) -> HttpResponseBase:
    """Approve the selected assignments, or all that are submitted (for one HIT, if it is named). It asks first."""
    due_changes.bring_up_to_date(requester=requester, now=clock.now())
    form, back = ApprovalForm(request.POST), request.POST.get("back", "")
    if not (url_has_allowed_host_and_scheme(back, allowed_hosts=None) and back.startswith("/")):
        back = reverse("operate_my_assignments")
    if not form.is_valid():
        messages.error(request, " ".join(str(error) for errors in form.errors.values() for error in errors))
        return redirect(back)
    chosen = _chosen(request, requester)
    if not chosen:
        messages.error(request, "Select at least one submitted assignment.")
        return redirect(back)
    if not confirmed(request):
        undecided = Assignment.objects.filter(assignment_id__in=chosen, hit__requester=requester, state=State.SUBMITTED)
        columns = ("assignment_id", "worker__worker_id", "reward")
        rows = list(undecided.order_by("submitted_at", "pk").values_list(*columns))
        total = undecided.aggregate(total=Sum("reward"))["total"] or Decimal(0)
        lines = [f"{number}  {worker_id}  {usd(reward)}" for number, worker_id, reward in rows[:MOST_NAMED]]
        if len(rows) > MOST_NAMED:
            lines.append(f"and {len(rows) - MOST_NAMED} more")
        return ask(
            request,
            heading=f"Approve {counted(len(rows), 'assignment')} and pay {usd(total)}?",
            text="The money is already held for them. An approval cannot be undone.",
            lines=lines,
            button="Approve",
            back=back,
            section="assignments",
            role="requester",
            danger=False,
            hidden_fields=[("assignment", assignment_id) for assignment_id, _, _ in rows],
        )
    actor, feedback = request.user.get_username(), form.cleaned_data["feedback"]
    approved = page_actions.approve_all(requester=requester, assignment_ids=chosen, feedback=feedback, actor=actor)
    if approved.n:
        messages.success(
            request, f"{counted(approved.n, 'assignment')} approved. The workers earned {usd(approved.rewards)}."
        )
    if approved.n_before:
        messages.warning(
            request, f"{counted(approved.n_before, 'assignment')} had already been decided on and did not change."
        )
    return redirect(back)


def _chosen(request: SignedIn, requester: Requester) -> list[str]:
    """The selected IDs. "All" means all when the question is shown: its form lists each ID."""
    if "all" not in request.POST or confirmed(request):
        return list(
            dict.fromkeys(assignment_id.replace("\x00", "") for assignment_id in request.POST.getlist("assignment"))
        )
    waiting = Assignment.objects.filter(hit__requester=requester, state=State.SUBMITTED)
    if hit_id := request.POST.get("hit", "").replace("\x00", ""):
        waiting = waiting.filter(hit__hit_id=hit_id)
    return list(
        waiting.order_by("submitted_at", "pk").values_list("assignment_id", flat=True)[: page_actions.MOST_AT_ONCE]
    )


# --- One ----------------------------------------------------------------------------------------------------


@for_requesters
@require_http_methods(["GET", "HEAD", "POST"])
def assignment(request: SignedIn, requester: Requester, assignment_id: str) -> HttpResponseBase:
    """What a worker sent, and the form to approve it, reject it, or withdraw a rejection."""
    shown = _own_assignment(requester, assignment_id)
    form = _review_form(shown)(request.POST or None)
    if request.method == "POST" and form.is_valid():
        decision, feedback = form.cleaned_data["do"], form.cleaned_data["feedback"]
        try:
            page_actions.review(
                assignment=shown, decision=decision, feedback=feedback, actor=request.user.get_username()
            )
        except Refusal as refused:
            form.add_error(None, refused.message)
        else:
            messages.success(request, _DONE[decision])
            return redirect("operate_my_assignment", assignment_id)
    return _assignment_page(request, shown, review=form, status=422 if form.errors else 200)


@for_requesters
@require_POST
def answer(request: SignedIn, requester: Requester, assignment_id: str) -> HttpResponseBase:
    """The requester's answer to an objection."""
    disputed = _own_assignment(requester, assignment_id)
    form = StatementForm(request.POST)
    if form.is_valid():
        try:
            disputes.answer(assignment=disputed, text=form.cleaned_data["text"], actor=request.user.get_username())
        except Refusal as refused:
            form.add_error(None, refused.message)
        else:
            messages.success(request, "Your answer is saved. The people who run this marketplace will decide.")
            return redirect("operate_my_assignment", assignment_id)
    return _assignment_page(request, disputed, answering=form, status=422)


@for_requesters
@require_POST
def bonus(request: SignedIn, requester: Requester, assignment_id: str) -> HttpResponseBase:
    """Pay a bonus. It first asks, and shows the fee."""
    rewarded, form = _own_assignment(requester, assignment_id), BonusForm(request.POST)
    if not form.is_valid():
        return _assignment_page(request, rewarded, bonus=form, status=422)
    amount, reason = form.cleaned_data["amount"], form.cleaned_data["reason"]
    if not confirmed(request):
        return ask(
            request,
            heading=f"Pay {rewarded.worker.worker_id} a bonus of {usd(amount)}?",
            text=f"With the fee, {usd(amount + bonus_fee(amount))} leave your balance. A bonus cannot be undone.",
            lines=[f"Reason: {reason}"],
            button="Pay the bonus",
            back=reverse("operate_my_assignment", args=[assignment_id]),
            section="assignments",
            role="requester",
            danger=False,
        )
    once, actor = form.cleaned_data["once"], request.user.get_username()
    try:
        page_actions.give_bonus(assignment=rewarded, amount=amount, reason=reason, once=once, actor=actor)
    except Refusal as refused:
        form.add_error(None, refused.message)
        return _assignment_page(request, rewarded, bonus=form, status=422)
    messages.success(request, f"{rewarded.worker.worker_id} got a bonus of {usd(amount)}.")
    return redirect("operate_my_assignment", assignment_id)


def _own_assignment(requester: Requester, assignment_id: str) -> Assignment:
    mine = Assignment.objects.select_related("hit__hit_type", "hit__requester", "worker")
    assignment = get_object_or_404(mine, assignment_id=assignment_id, hit__requester=requester)
    due_changes.bring_up_to_date(hit=assignment.hit, now=clock.now())
    assignment.refresh_from_db(fields=["state"])
    return assignment


def _review_form(assignment: Assignment) -> type[ReviewForm]:
    return OverrideForm if assignment.state == State.REJECTED else ReviewForm


def _assignment_page(
    request: SignedIn,
    assignment: Assignment,
    *,
    review: ReviewForm | None = None,
    answering: StatementForm | None = None,
    bonus: BonusForm | None = None,
    status: int = 200,
) -> HttpResponse:
    assignment.refresh_from_db()
    statements = list(assignment.statements.order_by("pk"))
    decided = any(statement.party == DisputeStatement.Party.OPERATOR for statement in statements)
    context = {
        "assignment": assignment,
        "answers": queries.answers_of(assignment),
        "bonuses": assignment.bonuses.order_by("pk")[:50],
        "may_bonus": assignment.state in PAID_FOR,
        "bonus_form": bonus or BonusForm(),
        "statements": statements,
        "may_answer": bool(statements) and not decided and assignment.state == State.REJECTED,
        "answering": answering or StatementForm(),
        "form": review or _review_form(assignment)(),
        "section": "assignments",
    }
    return show(request, "my_assignment.html", context, role="requester", status=status)


_DONE = {
    "approve": "Approved. The worker is paid.",
    "override": "The rejection is withdrawn, and the worker is paid.",
    "reject": "Rejected. The worker sees your feedback and can object.",
}
