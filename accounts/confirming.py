"""Asking somebody who signed in a while ago to show again who they are, before what spends money or lets others in."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.conf import settings
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils import timezone
from django.utils.http import url_has_allowed_host_and_scheme, urlencode
from django.views.decorators.debug import sensitive_post_parameters, sensitive_variables

from accounts import second_factor
from accounts.signing_in import SignInRefused, check_own_password
from accounts.web import SAFE_METHODS, SignedIn

P = ParamSpec("P")
#: When the user last showed who they are in this session, after they signed in.
CONFIRMED = "_confirmed"
PASSWORD, CODE = "confirm_password", "confirm_code"


def is_fresh(request: HttpRequest, user: User) -> bool:
    """Whether the user has shown who they are within ``HITSERVER_ASK_AGAIN_MINUTES``, with their second factor if
    they have one."""
    minutes, now = settings.ASK_AGAIN_MINUTES, timezone.now()
    if not request.session.get(second_factor.VERIFIED) and second_factor.has_factor(user):
        return False
    if not minutes:
        return True
    confirmed = request.session.get(CONFIRMED)
    signed_in_at = getattr(request.session, "created_at", None) or now
    latest = max(signed_in_at, datetime.fromisoformat(confirmed)) if confirmed else signed_in_at
    return bool(now - latest < timedelta(minutes=minutes))


def asks_for(request: HttpRequest, user: User) -> str:
    """What shows that it is the user: PASSWORD, CODE or, if they have neither here, nothing: they sign in again."""
    has_factor = second_factor.has_factor(user)
    if has_factor and not request.session.get(second_factor.VERIFIED):
        return CODE
    if user.has_usable_password() and not settings.OIDC_ONLY:
        return PASSWORD
    return CODE if has_factor else ""


@sensitive_variables()
def problem_with(request: SignedIn) -> tuple[str, int]:
    """Why what was typed does not show that it is the user, with a status; ("", 200) if it does, which is noted."""
    user, asked = request.user, asks_for(request, request.user)
    if not asked or not request.POST.get(asked, ""):
        return "Type it to continue.", 422
    try:
        if asked == PASSWORD:
            check_own_password(request, user, request.POST[PASSWORD])
        else:
            second_factor.check_code(request, user, request.POST[CODE])
            request.session[second_factor.VERIFIED] = True
    except SignInRefused as refused:
        return refused.message, 429 if refused.code == "too_many" else 422
    except second_factor.WrongCode as wrong:
        return wrong.message, 429 if wrong.must_wait else 422
    request.session[CONFIRMED] = timezone.now().isoformat()
    return "", 200


def confirm_page(
    request: SignedIn, *, base: str, error: str = "", status: int = 200, back: str = "", **context: Any
) -> HttpResponse:
    """The page that asks. It sends the fields of the form that it interrupts once more."""
    own = ("csrfmiddlewaretoken", PASSWORD, CODE)
    context |= {
        "base": base,
        "asked": asks_for(request, request.user),
        "error": error,
        "kept": [(name, value) for name, values in request.POST.lists() for value in values if name not in own],
        "provider": settings.OIDC.name if settings.OIDC else "",
        "back": back,
    }
    return render(request, "accounts/confirm.html", context, status=status)


def recently_confirmed(
    *, site: str, base: str
) -> Callable[
    [Callable[Concatenate[SignedIn, P], HttpResponseBase]], Callable[Concatenate[SignedIn, P], HttpResponseBase]
]:
    """For views below the site's own decorator: asks first if the sign-in is old. A form that was sent is not lost."""

    def decorate(
        view: Callable[Concatenate[SignedIn, P], HttpResponseBase],
    ) -> Callable[Concatenate[SignedIn, P], HttpResponseBase]:
        @sensitive_post_parameters()
        @wraps(view)
        def wrapped(request: SignedIn, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            if is_fresh(request, request.user):
                return view(request, *args, **kwargs)
            if request.method in SAFE_METHODS:
                return redirect_to_confirm(request, site)
            if PASSWORD not in request.POST and CODE not in request.POST:
                return confirm_page(request, base=base, status=403, back=request.get_full_path())
            error, status = problem_with(request)
            if error:
                return confirm_page(request, base=base, error=error, status=status, back=request.get_full_path())
            return view(request, *args, **kwargs)

        return wrapped

    return decorate


def redirect_to_confirm(request: HttpRequest, site: str) -> HttpResponse:
    """To the page that asks, and from there back to this page."""
    response = redirect(f"{site}_confirm")
    response["Location"] += "?" + urlencode({"next": request.get_full_path()})
    return response


def safe_next(request: HttpRequest, otherwise: str) -> str:
    """Where ``next`` leads, if that is a page of this server."""
    target = request.POST.get("next") or request.GET.get("next") or ""
    safe = url_has_allowed_host_and_scheme(
        target, allowed_hosts={request.get_host()}, require_https=request.is_secure()
    )
    return target if safe and target.startswith("/") else otherwise
