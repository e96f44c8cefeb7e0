"""Coming in: invitations, passwords, links sent by e-mail; and the worker's account.

A link does nothing when it is only opened, so that a mail program that looks at every link uses none up.
"""

from __future__ import annotations

import logging

from django.contrib import messages
from django.contrib.auth import authenticate, login, logout, update_session_auth_hash
from django.contrib.auth.models import User
from django.core.mail import send_mail
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from marketplace import links
from marketplace.models import LoginLink, Worker
from marketplace.services import accounts
from marketplace.services.refusals import Refused
from marketplace.sites import brake
from marketplace.sites.work.forms import AccountForm, AskLinkForm, JoinForm, SignInForm
from marketplace.sites.work.page import SignedIn, for_workers, say, show

logger = logging.getLogger(__name__)
BACKEND = "django.contrib.auth.backends.ModelBackend"
#: One address may belong to several accounts, but nobody is sent a heap of mail.
MOST_ACCOUNTS_OF_AN_ADDRESS = 3
#: Nor are they when somebody else asks for their links again and again.
MOST_LINKS_AT_A_TIME = 3
#: Wrong passwords for one name from one address.
MOST_WRONG_PASSWORDS = 20
#: And for all names: a class or a lab may come from one address.
MOST_FROM_AN_ADDRESS = 200
LINK_USED = "This link has been used, is too old, or was cut short when it was copied."


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    back = _way_back(request)
    if request.method == "GET" and request.user.is_authenticated:
        return redirect(back)
    form = SignInForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        name = form.cleaned_data["username"]
        if brake.is_on(request, name, most=MOST_WRONG_PASSWORDS, most_for_address=MOST_FROM_AN_ADDRESS):
            form.add_error(None, "Too many wrong passwords. Wait a quarter of an hour, or have a link sent to you.")
            return show(request, "sign_in.html", {"form": form, "next": back}, status=429)
        user = authenticate(request, **form.cleaned_data)
        if user is not None:
            brake.release(request, name)
            login(request, user)
            return redirect(back)
        brake.count(request, name)
        form.add_error(None, "There is no account with this user name and password.")
    status = 422 if request.method == "POST" else 200
    return show(request, "sign_in.html", {"form": form, "next": back}, status=status)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("market_sign_in")


def _way_back(request: HttpRequest) -> str:
    """Where to go after signing in: what was wanted, if it is on this site."""
    wanted = request.POST.get("next") or request.GET.get("next") or ""
    hosts = {request.get_host()}
    safe = url_has_allowed_host_and_scheme(wanted, allowed_hosts=hosts, require_https=request.is_secure())
    return wanted if safe else reverse("market_home")


# --- Links by e-mail ----------------------------------------------------------------------------------------


@never_cache
@require_http_methods(["GET", "POST"])
def ask_link(request: HttpRequest) -> HttpResponse:
    """Says the same whether or not the address belongs to anybody."""
    form = AskLinkForm(request.POST or None)
    sent = request.method == "POST" and form.is_valid()
    if sent:
        _send_links(request, form.cleaned_data["email"])
    context = {"form": form, "sent": sent, "minutes": accounts.LOGIN_MINUTES}
    return show(request, "ask_link.html", context, status=422 if request.method == "POST" and not sent else 200)


def _send_links(request: HttpRequest, email: str) -> None:
    theirs = Worker.objects.filter(active=True, user__is_active=True, user__email__iexact=email)
    for worker in theirs.select_related("user")[:MOST_ACCOUNTS_OF_AN_ADDRESS]:
        if _open_links(worker) >= MOST_LINKS_AT_A_TIME or worker.user is None:
            continue
        url = links.absolute(reverse("market_use_link", args=[accounts.create_login_link(worker=worker)]), request)
        text = (
            f"With this link you sign in as {worker.user.get_username()}:\n\n{url}\n\n"
            f"It works once, for {accounts.LOGIN_MINUTES} minutes. If you did not ask for it, ignore this message.\n"
        )
        try:
            send_mail("Your link to sign in", text, None, [worker.user.email])
        except OSError:
            # The page must not tell which addresses are known, so the operator hears of it and nobody else.
            logger.exception("A sign-in link could not be sent")


def _open_links(worker: Worker) -> int:
    return LoginLink.objects.filter(worker=worker, used_at=None, expires_at__gt=timezone.now()).count()


@never_cache
@require_http_methods(["GET", "POST"])
def use_link(request: HttpRequest, token: str) -> HttpResponse:
    if request.method == "GET":
        return show(request, "use_link.html")
    try:
        worker = accounts.redeem_login_link(token=token)
    except Refused as refused:
        again = (reverse("market_ask_link"), "Ask for a new link")
        return say(request, "This link does not sign you in", refused.message, link=again, status=410)
    return _signed_in_as(request, worker)


def _signed_in_as(request: HttpRequest, worker: Worker) -> HttpResponse:
    assert worker.user is not None  # noqa: S101 - both ways here have just checked or made it
    login(request, worker.user, backend=BACKEND)
    return redirect("market_home")


# --- Invitations --------------------------------------------------------------------------------------------


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    invitation = accounts.find_invitation(token)
    if invitation is None:
        lines = (LINK_USED, "If you joined with it, sign in. Otherwise ask for a new one.")
        link = (reverse("market_sign_in"), "Sign in")
        return say(request, "This invitation cannot be used", *lines, link=link, status=410)
    form = JoinForm(request.POST or None, initial={"email": invitation.email})
    if request.method == "POST" and form.is_valid():
        try:
            return _signed_in_as(request, accounts.redeem_invitation(token=token, **form.cleaned_data))
        except Refused as refused:
            form.add_error(None, refused.message)
    return show(request, "join.html", {"form": form}, status=422 if request.method == "POST" else 200)


# --- The account --------------------------------------------------------------------------------------------


@for_workers
@sensitive_post_parameters("new_password", "present_password")
@require_http_methods(["GET", "POST"])
def account(request: SignedIn, worker: Worker) -> HttpResponseBase:
    known = {"email": request.user.email, "name": worker.name, "payment_address": worker.payment_address}
    form = AccountForm(request.user, request.POST or None, initial=known)
    if request.method == "POST" and form.is_valid():
        user = User.objects.get(pk=request.user.pk)
        user.email = form.cleaned_data["email"]
        if new := form.cleaned_data["new_password"]:
            user.set_password(new)
        user.save(update_fields=["email", "password"])
        details = {name: form.cleaned_data[name] for name in ("name", "payment_address")}
        accounts.change_worker(worker=worker, actor=worker.worker_id, **details)
        update_session_auth_hash(request, user)
        messages.success(request, "Saved.")
        return redirect("market_account")
    status = 422 if request.method == "POST" else 200
    return show(request, "account.html", {"form": form}, worker=worker, section="account", status=status)
