"""The rule by which a study stops before all planned ratings are in: its form, and what is wrong with that alone.

A rule without a factor is none. The looks themselves are `annotation.results.stopping_early`.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django import forms

from analysis.description import StoppingRule
from annotation.task_types.items import Json
from annotation.task_types.settings import ConfigForm
from common.problems import Problem

LONGEST_NAME = 100


class StoppingForm(ConfigForm):
    """The settings of the rule."""

    factor = forms.CharField(
        label="Factor",
        max_length=LONGEST_NAME,
        required=False,
        initial="",
        help_text="Whose levels are compared, such as system. Empty: the study collects all ratings.",
    )
    criterion = forms.CharField(
        label="Criterion",
        max_length=LONGEST_NAME,
        required=False,
        initial="",
        help_text="The question or score on which they are compared. The one that matters most.",
    )
    smallest = forms.FloatField(
        label="Smallest difference that matters",
        required=False,
        min_value=1e-6,
        help_text="In points of the scale; for choices between two texts, a difference of shares, such as 0.1. A "
        "difference is settled, too, once its interval lies within it. Empty: only a shown difference settles.",
    )
    first = forms.IntegerField(
        label="First look (percent of the planned ratings)",
        min_value=5,
        max_value=95,
        initial=20,
    )
    every = forms.IntegerField(
        label="Then again after every (percent)",
        min_value=1,
        max_value=50,
        initial=5,
        help_text="Looking more often costs nothing: the intervals hold at all times at once.",
    )


def rule_of(settings: Mapping[str, Any]) -> StoppingRule | None:
    """The rule from a study's stored settings."""
    return StoppingRule(**settings) if settings.get("factor") else None


def check_stopping(settings: Json) -> list[Problem]:
    """What is wrong with clean settings on their own."""
    if bool(settings.get("factor")) == bool(settings.get("criterion")):
        return []
    missing, present = ("criterion", "factor") if settings.get("factor") else ("factor", "criterion")
    what = f"The rule for stopping early names a {present}, and no {missing}."
    return [
        Problem(f"stopping.{missing}", what, f"Name the {missing}, or leave both empty for a study without a rule.")
    ]
