"""Signing in and out, changing your password, and the first page of each role."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.contrib.auth.views import LogoutView
from django.http import HttpResponseBase
from django.shortcuts import redirect, render
from django.urls import reverse_lazy

from accounts.signing_in import Entrance, OwnPasswordView, SignInView
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
    code_page="operate_code",
)


class Login(SignInView):
    """Sign-in for operators and requesters. Users who forgot their password can ask an operator for a link."""

    template_name = "marketplace/operate/login.html"
    entrance = OPERATORS_SITE
    next_page = "operate_home"
    extra_context = {"workers_site": WORKERS_SITE}


class Logout(LogoutView):
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
