"""Invitations to the console: administrators make them, and whoever has the link makes their own account."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.mail import send_mail
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST

from accounts import invitations as service
from accounts.confirming import recently_confirmed
from accounts.models import AccessLink, MemberRole, Team
from accounts.roles import is_researcher
from accounts.signing_in import enter
from accounts.web import absolute
from annotation.console.pages.sessions import CONSOLE
from annotation.console.pages.single_sign_on import INVITATION, add_to_team
from annotation.shell.page import SignedIn, superuser
from common.problems import Refused


class InvitationForm(forms.Form):
    """Whom to invite, and what they may do."""

    email = forms.EmailField(
        label="E-mail address",
        required=False,
        max_length=254,
        widget=forms.EmailInput(attrs={"autocomplete": "off"}),
    )
    administrator = forms.BooleanField(
        label="Administrator",
        required=False,
        help_text="Sees every study, manages users, registers models.",
    )
    team = forms.ModelChoiceField(
        Team.objects.all(), label="Team", required=False, empty_label="None", help_text="They join it at once."
    )
    team_role = forms.ChoiceField(
        label="Role in the team", choices=MemberRole.choices, initial=MemberRole.EDITOR, required=False
    )

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.label_suffix = ""
        what = "They get the link by e-mail." if settings.SENDS_MAIL else "This server sends no e-mail."
        self.fields["email"].help_text = f"{what} The next page shows the link, so that you can pass it on."

    def clean_team_role(self) -> str:
        return self.cleaned_data["team_role"] or MemberRole.EDITOR


class JoinForm(forms.Form):
    """The name and the password that an invited person chooses."""

    username = forms.CharField(
        label="User name",
        max_length=150,
        widget=forms.TextInput(attrs={"autocomplete": "username", "autocapitalize": "none"}),
        help_text="Letters, digits and @ . + - _ only. Others on this server see it.",
    )
    password = forms.CharField(
        label="Password",
        strip=False,
        widget=forms.PasswordInput(attrs={"autocomplete": "new-password"}),
        help_text="At least 10 characters, and none of the common ones.",
    )


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@superuser
@recently_confirmed(site="console", base="console/base.html")
def invite(request: SignedIn) -> HttpResponse:
    """Makes an invitation. Only this response ever shows its link."""
    form = InvitationForm(request.POST if request.method == "POST" else None)
    link = ""
    if form.is_valid():
        invitation, token = service.invite(**form.cleaned_data, actor=request.user.get_username())
        link = absolute(request, reverse("console_join", args=[token]))
        if invitation.email and settings.SENDS_MAIL:
            _send(request, invitation, link)
        form = InvitationForm()
    context = {
        "form": form,
        "link": link,
        "days": settings.INVITATION_DAYS,
        "invitations": service.open_invitations(),
        "here": "users",
    }
    return render(request, "console/invite.html", context, status=422 if form.errors else 200)


def _send(request: SignedIn, invitation: AccessLink, link: str) -> None:
    letter = (
        f"Hello,\n\n{request.user.get_username()} invites you to HITServer, where you set up and run studies. "
        f"With this link you make your account:\n\n{link}\n\n"
        f"It works once, until {invitation.expires_at:%-d %b %Y, %H:%M} UTC, and is for you alone.\n"
    )
    try:
        send_mail("Your invitation to HITServer", letter, None, [invitation.email])
    except OSError:
        messages.warning(request, f"The e-mail to {invitation.email} could not be sent. Pass the link on yourself.")
    else:
        messages.success(request, f"The link was sent to {invitation.email}.")


@require_POST
@superuser
def revoke(request: SignedIn, pk: int) -> HttpResponse:
    service.revoke_invitation(link=get_object_or_404(AccessLink, pk=pk, user=None), actor=request.user.get_username())
    messages.success(request, "The invitation no longer works.")
    return redirect("console_invite")


@never_cache
@sensitive_post_parameters("password")
@require_http_methods(["GET", "HEAD", "POST"])
def join(request: HttpRequest, token: str) -> HttpResponseBase:
    """Opening the link changes nothing here, so that a mail program that opens every link does not use it up."""
    link = service.find_invitation(token)
    if link is None:
        return render(request, "console/link_used.html", {"invitation": True}, status=410)
    if is_researcher(request.user):
        return render(request, "console/already_here.html", {"link": link}, status=409)
    request.session[INVITATION] = token  # for those who use the provider instead of a password
    form = JoinForm(request.POST if request.method == "POST" and not settings.OIDC_ONLY else None, label_suffix="")
    if form.is_valid():
        try:
            user = service.accept(link=link, **form.cleaned_data, add_to_team=add_to_team)
        except Refused as refused:
            for problem in refused.problems:
                form.add_error(problem.where if problem.where in form.fields else None, f"{problem.what} {problem.fix}")
        else:
            request.session.pop(INVITATION, None)
            return enter(request, user, entrance=CONSOLE, to=reverse("console_studies"), by="invitation")
    context = {"form": form, "link": link, "provider": settings.OIDC, "only": settings.OIDC_ONLY}
    return render(request, "console/join.html", context, status=422 if form.errors else 200)


@never_cache
@require_http_methods(["GET", "HEAD", "POST"])
def way_in(request: HttpRequest, token: str) -> HttpResponseBase:
    """Signs in the user for whom a command made this link. Opening it changes nothing."""
    link = service.find_way_in(token)
    user: User | None = link.user if link else None
    if link is None or user is None or not CONSOLE.admits(user):
        return render(request, "console/link_used.html", status=410)
    if request.method != "POST":
        return render(request, "console/way_in.html", {"who": user.get_username()})
    try:
        user = service.use_way_in(link=link)
    except Refused:
        return render(request, "console/link_used.html", status=410)
    return enter(request, user, entrance=CONSOLE, to=reverse("console_account"), by="link")
