"""Studies as JSON documents: the keys of a study file, with rows instead of the name of an items file."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from decimal import Decimal
from io import BytesIO
from typing import Any

from django import forms
from drf_spectacular.extensions import OpenApiSerializerExtension
from drf_spectacular.openapi import AutoSchema
from rest_framework import serializers
from rest_framework.request import Request

from annotation.api.field_schemas import fields_schema
from annotation.api.parsing import body
from annotation.api.study_shapes import ANY_OBJECT, TEXTS
from annotation.platforms import all_platforms
from annotation.studies.declared_factors import FactorForm
from annotation.studies.stopping_rule import StoppingForm
from annotation.studies.study_files import REQUIRED
from annotation.study_forms import ArmForm, StudyForm
from annotation.table_files import ReadingOptions, Table, read_table
from annotation.task_types.questionnaire_form import QuestionnairesForm
from annotation.task_types.registry import all_types
from annotation.work.quality_rules import ExclusionForm, QualityForm

#: What the source of items says about rows that came without a file.
ROWS = "rows.jsonl"
_DECIMAL = re.compile(r"-?\d{1,12}(\.\d{1,12})?", re.ASCII)


def table_of_rows(rows: Sequence[Any], *, limit: int | None = None, options: ReadingOptions | None = None) -> Table:
    """The rows, as if each were a line of a JSON Lines file. Raises TableProblems."""
    lines = "".join(f"{json.dumps(row, ensure_ascii=False)}\n" for row in rows)
    return read_table(BytesIO(lines.encode("utf-8", "surrogatepass")), name=ROWS, limit=limit, options=options)


def document_in(request: Request) -> dict[str, Any]:
    """The study in the body, ready for `read_document`. Raises TableProblems for its rows."""
    document = body(request)
    decimals(document, StudyForm.base_fields)
    for arm in document["arms"] if isinstance(document.get("arms"), list) else ():
        if isinstance(arm, dict):
            decimals(arm, ArmForm.base_fields)
    if isinstance(document.get("items"), list):
        document["items"] = table_of_rows(document["items"])
    return document


def decimals(values: dict[str, Any], fields: Mapping[str, forms.Field]) -> None:
    """Makes amounts numbers, which the API writes as text so that no digit is lost."""
    for name, value in values.items():
        if isinstance(fields.get(name), forms.DecimalField) and isinstance(value, str) and _DECIMAL.fullmatch(value):
            values[name] = Decimal(value)


class Document(serializers.Serializer[Any]):
    """What a study file writes. The services check it; the forms that they check it with describe it."""


class StudyDocument(Document):
    """A study as a study file describes it. What it leaves out has its default value."""


class StudyChanges(Document):
    """Some keys of a study file. Settings, texts and rules that are not named stay as they are."""


class ArmDocument(Document):
    """An arm as a study file describes it."""


class ArmChanges(Document):
    """Some keys of an arm. Settings and texts that are not named stay as they are."""


class DocumentSchema(OpenApiSerializerExtension):  # type: ignore[no-untyped-call]  # its package declares no types
    """Describes these documents by the forms that check them."""

    target_class = Document
    match_subclasses = True

    def get_name(self, auto_schema: AutoSchema, direction: Any) -> str:
        return type(self.target).__name__

    def map_serializer(self, auto_schema: AutoSchema, direction: Any) -> dict[str, Any]:
        is_arm = isinstance(self.target, ArmDocument | ArmChanges)
        schema = {"type": "object", "additionalProperties": False, "description": type(self.target).__doc__}
        schema["properties"] = properties = arm_schema() if is_arm else study_schema()
        if isinstance(self.target, StudyChanges):
            properties.pop("items")
        if isinstance(self.target, ArmDocument):
            schema["required"] = ["name"]
        if isinstance(self.target, StudyDocument):
            schema["required"] = list(REQUIRED)
        return schema


def arm_schema() -> dict[str, Any]:
    """The keys of an arm."""
    return fields_schema(ArmForm().fields) | {
        "config": ANY_OBJECT | {"description": "The settings that differ in this arm."},
        "texts": TEXTS | {"description": "The texts that differ in this arm."},
        "factors": TEXTS | {"description": "Its level by factor."},
    }


def factor_schema() -> dict[str, Any]:
    """The settings of a factor."""
    properties = fields_schema(FactorForm.base_fields) | {"parts": TEXTS}
    return {"type": "object", "properties": properties, "additionalProperties": False}


def study_schema() -> dict[str, Any]:
    """The keys of a study."""
    arm = {"type": "object", "required": ["name"], "properties": arm_schema(), "additionalProperties": False}
    platforms = {
        name: {"type": "object", "properties": fields_schema(platform.form.base_fields), "additionalProperties": False}
        for name, platform in all_platforms().items()
    }
    return {
        "task_type": {"type": "string", "enum": list(all_types()), "description": "See the operation task_types_get."},
        **fields_schema(StudyForm().fields),
        "config": ANY_OBJECT | {"description": "The settings of the task type. See the operation task_types_get."},
        "texts": TEXTS | {"description": "Own wordings by the name of the text. See the operation wording_get."},
        "interface": TEXTS | {"description": "Own wordings of buttons, notices and errors, by the English text."},
        "arms": {"type": "array", "items": arm, "description": "What differs between groups of participants."},
        "exclude_studies": {
            "type": "array",
            "items": {"type": "string"},
            "description": "Short names of studies whose participants may not take part.",
        },
        "platforms": {"type": "object", "properties": platforms, "additionalProperties": False},
        "quality_control": _settings_schema(QualityForm, "Rules that find careless work."),
        "exclude": _settings_schema(ExclusionForm, "Rules that exclude submissions from the analysis."),
        "factors": {
            "type": "object",
            "additionalProperties": factor_schema(),
            "description": "What the report compares: the settings of each factor by its name.",
        },
        "stopping": _settings_schema(StoppingForm, "The rule by which the study stops before all ratings are in."),
        **fields_schema(QuestionnairesForm.base_fields),
        "items": {
            "description": "The rows themselves, or where items come from: {“from_run”: NAME} or {“from_study”: NAME}.",
            "oneOf": [{"type": "array", "items": ANY_OBJECT}, ANY_OBJECT],
        },
    }


def _settings_schema(form: type[forms.Form], description: str) -> dict[str, Any]:
    properties = fields_schema(form.base_fields)
    return {"type": "object", "properties": properties, "additionalProperties": False, "description": description}
