"""Signing in to the console, signing out, and changing your own password."""

from __future__ import annotations

from typing import Any

from django.conf import settings
from django.contrib.auth.views import LogoutView
from django.http import HttpRequest, HttpResponse
from django.shortcuts import render
from django.urls import reverse, reverse_lazy
from django.utils.decorators import method_decorator

from accounts import oidc
from accounts.roles import is_researcher
from accounts.signing_in import Entrance, OwnPasswordView, SignInView
from accounts.web import absolute
from annotation.shell.page import signed_in

#: Where a session keeps how its user signs out at the provider.
SIGN_OUT_THERE = "_sign_out_there"

CONSOLE = Entrance(
    name="console",
    admits=is_researcher,
    refusal="This account is not a researcher's, so it cannot open the console. Marketplace workers, requesters and "
    "operators sign in on the marketplace. If you are a researcher, ask an administrator for access.",
    code_page="console_code",
)


class Login(SignInView):
    """Sign-in for researchers. No e-mail resets a forgotten password: an administrator sets a new one."""

    template_name = "console/login.html"
    entrance = CONSOLE
    next_page = "console_studies"

    def get_context_data(self, **kwargs: Any) -> dict[str, Any]:
        shared = {"provider": settings.OIDC, "only": settings.OIDC_ONLY}
        return {**super().get_context_data(**kwargs), **shared}


class Logout(LogoutView):
    """Signs out here. Who signed in at a provider can then end their session there, too."""

    next_page = "console_login"

    def post(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        sign_out = request.session.get(SIGN_OUT_THERE)
        response = super().post(request, *args, **kwargs)
        back = absolute(request, reverse("console_login"))
        there = oidc.sign_out_address(sign_out, back=back) if sign_out and settings.OIDC else ""
        if not there:
            return response
        return render(request, "console/signed_out.html", {"there": there, "provider": settings.OIDC})


@method_decorator(signed_in, name="dispatch")
class Password(OwnPasswordView):
    template_name = "console/password.html"
    success_url = reverse_lazy("console_account")
