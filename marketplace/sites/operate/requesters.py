"""Requesters and their access keys, as the operator manages them."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.models import User
from django.db import transaction
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_POST

from accounts.web import PER_PAGE
from marketplace.models import AccessKey, Requester
from marketplace.money import usd
from marketplace.services.accounts import requester_accounts
from marketplace.services.money import payments
from marketplace.services.refusals import Refusal
from marketplace.sites.operate import money_queries, queries
from marketplace.sites.operate.forms import AttachUserForm, DepositForm, RequesterForm, WithdrawalForm
from marketplace.sites.operate.page import SignedIn, ask, confirmed, for_operators, page_of, show


@for_operators
def requesters(request: SignedIn) -> HttpResponse:
    return show(request, "requesters.html", {"page": page_of(queries.requesters(), request), "section": "requesters"})


@for_operators
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: SignedIn) -> HttpResponse:
    form = RequesterForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            with transaction.atomic():
                data, actor, user = form.cleaned_data, request.user.get_username(), None
                if data["username"]:
                    user = User.objects.create_user(data["username"], email=data["email"], password=data["password"])
                created = requester_accounts.create_requester(
                    name=data["name"], email=data["email"], user=user, user_made_here=user is not None, actor=actor
                )
                if data["balance"]:
                    payments.deposit(requester=created, amount=data["balance"], actor=actor, about="First deposit")
        except Refusal as refused:
            form.add_error("name", refused.message)
        else:
            steps = "an access key" if form.cleaned_data["balance"] else "a deposit and an access key"
            messages.success(request, f"{created.name} was created. Next: {steps}.")
            return redirect("operate_requester", created.pk)
    context = {"form": form, "section": "requesters"}
    return show(request, "requester_new.html", context, status=422 if form.errors else 200)


@for_operators
@require_http_methods(["GET", "HEAD"])
def requester(request: SignedIn, pk: int) -> HttpResponse:
    return requester_page(request, pk)


def requester_page(
    request: SignedIn,
    pk: int,
    *,
    deposit: DepositForm | None = None,
    withdrawal: WithdrawalForm | None = None,
    attach: AttachUserForm | None = None,
    new_key: requester_accounts.NewKey | None = None,
    link: str = "",
    status: int = 200,
) -> HttpResponse:
    """Only this page ever shows ``made`` and ``link``: the database has only a hash, or a sealed secret."""
    shown = get_object_or_404(queries.requesters(), pk=pk)
    context = {
        "requester": shown,
        "deposit": deposit or DepositForm(),
        "withdrawal": withdrawal or WithdrawalForm(auto_id="back_%s"),
        "attach": attach or AttachUserForm(),
        "made": new_key,
        "link": link,
        "keys": shown.access_keys.order_by("revoked_at", "-created_at")[:PER_PAGE],
        "states": queries.state_counts(shown),
        "entries": money_queries.entries_of(shown)[:10],
        "section": "requesters",
    }
    return show(request, "requester.html", context, status=status)


@for_operators
@require_POST
def deposit(request: SignedIn, pk: int) -> HttpResponseBase:
    payee = get_object_or_404(Requester, pk=pk)
    form = DepositForm(request.POST)
    if form.is_valid():
        try:
            payments.deposit(requester=payee, actor=request.user.get_username(), **_booking(form))
        except Refusal as refused:
            form.add_error(None, refused.message)
        else:
            messages.success(request, f"{usd(form.cleaned_data['amount'])} added to the balance of {payee.name}.")
            return redirect("operate_requester", pk)
    return requester_page(request, pk, deposit=form, status=422)


@for_operators
@require_POST
def withdraw(request: SignedIn, pk: int) -> HttpResponseBase:
    """Pay money back to the requester, or correct a deposit."""
    payee = get_object_or_404(Requester, pk=pk)
    form = WithdrawalForm(request.POST, auto_id="back_%s")
    if form.is_valid():
        try:
            payments.withdraw(requester=payee, actor=request.user.get_username(), **_booking(form))
        except Refusal as refused:
            form.add_error(None, refused.message)
        else:
            amount = form.cleaned_data["amount"]
            messages.success(request, f"{usd(amount)} taken from the balance of {payee.name}.")
            return redirect("operate_requester", pk)
    return requester_page(request, pk, withdrawal=form, status=422)


def _booking(form: DepositForm | WithdrawalForm) -> dict[str, Any]:
    data = form.cleaned_data
    return {"amount": data["amount"], "about": data["note"], "once": data["once"]}


@for_operators
@require_POST
def set_active(request: SignedIn, pk: int) -> HttpResponseBase:
    """``active=1`` reactivates the requester; anything else deactivates them. They keep their HITs and money."""
    requester = get_object_or_404(Requester, pk=pk)
    active = request.POST.get("active") == "1"
    if not active and not confirmed(request):
        return ask(
            request,
            heading=f"Deactivate {requester.name}?",
            text="Its keys and its user stop working, and its HITs are no longer offered. "
            "Money and work are kept, and you can activate it again.",
            button="Deactivate",
            back=reverse("operate_requester", args=[pk]),
            section="requesters",
        )
    requester_accounts.set_requester_active(requester=requester, active=active, actor=request.user.get_username())
    outcome = "is active again" if active else "is deactivated. Its keys and its user no longer work"
    messages.success(request, f"{requester.name} {outcome}.")
    return redirect("operate_requester", pk)


@for_operators
@require_POST
def make_key(request: SignedIn, pk: int) -> HttpResponseBase:
    """The response is the only page that ever shows the secret, so it is not a redirect."""
    requester = get_object_or_404(Requester, pk=pk)
    new_key = requester_accounts.create_access_key(requester=requester, actor=request.user.get_username())
    return requester_page(request, pk, new_key=new_key)


@for_operators
@require_POST
def revoke_key(request: SignedIn, pk: int, key_pk: int) -> HttpResponseBase:
    key = get_object_or_404(AccessKey, pk=key_pk, requester=pk)
    if not confirmed(request):
        back = reverse("operate_requester", args=[pk])
        return ask_to_revoke(request, key, back=back, section="requesters", role="operator")
    requester_accounts.revoke_access_key(key=key, actor=request.user.get_username())
    messages.success(request, f"Access key {key.access_key_id} is revoked.")
    return redirect("operate_requester", pk)


def ask_to_revoke(request: SignedIn, key: AccessKey, *, back: str, section: str, role: str) -> HttpResponse:
    return ask(
        request,
        heading=f"Revoke {key.access_key_id}?",
        text="Programs that use it stop working. You cannot undo this, but you can create a new key.",
        button="Revoke",
        back=back,
        section=section,
        role=role,
    )
