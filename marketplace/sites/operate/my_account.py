"""A requester's account: balance, access keys, blocked workers, notifications and log."""

from __future__ import annotations

from dataclasses import dataclass

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_GET, require_http_methods, require_POST

from marketplace import clock, links
from marketplace.models import AccessKey, LedgerAccount, NotificationSetting, Requester, Worker
from marketplace.services import page_actions
from marketplace.services.accounts import requester_accounts
from marketplace.services.hits import due_changes
from marketplace.services.messages import notification_transports
from marketplace.services.money import payments
from marketplace.sites.operate import money_queries, queries
from marketplace.sites.operate.forms import BlockForm, OwnLogFilter
from marketplace.sites.operate.page import SignedIn, confirmed, for_requesters, page_of, query_without_page, show
from marketplace.sites.operate.requesters import ask_to_revoke

SHOWN_SETTINGS = 100


def endpoint_of(request: SignedIn) -> str:
    """Where MTurk clients send their requests."""
    return links.absolute(reverse("market_api"), request)


@for_requesters
@require_GET
def balance(request: SignedIn, requester: Requester) -> HttpResponse:
    """The available and the held money, each with its entries: ``?of=held`` shows those of the held money."""
    kind = LedgerAccount.Kind.HELD if request.GET.get("of") == "held" else LedgerAccount.Kind.REQUESTER
    due_changes.bring_up_to_date(requester=requester, now=clock.now())
    context = {
        "available": payments.available(requester),
        "held": payments.held(requester),
        "page": page_of(money_queries.entries_of(requester, kind), request),
        "of_held": kind == LedgerAccount.Kind.HELD,
        "filters": query_without_page(request),
        "section": "balance",
    }
    return show(request, "my_balance.html", context, role="requester")


# --- Access keys --------------------------------------------------------------------------------------------


@for_requesters
@require_GET
def keys(request: SignedIn, requester: Requester) -> HttpResponse:
    return _keys_page(request, requester)


def _keys_page(
    request: SignedIn, requester: Requester, new_key: requester_accounts.NewKey | None = None
) -> HttpResponse:
    keys = AccessKey.objects.filter(requester=requester).order_by("revoked_at", "-created_at", "-pk")
    context = {"page": page_of(keys, request), "made": new_key, "endpoint": endpoint_of(request), "section": "keys"}
    return show(request, "my_keys.html", context, role="requester")


@for_requesters
@require_POST
def make_key(request: SignedIn, requester: Requester) -> HttpResponseBase:
    """The response is the only page that ever shows the secret, so it is not a redirect."""
    new_key = requester_accounts.create_access_key(requester=requester, actor=request.user.get_username())
    return _keys_page(request, requester, new_key)


@for_requesters
@require_POST
def revoke_key(request: SignedIn, requester: Requester, key_id: str) -> HttpResponseBase:
    key = get_object_or_404(AccessKey, access_key_id=key_id, requester=requester)
    if not confirmed(request):
        return ask_to_revoke(request, key, back=reverse("operate_my_keys"), section="keys", role="requester")
    requester_accounts.revoke_access_key(key=key, actor=request.user.get_username())
    messages.success(request, f"Access key {key.access_key_id} is revoked.")
    return redirect("operate_my_keys")


# --- Blocked workers ----------------------------------------------------------------------------------------


@for_requesters
@require_http_methods(["GET", "HEAD", "POST"])
def blocks(request: SignedIn, requester: Requester) -> HttpResponseBase:
    """Workers who cannot see the requester's HITs. POST blocks a worker."""
    form = BlockForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        worker, reason = form.cleaned_data["worker"], form.cleaned_data["reason"]
        page_actions.block_worker(requester=requester, worker=worker, reason=reason, actor=request.user.get_username())
        messages.success(request, f"{worker.worker_id} is blocked.")
        return redirect("operate_my_blocks")
    blocks = requester.blocks.select_related("worker").order_by("-created_at", "-pk")
    context = {"page": page_of(blocks, request), "form": form, "section": "blocks"}
    return show(request, "my_blocks.html", context, role="requester", status=422 if form.errors else 200)


@for_requesters
@require_POST
def unblock(request: SignedIn, requester: Requester, worker_id: str) -> HttpResponseBase:
    worker = get_object_or_404(Worker, worker_id=worker_id)
    if page_actions.unblock_worker(requester=requester, worker=worker, actor=request.user.get_username()):
        messages.success(request, f"{worker_id} can work on your HITs again.")
    else:
        messages.warning(request, f"{worker_id} was not blocked.")
    return redirect("operate_my_blocks")


# --- Notifications and log ----------------------------------------------------------------------------------


@dataclass(frozen=True, slots=True)
class ShownSetting:
    """A notification setting. ``problem``: why nothing can be delivered there."""

    setting: NotificationSetting
    problem: str


@for_requesters
@require_GET
def notifications(request: SignedIn, requester: Requester) -> HttpResponse:
    """Where events are sent, and what happened to each."""
    settings = NotificationSetting.objects.filter(hit_type__requester=requester).select_related("hit_type")
    shown = [
        ShownSetting(setting, notification_transports.why_not(setting.transport, setting.destination, requester))
        for setting in settings.order_by("-updated_at", "-pk")[:SHOWN_SETTINGS]
    ]
    deliveries = requester.notification_deliveries.order_by("-pk")
    context = {"settings": shown, "page": page_of(deliveries, request), "section": "notifications"}
    return show(request, "my_notifications.html", context, role="requester")


@for_requesters
@require_GET
def log(request: SignedIn, requester: Requester) -> HttpResponse:
    """What was done for, by and to this requester: on these pages, through the API, by operators."""
    form = OwnLogFilter(request.GET)
    rows = queries.log(**form.cleaned_data) if form.is_valid() else queries.log()
    context = {
        "page": page_of(rows.filter(requester=requester), request),
        "filter": form,
        "filters": query_without_page(request),
        "section": "log",
    }
    return show(request, "log.html", context, role="requester", status=422 if form.errors else 200)
