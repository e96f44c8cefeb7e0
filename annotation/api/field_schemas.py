"""Form fields as JSON schemas: what the API describes is what the forms check."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms
from django.core.validators import MaxValueValidator, MinValueValidator

from annotation.study_forms import bound, choices_of
from annotation.task_types.described_questions import DescribedQuestionsField
from annotation.task_types.questionnaire_form import ConditionsField, EntriesField
from annotation.task_types.settings import TableField


def fields_schema(fields: Mapping[str, forms.Field]) -> dict[str, Any]:
    """The schema of each field by its name."""
    return {name: field_schema(field, name) for name, field in fields.items()}


def field_schema(field: forms.Field, name: str) -> dict[str, Any]:
    """The values that a study file may have for this field, with its label and its help."""
    schema = _values(field)
    if not field.required and not isinstance(field, forms.BooleanField) and isinstance(schema.get("type"), str):
        schema["type"] = [schema["type"], "null"]
        if "enum" in schema:
            schema["enum"] = [*schema["enum"], *(() if "" in schema["enum"] else ("",)), None]
    label = field.label or name.replace("_", " ").capitalize()
    return schema | {"description": f"{label}. {field.help_text}".strip()}


def _values(field: forms.Field) -> dict[str, Any]:
    if isinstance(field, DescribedQuestionsField):
        record: dict[str, Any] = {"type": "object"}
        entry = {"anyOf": [record, {"type": "string"}]} if isinstance(field, EntriesField) else record
        return {"type": "array", "items": entry, "minItems": field.least, "maxItems": field.most}
    if isinstance(field, ConditionsField):
        return {
            "type": "object",
            "additionalProperties": {"anyOf": [{"type": "array", "items": {}}, {"type": "object"}]},
        }
    if isinstance(field, TableField):
        cells = {cell.name: {"type": "string", "description": cell.label} for cell in field.cells}
        row = {"type": "string"} if "" in cells else {"type": "object", "properties": cells}
        return {"type": "array", "items": row, "minItems": field.least, "maxItems": field.most}
    if isinstance(field, forms.MultipleChoiceField):
        return {"type": "array", "items": {"type": "string", "enum": list(choices_of(field))}}
    if isinstance(field, forms.ChoiceField):
        return {"type": "string", "enum": list(choices_of(field))}
    if isinstance(field, forms.BooleanField):
        return {"type": "boolean"}
    if isinstance(field, forms.IntegerField):
        limits = {"minimum": bound(field, MinValueValidator), "maximum": bound(field, MaxValueValidator)}
        numbers = {key: float(limit) if limit % 1 else int(limit) for key, limit in limits.items() if limit is not None}
        is_whole = not isinstance(field, forms.FloatField | forms.DecimalField)
        return {"type": "integer" if is_whole else "number"} | numbers
    if isinstance(field, forms.CharField):
        return {"type": "string"} | ({"maxLength": field.max_length} if field.max_length else {})
    return {}
