"""The design of a study: its arms, its factors, and its wording."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from django.db import transaction
from django.http import Http404
from django.urls import reverse
from drf_spectacular.utils import extend_schema
from rest_framework import serializers
from rest_framework.request import Request
from rest_framework.response import Response

from annotation.access import studies_of
from annotation.api.documents import ArmChanges, ArmDocument, decimals, factor_schema
from annotation.api.parsing import body
from annotation.api.study_shapes import TEXTS, ArmShape
from annotation.api.views import Endpoint, Role
from annotation.models import Study
from annotation.studies.factor_notes import FactorNotes, factor_notes
from annotation.studies.spec import ArmSpec, spec_of, stored_factors
from annotation.studies.storing import change_study
from annotation.studies.study_files import read_document
from annotation.study_forms import ArmForm
from annotation.task_types.registry import get_type
from common.problems import invalid, refuse_if_any

# --- arms ---


class ArmEndpoint(Endpoint):
    """An address that answers with arms."""

    def arm(self, study: Study, name: str) -> Response:
        return Response(ArmShape(study.arms.get(name=name)).data)

    def save(self, study: Study, arms: Sequence[ArmSpec]) -> Study:
        return change_study(study=study, visible=studies_of(self.user), arms=arms, actor=self.actor)

    def read(self, study: Study, document: dict[str, Any]) -> ArmSpec:
        """The arm as a study file writes it. Raises FileRefused."""
        decimals(document, ArmForm.base_fields)
        return read_document({"task_type": study.task_type, "arms": [document]}, required=()).spec.arms[0]


class Arms(ArmEndpoint):
    @extend_schema(operation_id="arms_list", responses=ArmShape(many=True))
    def get(self, request: Request, slug: str) -> Response:
        """Lists the arms in their order. Empty for a study without arms."""
        page = self.paginate_queryset(list(self.study().arms.exclude(name="").order_by("position")))
        return self.get_paginated_response(ArmShape(page, many=True).data)

    @extend_schema(operation_id="arms_create", request=ArmDocument, responses={201: ArmShape})
    def post(self, request: Request, slug: str) -> Response:
        """Adds an arm to a draft."""
        study = self.study(Role.EDITOR)
        with transaction.atomic():
            now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
            arm, arms = self.read(now, body(request)), spec_of(now).arms
            if arm.name in {other.name for other in arms}:
                raise invalid(
                    "name", f"There already is an arm “{arm.name}”.", "Choose another name, or change that arm."
                )
            response = self.arm(self.save(now, [*arms, arm]), arm.name)
        response.status_code = 201
        response.headers["Location"] = reverse("api_arm", args=[slug, arm.name])
        return response


class OneArm(ArmEndpoint):
    @extend_schema(operation_id="arms_get", responses=ArmShape)
    def get(self, request: Request, slug: str, name: str) -> Response:
        """Gets an arm."""
        study = self.study()
        _position(spec_of(study).arms, name)
        return self.arm(study, name)

    @extend_schema(operation_id="arms_update", request=ArmChanges, responses=ArmShape)
    def patch(self, request: Request, slug: str, name: str) -> Response:
        """Changes the keys of the arm that the body names. After the launch, only `wanted` and `factors` can change.

        Of `config` and `texts`, entries that are not named stay.
        """
        study = self.study(Role.EDITOR)
        with transaction.atomic():
            now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
            arms = list(spec_of(now).arms)
            position, changes = _position(arms, name), body(request)
            stored = arms[position].as_json()
            for part in ("config", "texts"):
                if isinstance(changes.get(part), dict):
                    changes[part] = stored[part] | changes[part]
            arms[position] = self.read(now, stored | changes)
            return self.arm(self.save(now, arms), arms[position].name)

    @extend_schema(operation_id="arms_delete", responses={204: None})
    def delete(self, request: Request, slug: str, name: str) -> Response:
        """Deletes an arm of a draft."""
        study = self.study(Role.EDITOR)
        with transaction.atomic():
            now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
            arms = list(spec_of(now).arms)
            del arms[_position(arms, name)]
            self.save(now, arms)
        return Response(status=204)


def _position(arms: Sequence[ArmSpec], name: str) -> int:
    names = [arm.name for arm in arms]
    if name not in names:
        raise Http404(f"This study has no arm “{name[:60]}”. Its arms: {', '.join(names) or 'none'}.")
    return names.index(name)


# --- factors ---


class FactorShape(serializers.Serializer[Any]):
    """What the report compares. Empty values are left out."""

    of = serializers.CharField(required=False, help_text="What has a level, such as items or arms.")
    reference = serializers.CharField(required=False, help_text="The level that all others are compared with.")
    parts = serializers.DictField(
        child=serializers.CharField(), required=False, help_text="For parts of an item, the column of each part."
    )


class SuggestedFactorShape(serializers.Serializer[Any]):
    """What looks like a factor. The report compares it, although nobody declared it."""

    name = serializers.CharField()
    of = serializers.CharField()
    levels = serializers.ListField(child=serializers.CharField())


class FactorsShape(serializers.Serializer[Any]):
    """The declared factors by their names, and what looks like one."""

    factors = serializers.DictField(child=FactorShape())
    suggested = SuggestedFactorShape(many=True)
    warnings = serializers.ListField(child=serializers.CharField())


class Factors(Endpoint):
    @extend_schema(operation_id="factors_get", responses=FactorsShape)
    def get(self, request: Request, slug: str) -> Response:
        """Gets the factors that the report compares: those that are declared, and what looks like one."""
        study = self.study()
        return _factors(study, factor_notes(study))

    @extend_schema(
        operation_id="factors_put",
        request={"application/json": {"type": "object", "additionalProperties": factor_schema()}},
        responses=FactorsShape,
    )
    def put(self, request: Request, slug: str) -> Response:
        """Declares the factors, by their names. They replace all earlier ones, and can change at any time."""
        study = self.study(Role.EDITOR)
        settings = read_document({"factors": body(request)}, required=()).spec.factors
        with transaction.atomic():
            changed = change_study(study=study, factors=settings, actor=self.actor)
            notes = factor_notes(changed)
            refuse_if_any(notes.problems)
        return _factors(changed, notes)


def _factors(study: Study, notes: FactorNotes) -> Response:
    suggested = [{"name": factor.name, "of": factor.of, "levels": levels} for factor, levels in notes.suggested]
    warnings = [*map(str, notes.problems), *notes.warnings]
    answer = {"factors": stored_factors(study), "suggested": suggested, "warnings": warnings}
    return Response(FactorsShape(answer).data)


# --- wording ---


class TextShape(serializers.Serializer[Any]):
    """A text that workers read."""

    name = serializers.CharField()
    label = serializers.CharField()  # type: ignore[assignment]  # the metaclass takes it off the class
    group = serializers.CharField(help_text="The heading under which the console shows it.")
    default = serializers.CharField()
    own = serializers.CharField(help_text="The study's own wording; empty if it uses the default.")
    optional = serializers.BooleanField(help_text="Whether pages leave it out when it is empty.")
    formatted = serializers.BooleanField(help_text="Whether it has paragraphs and formatting.")


class WordingShape(serializers.Serializer[Any]):
    """Every text of a study that can be reworded."""

    texts = TextShape(many=True)


class Wording(Endpoint):
    @extend_schema(operation_id="wording_get", responses=WordingShape)
    def get(self, request: Request, slug: str) -> Response:
        """Gets every text that the study can reword, with its default and the study's own wording."""
        return _wording(self.study())

    @extend_schema(
        operation_id="wording_put",
        request={"application/json": TEXTS},
        responses=WordingShape,
    )
    def put(self, request: Request, slug: str) -> Response:
        """Sets the study's own wordings, by the name of the text. All other texts return to their defaults."""
        study = self.study(Role.EDITOR)
        texts = read_document({"texts": body(request)}, required=()).spec.texts
        return _wording(change_study(study=study, texts=texts, actor=self.actor))


def _wording(study: Study) -> Response:
    texts = [
        {
            "name": text.name,
            "label": text.label,
            "group": text.group,
            "default": text.default,
            "own": study.texts.get(text.name, ""),
            "optional": text.optional,
            "formatted": text.lines > 1,
        }
        for text in get_type(study.task_type).texts(study.config)
    ]
    return Response(WordingShape({"texts": texts}).data)
