"""How a study is offered on Prolific: its settings there, and the parameters made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotation.models import Posting, Study
from annotation.platforms.base import Json, annotation_of, posting_url
from annotation.task_types.settings import Cell, ConfigForm, TableField

DEVICES = (("desktop", "Computers"), ("tablet", "Tablets"), ("mobile", "Phones"))
#: Prolific fills these in when a participant opens the study (“The study object”, external_study_url).
PLACEHOLDERS = {
    "PROLIFIC_PID": "{{%PROLIFIC_PID%}}",
    "STUDY_ID": "{{%STUDY_ID%}}",
    "SESSION_ID": "{{%SESSION_ID%}}",
}


class FiltersField(TableField):
    """Who may take part: Prolific's filters, each with the values that it selects or with a range."""

    def clean_row(self, row: Any, number: int) -> Any:
        clean = super().clean_row(row, number)
        if bool(clean["values"]) == bool(clean["from"] or clean["to"]):
            raise ValidationError(f"Entry {number} needs either values, or from and to.", code="values")
        weights = _parts(clean["weights"])
        if weights and len(weights) != len(_parts(clean["values"])):
            raise ValidationError(f"Entry {number} needs one weight for each value.", code="weights")
        for text in (clean["from"], clean["to"], *weights):
            if text and not text.replace(".", "", 1).isdecimal():
                raise ValidationError(f"Entry {number}: “{text[:40]}” is not a number.", code="number")
        return clean


class ProlificForm(ConfigForm):
    """Settings of a study on Prolific."""

    description = forms.CharField(
        required=False, max_length=5000, help_text="What participants read before they start; the title if empty."
    )
    project = forms.CharField(
        label="Project on Prolific",
        required=False,
        max_length=40,
        help_text="Id of the project that the study belongs to; empty: the default one.",
    )
    devices = forms.MultipleChoiceField(
        choices=DEVICES, initial=["desktop", "tablet", "mobile"], help_text="On which devices it can be done."
    )
    filters = FiltersField(
        cells=(
            Cell("filter", "Filter id"),
            Cell("values", "Values, with commas", required=False),
            Cell("from", "From", required=False),
            Cell("to", "To", required=False),
            Cell("weights", "Quota weights, with commas", required=False),
        ),
        most=50,
        help_text="Who may take part, by Prolific's filters. Weights make a quota: 1, 1 for as many of each value.",
    )


@dataclass(frozen=True, slots=True)
class ProlificConfig:
    """The cleaned settings."""

    description: str = ""
    project: str = ""
    devices: Sequence[str] = ("desktop", "tablet", "mobile")
    filters: Sequence[dict[str, str]] = ()

    def study(self, study: Study, posting: Posting, barred: Sequence[str]) -> Json:
        """Parameters of “Create a draft study”. ``barred``: Prolific studies whose participants may not take part."""
        params: Json = {
            "name": study.title[:120],
            "internal_name": annotation_of(posting),
            "description": self.description or study.title,
            "external_study_url": address_of(posting),
            "prolific_id_option": "url_parameters",
            "completion_codes": [
                {"code": posting.code, "code_type": "COMPLETED", "actions": [{"action": "MANUALLY_REVIEW"}]}
            ],
            "total_available_places": posting.wanted or 1,
            "estimated_completion_time": minutes_of(study),
            "maximum_allowed_time": study.time_limit_minutes,
            "reward": int(posting.pays * 100),
            "device_compatibility": list(self.devices),
            "peripheral_requirements": [],
            "filters": self.chosen(barred),
            "submissions_config": {
                "max_submissions_per_participant": study.hits_per_worker or -1,
                "max_concurrent_submissions": 1,
            },
        }
        return params | ({"project": self.project} if self.project else {})

    def chosen(self, barred: Sequence[str]) -> list[Json]:
        """The filters as the API takes them (“Filters overview”, “Study distribution (quotas) with filters”)."""
        found = [_filter(each) for each in self.filters]
        if barred:
            found.append({"filter_id": "previous_studies_blocklist", "selected_values": list(barred)})
        return found


def address_of(posting: Posting) -> str:
    """The posting's address with Prolific's placeholders."""
    return f"{posting_url(posting)}?{'&'.join(f'{name}={mark}' for name, mark in PLACEHOLDERS.items())}"


def minutes_of(study: Study) -> int:
    """The estimated time in whole minutes, at least one."""
    return max(1, int((study.estimated_minutes or Decimal(1)).to_integral_value()))


def _filter(row: dict[str, str]) -> Json:
    if not row["values"]:
        ends = {"lower": row["from"], "upper": row["to"]}
        return {
            "filter_id": row["filter"],
            "selected_range": {end: _number(text) for end, text in ends.items() if text},
        }
    values = _parts(row["values"])
    found: Json = {"filter_id": row["filter"], "selected_values": values}
    if weights := _parts(row["weights"]):
        found["weightings"] = {value: _number(weight) for value, weight in zip(values, weights, strict=True)}
    return found


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)
