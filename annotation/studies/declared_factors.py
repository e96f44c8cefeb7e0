"""What the findings of a study compare: its declared factors, and the arms' levels. Checked and read here.

A factor's settings are ``of``, ``reference`` and ``parts``, all optional; see `analysis.description.Factor`. Without
``of``, the factor belongs to whatever has its name: a column of the items, the arms, or a question about the workers
themselves. That is decided when the factor is used, because items may be imported later.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import Any

from django import forms

from analysis.description import Factor, arm_level
from annotation.models import Arm, Item, Study
from annotation.studies.provenance import FROM
from annotation.studies.spec import ArmSpec, stored_factors
from annotation.task_types.items import Json
from annotation.task_types.questions import clean_text
from annotation.task_types.registry import get_type
from annotation.task_types.settings import ConfigForm
from common.problems import Problem, unknown
from common.words import counted

MOST_FACTORS = 12
LONGEST_NAME = 100
LONGEST_LEVEL = 100
OF = {
    "item": "items (a column)",
    "part": "parts of items (a column for each)",
    "arm": "arms",
    "worker": "workers (a question about themselves)",
}
#: Settings that a stored factor can have.
KEYS = ("of", "reference", "parts")
#: Arms' factors have names that fit into a column's name, ``from:<name>``, and not one of the server's own.
ARM_FACTOR = re.compile(r"\w[\w .-]{0,39}")
OWN_NAMES = ("arm", "study", "run")


class FactorForm(ConfigForm):
    """The settings of one factor, but for its parts."""

    of = forms.ChoiceField(
        label="What has a level",
        choices=[("", "whatever has this name"), *OF.items()],
        required=False,
        initial="",
        help_text="Empty: a column of the items with this name, else the arms, else a question about the workers.",
    )
    reference = forms.CharField(
        label="The level with which the others are compared",
        max_length=LONGEST_LEVEL,
        required=False,
        initial="",
        help_text="Empty: every level with every other.",
    )


# --- checks that need neither items nor answers ---


def check_factors(
    *, factors: Mapping[str, Mapping[str, Any]], config: Json, arms: Sequence[ArmSpec]
) -> tuple[dict[str, Json], list[Problem]]:
    """The settings of every factor, without those that are empty, and what is wrong with them."""
    problems: list[Problem] = []
    if len(factors) > MOST_FACTORS:
        what = f"There are {len(factors)} factors, and a study can have up to {MOST_FACTORS}."
        problems.append(Problem("factors", what, "Keep those that your questions are about."))
    clean: dict[str, Json] = {}
    for name, settings in factors.items():
        where = f"factors.{name[:60]}"
        if not name.strip() or len(name) > LONGEST_NAME or clean_text(name) != name:
            what = f"A factor has no name, one of more than {LONGEST_NAME} characters, or one that cannot be stored."
            problems.append(Problem(where, what, "Write the name of a column, of an arms’ factor or of a question."))
            continue
        clean[name], wrong = check_settings_of(name, settings, where)
        problems += wrong
        if not wrong:
            problems += problems_with_arms(name, clean[name], config, arms)
    return clean, problems


def check_settings_of(name: str, settings: Mapping[str, Any], where: str) -> tuple[Json, list[Problem]]:
    """One factor's settings, and what is wrong with them on their own."""
    problems = [unknown(f"{where}.{key[:60]}", key, KEYS) for key in settings if key not in KEYS]
    form = FactorForm({key: settings.get(key) or "" for key in FactorForm.base_fields})
    for key, errors in form.errors.items():
        what = f"“{str(settings.get(key))[:60]}”: {' '.join(map(str, errors))}"
        problems.append(Problem(f"{where}.{key}", what, f"Write one of {', '.join(OF)}." if key == "of" else ""))
    clean: Json = {key: value for key, value in form.cleaned_data.items() if value}
    columns = sorted((settings.get("parts") or {}).items())
    parts = {target.strip(): column.strip() for target, column in columns if column.strip()}
    if parts:
        clean["parts"] = parts
        if clean.setdefault("of", "part") != "part":
            what = f"Only a factor of parts has columns of parts, and this one is of {clean['of']}."
            problems.append(Problem(f"{where}.parts", what, "Write of: part, or remove the parts."))
        elif len(parts) == 1:
            (column,) = parts.values()
            what = f"There is one part, with the column {column[:60]}, so there is nothing to compare it with."
            problems.append(Problem(f"{where}.parts", what, 'Name the column of every part: {"1": …, "2": …}.'))
        elif len(set(parts.values())) < len(parts):
            twice = next(column for column in parts.values() if list(parts.values()).count(column) > 1)
            what = f"Two parts have the same column, {twice[:60]}, so they would always have the same level."
            problems.append(Problem(f"{where}.parts", what, "Name the column of each part."))
    return clean, problems


def problems_with_arms(name: str, settings: Json, config: Json, arms: Sequence[ArmSpec]) -> list[Problem]:
    """Whether a factor of arms has levels, and its reference is one of them."""
    levels = [arm_level(name, arm.factors, config | dict(arm.config)) for arm in arms]
    is_of_arms = settings.get("of") == "arm" or ("of" not in settings and any(name in arm.factors for arm in arms))
    if not is_of_arms:
        return []
    where = f"factors.{name[:60]}"
    present = [level for level in dict.fromkeys(levels) if level]
    if not present:
        what = f"No arm has a level of {name}." if arms else "The study has no arms."
        return [Problem(where, what, f"Give the arms levels, such as factors: {{{name}: …}}, or remove the factor.")]
    reference = settings.get("reference", "")
    # A column of the items with this name comes first; then the reference is one of its levels.
    if reference and settings.get("of") == "arm" and reference not in present:
        return [unknown(f"{where}.reference", reference, present)]
    return []


def check_levels(levels: Mapping[str, Any], prefix: str) -> tuple[dict[str, str], list[Problem]]:
    """An arm's level by factor. Empty ones are left out."""
    problems: list[Problem] = []
    clean: dict[str, str] = {}
    for name, level in sorted(levels.items()):
        where = f"{prefix}factors.{name[:40]}"
        text = clean_text(str(level))
        if not ARM_FACTOR.fullmatch(name):
            what = f"“{name[:60]}” cannot be the name of a factor."
            fix = (
                "Use up to 40 letters, digits, spaces, dots, hyphens and underscores, beginning with a letter or digit."
            )
            problems.append(Problem(where, what, fix))
        elif name in OWN_NAMES:
            what = f"“{name}” already has another meaning where the texts of these arms are judged."
            problems.append(Problem(where, what, "Choose another name for the factor."))
        elif len(text) > LONGEST_LEVEL or "\n" in text or ";" in text:
            what = f"“{text[:60]}” cannot be a level."
            fix = f"Write up to {LONGEST_LEVEL} characters on one line, without a semicolon."
            problems.append(Problem(where, what, fix))
        elif text:
            clean[name] = text
    if len(levels) > MOST_FACTORS:
        what = f"This arm has levels of {counted(len(levels), 'factor')}; up to {MOST_FACTORS} are possible."
        problems.append(Problem(f"{prefix}factors", what, "Keep those that your questions are about."))
    return clean, problems


# --- as findings use them ---


def declared_factors(study: Study, arms: Sequence[Arm], topics: Sequence[str]) -> list[Factor]:
    """The study's factors, each with what has its levels. At most one query."""
    declared = stored_factors(study)
    columns: set[str] | None = None
    factors = []
    for name, settings in declared.items():
        of = settings.get("of", "")
        if not of:
            columns = columns_of_items(study) if columns is None else columns
            of = guessed_of(name, columns, arms, topics)
        factors.append(Factor(name, of, settings.get("reference", ""), dict(sorted(settings.get("parts", {}).items()))))
    return factors


def guessed_of(name: str, columns: set[str], arms: Sequence[Arm], topics: Sequence[str]) -> Any:
    """What has levels of a factor that does not say: the first that has something of its name."""
    if name in columns or name.startswith(FROM):
        return "item"
    if any(name in arm.factors or name in arm.config for arm in arms):
        return "arm"
    return "worker" if name in topics else "item"


def columns_of_items(study: Study) -> set[str]:
    """The columns and the parameter of the study's first item: all items of a file have the same."""
    task = get_type(study.task_type)
    payload = (
        Item.objects.filter(study=study, role=Item.Role.MAIN).order_by("position").values_list("payload", flat=True)
    )
    for first in payload[:1]:
        parameter = task.describe_item(first).parameter
        return {*task.export_columns(first), *([parameter[0]] if parameter else [])}
    return set()
