"""Signing in with an account at a provider, such as a university's."""

from __future__ import annotations

import logging
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST, require_safe

from accounts import identities, oidc
from accounts.confirming import recently_confirmed, safe_next
from accounts.log import Kind, record
from accounts.models import Identity, MemberRole, Team
from accounts.oidc import SignOnRefused
from accounts.provider import Provider
from accounts.roles import is_researcher
from accounts.signing_in import enter
from accounts.web import absolute
from annotation.console.pages.sessions import CONSOLE, SIGN_OUT_THERE
from annotation.shell.page import SignedIn, signed_in
from annotation.studies.teams import add_team_member
from common import brake

logger = logging.getLogger(__name__)
#: Where a session keeps the secret of the invitation that somebody opened.
INVITATION = "_invitation"
MOST_TRIES, TRIES_SECONDS = 100, 15 * 60


@never_cache
@require_safe
def start(request: HttpRequest) -> HttpResponseBase:
    """To the provider. Each start asks the provider something, so one address can only do it so often."""
    provider = _provider()
    receipt = brake.take(request, "single sign-on", most=MOST_TRIES, seconds=TRIES_SECONDS)
    if not receipt:
        refused = SignOnRefused(
            "There were too many sign-ins.", "Wait 15 minutes, then try again.", reason="", status=429
        )
        return _refused_page(request, refused)
    kept: dict[str, Any] = {"to": safe_next(request, reverse("console_studies")), "receipt": receipt}
    if "connect" in request.GET and is_researcher(request.user):
        kept |= {"connect": request.user.pk, "to": reverse("console_account")}
    try:
        address = oidc.begin(request, provider, callback=_callback(request), again="again" in request.GET, **kept)
    except SignOnRefused as refused:
        return _refused(request, refused)
    return HttpResponseRedirect(address)


@never_cache
@require_safe
def done(request: HttpRequest) -> HttpResponseBase:
    """Back from the provider."""
    provider = _provider()
    try:
        arrival = oidc.finish(request, provider, callback=_callback(request))
        if "connect" in arrival.kept:
            return _connect(request, arrival, provider)
        invitation = request.session.pop(INVITATION, "")
        user = identities.user_for(arrival.claims, provider, invitation=invitation, add_to_team=add_to_team)
    except SignOnRefused as refused:
        return _refused(request, refused)
    except identities.PasswordFirst:
        identities.connect_later(request, arrival.claims)
        messages.warning(
            request,
            f"There is an account with your address {arrival.claims.email} here. Sign in with its password this once. "
            f"From then on you can use {provider.name}.",
        )
        return redirect("console_login")
    brake.give_back(arrival.kept["receipt"])
    return enter(
        request,
        user,
        entrance=CONSOLE,
        to=arrival.kept["to"],
        by=provider.name,
        verified=arrival.claims.several_factors,
        extra={SIGN_OUT_THERE: arrival.sign_out},
    )


def _connect(request: HttpRequest, arrival: oidc.Arrival, provider: Provider) -> HttpResponse:
    """Connects the account at the provider with the user who asked for it and is still signed in."""
    if not is_researcher(request.user) or request.user.pk != arrival.kept["connect"]:
        raise SignOnRefused("You are no longer signed in here.", oidc.AGAIN, reason="connecting without a session")
    identities.connect(user=request.user, claims=arrival.claims, provider=provider)
    messages.success(request, f"From now on you can sign in with {provider.name}.")
    return redirect("console_account")


@require_POST
@signed_in
@recently_confirmed(site="console", base="console/base.html")
def disconnect(request: SignedIn, pk: int) -> HttpResponse:
    identity = get_object_or_404(Identity, pk=pk, user=request.user)
    if settings.OIDC_ONLY or not request.user.has_usable_password():
        messages.error(request, "You have no password here, so you could not sign in any more.")
    else:
        identities.disconnect(identity=identity, actor=request.user.get_username())
        messages.success(request, "Disconnected. You sign in with your password.")
    return redirect("console_account")


def _provider() -> Provider:
    provider: Provider | None = settings.OIDC
    if provider is None:
        raise Http404
    return provider


def _callback(request: HttpRequest) -> str:
    return absolute(request, reverse("console_sso_done"))


def add_to_team(team: Team, user: User, role: str, actor: str) -> None:
    """What an invitation to a team does."""
    add_team_member(team=team, user=user, role=MemberRole(role), actor=actor)


def _refused(request: HttpRequest, refused: SignOnRefused) -> HttpResponse:
    logger.warning("Single sign-on refused: %s", refused.reason)
    record(
        kind=Kind.SIGN_INS,
        actor="",
        action="sign-in refused",
        request=request,
        page=CONSOLE.name,
        by=_provider().name,
        reason=refused.reason[:300],
    )
    return _refused_page(request, refused)


def _refused_page(request: HttpRequest, refused: SignOnRefused) -> HttpResponse:
    context = {"refused": refused, "provider": settings.OIDC, "only": settings.OIDC_ONLY}
    return render(request, "console/sign_on_refused.html", context, status=refused.status)
