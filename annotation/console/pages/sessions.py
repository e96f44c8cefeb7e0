"""Signing in to the console, signing out, and changing your own password."""

from __future__ import annotations

from django.contrib.auth.views import LogoutView
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator

from accounts.roles import is_researcher
from accounts.signing_in import Entrance, OwnPasswordView, SignInView
from annotation.shell.page import signed_in

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


class Logout(LogoutView):
    next_page = "console_login"


@method_decorator(signed_in, name="dispatch")
class Password(OwnPasswordView):
    template_name = "console/password.html"
    success_url = reverse_lazy("console_account")
