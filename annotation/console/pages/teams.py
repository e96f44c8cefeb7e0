"""Teams: the list, and one team with its members and studies."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.db.models import Count, Prefetch
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.http import require_http_methods, require_POST

from accounts.models import Team, TeamMember
from annotation.access import Role, team_for, teams_of
from annotation.shell.page import SignedIn, say_refused, signed_in, task_title
from annotation.studies import teams as service
from annotation.studies.pages.forms import MemberForm
from annotation.studies.pages.members import ROLE_NAMES
from annotation.studies.studies_list import listed_studies
from common.problems import Refused

#: Studies on a team's page. The list of all studies has the others.
MOST_STUDIES = 50


class TeamForm(forms.ModelForm):  # type: ignore[type-arg]  # it is generic for the type checker alone
    """The names of a new team."""

    class Meta:
        model = Team
        fields = ("name", "slug")
        labels = {"slug": "Short name"}
        help_texts = {"slug": "For addresses: lower-case letters, digits and hyphens, such as writing-lab."}


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def teams(request: SignedIn) -> HttpResponse:
    """The user's teams; all teams for an administrator. A POST makes one, which the user then owns."""
    form = TeamForm(request.POST if request.method == "POST" else None)
    if form.is_valid():
        user, names = request.user, form.cleaned_data
        try:
            team = service.create_team(name=names["name"], slug=names["slug"], owner=user, actor=user.get_username())
        except Refused as refused:
            say_refused(request, refused)
            return redirect("console_teams")
        messages.success(request, f"The team “{team.name}” is there. Add its members.")
        return redirect("console_team", team.slug)
    own = TeamMember.objects.filter(user=request.user)
    counts = {"n_members": Count("members", distinct=True), "n_studies": Count("studies", distinct=True)}
    rows = teams_of(request.user).annotate(**counts).prefetch_related(Prefetch("memberships", own, to_attr="own"))
    context = {"form": form, "teams": rows, "here": "teams"}
    return render(request, "console/teams.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def team(request: SignedIn, slug: str) -> HttpResponse:
    """One team. A POST by an owner adds a member or changes a role."""
    shown_team = team_for(request.user, slug, Role.OWNER if request.method == "POST" else Role.VIEWER)
    form = MemberForm(request.POST if request.method == "POST" else None)
    if form.is_valid() and form.found:
        user, role = form.found, form.cleaned_data["role"]
        try:
            service.add_team_member(team=shown_team, user=user, role=role, actor=request.user.get_username())
        except Refused as refused:
            say_refused(request, refused)
        else:
            messages.success(request, f"{user.username} is now {ROLE_NAMES[role]} of the team and of all its studies.")
        return redirect("console_team", slug)
    studies = list(listed_studies(request.user).filter(team=shown_team)[: MOST_STUDIES + 1])
    context = {
        "team": shown_team,
        "form": form,
        "memberships": shown_team.memberships.select_related("user").order_by("user__username"),
        "is_owner": teams_of(request.user, Role.OWNER).filter(pk=shown_team.pk).exists(),
        "studies": [(study, task_title(study.task_type)) for study in studies[:MOST_STUDIES]],
        "more": len(studies) > MOST_STUDIES,
        "here": "teams",
    }
    return render(request, "console/team.html", context, status=422 if form.errors else 200)


@require_POST
@signed_in
def rename(request: SignedIn, slug: str) -> HttpResponse:
    """Changes what people call the team. Its short name stays."""
    renamed_team = team_for(request.user, slug, Role.OWNER)
    name = request.POST.get("name", "")
    try:
        team = service.rename_team(team=renamed_team, name=name, actor=request.user.get_username())
    except Refused as refused:
        say_refused(request, refused)
    else:
        messages.success(request, f"The team is now called “{team.name}”.")
    return redirect("console_team", slug)


@require_POST
@signed_in
def remove(request: SignedIn, slug: str, user_id: int) -> HttpResponse:
    """Removes a member. Owners can remove anybody, and every member can leave."""
    left_team = team_for(request.user, slug, Role.VIEWER if user_id == request.user.pk else Role.OWNER)
    user = get_object_or_404(User, pk=user_id, team_memberships__team=left_team)
    try:
        service.remove_team_member(team=left_team, user=user, actor=request.user.get_username())
    except Refused as refused:
        say_refused(request, refused)
        return redirect("console_team", slug)
    who = "You are" if user == request.user else f"{user.username} is"
    messages.success(request, f"{who} no longer a member of the team “{left_team.name}”.")
    try:
        team_for(request.user, slug)
    except Http404:
        return redirect("console_teams")
    return redirect("console_team", slug)


@require_POST
@signed_in
def delete(request: SignedIn, slug: str) -> HttpResponse:
    deleted_team = team_for(request.user, slug, Role.OWNER)
    name = deleted_team.name
    try:
        service.delete_team(team=deleted_team, actor=request.user.get_username())
    except Refused as refused:
        say_refused(request, refused)
        return redirect("console_team", slug)
    messages.success(request, f"Deleted the team “{name}”.")
    return redirect("console_teams")
