"""Quality control: its rules, what they found, the queue of what to review, and answers that people settle."""

from __future__ import annotations

from typing import Any

from django.http import Http404
from django.shortcuts import get_object_or_404
from django.urls import path
from drf_spectacular.utils import OpenApiParameter, extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.api.fields import Input, Nothing
from annotation.api.job_kinds import CHECK
from annotation.api.job_views import JobShape, job_for
from annotation.api.paging import Pages
from annotation.api.parsing import flag
from annotation.api.roles import EDITS
from annotation.api.views import Endpoint, Role
from annotation.models import Flag, Item, Study, Submission
from annotation.recruiting.pay_states import PAY_STATES, with_pay_state
from annotation.review.adjudicating import adjudicated_question, settle
from annotation.review.quality_findings import quality_of
from annotation.review.submission_lists import Filter, chosen
from annotation.studies.storing import change_study
from annotation.work.coded_items import CodedItem, coded_items, coders_of
from annotation.work.quality_rules import rules_of

STUDY = "studies/<slug:slug>/"


class QualityRulesShape(serializers.Serializer[Any]):
    """The rules of quality control and of exclusion, as in a study file."""

    quality_control = serializers.DictField(help_text="Thresholds and options. A threshold of null is off.")
    exclude = serializers.DictField(help_text="What the analysis leaves out.")
    locked = serializers.BooleanField(help_text="After the launch, nobody can change them.")


class QualityRules(Input):
    """The rules to change. What is left out stays."""

    quality_control = serializers.DictField(required=False, help_text="Thresholds and options to change.")
    exclude = serializers.DictField(required=False, help_text="Exclusion rules to change.")


class RuleShape(serializers.Serializer[Any]):
    """One rule and how many submissions it flagged."""

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the metaclass takes it off the class
    threshold = serializers.CharField(help_text="In words; empty if the rule is off.")
    people = serializers.IntegerField(help_text="Flagged submissions of people.")
    simulated = serializers.IntegerField(help_text="Flagged submissions of simulated workers.")


class ExclusionRuleShape(serializers.Serializer[Any]):
    """One exclusion rule and how many submissions it leaves out."""

    words = serializers.CharField()
    submissions = serializers.IntegerField()


class QualityCheckShape(serializers.Serializer[Any]):
    """The last check of all submissions."""

    submissions = serializers.IntegerField()
    new_flags = serializers.DictField(source="flags", child=serializers.IntegerField())
    by = serializers.CharField(source="actor")
    at = serializers.DateTimeField(source="created_at")


class QualityShape(serializers.Serializer[Any]):
    """What quality control found."""

    rules = RuleShape(many=True)
    exclusions = ExclusionRuleShape(many=True)
    submissions = serializers.IntegerField()
    before = serializers.IntegerField(help_text="Submissions that no person excluded.")
    after = serializers.IntegerField(help_text="How many of those no rule excludes either.")
    unchecked = serializers.IntegerField(help_text="Submissions that arrived after the last check.")
    last = QualityCheckShape(allow_null=True)


class QueueShape(serializers.Serializer[Any]):
    """How much there is to review. Submissions of simulated workers are not counted in `pay`."""

    flagged = serializers.IntegerField(help_text="Submissions with a flag.")
    flagged_undecided = serializers.IntegerField(help_text="Those about which nobody has decided.")
    flags = serializers.DictField(child=serializers.IntegerField(), help_text="Submissions by rule.")
    pay = serializers.DictField(child=serializers.IntegerField(), help_text="Submissions by the state of their reward.")
    to_settle = serializers.IntegerField(help_text="Items whose coders differ.")


class Quality(Endpoint):
    @extend_schema(operation_id="quality_get", responses=QualityShape)
    def get(self, request: Request, slug: str) -> Response:
        """Gets what quality control has found: flags by rule, and what the exclusion rules leave out."""
        return Response(QualityShape(quality_of(self.study())).data)


class Rules(Endpoint):
    @extend_schema(operation_id="quality_rules_get", responses=QualityRulesShape)
    def get(self, request: Request, slug: str) -> Response:
        """Gets the rules of quality control and of exclusion, with defaults for what the study does not set."""
        return Response(_rules(self.study()))

    @extend_schema(operation_id="quality_rules_change", request=QualityRules, responses=QualityRulesShape)
    def put(self, request: Request, slug: str) -> Response:
        """Changes rules of a draft. They are locked at the launch, so that nobody can fit them to the data."""
        study, sent = self.study(EDITS), QualityRules.of(request)
        quality, exclusion = rules_of(study)
        changed = change_study(
            study=study,
            quality_control=quality | sent.get("quality_control", {}),
            exclusion=exclusion | sent.get("exclude", {}),
            actor=self.actor,
        )
        return Response(_rules(changed))


def _rules(study: Study) -> dict[str, Any]:
    quality, exclusion = rules_of(study)
    return {"quality_control": quality, "exclude": exclusion, "locked": study.status != Study.Status.DRAFT}


class Check(Endpoint):
    @extend_schema(operation_id="quality_check", request=Nothing, responses={202: JobShape})
    def post(self, request: Request, slug: str) -> Response:
        """Checks all submissions with every rule. It only adds flags: it excludes and pays nothing."""
        study = self.study(EDITS)
        Nothing.of(request)
        return job_for(user=self.user, kind=CHECK, study=study)


class Queue(Endpoint):
    @extend_schema(operation_id="quality_queue", responses=QueueShape)
    def get(self, request: Request, slug: str) -> Response:
        """Gets how much there is to review: flagged submissions, rewards to decide, items to settle."""
        study = self.study(answers=True)
        flagged = chosen(study, Filter(show="flagged"))
        reasons = Flag.objects.filter(submission__study=study).values_list("reason", "submission").distinct()
        flags: dict[str, int] = {}
        for reason, _ in reasons.order_by("reason"):
            flags[reason] = flags.get(reason, 0) + 1
        states = with_pay_state(study).filter(participant__synthetic=False).order_by().values_list("pay", flat=True)
        pay = dict.fromkeys(PAY_STATES, 0)
        for state in states:
            pay[state] += 1
        to_settle = sum(item.state == "differ" for item in coded_items(study)) if adjudicated_question(study) else 0
        undecided = Submission.objects.filter(pk__in=flagged.values("pk"), reviews=None)
        figures = {"flagged": flagged.count(), "flagged_undecided": undecided.count()}
        return Response(figures | {"flags": flags, "pay": pay, "to_settle": to_settle})


# --- coding ---


class CodeShape(serializers.Serializer[Any]):
    """What one coder chose."""

    coder = serializers.CharField()
    chosen = serializers.ListField(child=serializers.CharField())


class CodedItemShape(serializers.Serializer[Any]):
    """An item with everybody's labels."""

    item = serializers.CharField()
    state = serializers.ChoiceField(["settled", "waiting", "agree", "differ"])
    codes = CodeShape(many=True)
    final = serializers.ListField(child=serializers.CharField(), allow_null=True, help_text="The labels that count.")
    note = serializers.CharField(help_text="Why it was settled so.")


class FinalLabels(Input):
    """The labels that count from now on."""

    chosen = serializers.ListField(child=serializers.CharField(), help_text="Keys of the labels.")
    note = serializers.CharField(required=False, allow_blank=True, default="")


def _coded(item: CodedItem, names: dict[int, str]) -> dict[str, Any]:
    codes = [
        {"coder": names.get(person, "a simulated worker"), "chosen": sorted(chosen)}
        for person, chosen in item.given.items()
    ]
    final = None if item.final is None else sorted(item.final)
    return {
        "item": item.name,
        "state": item.state,
        "codes": codes,
        "final": final,
        "note": item.settled.note if item.settled else "",
    }


class CodingEndpoint(Endpoint):
    def coding_study(self, role: str = Role.VIEWER) -> Study:
        study = self.study(role, answers=True)
        if adjudicated_question(study) is None:
            raise Http404("This type of study has no answers to settle. Types whose coders work apart have.")
        return study

    def names(self, study: Study) -> dict[int, str]:
        return {coder.participant_id: coder.name for coder in coders_of(study)}


class Coding(CodingEndpoint):
    pagination_class = Pages

    @extend_schema(
        operation_id="coding_list",
        parameters=[OpenApiParameter("differ", bool, description="Only items whose coders differ.")],
        responses=CodedItemShape(many=True),
    )
    def get(self, request: Request, slug: str) -> Response:
        """Lists the items of a coding study with what each coder chose."""
        study = self.coding_study()
        items = [item for item in coded_items(study) if not flag(request, "differ") or item.state == "differ"]
        names = self.names(study)
        return self.get_paginated_response([_coded(item, names) for item in self.paginate_queryset(items) or []])


class SettleItem(CodingEndpoint):
    @extend_schema(operation_id="coding_settle", request=FinalLabels, responses=CodedItemShape)
    def post(self, request: Request, slug: str, item: str) -> Response:
        """Settles an item whose coders differ. The newest decision counts; earlier ones stay."""
        study = self.coding_study(EDITS)
        row = get_object_or_404(Item, study=study, external_id=item, role=Item.Role.MAIN)
        settle(item=row, user=self.user, **FinalLabels.of(request))
        return Response(_coded(coded_items(study, only=row.pk)[0], self.names(study)))


urlpatterns = [
    path(STUDY + "quality/", Quality.as_view(), name="api_quality"),
    path(STUDY + "quality/rules/", Rules.as_view(), name="api_quality_rules"),
    path(STUDY + "quality/check/", Check.as_view(), name="api_quality_check"),
    path(STUDY + "review-queue/", Queue.as_view(), name="api_review_queue"),
    path(STUDY + "coding/", Coding.as_view(), name="api_coding"),
    path(STUDY + "coding/<path:item>/settle/", SettleItem.as_view(), name="api_settle"),
]
