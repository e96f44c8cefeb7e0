"""Signing in and out, one's own password, and where each role begins."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import views as auth
from django.contrib.auth.forms import AuthenticationForm
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy

from marketplace.access import is_operator, requester_of, worker_of
from marketplace.sites import brake
from marketplace.sites.operate import overview
from marketplace.sites.operate.page import SignedIn, signed_in

#: The first page of the workers' site.
WORKERS_SITE = "market_home"


class SignInForm(AuthenticationForm):
    """Django's, which asks nobody for a password while there have been too many wrong ones."""

    error_messages = AuthenticationForm.error_messages | {
        "invalid_login": "There is no user with this name and password. Mind capital and small letters."
    }

    def clean(self) -> dict[str, Any]:
        name = str(self.cleaned_data.get("username", ""))
        if self.request is None:
            raise TypeError("Whose wrong passwords are counted? This form needs a request.")
        if brake.is_on(self.request, name):
            raise ValidationError(brake.WAIT, code="too_many")
        try:
            cleaned: dict[str, Any] = super().clean()
        except ValidationError:
            brake.count(self.request, name)
            raise
        if self.user_cache:
            brake.release(self.request, name)
        return cleaned


class Login(auth.LoginView):
    """Whoever forgot their password asks the operator for a link."""

    template_name = "marketplace/operate/login.html"
    authentication_form = SignInForm
    next_page = "operate_home"
    redirect_authenticated_user = True
    extra_context = {"workers_site": WORKERS_SITE}

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = 429 if form.has_error(NON_FIELD_ERRORS, "too_many") else 422
        return response


class Logout(auth.LogoutView):
    next_page = "operate_login"


class Password(auth.PasswordChangeView):
    template_name = "marketplace/operate/password.html"
    success_url = reverse_lazy("operate_home")
    login_url = reverse_lazy("operate_login")

    def form_valid(self, form: Any) -> Any:
        messages.success(self.request, "Your password has been changed.")
        return super().form_valid(form)


@signed_in
def home(request: SignedIn) -> HttpResponseBase:
    """The operator's overview; requesters and workers are sent to their own first page."""
    if is_operator(request.user):
        return overview.overview(request)
    if requester_of(request.user) is not None:
        return redirect("operate_my_hits")
    if worker_of(request.user) is not None:
        return redirect(WORKERS_SITE)
    return render(request, "marketplace/operate/no_part.html", status=404)
