"""The judges of a study: language models that answer its pages beside people."""

from __future__ import annotations

from typing import Any

from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema, extend_schema_field
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.fields import Input
from annotation.api.roles import EDITS
from annotation.api.views import Endpoint
from annotation.judging import managing
from annotation.judging.managing import JudgeSettings
from annotation.judging.standing import standing_of
from annotation.models import Judge

STUDY = "studies/<slug:slug>/"


class JudgeStandingShape(serializers.Serializer[Any]):
    """How far a judge has come."""

    places = serializers.DictField(
        child=serializers.IntegerField(), help_text="Items times samples, by state: waiting, done, invalid, refused."
    )
    problems = serializers.DictField(
        child=serializers.IntegerField(), help_text="Answers that did not count, by reason."
    )
    reasons = serializers.DictField(child=serializers.IntegerField(), help_text="Why places have no answer.")
    asked = serializers.IntegerField(help_text="Calls of the model.")
    again = serializers.IntegerField(help_text="Those that repeated one whose answer did not count.")
    ratings = serializers.IntegerField()
    tokens_in = serializers.IntegerField(help_text="Read.")
    tokens_out = serializers.IntegerField(help_text="Written.")
    seconds = serializers.FloatField()
    cost = serializers.DecimalField(20, 4, help_text="USD, by the prices of the judge.")


class JudgeShape(serializers.Serializer[Any]):
    """A judge with its settings and its progress."""

    id = serializers.IntegerField()
    name = serializers.CharField()
    model = serializers.CharField(source="model.name")
    arm = serializers.CharField(source="arm.name", help_text="Whose pages it sees. Empty: the only arm.")
    method = serializers.ChoiceField(Judge.Method.choices)
    state = serializers.ChoiceField(Judge.State.choices)
    message = serializers.CharField(help_text="What went wrong last.")
    samples = serializers.IntegerField()
    items = serializers.IntegerField(source="n_items")
    temperature = serializers.FloatField()
    seed = serializers.IntegerField()
    max_tokens = serializers.IntegerField()
    max_tries = serializers.IntegerField()
    instruction = serializers.CharField()
    price_in = serializers.DecimalField(10, 4)
    price_out = serializers.DecimalField(10, 4)
    cap_usd = serializers.DecimalField(10, 4, allow_null=True)
    cap_tokens = serializers.IntegerField(allow_null=True)
    created_by = serializers.CharField()
    created_at = serializers.DateTimeField()
    started_at = serializers.DateTimeField(allow_null=True)
    ended_at = serializers.DateTimeField(allow_null=True)
    standing = serializers.SerializerMethodField()

    @extend_schema_field(JudgeStandingShape)
    def get_standing(self, judge: Judge) -> dict[str, Any]:
        return dict(JudgeStandingShape(standing_of(judge)).data)


class NewJudge(Input):
    """A judge's settings. Only the model is required."""

    model = serializers.CharField(max_length=60, help_text="The name of a registered model.")
    name = serializers.CharField(max_length=60, required=False, help_text="In reports and exports.")
    arm = serializers.CharField(max_length=40, required=False, help_text="Whose pages it sees: the first by default.")
    method = serializers.ChoiceField(Judge.Method.choices, required=False)
    samples = serializers.IntegerField(required=False, help_text="Answers about each item.")
    items = serializers.IntegerField(required=False, help_text="Only so many, drawn by the seed.")
    temperature = serializers.FloatField(required=False)
    seed = serializers.IntegerField(required=False)
    max_tokens = serializers.IntegerField(required=False, help_text="Of one answer.")
    max_tries = serializers.IntegerField(required=False, help_text="Until an answer is valid.")
    instruction = serializers.CharField(required=False, help_text="Before the study's own.")
    price_in = serializers.DecimalField(10, 4, required=False, help_text="USD per million tokens read.")
    price_out = serializers.DecimalField(10, 4, required=False, help_text="USD per million tokens written.")
    cap_usd = serializers.DecimalField(10, 4, required=False, help_text="It stops before it costs more.")
    cap_tokens = serializers.IntegerField(required=False, help_text="It stops before it uses more.")


class JudgeForecastShape(serializers.Serializer[Any]):
    """What a judge would read, write and cost if every answer is valid at once."""

    items = serializers.IntegerField()
    pages = serializers.IntegerField()
    tokens_in = serializers.IntegerField()
    tokens_out = serializers.IntegerField()
    cost = serializers.DecimalField(20, 4, help_text="USD.")


class HigherCaps(Input):
    """Caps that change. Empty: they stay."""

    cap_usd = serializers.DecimalField(10, 4, required=False)
    cap_tokens = serializers.IntegerField(required=False)


class Judges(Endpoint):
    @extend_schema(operation_id="judges_list", responses=JudgeShape(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Lists the judges of the study."""
        page = self.paginate_queryset(self.study().judges.select_related("model", "arm"))
        return self.get_paginated_response(JudgeShape(page, many=True).data)

    @extend_schema(operation_id="judges_create", request=NewJudge, responses={201: JudgeShape})
    def post(self, request: Request, slug: str) -> Response:
        """Starts a judge. It answers in the background."""
        study, sent = self.study(EDITS), NewJudge.of(request)
        judge = managing.create_judge(study=study, settings=JudgeSettings(**sent), actor=self.actor)
        return Response(JudgeShape(judge).data, status=201)


class ForecastOfJudge(Endpoint):
    @extend_schema(operation_id="judges_forecast", request=NewJudge, responses=JudgeForecastShape)
    def post(self, request: Request, slug: str) -> Response:
        """Says what a judge would read, write and cost. Nothing is started."""
        study, sent = self.study(EDITS), NewJudge.of(request)
        planned = managing.plan_judge(study=study, settings=JudgeSettings(**sent))
        return Response(JudgeForecastShape(planned.forecast).data)


class OneJudge(Endpoint):
    @extend_schema(operation_id="judges_get", responses=JudgeShape)
    def get(self, request: Request, slug: str, id: int) -> Response:
        """Gets one judge."""
        return Response(JudgeShape(get_object_or_404(Judge, pk=id, study=self.study())).data)


class StopJudge(Endpoint):
    @extend_schema(operation_id="judges_stop", request=None, responses=JudgeShape)
    def post(self, request: Request, slug: str, id: int) -> Response:
        """Stops a judge. What it has answered stays."""
        judge = get_object_or_404(Judge, pk=id, study=self.study(EDITS))
        managing.stop_judge(judge=judge, actor=self.actor)
        judge.refresh_from_db()
        return Response(JudgeShape(judge).data)


class ResumeJudge(Endpoint):
    @extend_schema(operation_id="judges_resume", request=HigherCaps, responses=JudgeShape)
    def post(self, request: Request, slug: str, id: int) -> Response:
        """Continues a judge that was stopped, failed or reached a cap, which may be raised."""
        judge = get_object_or_404(Judge, pk=id, study=self.study(EDITS))
        managing.resume_judge(judge=judge, actor=self.actor, **HigherCaps.of(request))
        judge.refresh_from_db()
        return Response(JudgeShape(judge).data)


urlpatterns = [
    path(STUDY + "judges/", Judges.as_view(), name="api_judges"),
    path(STUDY + "judges/forecast/", ForecastOfJudge.as_view(), name="api_judges_forecast"),
    path(STUDY + "judges/<int:id>/", OneJudge.as_view(), name="api_judge"),
    path(STUDY + "judges/<int:id>/stop/", StopJudge.as_view(), name="api_stop_judge"),
    path(STUDY + "judges/<int:id>/resume/", ResumeJudge.as_view(), name="api_resume_judge"),
]
