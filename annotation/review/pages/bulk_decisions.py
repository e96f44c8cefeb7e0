"""One action on many submissions: choose it, check its effect and cost, confirm it, and follow its progress."""

from __future__ import annotations

from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access import SEES_PAYMENTS, Capability, capabilities_in
from annotation.models import BulkAction, Study, Submission
from annotation.platforms import connect
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.costs import NO_FEES, Fees
from annotation.review.bulk_decisions import ACTIONS, FOR_EDITORS, confirm_action, plan_action, set_terms
from annotation.review.pages.forms import TermsForm, filter_of, query_of
from annotation.review.paying import MARK_PAID, marking_of
from annotation.review.review_queue import flags_of, preview_of
from annotation.review.submission_lists import chosen
from annotation.review.tasks import start_bulk_action
from annotation.shell.page import SignedIn, member, say_refused, study_page
from common.problems import Refused

MOST_TICKED = 1_000
State = BulkAction.State


@require_POST
@member(write=SEES_PAYMENTS)
def choose(request: SignedIn, study: Study) -> HttpResponse:
    """Stores what an action is about: the ticked submissions or, with ``all``, everything that the filter selects."""
    action, chosen_filter = request.POST.get("action", ""), filter_of(study, request.POST)
    back = f"{reverse('console_submissions', args=[study.slug])}?{query_of(chosen_filter)}"
    _allow(request, study, action)
    if request.POST.get("all") == "1":
        submissions = chosen(study, chosen_filter)
    else:
        ticked = [int(pk_text) for pk_text in request.POST.getlist("ticked")[:MOST_TICKED] if pk_text.isdecimal()]
        submissions = Submission.objects.filter(study=study, pk__in=ticked)
    try:
        bulk = plan_action(study=study, action=action, chosen=submissions, actor=request.user.get_username())
    except Refused as refused:
        say_refused(request, refused)
        return redirect(back)
    return redirect("console_action", study.slug, bulk.pk)


def _allow(request: SignedIn, study: Study, action: str) -> None:
    """Refuses decisions about money, except by those who may pay, and others, except by those who may edit."""
    needed = Capability.COLLECT if action in FOR_EDITORS else Capability.PAY
    if action in ACTIONS and needed not in capabilities_in(study, request.user):
        raise Http404("No such action.")


@require_http_methods(["GET", "HEAD", "POST"])
@member(read=SEES_PAYMENTS, write=SEES_PAYMENTS)
def action(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    """The effect of an action before it is confirmed; afterwards, its progress. A POST confirms it.

    A bonus is confirmed only with the amount whose cost the page showed.
    """
    bulk = get_object_or_404(BulkAction.objects.select_related("study"), pk=pk, study=study)
    _allow(request, study, bulk.action)
    if bulk.state != State.SHOWN:
        if request.method == "POST":
            messages.info(request, "This was confirmed before. It is done once.")
            return redirect("console_action", study.slug, bulk.pk)
        if bulk.action == MARK_PAID:
            progress = {"bulk": bulk, "marking": marking_of(bulk)}
            return study_page(request, study, "review/marking.html", progress, section="payments")
        progress = {
            "bulk": bulk,
            "title": ACTIONS[bulk.action],
            "total": len(bulk.rows),
            "stopped": bulk.stopped if bulk.state == State.RUNNING else "",
            "refused": bulk.refusals,
        }
        return study_page(request, study, "review/review_done.html", progress, section="submissions")
    preview = preview_of(bulk, _fees)
    posted = request.POST if request.method == "POST" else None
    suggested = {"note": bulk.note or flags_of(bulk), "amount": bulk.amount}
    form = TermsForm(posted, bulk=bulk, places=preview.places, rejected=preview.rejected, initial=suggested)
    if posted is not None and form.is_valid():
        shown = bulk.amount
        try:
            set_terms(
                bulk=bulk,
                note=form.cleaned_data.get("note", ""),
                amount=form.cleaned_data.get("amount"),
                release=form.cleaned_data.get("release", False),
                exclude=form.cleaned_data.get("exclude", False),
            )
            if bulk.action != "bonus" or shown == bulk.amount:
                confirm_action(bulk=bulk, actor=request.user.get_username(), start=start_bulk_action)
                return redirect("console_action", study.slug, bulk.pk)
        except Refused as refused:
            say_refused(request, refused)
        preview = preview_of(bulk, _fees)
    context = {"bulk": bulk, "preview": preview, "form": form, "title": ACTIONS[bulk.action]}
    return study_page(
        request, study, "review/review_action.html", context, section="submissions", status=422 if form.errors else 200
    )


@require_POST
@member(write=SEES_PAYMENTS)
def continue_action(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    """Continues an action that stopped, now."""
    bulk = get_object_or_404(BulkAction, pk=pk, study=study)
    _allow(request, study, bulk.action)
    if bulk.state == State.RUNNING:
        start_bulk_action(bulk.pk)
    return redirect("console_action", study.slug, bulk.pk)


def _fees(platform: str, study: Study) -> Fees:
    """The fees of a platform; no fees if it cannot be reached."""
    try:
        return connect(platform, study).fees()
    except PlatformTrouble:
        return NO_FEES
