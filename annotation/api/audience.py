"""Whom a platform can find for a study: how many people can take part, and its filters and groups."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.parsing import text
from annotation.api.platforms import connected
from annotation.api.roles import SEES_PAYMENTS
from annotation.api.views import Endpoint
from annotation.platforms import all_platforms
from annotation.recruiting.publishing import settings_of

MOST_FILTERS = 50


class EligibleShape(serializers.Serializer[Any]):
    """How many people can take part now."""

    count = serializers.IntegerField()
    few = serializers.BooleanField(help_text="Whether there are so few that the platform does not say how many.")


class GroupShape(serializers.Serializer[Any]):
    """A named list of workers on the platform."""

    name = serializers.CharField()
    title = serializers.CharField()
    members = serializers.IntegerField()


class FilterShape(serializers.Serializer[Any]):
    """A question that the platform has asked its workers."""

    name = serializers.CharField()
    title = serializers.CharField()
    question = serializers.CharField(allow_blank=True)
    choices = serializers.DictField(child=serializers.CharField(), help_text="Answers by their value.")
    least = serializers.CharField(allow_blank=True, help_text="Of a range.")
    most = serializers.CharField(allow_blank=True, help_text="Of a range.")


class AudienceShape(serializers.Serializer[Any]):
    """Whom a platform can find for a study."""

    chosen = serializers.JSONField(help_text="The filters in the settings of the study.")
    eligible = EligibleShape()
    groups = GroupShape(many=True)
    filters = FilterShape(many=True, help_text=f"Up to {MOST_FILTERS} that contain the words of `q`; none without it.")
    filters_total = serializers.IntegerField(help_text="How many contain them.")


class Audience(Endpoint):
    more_problems = (422, 502)

    @extend_schema(
        operation_id="platforms_audience",
        responses=AudienceShape,
        parameters=[OpenApiParameter("q", str, description="Words that a filter must contain.")],
    )
    def get(self, request: Request, slug: str, platform: str) -> Response:
        """Gets how many people on a platform can take part in the study, its groups, and filters that contain words."""
        study, kind = self.study(SEES_PAYMENTS), all_platforms().get(platform)
        if kind is None or not kind.has_audience:
            raise Http404(
                f"There is no platform “{platform[:40]}” with filters. GET /api/v1/platforms/ lists platforms."
            )
        connection = connected(platform, study)
        settings, audience = settings_of(study, connection), connection.audience()
        words = text(request, "q", most=100)
        rows = list(audience.filters(settings, words)) if words else []
        values = {
            "chosen": settings["filters"],
            "eligible": audience.eligible(settings),
            "groups": audience.groups(settings),
            "filters": rows[:MOST_FILTERS],
            "filters_total": len(rows),
        }
        return Response(AudienceShape(values).data)


urlpatterns = [
    path("studies/<slug:slug>/platforms/<slug:platform>/audience/", Audience.as_view(), name="api_audience"),
]
