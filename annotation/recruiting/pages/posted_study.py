"""A study that is on a platform: its progress, and what can be done with it there."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta
from decimal import Decimal, InvalidOperation
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.views.decorators.http import require_POST, require_safe

from annotation.access import SEES_PAYMENTS, Capability, capabilities_in
from annotation.models import PlatformCall, PlatformJob, Study
from annotation.platforms import all_platforms, changes_class, connect
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.paying_accounts import paying_account
from annotation.recruiting import changing_offers, job_requests, offered_work
from annotation.recruiting.job_actions import replaces_lost
from annotation.recruiting.spending import spending_of
from annotation.recruiting.spending_guard import set_budget
from annotation.shell.page import SignedIn, member, page_of, rights, say_refused, study_page
from annotation.studies.storing import close_study
from common.problems import Refused, invalid
from common.words import counted, money

SECTION = "platforms"
Kind, State = PlatformJob.Kind, PlatformJob.State
BUSY = (State.WAITING, State.RUNNING)
SHOWN_CALLS = 5
#: A job that has waited this long probably has no worker process to do it.
SLOW_START = timedelta(seconds=30)


def work_context(study: Study, name: str) -> dict[str, Any]:
    """Everything that the page and its refreshed part show."""
    jobs = list(PlatformJob.objects.filter(study=study).order_by("-asked_at"))
    stand = offered_work.offer_counts(study, name)
    now = timezone.now()
    return {
        "platform": all_platforms().get(name),
        "name": name,
        "stand": stand,
        "jobs": jobs,
        "busy": any(job.state in BUSY for job in jobs),
        "stuck": any(job.state == State.WAITING and job.asked_at < now - SLOW_START for job in jobs),
        "to_post": stand.total - stand.n_posted,
        "refused": list(offered_work.open_calls(study)[:SHOWN_CALLS]),
        "changes": (can := changes_class(name)),
        "deletable": changing_offers.deletable(study, name).count() if can.deletes else 0,
        "extendable": changing_offers.extendable(study, name).count() if can.extends else 0,
        "replace": replaces_lost(study),
        "spending": spending_of(study),
        "objections": offered_work.objections(study),
        "payer": paying_account(study, name),
        "polled": study.status != Study.Status.CLOSED or stand.out > 0,
    }


@require_safe
@member()
def progress(request: SignedIn, study: Study) -> HttpResponseBase:
    """The part that the page fetches every few seconds. Once nothing is in progress, the whole page reloads."""
    name = offered_work.posted_on(study)
    if not name:
        return HttpResponse(status=204, headers={"HX-Refresh": "true"})
    context = work_context(study, name) | {"study": study} | rights(study, request.user)
    response = render(request, "recruiting/_offered.html", context)
    if not context["busy"]:
        response["HX-Refresh"] = "true"
    return response


@require_safe
@member(read=SEES_PAYMENTS)
def calls_made(request: SignedIn, study: Study) -> HttpResponseBase:
    """Every call that was or will be made for this study, newest first."""
    rows = PlatformCall.objects.filter(study=study).select_related("posting").order_by("-pk")
    if request.GET.get("show") == "refused":
        rows = rows.exclude(state=PlatformCall.State.DONE).exclude(error="")
    context = {"page": page_of(rows, request), "only_refused": request.GET.get("show") == "refused"}
    return study_page(request, study, "recruiting/calls_made.html", context, section=SECTION)


# --- what a person asks for ---


View = Callable[..., HttpResponseBase]


def _asks(role: str | tuple[str, ...]) -> Callable[[Callable[[SignedIn, Study, str], str]], View]:
    """Makes a view for POST only. It does what the function does and shows the sentence that this returns, or why it is
    impossible, and goes back to the study's platform."""

    def decorate(act: Callable[[SignedIn, Study, str], str]) -> View:
        @require_POST
        @member(write=role)
        def view(request: SignedIn, study: Study) -> HttpResponseBase:
            try:
                name = offered_work.posted_on(study)
                if not name:
                    raise invalid("platform", "This study is on no platform.", "Publish it first.")
                sentence = act(request, study, name)
            except Refused as refused:
                say_refused(request, refused)
            except PlatformTrouble as trouble:
                messages.error(request, str(trouble))
            else:
                messages.success(request, sentence)
            return redirect("console_platforms", study.slug)

        return view

    return decorate


def _request(request: SignedIn, study: Study, name: str, kind: str, **params: Any) -> None:
    """Requests a job. Raises PlatformTrouble at once if the platform has no key, so that the page shows it."""
    connect(name, study)
    actor = request.user.get_username()
    job_requests.request_job(study=study, kind=kind, platform=name, actor=actor, params=params)


@_asks("payer")
def resume_publishing(request: SignedIn, study: Study, name: str) -> str:
    keep = PlatformJob.objects.filter(study=study, kind=Kind.PUBLISH).values_list("params", flat=True).first()
    _request(request, study, name, Kind.PUBLISH, **(keep or {}))
    return "Publishing continues where it stopped."


@_asks(SEES_PAYMENTS)
def sync(request: SignedIn, study: Study, name: str) -> str:
    _request(request, study, name, Kind.SYNC)
    return "Asking the platform now."


@_asks("payer")
def replace_lost(request: SignedIn, study: Study, name: str) -> str:
    _request(request, study, name, Kind.ADD)
    return "Offering the missing places again."


@_asks("payer")
def extend(request: SignedIn, study: Study, name: str) -> str:
    text = request.POST.get("days", "").strip()[:9]
    if not (text.isascii() and text.isdigit()):
        raise invalid("days", "This is not a number.", "Enter a whole number.")
    days = int(text)
    changing_offers.check_extension(study=study, platform=name, days=days)
    until = timezone.now() + timedelta(days=days)
    _request(request, study, name, Kind.EXTEND, until=until.isoformat(timespec="seconds"))
    return f"Work is offered for {counted(days, 'more day')} from now."


@_asks("payer")
def end(request: SignedIn, study: Study, name: str) -> str:
    if request.POST.get("close") == "on":
        if Capability.COLLECT not in capabilities_in(study, request.user):
            raise invalid("close", "Payers cannot close a study.", "End the offer only, or ask an editor.")
        close_study(study=study, actor=request.user.get_username())
    _request(request, study, name, Kind.END)
    return "Ending the offer. Work in progress can still be finished."


@_asks("owner")
def delete(request: SignedIn, study: Study, name: str) -> str:
    _request(request, study, name, Kind.DELETE)
    return "Deleting finished work there. Everything stays here."


@_asks("payer")
def pause(request: SignedIn, study: Study, name: str) -> str:
    changing_offers.pause_everywhere(study=study, actor=request.user.get_username())
    return "Paused: nobody gets new work. Work in progress can be finished."


@_asks("payer")
def resume(request: SignedIn, study: Study, name: str) -> str:
    changing_offers.resume_everywhere(study=study, actor=request.user.get_username())
    return "Live again."


@_asks("payer")
def change_budget(request: SignedIn, study: Study, name: str) -> str:
    text = request.POST.get("budget", "").strip().removeprefix("$").replace(",", "")[:20]
    try:
        amount = Decimal(text)
    except InvalidOperation:
        raise invalid("budget", "This is not an amount.", "Enter US dollars, such as 25.00.") from None
    set_budget(study=study, amount=amount, actor=request.user.get_username())
    return f"The budget is {money(amount)} now."
