"""Teams: their members with roles, and which team a study belongs to."""

from __future__ import annotations

from typing import Any

from django.db.models import Count, QuerySet
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.models import Team, TeamMember, slug_validator
from annotation.access import team_for, teams_of
from annotation.api.fields import Input
from annotation.api.members import MemberShape, RoleRequest, researcher_called
from annotation.api.views import Endpoint, Role
from annotation.studies import teams as service
from common.problems import invalid


class TeamShape(serializers.Serializer[Any]):
    """A team, with how many members and studies it has."""

    slug = serializers.CharField(help_text="Its short name, which addresses have.")
    name = serializers.CharField()
    role = serializers.ChoiceField(Role.choices, allow_null=True, help_text="Yours. Null: you are an administrator.")
    members = serializers.IntegerField()
    studies = serializers.IntegerField()
    created_at = serializers.DateTimeField()


class TeamName(Input):
    """What people call the team."""

    name = serializers.CharField(max_length=service.MOST_NAME)


class NewTeam(TeamName):
    """The names of a new team."""

    slug = serializers.CharField(
        max_length=60, validators=[slug_validator("writing-lab")], help_text="Lower-case letters, digits and hyphens."
    )


class TeamOfStudy(Input):
    """Which team the study belongs to."""

    team = serializers.CharField(allow_null=True, max_length=60, help_text="The short name of a team. Null: none.")


class TeamOfStudyShape(serializers.Serializer[Any]):
    """Which team a study belongs to."""

    team = serializers.CharField(source="slug", allow_null=True, help_text="Its short name. Null: none.")


class TeamEndpoint(Endpoint):
    """About a team. For those who are not in it, it does not exist."""

    def team(self, role: str = Role.VIEWER) -> Team:
        return team_for(self.user, self.kwargs["team"], role)

    def rows(self) -> QuerySet[Team]:
        counts = {"n_members": Count("members", distinct=True), "n_studies": Count("studies", distinct=True)}
        return teams_of(self.user).annotate(**counts)

    def shown(self, rows: list[Team]) -> list[dict[str, Any]]:
        roles = dict(TeamMember.objects.filter(user=self.user, team__in=rows).values_list("team", "role"))
        values = [
            {
                **{name: getattr(team, name) for name in ("slug", "name", "created_at")},
                "role": roles.get(team.pk),
                "members": getattr(team, "n_members", 0),
                "studies": getattr(team, "n_studies", 0),
            }
            for team in rows
        ]
        return [dict(row) for row in TeamShape(values, many=True).data]

    def one(self, slug: str) -> dict[str, Any]:
        return self.shown(list(self.rows().filter(slug=slug)))[0]


class Teams(TeamEndpoint):
    @extend_schema(operation_id="teams_list", responses=TeamShape(many=True))
    def get(self, request: Request) -> Response:
        """Lists your teams; for an administrator, all teams."""
        page = self.paginate_queryset(self.rows())
        return self.get_paginated_response(self.shown(page or []))

    @extend_schema(operation_id="teams_create", request=NewTeam, responses={201: TeamShape})
    def post(self, request: Request) -> Response:
        """Creates a team. You are its owner."""
        sent = NewTeam.of(request)
        team = service.create_team(name=sent["name"], slug=sent["slug"], owner=self.user, actor=self.actor)
        return Response(self.one(team.slug), status=201)


class OneTeam(TeamEndpoint):
    @extend_schema(operation_id="teams_get", responses=TeamShape)
    def get(self, request: Request, team: str) -> Response:
        """Gets one team."""
        return Response(self.one(self.team().slug))

    @extend_schema(operation_id="teams_rename", request=TeamName, responses=TeamShape)
    def patch(self, request: Request, team: str) -> Response:
        """Renames a team. Its short name stays. Only owners can do that."""
        renamed = service.rename_team(team=self.team(Role.OWNER), actor=self.actor, **TeamName.of(request))
        return Response(self.one(renamed.slug))

    @extend_schema(operation_id="teams_delete", responses={204: None})
    def delete(self, request: Request, team: str) -> Response:
        """Deletes a team to which nothing belongs any more. Only owners can do that."""
        service.delete_team(team=self.team(Role.OWNER), actor=self.actor)
        return Response(status=204)


class TeamMembers(TeamEndpoint):
    @extend_schema(operation_id="team_members_list", responses=MemberShape(many=True))
    def get(self, request: Request, team: str) -> Response:
        """Lists the members of a team with their roles, which they have in all its studies."""
        page = self.paginate_queryset(self.team().memberships.select_related("user"))
        return self.get_paginated_response(MemberShape(page, many=True).data)


class OneTeamMember(TeamEndpoint):
    @extend_schema(operation_id="team_members_put", request=RoleRequest, responses=MemberShape)
    def put(self, request: Request, team: str, user: str) -> Response:
        """Makes a researcher a member of a team, or changes a member's role. Only owners can do that."""
        changed, form = self.team(Role.OWNER), RoleRequest(data=request.data)
        form.is_valid(raise_exception=True)
        role = form.validated_data["role"]
        member = service.add_team_member(team=changed, user=researcher_called(user), role=role, actor=self.actor)
        return Response(MemberShape(member).data)

    @extend_schema(operation_id="team_members_remove", responses={204: None})
    def delete(self, request: Request, team: str, user: str) -> Response:
        """Removes a member from a team. Owners remove anybody, and every member can leave. The last owner stays."""
        left = self.team(Role.VIEWER if user == self.actor else Role.OWNER)
        member = (
            left.memberships.select_related("user").filter(user__username=user).first() if "\x00" not in user else None
        )
        if member is None:
            raise invalid("user", f"“{user[:60]}” is not a member of this team.", "Check the spelling.")
        service.remove_team_member(team=left, user=member.user, actor=self.actor)
        return Response(status=204)


class StudyTeam(Endpoint):
    @extend_schema(operation_id="study_team_get", responses=TeamOfStudyShape)
    def get(self, request: Request, slug: str) -> Response:
        """Gets the team that the study belongs to."""
        return Response(_team_of(self.study().team))

    @extend_schema(operation_id="study_team_put", request=TeamOfStudy, responses=TeamOfStudyShape)
    def put(self, request: Request, slug: str) -> Response:
        """Gives the study to a team in which you are an editor or an owner, or to none. Only owners can do that."""
        study, wanted = self.study(Role.OWNER), TeamOfStudy.of(request)["team"]
        team = None
        if wanted is not None:
            team = teams_of(self.user, Role.EDITOR).filter(slug=wanted).first()
            if team is None:
                what = f"You are not an editor or an owner of a team “{wanted}”."
                raise invalid("team", what, "Send the short name of one of your teams, or null.")
        return Response(_team_of(service.set_team(study=study, team=team, actor=self.actor).team))


def _team_of(team: Team | None) -> dict[str, Any]:
    return {"team": team.slug if team else None}


urlpatterns = [
    path("teams/", Teams.as_view(), name="api_teams"),
    path("teams/<slug:team>/", OneTeam.as_view(), name="api_team"),
    path("teams/<slug:team>/members/", TeamMembers.as_view(), name="api_team_members"),
    path("teams/<slug:team>/members/<str:user>/", OneTeamMember.as_view(), name="api_team_member"),
    path("studies/<slug:slug>/team/", StudyTeam.as_view(), name="api_study_team"),
]
