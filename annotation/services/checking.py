"""Whether a study's values, settings and texts are acceptable: everything that is wrong, in one go. Writes nothing."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from django import forms
from django.core.exceptions import NON_FIELD_ERRORS
from django.forms.models import model_to_dict

from annotation.forms import StudyForm, accepts
from annotation.models import Study
from annotation.services.audit import jsonable
from annotation.services.refusals import FieldProblem, unknown
from annotation.task_types.base import Json, TaskType
from annotation.task_types.questions import MAX_CHARS, clean_text
from annotation.task_types.registry import UnknownTaskType, get_type

FIELDS: tuple[str, ...] = tuple(StudyForm.Meta.fields)


@dataclass(frozen=True, slots=True)
class Checked:
    """Clean values, ready to be stored. Only what was asked for is there."""

    values: dict[str, Any]
    config: Json
    texts: dict[str, str]


def default_values() -> dict[str, Any]:
    """What every field of a new study has when nothing is said about it."""
    return model_to_dict(Study(), fields=FIELDS)


def check_study(
    *,
    instance: Study,
    values: Mapping[str, Any],
    task_type: str,
    config: Mapping[str, Any],
    texts: Mapping[str, str],
) -> tuple[Checked, list[FieldProblem]]:
    """All three parts, clean, and what is wrong with them. ``instance`` is written into: give a copy."""
    clean_values, problems = check_values(instance=instance, values=values)
    task, wrong = find_type(task_type)
    problems += wrong
    if task is None:
        return Checked(clean_values, {}, {}), problems
    clean_config, wrong = check_config(task=task, config=config)
    problems += wrong
    clean_texts: dict[str, str] = {}
    if not wrong:
        clean_texts, wrong = check_texts(task=task, config=clean_config, texts=texts)
        problems += wrong
    return Checked(clean_values, clean_config, clean_texts), problems


def find_type(name: str) -> tuple[TaskType | None, list[FieldProblem]]:
    try:
        return get_type(name), []
    except UnknownTaskType as error:
        what, _, known = str(error).partition(". ")
        return None, [FieldProblem("task_type", f"{what}.", known)]


def check_values(*, instance: Study, values: Mapping[str, Any]) -> tuple[dict[str, Any], list[FieldProblem]]:
    """The study's own fields; those not given keep what ``instance`` has."""
    problems = [unknown(name, name, FIELDS) for name in values if name not in FIELDS]
    problems += _control_characters("", values)
    given = {name: value for name, value in values.items() if name in FIELDS}
    form = StudyForm(model_to_dict(instance, fields=FIELDS) | given, instance=instance)
    problems += _form_problems(form, given, "")
    return {name: form.cleaned_data.get(name) for name in FIELDS}, problems


def check_config(*, task: TaskType, config: Mapping[str, Any]) -> tuple[Json, list[FieldProblem]]:
    """The type's settings; those not given get the type's own."""
    fields = task.config_form.base_fields
    problems = [unknown(f"config.{name}", name, fields) for name in config if name not in fields]
    problems += _control_characters("config.", config)
    given = {name: value for name, value in config.items() if name in fields}
    form = task.config_form(default_config(task) | given)
    problems += _form_problems(form, given, "config.")
    return ({} if problems else dict(jsonable(form.cleaned_data))), problems


def default_config(task: TaskType) -> Json:
    form = task.config_form()
    return {name: form.get_initial_for_field(field, name) for name, field in form.fields.items()}


def check_texts(*, task: TaskType, config: Json, texts: Mapping[str, str]) -> tuple[dict[str, str], list[FieldProblem]]:
    """The study's own wordings. An empty one, or one that says what the type says anyway, is none."""
    defaults = task.default_texts(config)
    problems: list[FieldProblem] = []
    clean: dict[str, str] = {}
    for name, text in texts.items():
        field = f"texts.{name}"
        if name not in defaults:
            problems.append(unknown(field, name, defaults))
        elif not isinstance(text, str):
            problems.append(FieldProblem(field, f"This is {type(text).__name__}, not text.", "Write text."))
        elif len(text) > MAX_CHARS:
            problems.append(_too_long(field, text))
        elif clean_text(text) and clean_text(text) != clean_text(defaults[name]):
            clean[name] = clean_text(text)
    return clean, problems + _control_characters("texts.", texts)


def _too_long(field: str, text: str) -> FieldProblem:
    return FieldProblem(field, f"This is {len(text):,} characters long.", f"At most {MAX_CHARS:,} fit: shorten it.")


def _form_problems(form: forms.BaseForm, given: Mapping[str, Any], prefix: str) -> list[FieldProblem]:
    problems = []
    for name, errors in form.errors.get_json_data().items():
        what = " ".join(str(error["message"]) for error in errors)
        if name == NON_FIELD_ERRORS:
            problems.append(FieldProblem(prefix.rstrip(".") or "study", what, ""))
            continue
        codes = {error["code"] for error in errors}
        if name in given and given[name] not in (None, "") and not isinstance(given[name], list | dict):
            what = f"“{str(given[name])[:60]}”: {what}"
        mend = "Choose another." if codes == {"unique"} else f"Write {accepts(form.fields[name])}."
        problems.append(FieldProblem(prefix + name, what, mend))
    return problems


def _control_characters(prefix: str, given: Mapping[str, Any]) -> list[FieldProblem]:
    """Characters that no database stores, such as NUL and half a surrogate pair."""
    return [
        FieldProblem(
            f"{prefix}{name}", "There is a control character in it, which cannot be stored.", "Type the text anew."
        )
        for name, value in given.items()
        if isinstance(value, str) and clean_text(value) != value.replace("\r\n", "\n").replace("\r", "\n").strip()
    ]
