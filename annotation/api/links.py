"""Personal links: one for each invited person."""

from __future__ import annotations

from typing import Any

from django.db.models import Exists, OuterRef, QuerySet
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import Role, study_for
from annotation.api.fields import Input
from annotation.api.roles import EDITS
from annotation.api.views import Endpoint
from annotation.models import Invitation, Participant, Study
from annotation.people.invitations import MAX_NAME, invite, invite_participants, revoke_invitation
from annotation.platforms.link import personal_url
from common.problems import invalid

STUDY = "studies/<slug:slug>/"
MOST_NAMES = 1_000


class LinkShape(serializers.Serializer[Any]):
    """A personal link. Whoever has it counts as the person."""

    id = serializers.IntegerField()
    name = serializers.CharField(help_text="What you call the person. Workers' pages do not show it.")
    link = serializers.CharField()
    started = serializers.BooleanField(help_text="Whether the person has begun.")
    created_at = serializers.DateTimeField()


class LinksShape(serializers.Serializer[Any]):
    """The link of everybody who was invited, in one list."""

    results = LinkShape(many=True)


class NewLinks(Input):
    """Whom to invite: people by name, or everybody who took part in another study."""

    names = serializers.ListField(
        child=serializers.CharField(max_length=MAX_NAME),
        required=False,
        min_length=1,
        max_length=MOST_NAMES,
        help_text="The same name always gets the same link.",
    )
    participants_of = serializers.CharField(
        required=False, max_length=100, help_text="The short name of a study that you can edit."
    )


class Links(Endpoint):
    @extend_schema(operation_id="links_list", responses=LinkShape(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Lists the personal links of the study in the order in which they were made."""
        page = self.paginate_queryset(_rows(self.study(EDITS)))
        return self.get_paginated_response(_shown(page or []))

    @extend_schema(operation_id="links_create", request=NewLinks, responses=LinksShape)
    def post(self, request: Request, slug: str) -> Response:
        """Creates a personal link for each name, or for everybody who took part in another study.

        People who have a link keep it. The answer has the links of all whom the request names.
        """
        study, sent = self.study(EDITS), NewLinks.of(request)
        if len(sent) != 1:
            what = "Send either “names” or “participants_of”."
            raise invalid("names", what, "To invite both, send two requests.")
        if "names" in sent:
            invited = invite(study=study, names=sent["names"], actor=self.actor)
        else:
            of = study_for(self.user, sent["participants_of"], Role.EDITOR)
            invited = invite_participants(study=study, of=of, actor=self.actor)
        rows = {row.pk: row for row in _rows(study).filter(pk__in=[invitation.pk for invitation in invited])}
        return Response({"results": _shown([rows[invitation.pk] for invitation in invited])})


class OneLink(Endpoint):
    @extend_schema(operation_id="links_revoke", responses={204: None})
    def delete(self, request: Request, slug: str, id: int) -> Response:
        """Revokes a personal link that nobody has used. It then opens nothing."""
        invitation = get_object_or_404(Invitation, pk=id, study=self.study(EDITS))
        revoke_invitation(invitation=invitation, actor=self.actor)
        return Response(status=204)


def _rows(study: Study) -> QuerySet[Invitation]:
    began = Participant.objects.filter(study=study, worker=OuterRef("worker"))
    return Invitation.objects.filter(study=study).select_related("study").annotate(started=Exists(began))


def _shown(rows: list[Any]) -> list[dict[str, Any]]:
    values = [
        {
            "id": row.pk,
            "name": row.name,
            "link": personal_url(row),
            "started": row.started,
            "created_at": row.created_at,
        }
        for row in rows
    ]
    return [dict(row) for row in LinkShape(values, many=True).data]


urlpatterns = [
    path(STUDY + "links/", Links.as_view(), name="api_links"),
    path(STUDY + "links/<int:id>/", OneLink.as_view(), name="api_link"),
]
