"""Your account: your sessions and your API tokens."""

from __future__ import annotations

from dataclasses import dataclass

from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_POST, require_safe

from accounts import second_factor, tokens, users
from accounts.confirming import recently_confirmed
from accounts.models import ApiToken, Session
from annotation.console.pages.forms import TokenForm
from annotation.shell.page import SignedIn, say_refused, signed_in
from common.problems import Refused
from common.words import counted


@dataclass(frozen=True, slots=True)
class ShownSession:
    """A session with a short browser name that people recognise."""

    session: Session
    browser: str
    is_this: bool


@require_safe
@signed_in
def account(request: SignedIn) -> HttpResponse:
    return account_page(request)


def account_page(
    request: SignedIn, *, form: TokenForm | None = None, new: tokens.NewToken | None = None, status: int = 200
) -> HttpResponse:
    """The page. ``new`` is a token that was just made: only this response shows it."""
    this_session = request.session.session_key
    context = {
        "sessions": [
            ShownSession(session, browser_of(session.device), session.session_key == this_session)
            for session in users.open_sessions(request.user)
        ],
        "tokens": tokens.tokens_of(request.user),
        "form": form or TokenForm(),
        "new": new,
        "here": "account",
        "two_step": second_factor.is_on(),
        "has_factor": second_factor.has_factor(request.user),
        "has_password": request.user.has_usable_password() and not settings.OIDC_ONLY,
        "provider": settings.OIDC,
        "identities": request.user.identities.filter(issuer=settings.OIDC.issuer) if settings.OIDC else [],
    }
    return render(request, "console/account.html", context, status=status)


@require_POST
@signed_in
def end_session(request: SignedIn) -> HttpResponse:
    """Ends one session of the user, or all but this one."""
    name, this_session = request.user.get_username(), request.session.session_key
    handle = request.POST.get("session", "")
    if not handle:
        ended = users.end_sessions(user=request.user, actor=name, keep=this_session)
        messages.success(request, f"{counted(ended, 'other session')} ended.")
    elif users.end_session(user=request.user, handle=handle, actor=name):
        messages.success(request, "The session has ended.")
    else:
        messages.warning(request, "This session had already ended.")
    return redirect("console_account")


@require_POST
@signed_in
def new_token(request: SignedIn) -> HttpResponseBase:
    """Makes a token. Does not redirect, because this response is the only page that ever shows it."""
    form = TokenForm(request.POST)
    if not form.is_valid():
        return account_page(request, form=form, status=422)
    create = recently_confirmed(site="console", base="console/base.html")(_create_token)
    return (create if ApiToken.Scope.PAY in form.cleaned_data["scopes"] else _create_token)(request, form)


def _create_token(request: SignedIn, form: TokenForm) -> HttpResponse:
    try:
        token = tokens.create_token(
            user=request.user,
            name=form.cleaned_data["name"],
            scopes=form.cleaned_data["scopes"],
            expires_at=form.expires_at,
        )
    except Refused as refused:
        say_refused(request, refused)
        return redirect("console_account")
    return account_page(request, new=token)


@require_POST
@signed_in
def revoke_token(request: SignedIn, pk: int) -> HttpResponse:
    token = get_object_or_404(ApiToken, pk=pk, user=request.user)
    tokens.revoke_token(token=token, actor=request.user.get_username())
    messages.success(request, f"The token “{token.name}” no longer works.")
    return redirect("console_account")


#: The order matters: each browser also sends the names of those below it.
_BROWSERS = (("Edg/", "Edge"), ("OPR/", "Opera"), ("Firefox/", "Firefox"), ("Chrome/", "Chrome"), ("Safari/", "Safari"))
_SYSTEMS = (
    *(("Android", "Android"), ("iPhone", "iPhone"), ("iPad", "iPad"), ("Windows", "Windows")),
    *(("Mac OS X", "macOS"), ("Linux", "Linux")),
)


def browser_of(device: str) -> str:
    """``Firefox on Linux``; for an unknown browser, the name that it sends."""
    browser = next((name for mark, name in _BROWSERS if mark in device), "")
    system = next((name for mark, name in _SYSTEMS if mark in device), "")
    return " on ".join(filter(None, (browser, system))) or device[:40] or "Unknown browser"
