"""Signing in and out, changing your password, and the first page of each role."""

from __future__ import annotations

from typing import Any

from django.contrib.auth import views as auth
from django.contrib.auth.models import User
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import redirect, render
from django.urls import reverse_lazy

from accounts.signing_in import Entrance, OwnPasswordView, SignInForm, sign_in
from marketplace.access import is_operator, requester_of, worker_of
from marketplace.sites.operate import overview
from marketplace.sites.operate.page import SignedIn, signed_in

#: The first page of the workers' site.
WORKERS_SITE = "market_home"


def may_enter(user: User) -> bool:
    return is_operator(user) or requester_of(user) is not None


OPERATORS_SITE = Entrance(
    name="operators' site",
    admits=may_enter,
    refusal="This account is neither an operator's nor a requester's, so it cannot sign in here. Workers sign in on "
    "the workers' site, researchers in the console.",
)


class OperateSignInForm(SignInForm):
    entrance = OPERATORS_SITE


class Login(auth.LoginView):
    """Sign-in for operators and requesters. Users who forgot their password can ask an operator for a link."""

    template_name = "marketplace/operate/login.html"
    authentication_form = OperateSignInForm
    next_page = "operate_home"
    extra_context = {"workers_site": WORKERS_SITE}

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        user = request.user
        if request.method == "GET" and isinstance(user, User) and may_enter(user):
            return HttpResponseRedirect(self.get_success_url())
        return super().dispatch(request, *args, **kwargs)

    def form_valid(self, form: Any) -> HttpResponse:
        sign_in(self.request, form.get_user(), entrance=OPERATORS_SITE)
        return HttpResponseRedirect(self.get_success_url())

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = form.status
        return response


class Logout(auth.LogoutView):
    next_page = "operate_login"


class Password(OwnPasswordView):
    template_name = "marketplace/operate/password.html"
    success_url = reverse_lazy("operate_home")
    login_url = reverse_lazy("operate_login")


@signed_in
def home(request: SignedIn) -> HttpResponseBase:
    """The operator's overview. Requesters and workers go to their own first page."""
    if is_operator(request.user):
        return overview.overview(request)
    if requester_of(request.user) is not None:
        return redirect("operate_my_hits")
    if worker_of(request.user) is not None:
        return redirect(WORKERS_SITE)
    return render(request, "marketplace/operate/no_part.html", status=404)
