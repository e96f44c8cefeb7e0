"""The members of a study and their roles."""

from __future__ import annotations

from django.contrib.auth.models import User
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from accounts.roles import researchers
from annotation.api.fields import Input
from annotation.api.parsing import body
from annotation.api.views import Endpoint, Role
from annotation.models import Membership
from annotation.studies.members import add_member, remove_member
from common.problems import invalid


class RoleRequest(Input):
    """What a member may do."""

    role = serializers.ChoiceField(choices=Role.choices, help_text="A viewer reads, an editor also changes.")


class MemberShape(RoleRequest):
    """A member of a study."""

    user = serializers.CharField(source="user.username", help_text="The name with which they sign in.")


class Members(Endpoint):
    @extend_schema(operation_id="members_list", responses=MemberShape(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Lists the members of the study, those who joined first at the top."""
        page = self.paginate_queryset(Membership.objects.filter(study=self.study()).select_related("user"))
        return self.get_paginated_response(MemberShape(page, many=True).data)


class OneMember(Endpoint):
    @extend_schema(operation_id="members_put", request=RoleRequest, responses=MemberShape)
    def put(self, request: Request, slug: str, user: str) -> Response:
        """Makes a researcher a member, or changes a member's role. Only owners can do that."""
        study = self.study(Role.OWNER)
        form = RoleRequest(data=body(request))
        form.is_valid(raise_exception=True)
        member = add_member(
            study=study, user=researcher_called(user), role=form.validated_data["role"], actor=self.actor
        )
        return Response(MemberShape(member).data)

    @extend_schema(operation_id="members_remove", responses={204: None})
    def delete(self, request: Request, slug: str, user: str) -> Response:
        """Removes a member. The last owner stays. Only owners can do that."""
        remove_member(study=self.study(Role.OWNER), user=researcher_called(user), actor=self.actor)
        return Response(status=204)


def researcher_called(name: str) -> User:
    """The researcher of this name. Raises Invalid."""
    user: User | None = researchers().filter(username=name).first() if "\x00" not in name else None
    if user is None:
        what = f"There is no researcher “{name[:60]}” on this server."
        raise invalid("user", what, "Check the spelling, or ask an administrator to add them.")
    return user
