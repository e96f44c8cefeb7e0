"""Who can see and change a study."""

from __future__ import annotations

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import TeamMember
from annotation.access import studies_of
from annotation.models import Membership, Study
from annotation.shell.page import SignedIn, member, say_refused, study_page
from annotation.studies.members import add_member, remove_member
from annotation.studies.pages.forms import MemberForm, TeamChoiceForm
from annotation.studies.teams import set_team
from annotation.work.coded_items import coders_of
from common.problems import Refused
from common.words import counted

ROLE_NAMES = {"viewer": "a viewer", "payer": "a payer", "editor": "an editor", "owner": "an owner"}


@require_http_methods(["GET", "HEAD", "POST"])
@member(write="owner")
def members(request: SignedIn, study: Study) -> HttpResponse:
    form = MemberForm(request.POST or None)
    if request.method == "POST" and form.is_valid() and form.found:
        role = form.cleaned_data["role"]
        try:
            add_member(study=study, user=form.found, role=role, actor=request.user.get_username())
        except Refused as refused:
            say_refused(request, refused)
        else:
            messages.success(request, f"{form.found.username} is now {ROLE_NAMES[role]} of this study.")
        return redirect("console_members", study.slug)
    memberships = Membership.objects.filter(study=study).select_related("user").order_by("user__username")
    if study.team is None:
        team_members: list[TeamMember] = []
    else:
        team_members = list(study.team.memberships.select_related("user").order_by("user__username"))
    context = {"form": form, "memberships": memberships} | {
        "team_members": team_members,
        "in_team": any(member.user_id == request.user.pk for member in team_members) or request.user.is_superuser,
        "team_form": TeamChoiceForm(user=request.user, study=study),
    }
    status = 422 if form.errors else 200
    return study_page(request, study, "studies/members.html", context, section="members", status=status)


@require_POST
@member(write="owner")
def change_team(request: SignedIn, study: Study) -> HttpResponse:
    """Gives the study to a team, or takes it from its team."""
    form = TeamChoiceForm(request.POST, user=request.user, study=study)
    if not form.is_valid():
        messages.error(request, "Not saved: choose a team in which you are an editor or an owner.")
        return redirect("console_members", study.slug)
    team = form.cleaned_data["team"]
    try:
        set_team(study=study, team=team, actor=request.user.get_username())
    except Refused as refused:
        say_refused(request, refused)
        return redirect("console_members", study.slug)
    owns = f"The study belongs to the team “{team.name}” now." if team else "The study belongs to no team now."
    messages.success(request, owns)
    still_sees = studies_of(request.user).filter(pk=study.pk).exists()
    return redirect("console_members", study.slug) if still_sees else redirect("console_studies")


@require_POST
@member(write="owner")
def remove(request: SignedIn, study: Study, user_id: int) -> HttpResponse:
    user = get_object_or_404(User, pk=user_id, memberships__study=study)
    coder = next((candidate for candidate in coders_of(study) if candidate.user_id == user.pk), None)
    try:
        remove_member(study=study, user=user, actor=request.user.get_username())
    except Refused as refused:
        say_refused(request, refused)
        return redirect("console_members", study.slug)
    stays = ""
    if coder is not None:
        stays = f" Their codes of {counted(coder.items, 'item')} stay. Another member can do the rest under Coding."
    gone = "is no longer a member of" if studies_of(user).filter(pk=study.pk).exists() else "can no longer see"
    messages.success(request, f"{user.username} {gone} “{study.title}”.{stays}")
    if not studies_of(request.user).filter(pk=study.pk).exists():
        return redirect("console_studies")
    return redirect("console_members", study.slug)
