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

from marketplace.models import AccessKey, Requester
from marketplace.services import accounts, payments
from marketplace.services.refusals import Refused
from marketplace.sites.operate import money_queries, queries
from marketplace.sites.operate.forms import AttachUserForm, DepositForm, RequesterForm, WithdrawalForm
from marketplace.sites.operate.page import PER_PAGE, SignedIn, ask, confirmed, for_operators, page_of, show


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
            steps = "An access key is" if form.cleaned_data["balance"] else "A deposit and an access key are"
            messages.success(request, f"{made.name} is set up. {steps} next.")
            return redirect("operate_requester", made.pk)
    context = {"form": form, "section": "requesters"}
    return show(request, "requester_new.html", context, status=422 if form.errors else 200)


@transaction.atomic
def _create(data: dict[str, Any], *, actor: str) -> Requester:
    user = None
    if data["username"]:
        user = User.objects.create_user(data["username"], email=data["email"], password=data["password"])
    made = accounts.create_requester(
        name=data["name"], email=data["email"], user=user, user_made_here=user is not None, actor=actor
    )
    if data["balance"]:
        payments.deposit(requester=made, amount=data["balance"], actor=actor, about="First deposit")
    return made


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
    made: accounts.NewKey | None = None,
    link: str = "",
    status: int = 200,
) -> HttpResponse:
    """``made`` and ``link`` are shown on this page alone: only their hashes, or what is sealed, are stored."""
    shown = get_object_or_404(queries.requesters(), pk=pk)
    context = {
        "requester": shown,
        "deposit": deposit or DepositForm(),
        "withdrawal": withdrawal or WithdrawalForm(auto_id="back_%s"),
        "attach": attach or AttachUserForm(),
        "made": made,
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
    found = get_object_or_404(Requester, pk=pk)
    form = DepositForm(request.POST)
    if form.is_valid():
        try:
            payments.deposit(requester=found, actor=request.user.get_username(), **_booking(form))
        except Refused as refused:
            form.add_error(None, refused.message)
        else:
            messages.success(request, f"{form.cleaned_data['amount']:,.2f} USD added to the balance of {found.name}.")
            return redirect("operate_requester", pk)
    return requester_page(request, pk, deposit=form, status=422)


@for_operators
@require_POST
def withdraw(request: SignedIn, pk: int) -> HttpResponseBase:
    """Money that goes back to the requester, or a deposit that was typed wrongly."""
    found = get_object_or_404(Requester, pk=pk)
    form = WithdrawalForm(request.POST, auto_id="back_%s")
    if form.is_valid():
        try:
            payments.withdraw(requester=found, actor=request.user.get_username(), **_booking(form))
        except Refused as refused:
            form.add_error(None, refused.message)
        else:
            amount = form.cleaned_data["amount"]
            messages.success(request, f"{amount:,.2f} USD taken out of the balance of {found.name}.")
            return redirect("operate_requester", pk)
    return requester_page(request, pk, withdrawal=form, status=422)


def _booking(form: DepositForm | WithdrawalForm) -> dict[str, Any]:
    data = form.cleaned_data
    return {"amount": data["amount"], "about": data["note"], "once": data["once"]}


@for_operators
@require_POST
def set_active(request: SignedIn, pk: int) -> HttpResponseBase:
    """``active=1`` lets the requester in again; anything else shuts them out. Their HITs and money stay."""
    found = get_object_or_404(Requester, pk=pk)
    active = request.POST.get("active") == "1"
    if not active and not confirmed(request):
        return ask(
            request,
            heading=f"Deactivate {found.name}?",
            text="Its keys and its user are refused, and its HITs are offered to nobody, from now on. "
            "Money and work stay, and you can activate it again.",
            button="Deactivate",
            back=reverse("operate_requester", args=[pk]),
            section="requesters",
        )
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
    return requester_page(request, pk, made=made)


@for_operators
@require_POST
def revoke_key(request: SignedIn, pk: int, key_pk: int) -> HttpResponseBase:
    key = get_object_or_404(AccessKey, pk=key_pk, requester=pk)
    if not confirmed(request):
        back = reverse("operate_requester", args=[pk])
        return ask_to_revoke(request, key, back=back, section="requesters", role="operator")
    accounts.revoke_access_key(key=key, actor=request.user.get_username())
    messages.success(request, f"Access key {key.access_key_id} is revoked.")
    return redirect("operate_requester", pk)


def ask_to_revoke(request: SignedIn, key: AccessKey, *, back: str, section: str, role: str) -> HttpResponse:
    return ask(
        request,
        heading=f"Revoke {key.access_key_id}?",
        text="Every program that signs with it is refused from now on. A revoked key is never good again.",
        button="Revoke",
        back=back,
        section=section,
        role=role,
    )
