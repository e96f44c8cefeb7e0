"""Requesters and their access keys, as the operator manages them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST

from marketplace.models import AccessKey, Requester
from marketplace.services import accounts, payments
from marketplace.services.refusals import Refused
from marketplace.sites.operate import queries
from marketplace.sites.operate.forms import DepositForm, RequesterForm
from marketplace.sites.operate.page import PER_PAGE, SignedIn, for_operators, page_of, show


@for_operators
def requesters(request: SignedIn) -> HttpResponse:
    return show(request, "requesters.html", {"page": page_of(queries.requesters(), request), "section": "requesters"})


@for_operators
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: SignedIn) -> HttpResponse:
    form = RequesterForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            made = _create(form.cleaned_data, actor=request.user.get_username())
        except Refused as refused:
            form.add_error("name", refused.message)
        else:
            messages.success(request, f"{made.name} is set up. An access key is the next step.")
            return redirect("operate_requester", made.pk)
    context = {"form": form, "section": "requesters"}
    return show(request, "requester_new.html", context, status=422 if form.errors else 200)


@transaction.atomic
def _create(data: dict[str, Any], *, actor: str) -> Requester:
    user = None
    if data["username"]:
        user = User.objects.create_user(data["username"], email=data["email"], password=data["password"])
    made = accounts.create_requester(name=data["name"], email=data["email"], user=user, actor=actor)
    if data["balance"]:
        payments.deposit(requester=made, amount=data["balance"], actor=actor, about="First deposit")
    return made


@for_operators
@require_http_methods(["GET", "HEAD"])
def requester(request: SignedIn, pk: int) -> HttpResponse:
    return _requester_page(request, pk, DepositForm())


def _requester_page(
    request: SignedIn, pk: int, form: DepositForm, *, made: accounts.NewKey | None = None, status: int = 200
) -> HttpResponse:
    shown = get_object_or_404(queries.requesters(), pk=pk)
    context = {
        "requester": shown,
        "form": form,
        "made": made,
        "keys": shown.access_keys.order_by("revoked_at", "-created_at")[:PER_PAGE],
        "states": queries.state_counts(shown),
        "entries": queries.with_running_totals(queries.entries_of(shown)[:10]),
        "section": "requesters",
    }
    return show(request, "requester.html", context, status=status)


@for_operators
@require_POST
def deposit(request: SignedIn, pk: int) -> HttpResponseBase:
    found = get_object_or_404(Requester, pk=pk)
    form = DepositForm(request.POST)
    if not form.is_valid():
        return _requester_page(request, pk, form, status=422)
    amount = form.cleaned_data["amount"]
    note = form.cleaned_data["note"]
    payments.deposit(requester=found, amount=amount, actor=request.user.get_username(), about=note)
    messages.success(request, f"{amount:,.2f} USD added to the balance of {found.name}.")
    return redirect("operate_requester", pk)


@for_operators
@require_POST
def set_active(request: SignedIn, pk: int) -> HttpResponseBase:
    """``active=1`` lets the requester in again; anything else shuts them out. Their HITs and money stay."""
    found = get_object_or_404(Requester, pk=pk)
    active = request.POST.get("active") == "1"
    accounts.set_requester_active(requester=found, active=active, actor=request.user.get_username())
    said = "may act again" if active else "is deactivated: its keys and its user are refused from now on"
    messages.success(request, f"{found.name} {said}.")
    return redirect("operate_requester", pk)


@for_operators
@require_POST
def make_key(request: SignedIn, pk: int) -> HttpResponseBase:
    """The answer is the only page that ever shows the secret, so it is no redirect."""
    found = get_object_or_404(Requester, pk=pk)
    made = accounts.create_access_key(requester=found, actor=request.user.get_username())
    return _requester_page(request, pk, DepositForm(), made=made)


@for_operators
@require_POST
def revoke_key(request: SignedIn, pk: int, key_pk: int) -> HttpResponseBase:
    key = get_object_or_404(AccessKey, pk=key_pk, requester=pk)
    accounts.revoke_access_key(key=key, actor=request.user.get_username())
    messages.success(request, f"Access key {key.access_key_id} is revoked.")
    return redirect("operate_requester", pk)
