"""Suggesters, for studies in which models and workers write together: the list, one, its rules, its pool.

Every researcher can see them. Only the person who made one, or an administrator, can change it and fill its pool.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import run_for
from annotation.api.fields import Input
from annotation.api.paging import Pages
from annotation.api.views import Endpoint
from common.problems import Invalid, invalid, unknown
from generation.models import LanguageModel, PoolText, Suggester
from generation.registry.registration import EMBEDDED_NAMES, ensure_embedded_model
from generation.suggestions import monitoring
from generation.suggestions.definitions import MOST_ROUNDS, change_suggester, create_suggester
from generation.suggestions.pool_filling import Filled, Offered, fill_from_run, fill_from_texts

MOST_TEXTS = 10_000
EMBEDDED = EMBEDDED_NAMES["transformers"]


class SuggesterShape(serializers.Serializer[Any]):
    """A model with its decoder and the rules for what it may show to writers."""

    name = serializers.CharField()
    model = serializers.CharField(source="model.name")
    decoder = serializers.CharField()
    limits = serializers.DictField()
    template = serializers.CharField()
    priming = serializers.CharField()
    least_characters = serializers.IntegerField()
    most_characters = serializers.IntegerField()
    word_list = serializers.CharField(help_text="Words that no suggestion may contain, one per line.")
    wait_seconds = serializers.FloatField(help_text="How long a writer waits before a prepared text is used.")
    tries = serializers.IntegerField()
    active = serializers.BooleanField(help_text="If not, writers get texts from its pool.")
    by = serializers.CharField(source="created_by")
    pool = serializers.SerializerMethodField()

    def get_pool(self, suggester: Suggester) -> int:
        """How many texts its pool has."""
        return PoolText.objects.filter(suggester=suggester).count()


class WaitsShape(serializers.Serializer[Any]):
    """What happened to its latest suggestions, and the seconds until the text arrived."""

    answered = serializers.IntegerField()
    from_pool = serializers.IntegerField()
    failed = serializers.IntegerField()
    median = serializers.FloatField(allow_null=True)
    p95 = serializers.FloatField(allow_null=True)


class SuggesterInFullShape(SuggesterShape):
    """A suggester with how it is doing."""

    waits = serializers.SerializerMethodField()

    def get_waits(self, suggester: Suggester) -> WaitsShape:
        return WaitsShape(monitoring.waits(suggester=suggester)).data  # type: ignore[return-value]  # for the schema


class ChangeSuggester(Input):
    """The values to change. What is left out stays."""

    model = serializers.CharField(required=False, help_text="The name of a model of this server.")
    decoder = serializers.CharField(required=False, help_text="Such as `top_p=0.9`.")
    limits = serializers.DictField(required=False)
    template = serializers.CharField(required=False, help_text="`{story}` is the text so far.")
    priming = serializers.CharField(required=False, allow_blank=True)
    least_characters = serializers.IntegerField(required=False, min_value=1, max_value=2_000)
    most_characters = serializers.IntegerField(required=False, min_value=1, max_value=2_000)
    word_list = serializers.CharField(required=False, allow_blank=True)
    wait_seconds = serializers.FloatField(required=False, min_value=0.5, max_value=120)
    tries = serializers.IntegerField(required=False, min_value=1, max_value=10)
    active = serializers.BooleanField(required=False)


class NewSuggester(ChangeSuggester):
    """A new suggester."""

    name = serializers.SlugField(max_length=60, help_text="What studies call it.")
    model = serializers.CharField(help_text="The name of a model of this server.")


class NewText(Input):
    """A text for the pool."""

    text = serializers.CharField()
    round = serializers.IntegerField(
        min_value=0, max_value=MOST_ROUNDS, default=0, help_text="The round that it fits; 0 fits every round."
    )


class FillPool(Input):
    """Texts, or a run whose samples fit."""

    run = serializers.CharField(required=False, help_text="Samples of this run, of the same model and decoder.")
    texts = NewText(many=True, required=False)

    def validate_texts(self, texts: list[dict[str, Any]]) -> list[dict[str, Any]]:
        if len(texts) > MOST_TEXTS:
            raise serializers.ValidationError(f"Send at most {MOST_TEXTS:,} texts at once.")
        return texts


class FilledShape(serializers.Serializer[Any]):
    """What happened to the texts."""

    added = serializers.IntegerField()
    duplicates = serializers.IntegerField(help_text="Already in the pool.")
    unusable = serializers.DictField(child=serializers.IntegerField(), help_text="Texts not used, by reason.")


def _model(values: dict[str, Any]) -> dict[str, Any]:
    """The values with the model itself in place of its name. Raises Invalid."""
    if "model" not in values:
        return values
    name = values["model"]
    model = LanguageModel.objects.filter(name=name).first()
    if model is None and name == EMBEDDED:
        model = ensure_embedded_model()
    if model is None:
        raise Invalid([unknown("model", name, LanguageModel.objects.order_by("name").values_list("name", flat=True))])
    return values | {"model": model}


def _suggester(name: str) -> Suggester:
    return get_object_or_404(Suggester.objects.select_related("model"), name=name)


def _changeable(user: User, name: str) -> Suggester:
    suggester = _suggester(name)
    if not user.is_superuser and suggester.created_by != user.get_username():
        raise Http404("You have no suggester with this name.")
    return suggester


class Suggesters(Endpoint):
    pagination_class = Pages

    @extend_schema(operation_id="suggesters_list", responses=SuggesterShape(many=True))
    def get(self, request: Request) -> Response:
        """Lists the suggesters of this server."""
        page = self.paginate_queryset(Suggester.objects.select_related("model"))
        return self.get_paginated_response(SuggesterShape(page, many=True).data)

    @extend_schema(operation_id="suggesters_create", request=NewSuggester, responses={201: SuggesterInFullShape})
    def post(self, request: Request) -> Response:
        """Creates a suggester. Fill its pool next."""
        values = _model(NewSuggester.of(request))
        suggester = create_suggester(**values, created_by=self.actor)
        return Response(SuggesterInFullShape(suggester).data, status=201)


class OneSuggester(Endpoint):
    @extend_schema(operation_id="suggesters_get", responses=SuggesterInFullShape)
    def get(self, request: Request, name: str) -> Response:
        """Gets a suggester with its rules and how long writers waited."""
        return Response(SuggesterInFullShape(_suggester(name)).data)

    @extend_schema(operation_id="suggesters_change", request=ChangeSuggester, responses=SuggesterInFullShape)
    def patch(self, request: Request, name: str) -> Response:
        """Changes a suggester, or stops it with `active`. Refused while a live study uses it, except for `active`."""
        suggester = change_suggester(suggester=_changeable(self.user, name), **_model(ChangeSuggester.of(request)))
        return Response(SuggesterInFullShape(suggester).data)


class Pool(Endpoint):
    @extend_schema(operation_id="suggesters_fill_pool", request=FillPool, responses=FilledShape)
    def post(self, request: Request, name: str) -> Response:
        """Adds texts to the pool of a suggester: those that you send, or samples of a run."""
        suggester, sent = _changeable(self.user, name), FillPool.of(request)
        if ("run" in sent) == ("texts" in sent):
            raise invalid("run", "Either a run or texts are needed, not both.", "Send run or texts.")
        if "run" in sent:
            filled: Filled = fill_from_run(suggester=suggester, run=run_for(self.user, sent["run"]))
        else:
            texts = (Offered(round=one["round"], text=one["text"]) for one in sent["texts"])
            filled = fill_from_texts(suggester=suggester, texts=texts)
        unusable = dict(filled.unusable)
        return Response({"added": filled.added, "duplicates": filled.duplicates, "unusable": unusable})


urlpatterns = [
    path("suggesters/", Suggesters.as_view(), name="api_suggesters"),
    path("suggesters/<slug:name>/", OneSuggester.as_view(), name="api_suggester"),
    path("suggesters/<slug:name>/pool/", Pool.as_view(), name="api_fill_pool"),
]
