"""The forms of a study's quality control and exclusion rules, for the console, the command line and study files."""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import ValidationError
from django.db.models import Count

from analysis.quality_control.rules import RULES, Rule
from annotation.models import Item, Study
from annotation.task_types.checks import ROLES
from annotation.task_types.items import Json
from annotation.task_types.settings import Cell, ConfigForm, ListField, TableField
from common.words import counted

MOST_CHECKS = 20
_LANGUAGE = re.compile(r"[a-z]{2,3}\Z")


class LanguagesField(ListField):
    """Codes of languages, such as en."""

    def clean(self, value: Any) -> list[Any]:
        codes = super().clean(value)
        for number, code in enumerate(codes, start=1):
            if not _LANGUAGE.match(code):
                what = f"Entry {number}: “{code[:20]}” is not a language code. Use ISO 639-1, such as en or de."
                raise ValidationError(what, code="language")
        return codes


def _checks_per_hit(label: str, things: str) -> forms.IntegerField:
    return forms.IntegerField(
        label=label,
        min_value=0,
        max_value=MOST_CHECKS,
        initial=1,
        help_text=f"Added to the items of each hit, in turn. Only if the items file has {things}.",
    )


def _mode_field(what: str) -> forms.ChoiceField:
    return forms.ChoiceField(
        label=f"When an answer to {what} is not right",
        choices=[("silent", "Nothing happens"), ("loud", "The page comes back once, with your explanation")],
        initial="silent",
        required=False,
        help_text="Quality control counts the first answer in any case.",
    )


class QualityForm(ConfigForm):
    """How gold items are used, and the threshold of every rule. An empty threshold switches a rule off."""

    gold_per_hit = _checks_per_hit("Gold items per hit", "gold items")
    attention_per_hit = _checks_per_hit("Attention checks per hit", "attention items")
    gold_feedback = forms.BooleanField(
        label="Show workers the right answer after a gold item",
        required=False,
        initial=False,
        help_text="The next page then shows the right answer and your explanation. Otherwise gold items look like any "
        "other item.",
    )
    gold_mode = _mode_field("a gold item")
    attention_mode = _mode_field("an attention check")
    languages = LanguagesField(
        label="Languages of the texts",
        required=False,
        most=10,
        max_length=3,
        initial=["en"],
        help_text="ISO 639-1 codes, such as en. Empty: texts are not checked for language or unknown words.",
    )
    opposites = TableField(
        label="Opposite questions",
        required=False,
        most=50,
        cells=[Cell("first", "Question", max_length=60), Cell("second", "Opposite question", max_length=60)],
        help_text="Topics of two statements that nobody can agree with at the same time.",
    )

    def clean(self) -> dict[str, Any]:
        given: dict[str, Any] = super().clean() or self.cleaned_data
        for name in ("gold_mode", "attention_mode"):
            given[name] = given.get(name) or "silent"
        for row in given.get("opposites") or []:
            if row["first"] == row["second"]:
                self.add_error("opposites", f"“{row['first']}” cannot be its own opposite.")
        return given


def threshold_field(rule: Rule) -> forms.Field:
    """The field for one rule's threshold."""
    label, help_text = f"{rule.label} ({rule.unit})", f"{rule.description} Empty: off."
    if not rule.whole_number:
        return forms.FloatField(
            label=label,
            required=False,
            initial=rule.default,
            min_value=rule.least,
            max_value=rule.most,
            help_text=help_text,
        )
    return forms.IntegerField(
        label=label,
        required=False,
        initial=None if rule.default is None else int(rule.default),
        min_value=int(rule.least),
        max_value=int(rule.most),
        help_text=help_text,
    )


# The thresholds are made from the rules, so that a new rule needs no form.
QualityForm.base_fields.update({rule.name: threshold_field(rule) for rule in RULES})


class ExclusionForm(ConfigForm):
    """Which submissions the analysis leaves out. Nothing here affects pay."""

    gold_share_below = forms.FloatField(
        label="Workers with a lower share of right gold answers",
        required=False,
        min_value=0.05,
        max_value=1.0,
        help_text="Over all gold answers of a worker, from 0.05 to 1. Excludes all submissions of the worker.",
    )
    flags = forms.MultipleChoiceField(
        label="Submissions with one of these flags",
        required=False,
        initial=[],
        choices=[(rule.name, rule.label) for rule in RULES],
        widget=forms.CheckboxSelectMultiple,
    )
    different_flags = forms.IntegerField(
        label="Submissions with at least this many different flags",
        required=False,
        min_value=1,
        max_value=len(RULES),
        help_text="Counts each rule once.",
    )


def initial_values(form: type[ConfigForm]) -> Json:
    """The initial values of a settings form, by field."""
    unbound = form()
    return {name: unbound.get_initial_for_field(field, name) for name, field in unbound.fields.items()}


def rules_of(study: Study) -> tuple[Json, Json]:
    """The study's rules of quality control and of exclusion. What it does not store has its default."""
    return initial_values(QualityForm) | study.quality_control, initial_values(ExclusionForm) | study.exclusion


@dataclass(frozen=True, slots=True)
class CheckItems:
    """Gold or attention items: how many the study has, and how many each hit gets."""

    role: str
    n: int
    per_hit: int

    @property
    def title(self) -> str:
        return {"gold": "Gold items", "attention": "Attention items"}[self.role]

    @property
    def in_a_hit(self) -> str:
        return counted(self.per_hit, f"{self.role} item")


def check_items_of(study: Study) -> list[CheckItems]:
    """One entry for each role of which the study has items. One query."""
    rows = Item.objects.filter(study=study, role__in=ROLES).order_by().values_list("role").annotate(n=Count("pk"))
    counts = dict(rows)
    rules, _ = rules_of(study)
    return [
        CheckItems(role, counts[role], min(int(rules[f"{role}_per_hit"]), counts[role]))
        for role in ROLES
        if role in counts
    ]


def checks_per_hit(study: Study) -> int:
    return sum(check.per_hit for check in check_items_of(study))
