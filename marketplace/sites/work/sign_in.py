"""Signing in: invitations, passwords, links sent by e-mail; and the worker's account.

Opening a link changes nothing, so that a mail program that opens every link does not use it up.
"""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import logout, update_session_auth_hash
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts import signing_in
from accounts.users import end_sessions
from common.languages import gettext as _
from common.languages import marked
from marketplace import links
from marketplace.access import worker_of
from marketplace.models import Worker
from marketplace.services.accounts import sign_in_links, worker_accounts
from marketplace.services.refusals import Refusal
from marketplace.sites.work.forms import AccountForm, AskLinkForm, JoinForm, SignInForm
from marketplace.sites.work.page import SignedIn, for_workers, say, show

WORKERS_SITE = signing_in.Entrance(
    name="workers' site",
    admits=lambda user: worker_of(user) is not None,
    refusal=marked(
        "This account is not a worker's, or it has been closed, so it cannot sign in here. Operators and requesters "
        "sign in on the operators' site, researchers in the console."
    ),
    code_page="operate_code",  # who has a second factor runs the marketplace or pays for work, too
)
LINK_USED = marked("This link has been used, is too old, or was cut short when it was copied.")


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def sign_in(request: HttpRequest) -> HttpResponse:
    target = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    back = target if safe and target.startswith(("/", "http:", "https:")) else reverse("market_home")
    if request.method == "GET" and worker_of(request.user) is not None:
        return redirect(back)
    form = SignInForm(request.POST or None)
    status = 422 if request.method == "POST" else 200
    if request.method == "POST" and form.is_valid():
        name, password = form.cleaned_data["username"], form.cleaned_data["password"]
        try:
            user = signing_in.check_password(request, name=name, password=password, entrance=WORKERS_SITE)
        except signing_in.SignInRefused as refused:
            held_back = refused.code == signing_in.TOO_MANY
            form.add_error(
                None, f"{refused.message} {_('Or ask for a link by e-mail.')}" if held_back else refused.message
            )
            status = 429 if held_back else 422
        else:
            return signing_in.enter(request, user, entrance=WORKERS_SITE, to=back)
    context = {"form": form, "next": back, "sends_mail": settings.SENDS_MAIL}
    return show(request, "sign_in.html", context, status=status)


@require_POST
def sign_out(request: HttpRequest) -> HttpResponse:
    logout(request)
    return redirect("market_sign_in")


# --- Links by e-mail ----------------------------------------------------------------------------------------


@never_cache
@require_http_methods(["GET", "POST"])
def ask_link(request: HttpRequest) -> HttpResponse:
    """The response and its speed are the same for known and unknown addresses: a background task sends the link."""
    form = AskLinkForm(request.POST or None)
    link_requested = request.method == "POST" and form.is_valid() and settings.SENDS_MAIL
    if link_requested:
        sign_in_links.request_links(email=form.cleaned_data["email"], base=links.base(request))
    context = {
        "form": form,
        "sent": link_requested,
        "minutes": sign_in_links.LOGIN_MINUTES,
        "sends_mail": settings.SENDS_MAIL,
    }
    refused = request.method == "POST" and settings.SENDS_MAIL and not link_requested
    return show(request, "ask_link.html", context, status=422 if refused else 200)


@never_cache
@require_http_methods(["GET", "POST"])
def use_link(request: HttpRequest, token: str) -> HttpResponse:
    if request.method == "GET":
        return show(request, "use_link.html")
    try:
        worker = sign_in_links.redeem_login_link(token=token)
    except Refusal as refused:
        again = (reverse("market_ask_link"), _("Ask for a new link"))
        return say(request, _("This link cannot sign you in"), refused.message, link=again, status=410)
    return _signed_in_as(request, worker)


def _signed_in_as(request: HttpRequest, worker: Worker) -> HttpResponse:
    assert worker.user is not None  # noqa: S101 - both ways here have just checked or made it
    return signing_in.enter(request, worker.user, entrance=WORKERS_SITE, to=reverse("market_home"), by="link")


# --- Invitations --------------------------------------------------------------------------------------------


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponse:
    invitation = worker_accounts.find_invitation(token)
    if invitation is None:
        lines = (_(LINK_USED), _("If you joined with it, sign in. Otherwise ask for a new one."))
        link = (reverse("market_sign_in"), _("Sign in"))
        return say(request, _("This invitation cannot be used"), *lines, link=link, status=410)
    form = JoinForm(request.POST or None, initial={"email": invitation.email})
    if request.method == "POST" and form.is_valid():
        try:
            return _signed_in_as(request, worker_accounts.redeem_invitation(token=token, **form.cleaned_data))
        except Refusal as refused:
            form.add_error(None, refused.message)
    return show(request, "join.html", {"form": form}, status=422 if request.method == "POST" else 200)


# --- The account --------------------------------------------------------------------------------------------


@for_workers
@sensitive_post_parameters("new_password", "present_password")
@require_http_methods(["GET", "POST"])
def account(request: SignedIn, worker: Worker) -> HttpResponseBase:
    details_now = {"email": request.user.email, "name": worker.name, "payment_address": worker.payment_address}
    form = AccountForm(request, request.user, request.POST or None, initial=details_now)
    if request.method == "POST" and form.is_valid():
        user = User.objects.get(pk=request.user.pk)
        user.email = form.cleaned_data["email"]
        if new := form.cleaned_data["new_password"]:
            user.set_password(new)
        user.save(update_fields=["email", "password"])
        details = {name: form.cleaned_data[name] for name in ("name", "payment_address")}
        worker_accounts.change_worker(worker=worker, actor=worker.worker_id, **details)
        if new:
            update_session_auth_hash(request, user)
            end_sessions(user=user, actor=user.get_username(), keep=request.session.session_key)
        messages.success(request, _("Saved."))
        return redirect("market_account")
    status = 422 if request.method == "POST" else 200
    return show(request, "account.html", {"form": form}, worker=worker, section="account", status=status)
