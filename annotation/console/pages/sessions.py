"""Signing in to the console, signing out, and changing your own password."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import views as auth
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse_lazy
from django.utils.decorators import method_decorator

from accounts.roles import is_researcher
from accounts.signing_in import Entrance, OwnPasswordView, SignInForm, sign_in
from annotation.shell.page import signed_in

CONSOLE = Entrance(
    name="console",
    admits=is_researcher,
    refusal="This account is not a researcher's, so it cannot open the console. Marketplace workers, requesters and "
    "operators sign in on the marketplace. If you are a researcher, ask an administrator for access.",
)


class ConsoleSignInForm(SignInForm):
    entrance = CONSOLE


class Login(auth.LoginView):
    """Sign-in for researchers. No e-mail resets a forgotten password: an administrator sets a new one."""

    template_name = "console/login.html"
    authentication_form = ConsoleSignInForm
    next_page = "console_studies"

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        if request.method == "GET" and is_researcher(request.user):
            return HttpResponseRedirect(self.get_success_url())
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        sign_in(self.request, form.get_user(), entrance=CONSOLE)
        return HttpResponseRedirect(self.get_success_url())

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = form.status
        return response


class Logout(auth.LogoutView):
    next_page = "console_login"


@method_decorator(signed_in, name="dispatch")
class Password(OwnPasswordView):
    template_name = "console/password.html"
    success_url = reverse_lazy("console_account")
