"""Checks a study's values, settings, texts and arms, and finds everything that is wrong at once.

Writes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.db.models import QuerySet
from django.forms.models import model_to_dict

from annotation.audit import jsonable
from annotation.languages import nearest
from annotation.models import Arm, Study
from annotation.platforms import all_platforms
from annotation.studies.declared_factors import check_factors, check_levels
from annotation.studies.interface import check_interface
from annotation.studies.spec import ARM_KEYS, FIELDS, ArmSpec, StudySpec
from annotation.studies.stopping_rule import StoppingForm, check_stopping
from annotation.study_forms import ArmForm, StudyForm, accepts
from annotation.task_types.base import TaskType
from annotation.task_types.described_questions import DescribedQuestionsField
from annotation.task_types.items import Json
from annotation.task_types.questionnaire_form import ConditionsField, QuestionnairesForm
from annotation.task_types.questions import MAX_CHARS, clean_text
from annotation.task_types.registry import UnknownTaskType, get_type
from annotation.task_types.settings import ConfigForm, TableField
from annotation.work.quality_rules import ExclusionForm, QualityForm, initial_values
from common.problems import Problem, refuse_if_any, unknown
from common.words import money

MOST_ARMS = 100


def check_study(
    spec: StudySpec, *, instance: Study, visible: QuerySet[Study] | None = None
) -> tuple[StudySpec, list[Problem]]:
    """The spec, cleaned, and the problems found. This changes ``instance``, so pass a copy.

    Values that the spec lacks stay those of ``instance``, whose settings for platforms are not checked again.
    ``visible``: the studies that the person who changes this one may see; None for all.
    """
    exam_before = instance.exam_study
    values, problems = check_values(instance=instance, values=spec.values)
    slug = str(values.get("slug") or "")
    excluded, wrong = check_excluded(slug=slug, instance=instance, slugs=spec.exclude_studies, visible=visible)
    problems += wrong
    problems += check_exam(before=exam_before, values=values, visible=visible)
    platforms: Mapping[str, Mapping[str, Any]] = instance.platforms
    if spec.platforms != platforms:
        platforms, wrong = check_platforms(spec.platforms)
        problems += wrong
    quality, rules, wrong = check_rules(spec.quality_control, spec.exclusion)
    problems += wrong
    task, wrong = find_type(spec.task_type)
    problems += wrong
    config: Json = {}
    texts: dict[str, str] = {}
    interface: dict[str, str] = {}
    arms: list[ArmSpec] = []
    if task is not None:
        interface, wrong = check_interface(task=task, interface=spec.interface)
        problems += wrong
        config, wrong = check_config(task=task, config=spec.config)
        problems += wrong
        if not wrong:
            arms, wrong = check_arms(task=task, config=config, arms=spec.arms)
            problems += wrong
            configs = [config, *(config | dict(arm.config) for arm in arms)]
            texts, wrong = check_texts(task=task, configs=configs, texts=spec.texts)
            problems += wrong
    factors, wrong = check_factors(factors=spec.factors, config=config, arms=arms)
    problems += wrong
    stopping, wrong = check_settings(form=StoppingForm, settings=spec.stopping, prefix="stopping.")
    problems += wrong + check_stopping(stopping)
    asked = {**initial_values(QuestionnairesForm), **instance.questionnaires}
    if spec.questionnaires != asked:
        asked, wrong = check_settings(form=QuestionnairesForm, settings=spec.questionnaires, prefix="")
        problems += wrong
    problems += check_screen_out_reward(asked, values)
    problems += check_trainings(spec, asked, instance=instance, visible=visible)
    arms_and_rules = (tuple(arms), excluded, platforms, quality, rules, factors, stopping)
    return StudySpec(spec.task_type, values, config, texts, *arms_and_rules, interface, asked), problems


def find_type(name: str) -> tuple[TaskType | None, list[Problem]]:
    """The type called ``name``, or None and the problem if it is not installed."""
    try:
        return get_type(name), []
    except UnknownTaskType as error:
        return None, [Problem("task_type", error.what, error.fix)]


def check_values(*, instance: Study, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[Problem]]:
    """The study's own fields. Missing ones keep the values of ``instance``."""
    problems = [unknown(name, name, FIELDS) for name in values if name not in FIELDS]
    problems += _control_characters("", values)
    typed = {name: value for name, value in values.items() if name in FIELDS}
    if isinstance(tag := typed.get("language"), str):
        typed["language"] = nearest(tag) or tag  # pt-BR is pt here
    form = StudyForm(model_to_dict(instance, fields=FIELDS) | typed, instance=instance)
    problems += _form_problems(form, typed, "")
    return {name: form.cleaned_data.get(name) for name in FIELDS}, problems


def check_excluded(
    *, slug: str, instance: Study, slugs: Sequence[str], visible: QuerySet[Study] | None
) -> tuple[tuple[str, ...], list[Problem]]:
    """The studies whose participants are excluded. Existing exclusions stay, no matter who changes the study now."""
    studies = Study.objects.all() if visible is None else visible
    allowed = set(studies.filter(slug__in=slugs).values_list("slug", flat=True))
    if instance.pk:
        allowed |= set(instance.exclude_studies.values_list("slug", flat=True))
    problems: list[Problem] = []
    for name in dict.fromkeys(slugs):
        if name in (slug, instance.slug):
            problems.append(Problem("exclude_studies", "A study cannot exclude itself.", "Remove it from the list."))
        elif name not in allowed:
            what = f"There is no study “{name[:60]}”, or you may not see it."
            problems.append(Problem("exclude_studies", what, "Check the short name, or ask an owner to add you."))
    return tuple(sorted(set(slugs))), problems


def check_exam(*, before: str, values: Mapping[str, Any], visible: QuerySet[Study] | None) -> list[Problem]:
    """Problems with the study's choice of an exam. ``before``: the exam that it has used so far."""
    name = str(values.get("exam_study") or "")
    if name and name == values.get("slug"):
        return [Problem("exam_study", "A study cannot be its own exam.", "Name another study.")]
    studies = Study.objects.all() if visible is None else visible
    if name not in ("", before) and not studies.filter(slug=name).exists():
        what = f"There is no study “{name[:60]}”, or you may not see it."
        return [Problem("exam_study", what, "Check the short name, or ask an owner to add you.")]
    return []


def check_config(*, task: TaskType, config: Mapping[str, Any], prefix: str = "config.") -> tuple[Json, list[Problem]]:
    """The type's settings. Missing ones get the type's defaults."""
    return check_settings(form=task.config_form, settings=config, prefix=prefix)


def check_settings(*, form: type[ConfigForm], settings: Mapping[str, Any], prefix: str) -> tuple[Json, list[Problem]]:
    """The values of a settings form, with defaults filled in."""
    fields = form.base_fields
    problems = [unknown(f"{prefix}{name}", name, fields) for name in settings if name not in fields]
    problems += _control_characters(prefix, settings)
    typed = {name: value for name, value in settings.items() if name in fields}
    filled = form(initial_values(form) | typed)
    problems += _form_problems(filled, typed, prefix)
    return ({} if problems else dict(jsonable(filled.cleaned_data))), problems


def default_config(task: TaskType) -> Json:
    """The initial values of the type's settings."""
    return initial_values(task.config_form)


# --- quality control ---


def check_rules(quality_control: Mapping[str, Any], exclusion: Mapping[str, Any]) -> tuple[Json, Json, list[Problem]]:
    """The rules that find careless work and those that exclude it."""
    quality, problems = check_settings(form=QualityForm, settings=quality_control, prefix="quality_control.")
    rules, wrong = check_settings(form=ExclusionForm, settings=exclusion, prefix="exclude.")
    problems += wrong
    problems += [
        Problem(
            "exclude.flags",
            f"The rule {name} is switched off, so its flag excludes nobody.",
            f"Give quality_control.{name} a threshold, or remove {name} from this list.",
        )
        for name in rules.get("flags", ())
        if quality and quality.get(name) is None
    ]
    return quality, rules, problems


# --- questionnaires ---


def check_screen_out_reward(asked: Json, values: Mapping[str, Any]) -> list[Problem]:
    """Whether somebody who is screened out would get more than for a whole hit."""
    pay, reward = asked.get("screen_out_reward"), values.get("reward")
    if not pay or reward is None or Decimal(pay) <= reward:
        return []
    what = f"People who are screened out would get {money(Decimal(pay))}, and a whole hit pays {money(reward)}."
    return [Problem("screen_out_reward", what, "Lower it, or raise the reward.")]


def check_trainings(spec: StudySpec, asked: Json, *, instance: Study, visible: QuerySet[Study] | None) -> list[Problem]:
    """Whether the studies exist whose training counts here. Those that were named before stay, whoever changes the
    study now."""
    where, problems = "training_skip_if_passed", []
    names = asked.get(where) or []
    before = instance.questionnaires.get(where) or []
    studies = Study.objects.all() if visible is None else visible
    there = set(studies.filter(slug__in=names).values_list("slug", flat=True)) if names else set()
    for name in names:
        if name in (spec.values.get("slug"), instance.slug):
            problems.append(Problem(where, "A study cannot skip its own training.", "Remove it from the list."))
        elif name not in there and name not in before:
            what = f"There is no study “{name[:60]}”, or you may not see it."
            problems.append(Problem(where, what, "Check the short name, or ask an owner to add you."))
    return problems


# --- platforms ---


def check_platforms(settings: Mapping[str, Mapping[str, Any]]) -> tuple[dict[str, Json], list[Problem]]:
    """The settings for each platform, in the order of their names."""
    platforms = all_platforms()
    problems = [unknown(f"platforms.{name[:60]}", name, platforms) for name in settings if name not in platforms]
    clean: dict[str, Json] = {}
    for name, platform in sorted(platforms.items()):
        if name in settings:
            prefix = f"platforms.{name}."
            clean[name], wrong = check_settings(form=platform.form, settings=settings[name], prefix=prefix)
            problems += wrong
    return clean, problems


def platform_settings(name: str, form: type[ConfigForm], stored: Mapping[str, Any]) -> Json:
    """Stored settings with defaults for those that are missing. Raises Invalid if they are no longer accepted."""
    settings, problems = check_settings(form=form, settings=stored, prefix=f"platforms.{name}.")
    refuse_if_any(problems)
    return settings


# --- texts ---


def check_texts(
    *, task: TaskType, configs: Sequence[Json], texts: Mapping[str, str], prefix: str = "texts."
) -> tuple[dict[str, str], list[Problem]]:
    """The study's own wording of texts that one of ``configs`` has. Empty texts and unchanged defaults are left out."""
    defaults: dict[str, str] = {}
    for config in reversed(configs):
        defaults |= {text.name: text.default for text in task.texts(config)}
    problems: list[Problem] = []
    clean: dict[str, str] = {}
    for name, text in texts.items():
        where = f"{prefix}{name}"
        if name not in defaults:
            problems.append(unknown(where, name, defaults))
        elif not isinstance(text, str):
            problems.append(Problem(where, f"This is {type(text).__name__}, not text.", "Write text."))
        elif len(text) > MAX_CHARS:
            what = f"This is {len(text):,} characters long."
            problems.append(Problem(where, what, f"Shorten it to {MAX_CHARS:,} characters or fewer."))
        elif clean_text(text) and clean_text(text) != clean_text(defaults[name]):
            clean[name] = clean_text(text)
    return clean, problems + _control_characters(prefix, texts)


# --- arms ---


def check_arms(*, task: TaskType, config: Json, arms: Sequence[ArmSpec]) -> tuple[list[ArmSpec], list[Problem]]:
    """The arms. Each is checked together with the study's values that it does not change.

    Two arms may differ only in their names: that is an A/A design.
    """
    problems: list[Problem] = []
    if len(arms) > MOST_ARMS:
        return [], [Problem("arms", f"There are {len(arms):,} arms.", f"A study can have up to {MOST_ARMS}.")]
    clean: list[ArmSpec] = []
    for number, arm in enumerate(arms, start=1):
        prefix = arm_prefix(arm.name, number)
        problems += [unknown(f"{prefix}{name}", name, ARM_KEYS) for name in arm.strangers]
        form = ArmForm(arm.values, instance=Arm())
        problems += _control_characters(prefix, arm.values) + _form_problems(form, arm.values, prefix)
        overrides, wrong = _check_overrides(task, config, arm.config, prefix)
        problems += wrong
        texts: dict[str, str] = {}
        if not wrong:
            # The type's own wording counts as a change, because the study's may be different.
            configs = [config | overrides]
            _, wrong = check_texts(task=task, configs=configs, texts=arm.texts, prefix=f"{prefix}texts.")
            problems += wrong
        if not wrong:
            texts = {name: clean_text(text) for name, text in arm.texts.items() if clean_text(text)}
        values = form.cleaned_data
        levels, wrong = check_levels(arm.factors, prefix)
        problems += wrong
        own = ArmSpec(values.get("name") or "", overrides, texts, values.get("reward"), values.get("wanted"), levels)
        clean.append(own)
    first_with_name: dict[str, int] = {}
    for number, arm in enumerate(clean, start=1):
        first = first_with_name.setdefault(arm.name.casefold(), number)
        if arm.name and first != number:
            what = f"Arms {first} and {number} have the same name “{arm.name}”."
            problems.append(Problem(f"arms.{arm.name}", what, "Give each arm its own name."))
    return clean, problems


def arm_prefix(name: object, number: int) -> str:
    """How problems identify an arm: by its name, or by its position if it has none."""
    return f"arms.{name[:40]}." if isinstance(name, str) and name.strip() else f"arms.{number}."


def _check_overrides(
    task: TaskType, config: Json, overrides: Mapping[str, Any], prefix: str
) -> tuple[Json, list[Problem]]:
    """An arm's settings, checked together with the study's settings that it does not change."""
    if not overrides:
        return {}, []
    problems = [
        Problem(
            f"{prefix}config.{name}",
            "All arms share the items, and this setting decides how items are read.",
            "Set it for the whole study, or make a separate study.",
        )
        for name in overrides
        if name in task.item_settings
    ]
    merged, wrong = check_config(task=task, config=config | dict(overrides), prefix=f"{prefix}config.")
    problems += wrong
    return {name: merged[name] for name in overrides if name in merged}, problems


# --- what forms find ---


def _form_problems(form: forms.BaseForm, typed: Mapping[str, Any], prefix: str) -> list[Problem]:
    problems = []
    for name, errors in form.errors.get_json_data().items():
        what = " ".join(str(error["message"]) for error in errors)
        if name == NON_FIELD_ERRORS:
            problems.append(Problem(prefix.rstrip(".") or "study", what))
            continue
        codes = {error["code"] for error in errors}
        if name in typed and typed[name] not in (None, "") and not isinstance(typed[name], list | dict):
            what = f"“{str(typed[name])[:60]}”: {what}"
        field = form.fields[name]
        fix = f"Write {accepts(field)}."
        if codes <= {"unique", "taken"}:
            fix = "Choose another."
        elif codes == {"unused"}:
            fix = "Leave it empty, or choose that option."
        elif isinstance(field, DescribedQuestionsField | ConditionsField):
            fix = ""  # each problem says what to do
        elif isinstance(field, TableField) and codes != {"list"}:
            fix = "" if codes & {"least", "most", "twice"} else f"Enter {accepts(field)}."
        problems.append(Problem(prefix + name, what, fix))
    return problems


def _control_characters(prefix: str, typed: Mapping[str, Any]) -> list[Problem]:
    """Problems with characters that no database stores, such as NUL and half a surrogate pair."""
    return [
        Problem(f"{prefix}{name}", "This contains a control character, which cannot be stored.", "Type the text again.")
        for name, value in typed.items()
        if isinstance(value, str) and clean_text(value) != value.replace("\r\n", "\n").replace("\r", "\n").strip()
    ]
