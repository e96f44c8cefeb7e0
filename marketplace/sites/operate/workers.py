"""Workers and their invitation links, as the operator manages them."""

from __future__ import annotations

import logging

from django.contrib import messages
from django.core.mail import send_mail
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from common.words import counted
from marketplace import clock, links
from marketplace.models import Worker
from marketplace.services.accounts import worker_accounts
from marketplace.sites.operate import money_queries, queries
from marketplace.sites.operate.forms import InvitationForm, WorkerFilter, WorkerForm
from marketplace.sites.operate.page import SignedIn, ask, confirmed, for_operators, page_of, query_without_page, show

logger = logging.getLogger(__name__)


@for_operators
def workers(request: SignedIn) -> HttpResponse:
    form = WorkerFilter(request.GET)
    chosen = form.cleaned_data if form.is_valid() else {}
    selected = queries.workers(
        search=chosen.get("q", ""), country=chosen.get("country", ""), active=chosen.get("active", "")
    )
    context = {
        "page": page_of(selected, request),
        "filter": form,
        "filters": query_without_page(request),
        "section": "workers",
    }
    return show(request, "workers.html", context)


@for_operators
@require_http_methods(["GET", "HEAD", "POST"])
def worker(request: SignedIn, worker_id: str) -> HttpResponseBase:
    """A worker's record, and a form with their details."""
    shown = get_object_or_404(Worker.objects.select_related("user", "invitation"), worker_id=worker_id)
    details_now = {name: getattr(shown, name) for name in WorkerForm.base_fields}
    form = WorkerForm(request.POST or None, initial=details_now)
    if request.method == "POST" and form.is_valid():
        details = form.cleaned_data | {"country": form.cleaned_data["country"].upper()}
        changed = worker_accounts.change_worker(worker=shown, actor=request.user.get_username(), **details)
        messages.success(request, "Saved." if changed else "Nothing changed.")
        return redirect("operate_worker", worker_id)
    context = {
        "worker": shown,
        "record": queries.record_of(shown),
        "rows": money_queries.payroll_rows_of(shown)[:12],
        "form": form,
        "section": "workers",
    }
    return show(request, "worker.html", context, status=422 if form.errors else 200)


@for_operators
@require_POST
def set_active(request: SignedIn, worker_id: str) -> HttpResponseBase:
    worker = get_object_or_404(Worker, worker_id=worker_id)
    active = request.POST.get("active") == "1"
    if not active and not confirmed(request):
        return ask(
            request,
            heading=f"Deactivate {worker_id}?",
            text="They can no longer sign in or accept tasks, and lose work they have not submitted. "
            "What they have earned is still owed, and you can activate them again.",
            button="Deactivate",
            back=reverse("operate_worker", args=[worker_id]),
            section="workers",
        )
    worker_accounts.set_worker_active(worker=worker, active=active, actor=request.user.get_username())
    outcome = "is active again" if active else "is deactivated. What they have earned is still owed"
    messages.success(request, f"{worker.worker_id} {outcome}.")
    return redirect("operate_worker", worker_id)


@for_operators
@require_http_methods(["GET", "HEAD", "POST"])
def invitations(request: SignedIn) -> HttpResponse:
    """New links are shown once, in the response to the form: only their hashes are stored."""
    new_links: list[str] = []
    form = InvitationForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            new_links = make_links(**form.cleaned_data, actor=request.user.get_username(), request=request)
        except CouldNotSend as failed:
            new_links = [failed.link]
            messages.warning(request, f"{failed} Pass the link on yourself.")
        form = InvitationForm()
    context = {
        "form": form,
        "links": new_links,
        "page": page_of(queries.invitations(), request),
        "now": clock.now(),
        "section": "invitations",
    }
    return show(request, "invitations.html", context, status=422 if form.errors else 200)


#: The page of the workers' site that an invitation leads to.
INVITATION_PAGE = "market_join"


class CouldNotSend(Exception):
    """The link works, but the e-mail could not be sent."""

    def __init__(self, email: str, link: str) -> None:
        super().__init__(f"The e-mail to {email} could not be sent.")
        self.link = link


def make_links(*, email: str, count: int, days: int, actor: str, request: HttpRequest | None = None) -> list[str]:
    """New links for this many workers. With an e-mail address, the link is also sent there. Raises CouldNotSend."""
    tokens = [worker_accounts.invite(email=email, days=days, actor=actor).token for _ in range(count)]
    new_links = [links.absolute(reverse(INVITATION_PAGE, args=[token]), request) for token in tokens]
    if email:
        letter = (
            "Hello,\n\nYou are invited to work on paid tasks. Create your account with this link:\n\n"
            f"{new_links[0]}\n\nIt is only for you. It works once, within {counted(days, 'day')}.\n"
        )
        send("Your invitation", letter, email, new_links[0])
    return new_links


def send(subject: str, letter: str, email: str, link: str) -> None:
    """Raises CouldNotSend."""
    try:
        send_mail(subject, letter, None, [email])
    except OSError as error:
        logger.exception("A link could not be sent")
        raise CouldNotSend(email, link) from error
