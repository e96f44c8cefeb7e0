"""Platforms: where a study can be offered, what is happening there, and what it costs."""

from __future__ import annotations

from dataclasses import asdict
from typing import Any

from django.urls import path
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.fields import Money
from annotation.api.roles import EDITS
from annotation.api.views import Endpoint
from annotation.models import OutsideAssignment, PlatformJob, Study
from annotation.platforms import PlatformTrouble, all_platforms, connect, connect_account, link
from annotation.platforms.base import Platform
from annotation.platforms.costs import Cost
from annotation.recruiting import differences, offered_work
from annotation.recruiting.spending import spending_of
from annotation.work.quality_rules import initial_values
from common.problems import invalid

STUDY = "studies/<slug:slug>/"
MOST_ROWS = 200


class PlatformSettingShape(serializers.Serializer[Any]):
    """A setting of a study on the platform, as in a study file."""

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the metaclass takes it off the class
    help = serializers.CharField()
    required = serializers.BooleanField()  # type: ignore[assignment]  # the metaclass takes it off the class
    default = serializers.JSONField()


class PlatformShape(serializers.Serializer[Any]):
    """A platform on which studies can be offered."""

    name = serializers.CharField()
    title = serializers.CharField()
    ready = serializers.BooleanField(help_text="Whether the server has a key for it.")
    problem = serializers.CharField(help_text="Why it is not ready, and what to do. Empty if it is.")
    pays = serializers.BooleanField(help_text="Whether approving there pays.")
    confirms = serializers.BooleanField(help_text="Whether it confirms who did what.")
    writes = serializers.BooleanField(help_text="Whether one can write to workers through it.")
    settings = PlatformSettingShape(many=True)


class CostShape(serializers.Serializer[Any]):
    """What work costs on a platform if every submission is approved."""

    hits = serializers.IntegerField(help_text="Hits as the platform counts them.")
    assignments = serializers.IntegerField(help_text="Submissions.")
    rewards = Money()
    bonuses = Money()
    fees = Money()
    total = Money()


class SpendingShape(serializers.Serializer[Any]):
    """The study's budget and what is spent or promised of it."""

    budget = Money(allow_null=True, help_text="USD; null until the study is published.")
    committed = Money(help_text="USD that are spent or promised.")
    left = Money()
    this_month = Money(help_text="USD of all studies on its account.")
    month_limit = Money(help_text="USD; 0 is no limit.")


class OfferShape(serializers.Serializer[Any]):
    """What is offered on the platform and what became of it."""

    postings = serializers.DictField(child=serializers.IntegerField(), help_text="Postings by state.")
    posted = serializers.IntegerField(source="n_posted")
    places = serializers.IntegerField(help_text="Places offered.")
    in_progress = serializers.IntegerField(source="out")
    sent = serializers.DictField(child=serializers.IntegerField(), help_text="Assignments by what became of them.")
    here_only = serializers.IntegerField(help_text="Sent here and not known there.")
    unplaced = serializers.IntegerField(help_text="Places that nobody can take any more.")
    rewards = Money(help_text="USD paid through the platform.")
    first_end = serializers.DateTimeField(allow_null=True)
    last_end = serializers.DateTimeField(allow_null=True)
    synced_at = serializers.DateTimeField(allow_null=True)
    refused_calls = serializers.IntegerField(source="refused")


class PlatformWorkShape(serializers.Serializer[Any]):
    """The newest work of one kind on the platform."""

    kind = serializers.ChoiceField(PlatformJob.Kind.choices)
    state = serializers.ChoiceField(PlatformJob.State.choices)
    done = serializers.IntegerField(source="n_done")
    total = serializers.IntegerField(source="n_total")
    message = serializers.CharField(source="said")
    fix = serializers.CharField()
    by = serializers.CharField(source="actor")
    asked_at = serializers.DateTimeField()
    ended_at = serializers.DateTimeField(allow_null=True)


class StudyPlatformShape(serializers.Serializer[Any]):
    """A study's work on its platform. Without one, `platform` and `offer` are null."""

    platform = serializers.CharField(allow_null=True)
    offer = OfferShape(allow_null=True)
    spending = SpendingShape()
    work = PlatformWorkShape(many=True, help_text="Newest first.")
    refused = serializers.ListField(child=serializers.CharField(), help_text="Calls that the platform refused.")


class HereOnlyShape(serializers.Serializer[Any]):
    """Work that was sent here and that the platform does not know."""

    assignment = serializers.IntegerField(help_text="Send it to `compensate/` to pay it.")
    platform_id = serializers.CharField()
    worker = serializers.CharField(help_text="The worker's pseudonym.")


class ThereOnlyShape(serializers.Serializer[Any]):
    """Work that was sent on the platform and is incomplete here."""

    outside = serializers.IntegerField(help_text="Send it to `fetch/` to complete it.")
    platform_id = serializers.CharField()
    state = serializers.ChoiceField(OutsideAssignment.State.choices)


class OtherWorkerShape(serializers.Serializer[Any]):
    """Work that somebody else sent here than on the platform. It is left out of analysis and payment."""

    platform_id = serializers.CharField()
    worker = serializers.CharField(help_text="The pseudonym of who sent it here.")


class DifferencesShape(serializers.Serializer[Any]):
    """What exists on one side only. Each list has at most 200 rows; the counts are complete."""

    here_only = HereOnlyShape(many=True)
    there_only = ThereOnlyShape(many=True)
    other_worker = OtherWorkerShape(many=True)
    counts = serializers.DictField(child=serializers.IntegerField())


class Platforms(Endpoint):
    pagination_class = None

    @extend_schema(operation_id="platforms_list", responses=PlatformShape(many=True))
    def get(self, request: Request) -> Response:
        """Lists the platforms on which studies can be offered, with their settings."""
        kinds = [kind for name, kind in all_platforms().items() if name != link.PLATFORM]
        return Response(PlatformShape([_platform(kind) for kind in kinds], many=True).data)


def _platform(kind: type[Platform]) -> dict[str, Any]:
    problem = ""
    try:
        connect_account(kind.name, None)
    except PlatformTrouble as trouble:
        problem = str(trouble)
    defaults = initial_values(kind.form)
    settings = [
        {
            "name": name,
            "label": str(field.label or name),
            "help": str(field.help_text),
            "required": field.required,
            "default": defaults[name],
        }
        for name, field in kind.form.base_fields.items()
    ]
    shown = {name: getattr(kind, name) for name in ("name", "title", "pays", "confirms", "writes")}
    return {**shown, "ready": not problem, "problem": problem, "settings": settings}


class StudyPlatform(Endpoint):
    @extend_schema(operation_id="platforms_study", responses=StudyPlatformShape)
    def get(self, request: Request, slug: str) -> Response:
        """Gets what is offered on the study's platform, what became of it, and what is spent."""
        return Response(StudyPlatformShape(on_platform(self.study())).data)


def on_platform(study: Study) -> dict[str, Any]:
    name = offered_work.posted_on(study)
    return {
        "platform": name or None,
        "offer": offered_work.offer_counts(study, name) if name else None,
        "spending": spending_of(study),
        "work": PlatformJob.objects.filter(study=study).order_by("-asked_at"),
        "refused": [f"{call.operation}: {call.error}" for call in offered_work.open_calls(study)[:MOST_ROWS]],
    }


class Differences(Endpoint):
    @extend_schema(operation_id="platforms_differences", responses=DifferencesShape)
    def get(self, request: Request, slug: str) -> Response:
        """Gets what exists only here or only on the platform. Sync first: this compares what is known."""
        differing = differences.differences(self.study(EDITS))
        return Response(
            {
                "here_only": [
                    {
                        "assignment": work.pk,
                        "platform_id": work.platform_assignment_id,
                        "worker": work.participant.pseudonym,
                    }
                    for work in differing.here_only[:MOST_ROWS]
                ],
                "there_only": [
                    {"outside": outside.pk, "platform_id": outside.external_id, "state": outside.state}
                    for outside in differing.there_only[:MOST_ROWS]
                ],
                "other_worker": [
                    {"platform_id": outside.external_id, "worker": work.participant.pseudonym}
                    for work, outside in differing.other_worker[:MOST_ROWS]
                ],
                "counts": {
                    "here_only": len(differing.here_only),
                    "there_only": len(differing.there_only),
                    "other_worker": len(differing.other_worker),
                },
            }
        )


def connected(name: str, study: Study) -> Platform:
    """The platform with the key of the account that pays for the study. Raises Invalid without one: then the program
    knows at once what to set."""
    try:
        return connect(name, study)
    except PlatformTrouble as trouble:
        raise invalid("platform", trouble.what, trouble.fix) from None


def cost_data(cost: Cost) -> dict[str, Any]:
    """A cost with its total."""
    return asdict(cost) | {"total": cost.total}


urlpatterns = [
    path("platforms/", Platforms.as_view(), name="api_platforms"),
    path(STUDY + "platform/", StudyPlatform.as_view(), name="api_study_platform"),
    path(STUDY + "platform/differences/", Differences.as_view(), name="api_differences"),
]
