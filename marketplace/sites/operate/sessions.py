"""Signing in and out, one's own password, and where each role begins."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth import views as auth
from django.http import Http404, HttpResponseBase
from django.shortcuts import redirect
from django.urls import reverse_lazy

from marketplace.access import is_operator, requester_of, worker_of
from marketplace.sites.operate import overview
from marketplace.sites.operate.page import SignedIn, signed_in

#: The first page of the workers' site.
WORKERS_SITE = "market_home"


class Login(auth.LoginView):
    """No password e-mail is ever sent: whoever forgot theirs asks the operator."""

    template_name = "marketplace/operate/login.html"
    next_page = "operate_home"
    redirect_authenticated_user = True
    extra_context = {"workers_site": WORKERS_SITE}


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
    raise Http404("No such page.")
