"""A stored study as a study file writes it, and the changes that a part of such a document asks for."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from typing import Any

from annotation.models import Study
from annotation.studies.spec import SpecChanges, StudySpec, spec_of
from annotation.studies.study_files import QUESTIONNAIRES, FileRefused, read_document
from annotation.task_types.items import Json
from common.problems import Problem

#: The keys whose entries a change adds to those that the study has. All other lists and mappings are replaced.
MERGED = {
    "config": "config",
    "texts": "texts",
    "interface": "interface",
    "quality_control": "quality_control",
    "exclude": "exclusion",
    "stopping": "stopping",
}
REPLACED = ("exclude_studies", "arms", "factors")


def document_of(study: Study) -> Json:
    """The study with all its keys but ``items``. `read_document` reads it."""
    spec = spec_of(study)
    first = ("slug", "title")
    values = {name: spec.values[name] for name in (*first, *(name for name in spec.values if name not in first))}
    document: Json = {"task_type": spec.task_type, **values}
    document |= {"exclude_studies": list(spec.exclude_studies), "platforms": spec.platforms}
    document |= {"quality_control": spec.quality_control, "exclude": spec.exclusion, "config": spec.config}
    document |= {"texts": spec.texts, "arms": [arm.as_json() for arm in spec.arms], "factors": spec.factors}
    document |= {"stopping": spec.stopping, "interface": spec.interface}
    pay = spec.questionnaires["screen_out_reward"]
    document |= {**spec.questionnaires, "screen_out_reward": pay and float(pay)}
    plain: Json = _plain(document)
    return plain


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {name: _plain(part) for name, part in value.items()}
    if isinstance(value, list | tuple):
        return [_plain(part) for part in value]
    return float(value) if isinstance(value, Decimal) else value


def changes_in(document: Mapping[str, Any], study: Study) -> SpecChanges:
    """The changes to the study for some of the keys of a study file. Raises FileRefused.

    Settings, texts and rules that the document does not name stay. Another task type starts with its own.
    """
    if "items" in document:
        raise FileRefused([Problem("items", "A change of settings has no items.", "Send them to the study's items.")])
    task_type = document.get("task_type", study.task_type)
    spec = read_document({"task_type": task_type} | dict(document), required=()).spec
    old = StudySpec(task_type, {}) if task_type != study.task_type else spec_of(study)
    changes: SpecChanges = {}
    if spec.values:
        changes["values"] = spec.values
    if task_type != study.task_type:
        changes |= {"task_type": task_type, "config": {}, "texts": {}, "interface": {}, "arms": []}
    for key, part in MERGED.items():
        if key in document:
            changes[part] = {**getattr(old, part), **getattr(spec, part)}  # type: ignore[literal-required]  # one of MERGED
    for part in REPLACED:
        if part in document:
            changes[part] = getattr(spec, part)  # type: ignore[literal-required]  # one of REPLACED
    if any(key in document for key in QUESTIONNAIRES):
        changes["questionnaires"] = {**old.questionnaires, **spec.questionnaires}
    if "platforms" in document:
        named = {name: {**study.platforms.get(name, {}), **settings} for name, settings in spec.platforms.items()}
        changes["platforms"] = {**study.platforms, **named}
    return changes
