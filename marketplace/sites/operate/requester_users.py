"""Who signs in for a requester: the operator's pages, and the page that a link opens."""

from __future__ import annotations

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts.signing_in import enter
from marketplace import links
from marketplace.models import Requester
from marketplace.services.accounts import users
from marketplace.services.refusals import Refusal
from marketplace.sites.operate.forms import AttachUserForm, NewPasswordForm, NewUserForm
from marketplace.sites.operate.page import SignedIn, ask, confirmed, for_operators
from marketplace.sites.operate.requesters import requester_page
from marketplace.sites.operate.sign_in import OPERATORS_SITE
from marketplace.sites.operate.workers import CouldNotSend, send


@for_operators
@require_POST
def attach(request: SignedIn, pk: int) -> HttpResponseBase:
    """Let an existing user sign in for the requester."""
    requester = get_object_or_404(Requester, pk=pk)
    form = AttachUserForm(request.POST)
    if form.is_valid():
        try:
            user = users.attach_user(
                requester=requester, username=form.cleaned_data["username"], actor=request.user.get_username()
            )
        except Refusal as refused:
            if requester.user_id is not None:  # the page then has no form to show the error in
                messages.error(request, refused.message)
                return redirect("operate_requester", pk)
            form.add_error("username", refused.message)
        else:
            messages.success(request, f"{user.get_username()} signs in for {requester.name} now.")
            return redirect("operate_requester", pk)
    return requester_page(request, pk, attach=form, status=422)


@for_operators
@require_POST
def detach(request: SignedIn, pk: int) -> HttpResponseBase:
    requester = get_object_or_404(Requester.objects.select_related("user"), pk=pk)
    if requester.user is not None and not confirmed(request):
        return ask(
            request,
            heading=f"Detach {requester.user.get_username()} from {requester.name}?",
            text="They no longer see anything of this requester. Its access keys keep working: "
            "revoke those that they know.",
            button="Detach",
            back=reverse("operate_requester", args=[pk]),
            section="requesters",
        )
    users.detach_user(requester=requester, actor=request.user.get_username())
    messages.success(request, f"Nobody signs in for {requester.name} now.")
    return redirect("operate_requester", pk)


@for_operators
@require_POST
def make_link(request: SignedIn, pk: int) -> HttpResponseBase:
    """A link for a new user, or for a new password of the existing user. ``send=1`` also sends it to them.

    The response is the only page that ever shows it, so it is not a redirect.
    """
    requester = get_object_or_404(Requester.objects.select_related("user"), pk=pk)
    actor = request.user.get_username()
    try:
        if requester.user is None:
            token = users.invite_user(requester=requester, actor=actor)
        else:
            token = users.make_password_link(requester=requester, actor=actor)
    except Refusal as refused:
        messages.error(request, refused.message)
        return redirect("operate_requester", pk)
    link = links.absolute(reverse("operate_welcome", args=[token]), request)
    if request.POST.get("send") == "1":
        _send_link(request, requester, link)
    return requester_page(request, pk, link=link)


def _send_link(request: SignedIn, requester: Requester, link: str) -> None:
    email = (requester.user.email if requester.user else "") or requester.email
    if not email:
        messages.warning(request, "There is no e-mail address. Hand the link over yourself.")
        return
    what = "set a new password" if requester.user else "make your user"
    letter = (
        f"Hello,\n\nwith this link you {what} for the requester “{requester.name}”:\n\n{link}\n\n"
        "It works once and is for you alone.\n"
    )
    try:
        send(f"Your link for {requester.name}", letter, email, link)
    except CouldNotSend as failed:
        messages.warning(request, f"{failed} Pass the link on yourself.")
    else:
        messages.success(request, f"The link was sent to {email}.")


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def welcome(request: HttpRequest, token: str) -> HttpResponse:
    """Opening a link changes nothing, so that a mail program that opens every link does not use it up."""
    link = users.find_link(token)
    if link is None:
        return render(request, "marketplace/operate/link_used.html", status=410)
    form = (NewPasswordForm if link.user else NewUserForm)(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            user = users.redeem_link(token=token, **form.cleaned_data)
        except Refusal as refused:
            form.add_error(None, refused.message)
        else:
            onward = enter(request, user, entrance=OPERATORS_SITE, to=reverse("operate_my_hits"), by="link")
            if request.user.is_authenticated:
                messages.success(request, f"Welcome. You are signed in for {link.requester.name}.")
            return onward
    context = {"form": form, "link": link}
    return render(request, "marketplace/operate/welcome.html", context, status=422 if form.errors else 200)
