"""Studies as YAML files, read strictly. ``studies.applying`` makes a study match its file.

A file describes the whole study: what it leaves out has its default value. ``docs/study-files.md`` describes every key.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import yaml
from django import forms

from annotation.platforms import all_platforms
from annotation.studies.checking import arm_prefix, find_type
from annotation.studies.declared_factors import KEYS as FACTOR_KEYS
from annotation.studies.declared_factors import FactorForm
from annotation.studies.kinds_of_values import fits, kind_of, wrong_type
from annotation.studies.spec import ARM_KEYS, ArmSpec, StudySpec
from annotation.studies.stopping_rule import StoppingForm
from annotation.study_forms import ArmForm, StudyForm, accepts
from annotation.table_files import ReadingOptions, Table
from annotation.task_types.base import TaskType
from annotation.task_types.questionnaire_form import QuestionnairesForm
from annotation.task_types.settings import ConfigForm
from annotation.work.quality_rules import ExclusionForm, QualityForm
from common.problems import Problem, Refused, unknown
from common.yaml_text import BadYaml, read_mapping

MAX_BYTES = 1024 * 1024
REQUIRED = ("slug", "task_type", "title")
PARTS = (
    *("task_type", "exclude_studies", "platforms", "quality_control", "exclude", "config", "texts", "arms", "items"),
    "factors",
    "stopping",
    "interface",
)
QUESTIONNAIRES: tuple[str, ...] = tuple(QuestionnairesForm.base_fields)
KEYS: tuple[str, ...] = (*StudyForm.Meta.fields, *PARTS, *QUESTIONNAIRES)
FROM_FILE = ("from_file", "encoding", "separator", "sheet", "split", "columns")
FROM_STUDY = ("from_study", "arms", "kind", "follow")
#: The key that names a file whose rows are added to a run's samples.
WITH_FILE = "with_file"


@dataclass(frozen=True, slots=True)
class FromStudy:
    """Items from the outputs of another study: from ``arms`` (empty: all), of ``kind`` (empty: the first that fits)
    and, with ``follow``, from later outputs."""

    study: str
    arms: tuple[str, ...] = ()
    kind: str = ""
    follow: bool = False


@dataclass(frozen=True, slots=True)
class FromRun:
    """Items from the samples of a generation run, with the options of the type's ``sample_form``.

    ``file``: more items, which join those of the run.
    """

    run: str
    options: Mapping[str, Any] = field(default_factory=dict)
    file: Path | None = None


@dataclass(frozen=True, slots=True)
class FromFile:
    """Items from the rows of a file, read with ``options``."""

    path: Path
    options: ReadingOptions = field(default_factory=ReadingOptions)


@dataclass(frozen=True, slots=True)
class StudyFile:
    """The content of a file: types are checked, values are not. ``lines`` has the line of each key."""

    path: Path | None
    spec: StudySpec
    items: FromFile | Table | FromStudy | FromRun | None
    lines: Mapping[str, int] = field(default_factory=dict)

    @property
    def slug(self) -> str:
        return str(self.spec.values["slug"])


class FileRefused(Refused):
    """A study file cannot be read, or contains something impossible. Lists every problem with its line."""

    def __init__(self, problems: list[Problem], lines: Mapping[str, int] | None = None) -> None:
        self.lines = lines or {}
        super().__init__(problems)

    def line(self, problem: Problem) -> int | None:
        """The line that the problem is about, or else the line of the smallest part of the file that contains it."""
        where = problem.where
        while where and where not in self.lines:
            where = where.rpartition(".")[0]
        return self.lines.get(where)


def read_study_file(path: Path) -> StudyFile:
    """Read the file. Raises FileRefused, also for unknown keys and wrong types."""
    try:
        with path.open("rb") as file:
            data = file.read(MAX_BYTES + 1)
    except OSError as error:
        raise _refused("file", f"{path} cannot be read: {error.strerror}.", "Check the path.") from None
    if len(data) > MAX_BYTES:
        raise _refused("file", f"{path} is larger than 1 MB.", "Put the items in a separate file.")
    try:
        node, document = read_mapping(data.decode("utf-8-sig"), example="title: My study")
    except UnicodeDecodeError as error:
        what = f"Byte 0x{data[error.start]:02X} at position {error.start} is not UTF-8."
        raise _refused("file", what, "Save the file as UTF-8.") from None
    except BadYaml as error:
        raise _refused("file", error.what, error.fix) from None
    lines: dict[str, int] = {}
    problems = _walk(node, "", lines)
    if problems:
        raise FileRefused(problems, lines)
    return read_document(document, path=path, lines=lines)


def read_document(
    document: Mapping[str, Any],
    *,
    path: Path | None = None,
    lines: Mapping[str, int] | None = None,
    required: Collection[str] = REQUIRED,
) -> StudyFile:
    """A study as a study file writes it, as values. Raises FileRefused, also for unknown keys and wrong types.

    Without ``path`` there are no files beside it, so its items are a table, or come from a run or another study.
    """
    lines = lines or {}
    problems = [unknown(name[:60], name, KEYS) for name in document if name not in KEYS]
    problems += [
        Problem(name, f"The key {name} is missing.", f"Add a line “{name}: …”.")
        for name in required
        if name not in document
    ]
    values, wrong = _typed(document, StudyForm().fields, "")
    problems += wrong
    task = None
    if isinstance(document.get("task_type"), str):
        task, wrong = find_type(document["task_type"])
        problems += wrong
    elif "task_type" in document:
        problems.append(wrong_type("task_type", document["task_type"], "the name of a task type"))
    config = _config(document, task, "", problems)
    texts = _texts(document, "", problems)
    arms = _arms(document, task, problems)
    excluded = _names(document.get("exclude_studies"), "exclude_studies", "short names of studies", problems)
    items = _items(path, document, task, problems)
    spec = StudySpec(
        task_type=str(document.get("task_type")),
        values=values,
        config=config,
        texts=texts,
        arms=arms,
        exclude_studies=excluded,
        platforms=_platforms(document, problems),
        quality_control=_settings(document, "quality_control", QualityForm, "", problems),
        exclusion=_settings(document, "exclude", ExclusionForm, "", problems),
        factors=_factors(document, problems),
        stopping=_settings(document, "stopping", StoppingForm, "", problems),
        interface=_texts(document, "", problems, "interface"),
        questionnaires=_questionnaires(document, problems),
    )
    if problems:
        raise FileRefused(problems, lines)
    return StudyFile(path, spec, items, lines)


def _platforms(document: Mapping[str, Any], problems: list[Problem]) -> dict[str, dict[str, Any]]:
    """The settings of each platform that the study names. One without settings has a line with its name only."""
    platforms = all_platforms()
    named = _mapping(document, "platforms", "", problems)
    problems += [unknown(f"platforms.{name[:60]}", name, platforms) for name in named if name not in platforms]
    return {
        name: _settings(named, name, platform.form, "platforms.", problems)
        for name, platform in platforms.items()
        if name in named
    }


# --- YAML ---


def _refused(where: str, what: str, fix: str) -> FileRefused:
    return FileRefused([Problem(where, what, fix)])


def _walk(node: yaml.Node, prefix: str, lines: dict[str, int]) -> list[Problem]:
    """Record the line of each key, and report duplicate keys, which would silently lose their first value."""
    problems: list[Problem] = []
    if isinstance(node, yaml.SequenceNode):
        for number, entry in enumerate(node.value, start=1):
            inner = f"{prefix}{number}."
            if prefix == "arms.":
                pairs = entry.value if isinstance(entry, yaml.MappingNode) else []
                names = [
                    value.value for key, value in pairs if isinstance(value, yaml.ScalarNode) and key.value == "name"
                ]
                inner = arm_prefix(names[0] if names else "", number)
            lines.setdefault(inner.rstrip("."), entry.start_mark.line + 1)
            problems += _walk(entry, inner, lines)
    if not isinstance(node, yaml.MappingNode):
        return problems
    seen: dict[str, int] = {}
    for key, value in node.value:
        plain = isinstance(key, yaml.ScalarNode) and key.tag == "tag:yaml.org,2002:str"
        name = f"{prefix}{key.value[:60] if isinstance(key, yaml.ScalarNode) else '?'}"
        line = key.start_mark.line + 1
        if not plain:
            fix = "Write a name; put it in quotes if it is on, off, yes, no or a number."
            problems.append(Problem(name, f"The key in line {line} is not text.", fix))
        elif key.value in seen:
            what = f"The key appears twice, in lines {seen[key.value]} and {line}."
            problems.append(Problem(name, what, "Keep one of them."))
        else:
            seen[key.value] = line
        lines.setdefault(name, line)
        problems += _walk(value, f"{name}.", lines)
    return problems


# --- the parts ---


def _mapping(given: Mapping[str, Any], name: str, prefix: str, problems: list[Problem]) -> dict[str, Any]:
    value = given.get(name)
    if value is None:
        return {}
    if not isinstance(value, dict):
        what = f"This must be a mapping, not {kind_of(value)}."
        problems.append(Problem(f"{prefix}{name}", what, f"Write lines “name: value” below {name}."))
        return {}
    return value


def _config(given: Mapping[str, Any], task: TaskType | None, prefix: str, problems: list[Problem]) -> dict[str, Any]:
    if task is None:
        return _mapping(given, "config", prefix, problems)
    return _settings(given, "config", task.config_form, prefix, problems)


def _settings(
    given: Mapping[str, Any], name: str, form: type[ConfigForm], prefix: str, problems: list[Problem]
) -> dict[str, Any]:
    """The values of a settings form below one key."""
    settings = _mapping(given, name, prefix, problems)
    values, wrong = _typed(settings, form.base_fields, f"{prefix}{name}.", refuse_unknown=True)
    problems += wrong
    return values


def _texts(given: Mapping[str, Any], prefix: str, problems: list[Problem], key: str = "texts") -> dict[str, str]:
    """The texts by name below one key."""
    texts = _mapping(given, key, prefix, problems)
    wrong = {name: text for name, text in texts.items() if not isinstance(text, str)}
    problems += [wrong_type(f"{prefix}{key}.{name}", text, "text") for name, text in wrong.items()]
    return {name: text for name, text in texts.items() if name not in wrong}


def _questionnaires(document: Mapping[str, Any], problems: list[Problem]) -> dict[str, Any]:
    """The keys about questionnaires, which stand at the top of a file."""
    own = {name: value for name, value in document.items() if name in QUESTIONNAIRES}
    values, wrong = _typed(own, QuestionnairesForm.base_fields, "")
    problems += wrong
    return values


def _factors(document: Mapping[str, Any], problems: list[Problem]) -> dict[str, dict[str, Any]]:
    """The settings of each factor by its name. A factor without settings has a line with its name only."""
    factors: dict[str, dict[str, Any]] = {}
    named = _mapping(document, "factors", "", problems)
    for name in named:
        settings = _mapping(named, name, "factors.", problems)
        prefix = f"factors.{name[:60]}."
        parts = _texts(settings, prefix, problems, "parts")
        own = {key: value for key, value in settings.items() if key != "parts"}
        problems += [unknown(f"{prefix}{key[:60]}", key, FACTOR_KEYS) for key in own if key not in FACTOR_KEYS]
        values, wrong = _typed(own, FactorForm.base_fields, prefix)
        problems += wrong
        factors[name] = values | ({"parts": parts} if parts else {})
    return factors


def _arms(document: Mapping[str, Any], task: TaskType | None, problems: list[Problem]) -> tuple[ArmSpec, ...]:
    entries = document.get("arms")
    if entries is None:
        return ()
    if not isinstance(entries, list):
        fix = "Write one entry per arm, such as “- name: control”."
        problems.append(Problem("arms", f"This must be a list, not {kind_of(entries)}.", fix))
        return ()
    arms = []
    for number, entry in enumerate(entries, start=1):
        if not isinstance(entry, dict):
            what = f"Entry {number} must be a mapping, not {kind_of(entry)}."
            problems.append(Problem("arms", what, "Write “- name: …”, and the arm's other keys below it."))
            continue
        prefix = arm_prefix(entry.get("name"), number)
        problems += [unknown(f"{prefix}{name[:60]}", name, ARM_KEYS) for name in entry if name not in ARM_KEYS]
        if "name" not in entry:
            problems.append(Problem(f"{prefix}name", f"Arm {number} has no name.", "Add a line “name: …”."))
        arm, wrong = _typed(entry, ArmForm().fields, prefix)
        problems += wrong
        config, texts = _config(entry, task, prefix, problems), _texts(entry, prefix, problems)
        factors = _texts(entry, prefix, problems, "factors")
        arms.append(ArmSpec.of(arm | {"config": config, "texts": texts, "factors": factors}))
    return tuple(arms)


def _names(given: Any, where: str, wanted: str, problems: list[Problem]) -> tuple[str, ...]:
    """A list of names, each once."""
    if given is None:
        return ()
    if not isinstance(given, list) or not all(isinstance(each, str) for each in given):
        problems.append(wrong_type(where, given, f"a list of {wanted}, such as [first, second]"))
        return ()
    doubled = next((name for place, name in enumerate(given) if name in given[:place]), None)
    if doubled is not None:
        problems.append(Problem(where, f"“{doubled[:60]}” is in the list twice.", "Name it once."))
    return tuple(given)


def _named_file(path: Path | None, name: str, where: str, problems: list[Problem]) -> Path | None:
    """The file of this name, relative to the study file's folder."""
    if path is None:
        fix = "Send the rows themselves as a list of objects, or upload the file afterwards."
        problems.append(Problem(where, "There is no file beside this study.", fix))
        return None
    found = path.parent / name
    if found.is_file():
        return found
    fix = "Write a path relative to the study file."
    problems.append(Problem(where, f"There is no file {str(found)[-200:]}.", fix))
    return None


def _items(
    path: Path | None, document: Mapping[str, Any], task: TaskType | None, problems: list[Problem]
) -> FromFile | Table | FromStudy | FromRun | None:
    given = document.get("items")
    if given is None or isinstance(given, Table):
        return given
    if isinstance(given, str):
        file = _named_file(path, given, "items", problems)
        return FromFile(file) if file else None
    if not isinstance(given, dict):
        wanted = "the path of a file, or from_file, from_study or from_run with a name"
        problems.append(wrong_type("items", given, wanted))
        return None
    kinds = [name for name in ("from_file", "from_study", "from_run") if name in given]
    if len(kinds) != 1:
        both = f"Items cannot come from both a {' and a '.join(kind.removeprefix('from_') for kind in kinds)}."
        what = both if kinds else "The source of the items is missing."
        problems.append(Problem("items", what, "Write one of from_file: PATH, from_study: NAME and from_run: NAME."))
        return None
    kind = kinds[0]
    if not isinstance(given[kind], str):
        problems.append(wrong_type(f"items.{kind}", given[kind], "text: the name"))
        return None
    if kind == "from_file":
        return _from_file(path, given, problems)
    if kind == "from_run":
        return _from_run(path, given, task, problems)
    problems += [unknown(f"items.{name[:60]}", name, FROM_STUDY) for name in given if name not in FROM_STUDY]
    arms = _names(given.get("arms"), "items.arms", "names of arms", problems)
    kind_given = given.get("kind", "")
    if not isinstance(kind_given, str):
        problems.append(wrong_type("items.kind", kind_given, "text: the kind of outputs"))
    follow = given.get("follow", False)
    if not isinstance(follow, bool):
        problems.append(wrong_type("items.follow", follow, "true or false"))
    return FromStudy(given[kind], arms, kind_given if isinstance(kind_given, str) else "", follow is True)


def _from_file(path: Path | None, given: Mapping[str, Any], problems: list[Problem]) -> FromFile | None:
    problems += [unknown(f"items.{name[:60]}", name, FROM_FILE) for name in given if name not in FROM_FILE]
    texts = {}
    for name in ("encoding", "separator", "sheet", "split"):
        if isinstance(value := given.get(name, ""), str):
            texts[name] = value
        else:
            problems.append(wrong_type(f"items.{name}", value, "text"))
    columns = _texts(given, "items.", problems, "columns")
    file = _named_file(path, given["from_file"], "items.from_file", problems)
    return FromFile(file, ReadingOptions(**texts, mapping=columns)) if file else None


def _from_run(path: Path | None, given: Mapping[str, Any], task: TaskType | None, problems: list[Problem]) -> FromRun:
    options = {name: value for name, value in given.items() if name not in ("from_run", WITH_FILE)}
    if task is not None and task.sample_form is not None:
        options, wrong = _typed(options, task.sample_form.base_fields, "items.", refuse_unknown=True)
        problems += wrong
    if WITH_FILE not in given:
        return FromRun(given["from_run"], options)
    where, name = f"items.{WITH_FILE}", given[WITH_FILE]
    if task is not None and not task.adds_file:
        what = f"Studies of the type {task.name} cannot add a file to the samples of a run."
        problems.append(Problem(where, what, "Delete this line, or use the file alone as items."))
        return FromRun(given["from_run"], options)
    if not isinstance(name, str):
        problems.append(wrong_type(where, name, "the path of a file"))
        return FromRun(given["from_run"], options)
    return FromRun(given["from_run"], options, _named_file(path, name, where, problems))


# --- kinds of values ---


def _typed(
    given: Mapping[str, Any], fields: Mapping[str, forms.Field], prefix: str, *, refuse_unknown: bool = False
) -> tuple[dict[str, Any], list[Problem]]:
    """The values of known fields whose kind is right for their field."""
    values: dict[str, Any] = {}
    problems: list[Problem] = []
    for name, value in given.items():
        if name not in fields:
            if refuse_unknown:
                problems.append(unknown(f"{prefix}{name[:60]}", name, fields))
        elif fits(fields[name], value):
            values[name] = value
        else:
            problems.append(wrong_type(f"{prefix}{name}", value, accepts(fields[name])))
    return values, problems
