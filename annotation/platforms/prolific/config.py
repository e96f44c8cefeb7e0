"""How a study is offered on Prolific: its settings there, and the parameters made from them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from decimal import ROUND_UP, Decimal
from typing import Any

from django import forms
from django.core.exceptions import ValidationError

from annotation.models import Posting, Study
from annotation.platforms.base import annotation_of, posting_url
from annotation.platforms.calls import Json
from annotation.platforms.listings import bonus_note, one_listing_field
from annotation.platforms.paying_accounts import account_field
from annotation.platforms.prolific.codes import CodesField, completion_codes, screens_out
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
        help_text="Id of the project that the study belongs to; empty: the account’s, or else the default one.",
    )
    devices = forms.MultipleChoiceField(
        choices=DEVICES, initial=["desktop", "tablet", "mobile"], help_text="On which devices it can be done."
    )
    at_once = forms.IntegerField(
        label="Participants at the same time",
        required=False,
        min_value=1,
        max_value=10_000,
        help_text="How many may work on the study at once; empty: no limit.",
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
    one_listing = one_listing_field()
    codes = CodesField(
        label="Completion codes",
        help_text="What Prolific does when a participant comes back. Without an entry, finished work waits for your "
        "decision.",
    )
    screen_out_reward = forms.DecimalField(
        label="Pay for participants who are screened out",
        required=False,
        min_value=Decimal("0.01"),
        max_digits=6,
        decimal_places=2,
        help_text="USD; less than the reward. Needs an entry with “Screen out” in the completion codes.",
    )
    screen_out_places = forms.IntegerField(
        label="Most participants to screen out",
        required=False,
        min_value=1,
        max_value=10_000,
        help_text="The study pauses on Prolific when this many were screened out.",
    )
    account = account_field()

    def clean(self) -> dict[str, Any]:
        cleaned = super().clean() or self.cleaned_data
        filled_in = [name for name in ("screen_out_reward", "screen_out_places") if cleaned.get(name)]
        if len(filled_in) != (2 if screens_out(cleaned.get("codes") or ()) else 0):
            raise ValidationError(
                "To screen participants out, set all three: an entry with “screen_out” in codes, screen_out_reward and "
                "screen_out_places.",
                code="screen_out",
            )
        return cleaned


@dataclass(frozen=True, slots=True)
class ProlificConfig:
    """The cleaned settings."""

    description: str = ""
    project: str = ""
    devices: Sequence[str] = ("desktop", "tablet", "mobile")
    at_once: int | None = None
    filters: Sequence[dict[str, str]] = ()
    one_listing: bool = False
    codes: Sequence[dict[str, str]] = ()
    screen_out_reward: Decimal | str | None = None
    screen_out_places: int | None = None
    account: str = ""

    @property
    def screen_out_pay(self) -> Decimal:
        """USD for a participant who is screened out."""
        return Decimal(str(self.screen_out_reward or 0))

    def study(self, study: Study, posting: Posting, barred: Sequence[str]) -> Json:
        """Parameters of “Create a draft study”. ``barred``: Prolific studies whose participants may not take part."""
        params: Json = {
            "name": study.title[:120],
            "internal_name": annotation_of(posting),
            "description": f"{self.description or study.title}{bonus_note(study) if self.one_listing else ''}",
            "external_study_url": address_of(posting),
            "prolific_id_option": "url_parameters",
            "completion_codes": completion_codes(
                posting, self.codes, screen_out_reward=self.screen_out_pay, slots=self.screen_out_places
            ),
            "total_available_places": posting.wanted or 1,
            "estimated_completion_time": minutes_of(study),
            "maximum_allowed_time": study.time_limit_minutes,
            "reward": int(posting.pays * 100),
            "device_compatibility": list(self.devices),
            "peripheral_requirements": [],
            "filters": self.chosen(barred),
            # Schema BaseStudySubmissionsConfig: the second is a limit of the whole study; -1 is none.
            "submissions_config": {
                "max_submissions_per_participant": study.hits_per_worker or -1,
                "max_concurrent_submissions": self.at_once or -1,
            },
        }
        if any("weightings" in chosen_filter for chosen_filter in params["filters"]):
            params["study_type"] = "QUOTA"  # “Quota requirements”
        return params | ({"project": self.project} if self.project else {})

    def chosen(self, barred: Sequence[str]) -> list[Json]:
        """The filters as the API takes them (“Filters overview”, “Study distribution (quotas) with filters”)."""
        filters: list[Json] = []
        for row in self.filters:
            if row["values"]:
                values, weights = _parts(row["values"]), _parts(row["weights"])
                choice: Json = {"selected_values": values}
                if weights:
                    weighted = zip(values, weights, strict=True)
                    choice["weightings"] = {value: _number(weight) for value, weight in weighted}
            else:
                ends = {"lower": row["from"], "upper": row["to"]}
                choice = {"selected_range": {end: _number(text) for end, text in ends.items() if text}}
            filters.append({"filter_id": row["filter"], **choice})
        if barred:
            filters.append({"filter_id": "previous_studies_blocklist", "selected_values": list(barred)})
        return filters


def asked_for(chosen: Json) -> list[tuple[str, str]]:
    """See `Platform.asked_for`. Filters have Prolific's names and values, which a paper can cite."""
    rows = []
    for row in chosen.get("filters") or ():
        value = row["values"] or f"{row['from'] or 'any'} to {row['to'] or 'any'}"
        quota = f" (quota {row['weights']})" if row.get("weights") else ""
        rows.append((row["filter"].replace("-", " ").replace("_", " "), f"{value}{quota}"))
    devices = dict(DEVICES)
    named = [devices[name].lower() for name in chosen.get("devices") or ()]
    if 0 < len(named) < len(devices):
        rows.append(("devices", ", ".join(named)))
    return rows


def address_of(posting: Posting) -> str:
    """The posting's address with Prolific's placeholders."""
    return f"{posting_url(posting)}?{'&'.join(f'{name}={mark}' for name, mark in PLACEHOLDERS.items())}"


def minutes_of(study: Study) -> int:
    """The estimated time in whole minutes, rounded up: participants see it, and their time limit depends on it."""
    return max(1, int((study.estimated_minutes or Decimal(1)).to_integral_value(ROUND_UP)))


def _parts(text: str) -> list[str]:
    return [part.strip() for part in text.split(",") if part.strip()]


def _number(text: str) -> int | float:
    return float(text) if "." in text else int(text)
