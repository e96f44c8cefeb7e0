"""How the API writes studies, arms and progress as JSON."""

from __future__ import annotations

from typing import Any

from drf_spectacular.utils import extend_schema_field
from rest_framework import serializers
from rest_framework.serializers import ModelSerializer, Serializer, SerializerMethodField, SlugRelatedField

from annotation.models import Arm, Study
from annotation.platforms import link
from annotation.studies.spec import stopping_of, stored_factors
from annotation.study_forms import StudyForm
from annotation.task_types.questionnaire_form import QuestionnairesForm
from annotation.task_types.questionnaires import TRIES
from annotation.work.quality_rules import rules_of

ANY_OBJECT = {"type": "object", "additionalProperties": {}}
TEXTS = {"type": "object", "additionalProperties": {"type": "string"}}


class StudySummary(ModelSerializer[Study]):
    """A study as lists show it."""

    items = serializers.IntegerField(source="n_items", read_only=True, help_text="How many items it has.")
    wanted = serializers.IntegerField(source="n_wanted", read_only=True, help_text="Submissions wanted over all hits.")
    submitted = serializers.IntegerField(source="n_submitted", read_only=True, help_text="Submissions received.")
    submitted_synthetic = serializers.IntegerField(
        source="n_simulated", read_only=True, help_text="How many of them are by simulated workers."
    )

    class Meta:
        model = Study
        fields: tuple[str, ...] = (
            *("slug", "title", "task_type", "status", "created_at", "live_at", "closed_at"),
            *("items", "wanted", "submitted", "submitted_synthetic"),
        )
        read_only_fields = fields


class ArmShape(ModelSerializer[Arm]):
    """What an arm changes. The reward and the number of participants are null if the arm does not set them."""

    config = serializers.JSONField(read_only=True, help_text="The settings that differ in this arm.")
    texts = serializers.DictField(child=serializers.CharField(), read_only=True)
    factors = serializers.DictField(child=serializers.CharField(), read_only=True, help_text="Its level by factor.")

    class Meta:
        model = Arm
        fields = ("name", "config", "texts", "factors", "reward", "wanted", "n_enrolled")
        read_only_fields = fields


class StudyShape(StudySummary):
    """A study as lists show it, with everything that a study file contains."""

    arms = SerializerMethodField()
    factors = SerializerMethodField()
    config = SerializerMethodField()
    texts = serializers.DictField(child=serializers.CharField(), read_only=True)
    interface = serializers.DictField(child=serializers.CharField(), read_only=True)
    platforms = serializers.DictField(child=serializers.DictField(), read_only=True)
    quality_control = SerializerMethodField()
    exclude = SerializerMethodField()
    stopping = SerializerMethodField()
    before = serializers.ListField(source="questionnaires.before", default=list, read_only=True)
    comprehension = serializers.ListField(source="questionnaires.comprehension", default=list, read_only=True)
    comprehension_tries = serializers.IntegerField(
        source="questionnaires.comprehension_tries", default=TRIES, read_only=True
    )
    comprehension_message = serializers.CharField(
        source="questionnaires.comprehension_message", default="", read_only=True
    )
    screen_out = serializers.JSONField(source="questionnaires.screen_out", default={}, read_only=True)
    screen_out_message = serializers.CharField(source="questionnaires.screen_out_message", default="", read_only=True)
    screen_out_reward = serializers.FloatField(
        source="questionnaires.screen_out_reward", default=None, allow_null=True, read_only=True
    )
    after = serializers.ListField(source="questionnaires.after", default=list, read_only=True)
    training_needed = serializers.IntegerField(
        source="questionnaires.training_needed", default=None, allow_null=True, read_only=True
    )
    training_tries = serializers.IntegerField(source="questionnaires.training_tries", default=TRIES, read_only=True)
    training_message = serializers.CharField(source="questionnaires.training_message", default="", read_only=True)
    training_show_right = serializers.BooleanField(
        source="questionnaires.training_show_right", default=False, read_only=True
    )
    training_skip_if_passed = serializers.ListField(
        source="questionnaires.training_skip_if_passed",
        child=serializers.CharField(),
        default=list,
        read_only=True,
    )
    link = SerializerMethodField()
    exclude_studies: SlugRelatedField[Study] = SlugRelatedField(many=True, read_only=True, slug_field="slug")

    class Meta(StudySummary.Meta):
        own = (
            "config",
            "texts",
            "interface",
            "platforms",
            "quality_control",
            "exclude",
            "stopping",
            "exclude_studies",
            "arms",
            "factors",
            *QuestionnairesForm.base_fields,
            "link",
        )
        fields = tuple(dict.fromkeys([*StudySummary.Meta.fields, *StudyForm.Meta.fields, *own]))
        read_only_fields = fields

    @extend_schema_field(ArmShape(many=True))
    def get_arms(self, study: Study) -> Any:
        """The arms. Empty if the study has only the unnamed one."""
        arms = list(study.arms.all())
        return ArmShape(arms if len(arms) > 1 else [], many=True).data

    @extend_schema_field(ANY_OBJECT)
    def get_factors(self, study: Study) -> Any:
        """The settings of the declared factors by their names, in their order."""
        return stored_factors(study)

    @extend_schema_field(ANY_OBJECT)
    def get_config(self, study: Study) -> Any:
        """The settings of the task type."""
        return study.config

    @extend_schema_field(ANY_OBJECT)
    def get_quality_control(self, study: Study) -> Any:
        """The rules that find careless work."""
        return rules_of(study)[0]

    @extend_schema_field(ANY_OBJECT)
    def get_exclude(self, study: Study) -> Any:
        """The rules that exclude submissions from the analysis."""
        return rules_of(study)[1]

    @extend_schema_field(ANY_OBJECT)
    def get_stopping(self, study: Study) -> Any:
        """The rule by which the study stops before all ratings are in. None if its factor is empty."""
        return stopping_of(study)

    @extend_schema_field({"type": "string", "format": "uri"})
    def get_link(self, study: Study) -> str:
        """Where workers start who come by the study's link."""
        return link.study_url(study)


class DifferenceShape(Serializer[Any]):
    """One key that differs. ``old`` is null if the key is new."""

    field = serializers.CharField(help_text="The key as in a study file, such as config.context_shown.")
    old = serializers.JSONField()
    new = serializers.JSONField()


class AppliedShape(Serializer[Any]):
    """What a write did to a study, or would do with ``dry_run``."""

    study = StudyShape(allow_null=True, help_text="The study as it is now; null if it does not exist yet.")
    created = serializers.BooleanField(help_text="Whether the study is new.")
    dry_run = serializers.BooleanField(help_text="Whether nothing was written.")
    differences = DifferenceShape(many=True)
    warnings = serializers.ListField(child=serializers.CharField(), help_text="What is good to know about the study.")
    suggestion = serializers.CharField(help_text="What the report compares besides the declared factors. May be empty.")


class RatingCountsShape(Serializer[Any]):
    """Ratings received, those that the analysis includes, and the included ones by people."""

    all = serializers.IntegerField()
    included = serializers.IntegerField()
    by_people = serializers.IntegerField()


class ArmProgressShape(Serializer[Any]):
    """The progress of one arm."""

    name = serializers.CharField()
    enrolled = serializers.IntegerField()
    participants_wanted = serializers.IntegerField(allow_null=True, help_text="Null: as many as its hits need.")
    submitted = serializers.IntegerField()
    wanted = serializers.IntegerField()
    in_progress = serializers.IntegerField()


class ArmPayShape(Serializer[Any]):
    """The pay per hour in one arm, from the median time."""

    arm = serializers.CharField()
    per_hour = serializers.CharField(help_text="USD.")
    seconds = serializers.FloatField(help_text="The median time.")
    n = serializers.IntegerField(help_text="Submissions that the median is of.")


class ProgressShape(Serializer[Any]):
    """The figures of the study page."""

    items = serializers.IntegerField()
    items_done = serializers.IntegerField()
    items_repeated = serializers.IntegerField(help_text="Items whose submissions are by fewer workers than wanted.")
    missing = serializers.ListField(child=serializers.CharField(), help_text="Raters who are missing, in sentences.")
    hits = serializers.IntegerField()
    hits_done = serializers.IntegerField()
    wanted = serializers.IntegerField(help_text="Submissions wanted over all hits.")
    submitted = serializers.IntegerField()
    submitted_synthetic = serializers.IntegerField()
    in_progress = serializers.IntegerField(help_text="Hits that somebody can still finish in time.")
    returned = serializers.IntegerField()
    abandoned = serializers.IntegerField()
    stopped = serializers.IntegerField()
    ratings = RatingCountsShape()
    left_out = serializers.DictField(child=serializers.IntegerField(), help_text="Submissions left out, by reason.")
    workers = serializers.IntegerField()
    workers_synthetic = serializers.IntegerField()
    flagged = serializers.IntegerField()
    flags = serializers.DictField(child=serializers.IntegerField(), help_text="Submissions by reason of a flag.")
    excluded = serializers.IntegerField()
    released = serializers.IntegerField()
    extra = serializers.IntegerField()
    median_seconds = serializers.FloatField(allow_null=True, help_text="Per hit.")
    median_simulated = serializers.BooleanField(help_text="Whether the median is of simulated workers.")
    simulated = serializers.DictField(
        child=serializers.IntegerField(), help_text="How much of some totals is by simulated workers."
    )
    per_hour = SerializerMethodField()
    arms = ArmProgressShape(many=True)
    pay = ArmPayShape(many=True)

    @extend_schema_field({"type": "array", "items": {"type": "array", "items": {}, "minItems": 2, "maxItems": 2}})
    def get_per_hour(self, progress: Any) -> Any:
        """Submissions in the last 48 hours: pairs of an hour (UTC) and a count."""
        return [[hour.isoformat(), count] for hour, count in progress.per_hour]
