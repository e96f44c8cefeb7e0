"""From draft to closed: what a launch would start, and the changes of a study's state."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.parsing import body
from annotation.api.studies import StudyEndpoint
from annotation.api.study_shapes import StudyShape
from annotation.api.views import Endpoint, Role
from annotation.models import Study
from annotation.platforms.calls import PlatformTrouble
from annotation.recruiting.changing_offers import pause_everywhere, resume_everywhere
from annotation.studies import launching, storing
from annotation.studies.pages.launch_plan import Plan, plan_of
from annotation.studies.storing import Frozen
from annotation.studies.studies_list import listed_studies
from common.problems import Problem


class ArmCostShape(serializers.Serializer[Any]):
    """The cost and workload of one arm."""

    name = serializers.CharField()
    hits = serializers.IntegerField(source="n_hits")
    submissions = serializers.IntegerField(source="n_submissions")
    rewards = serializers.ListField(child=serializers.CharField(), help_text="USD per hit, each different one.")
    cost = serializers.CharField(help_text="USD, without the fees of a platform.")
    least_workers = serializers.IntegerField(source="staff.least", help_text="Different workers that the hits need.")
    participants_wanted = serializers.IntegerField(source="wanted", allow_null=True)
    limited = serializers.BooleanField(help_text="Whether these participants cannot make all submissions.")
    per_hour = serializers.CharField(allow_null=True, help_text="USD; null if the time per hit is not known.")


class CheckShape(serializers.Serializer[Any]):
    """One thing to look at before the launch. A “bad” one prevents it."""

    level = serializers.ChoiceField(choices=["good", "warn", "bad"])
    text = serializers.CharField()


class LaunchPlanShape(serializers.Serializer[Any]):
    """What a launch would start."""

    items = serializers.IntegerField(source="n_items")
    hits = serializers.IntegerField(source="n_hits")
    submissions = serializers.IntegerField(source="n_submissions")
    ratings_per_item = serializers.IntegerField()
    hits_per_worker = serializers.IntegerField(allow_null=True)
    cost = serializers.CharField(help_text="USD, without the fees of a platform.")
    least_workers = serializers.IntegerField()
    workers = serializers.ListField(child=serializers.CharField(), help_text="The workers needed, in sentences.")
    seconds_per_hit = serializers.SerializerMethodField()
    hours = serializers.SerializerMethodField()
    arms = ArmCostShape(many=True)
    checks = CheckShape(many=True)
    blocked = serializers.BooleanField(help_text="Whether a check prevents the launch.")
    version = serializers.CharField(help_text="Changes with the study: send it with the launch.")

    def get_seconds_per_hit(self, plan: Plan) -> float | None:
        """Null if it is not known."""
        return plan.time.seconds if plan.time else None

    def get_hours(self, plan: Plan) -> float | None:
        """The time of all submissions together. Null if it is not known."""
        return plan.time.seconds * plan.n_submissions / 3600 if plan.time else None


class LaunchPlan(Endpoint):
    @extend_schema(operation_id="studies_launch_plan", responses=LaunchPlanShape)
    def get(self, request: Request, slug: str) -> Response:
        """Gets what a launch would start: hits, submissions, cost, hours, and what is still missing."""
        return Response(LaunchPlanShape(plan_of(self.study(Role.EDITOR))).data)


class StateChangeShape(serializers.Serializer[Any]):
    """The study after its state changed."""

    study = StudyShape()
    warnings = serializers.ListField(child=serializers.CharField(), help_text="Such as: the platform did not answer.")


class LaunchRequest(serializers.Serializer[Any]):
    """Which plan to launch."""

    version = serializers.CharField(
        required=False, help_text="That of the launch plan: the launch is refused if the study has changed since."
    )


class StateChange(StudyEndpoint):
    """Changes the state. Doing it again changes nothing."""

    def change(self, act: Callable[..., object], remarks: Sequence[str] = ()) -> Response:
        study, warnings = self.study(Role.EDITOR), list(remarks)
        try:
            act(study=study, actor=self.actor)
        except PlatformTrouble as trouble:  # the change here has happened
            warnings.append(f"Nothing changed on the platform. {trouble}")
        answer = {"study": listed_studies(self.user).get(pk=study.pk), "warnings": warnings}
        return Response(StateChangeShape(answer).data)


class Launch(StateChange):
    @extend_schema(operation_id="studies_launch", request=LaunchRequest, responses=StateChangeShape)
    def post(self, request: Request, slug: str) -> Response:
        """Opens a draft at its link. Plans the hits and locks what workers see."""
        form = LaunchRequest(data=body(request))
        form.is_valid(raise_exception=True)
        version = form.validated_data.get("version", "")
        study = self.study(Role.EDITOR)
        if version and study.status == Study.Status.DRAFT and version != plan_of(study).version:
            what = "The study has changed since this plan was made."
            raise Frozen([Problem("version", what, "Get the plan again and check it.")])
        return self.change(launching.publish, launching.left_out_in_words(study))


class Pause(StateChange):
    @extend_schema(operation_id="studies_pause", request=None, responses=StateChangeShape)
    def post(self, request: Request, slug: str) -> Response:
        """Stops giving out new work. Hits in progress can still be finished."""
        return self.change(pause_everywhere)


class Resume(StateChange):
    @extend_schema(operation_id="studies_resume", request=None, responses=StateChangeShape)
    def post(self, request: Request, slug: str) -> Response:
        """Gives out work again in a paused study."""
        return self.change(resume_everywhere)


class Close(StateChange):
    @extend_schema(operation_id="studies_close", request=None, responses=StateChangeShape)
    def post(self, request: Request, slug: str) -> Response:
        """Ends a study for good. Its data stay, and hits in progress can still be finished."""
        return self.change(storing.close_study)
