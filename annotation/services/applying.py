"""Making a study be as its file says: compared with what is stored, then changed in one go or not at all."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

from django.contrib.auth.models import User
from django.db import transaction

from annotation.forms import StudyForm
from annotation.models import Item, Membership, Study
from annotation.services import studies as service
from annotation.services.checking import check_study, default_values
from annotation.services.importing import ItemsRead, read_items, settings_read_with, store_items
from annotation.services.planning import worded_texts
from annotation.services.refusals import FieldProblem, Frozen
from annotation.study_files import FileRefused, StudyFile
from annotation.tables import read_table

ACTOR = "manage.py study apply"


@dataclass(frozen=True, slots=True)
class Difference:
    """One field that the file changes. ``old`` is None for what is new."""

    field: str
    old: Any
    new: Any


@dataclass(frozen=True, slots=True)
class Applied:
    """What applying a file has done, or would do."""

    study: Study | None
    created: bool
    differences: list[Difference]


@dataclass(frozen=True, slots=True)
class _Checked:
    """A file found sound: clean values, and its items if it names any."""

    task_type: str
    values: dict[str, Any]
    config: dict[str, Any]
    texts: dict[str, str]
    items: ItemsRead | None


def apply(
    file: StudyFile,
    *,
    owner: User | None = None,
    dry_run: bool = False,
    progress: Callable[[int], None] | None = None,
) -> Applied:
    """Make the study be as the file says: created, changed, or left alone; all of it or nothing.

    With ``dry_run`` everything is tried and undone. Raises FileRefused, TableProblems (of the items' file) or Frozen.
    """
    study = Study.objects.filter(slug=file.slug).first()
    checked = _check(file, study)
    differences = _differences(study, checked, owner)
    if not differences:
        return Applied(study, False, [])
    with transaction.atomic():
        stored = _write(study, checked, differences, owner, progress)
        if dry_run:
            transaction.set_rollback(True)
    return Applied(study if dry_run else stored, study is None, differences)


def _check(file: StudyFile, study: Study | None) -> _Checked:
    """Values, settings, texts and items. Raises FileRefused or TableProblems."""
    checked, problems = check_study(
        instance=Study.objects.get(pk=study.pk) if study else Study(),
        values=default_values() | file.values,
        task_type=file.task_type,
        config=file.config,
        texts=file.texts,
    )
    if problems:
        raise FileRefused(problems, file.lines)
    items = None
    if file.items is not None:
        try:
            with file.items.open("rb") as opened:
                table = read_table(opened, name=file.items.name, limit=None)
        except OSError as error:
            what = f"{file.items} cannot be read: {error.strerror}."
            raise FileRefused([FieldProblem("items", what, "Check the path.")], file.lines) from None
        items = read_items(task_type=file.task_type, config=checked.config, table=table)
    return _Checked(file.task_type, checked.values, checked.config, checked.texts, items)


def _differences(study: Study | None, checked: _Checked, owner: User | None) -> list[Difference]:
    new = _in_file_terms(checked.task_type, checked.values, checked.config, checked.texts)
    old: dict[str, Any] = {}
    if study is not None:
        stored = {name: getattr(study, name) for name in StudyForm.Meta.fields}
        old = _in_file_terms(study.task_type, stored, study.config, worded_texts(study))
    found = [
        Difference(name, old.get(name), new.get(name))
        for name in dict.fromkeys([*new, *old])
        if study is None or old.get(name) != new.get(name)
    ]
    found += _item_difference(study, checked)
    if (
        owner is not None
        and not Membership.objects.filter(study=study, user=owner, role=Membership.Role.OWNER).exists()
    ):
        found.append(Difference("owner", None, owner.get_username()))
    return found


def _in_file_terms(
    task_type: str, values: Mapping[str, Any], config: Mapping[str, Any], texts: Mapping[str, str]
) -> dict[str, Any]:
    return {
        "task_type": task_type,
        **values,
        **{f"config.{name}": value for name, value in config.items()},
        **{f"texts.{name}": text for name, text in texts.items()},
    }


def _item_difference(study: Study | None, checked: _Checked) -> list[Difference]:
    """How many items there were and will be, if they change. Another task type cannot use those there are."""
    there = Item.objects.filter(study=study).count() if study else 0
    if study is not None and study.task_type == checked.task_type:
        if checked.items is None or _same_items(study, checked.items):
            return []
    elif not there and checked.items is None:
        return []
    return [Difference("items", there if study else None, len(checked.items.items) if checked.items else 0)]


def _same_items(study: Study, read: ItemsRead) -> bool:
    """Whether importing again would change nothing: neither the items nor the settings noted with them."""
    if study.status == Study.Status.DRAFT and settings_read_with(study) not in ({}, read.settings):
        return False
    there = Item.objects.filter(study=study).order_by("position").values_list("external_id", "payload")
    return list(there) == [(item.external_id, item.payload) for item in read.items]


def _write(
    study: Study | None,
    checked: _Checked,
    differences: list[Difference],
    owner: User | None,
    progress: Callable[[int], None] | None,
) -> Study:
    given = {"values": checked.values, "config": checked.config, "texts": checked.texts}
    if study is None:
        values = {name: value for name, value in checked.values.items() if name != "slug"}
        stored = service.create_study(
            slug=checked.values["slug"],
            task_type=checked.task_type,
            **(given | {"values": values}),
            actor=ACTOR,
            owner=owner,
        )
    else:
        _refuse_frozen(study, differences)
        given["values"] = checked.values | {"task_type": checked.task_type}
        stored = service.change_study(study=study, **given, actor=ACTOR)
        if owner is not None:
            service.add_member(study=stored, user=owner, role=Membership.Role.OWNER, actor=ACTOR)
    if checked.items is not None and any(difference.field == "items" for difference in differences):
        store_items(study=stored, read=checked.items, actor=ACTOR, progress=progress)
    return stored


def _refuse_frozen(study: Study, differences: list[Difference]) -> None:
    """All that a study which has left draft cannot take over from the file, items too, each as the file calls it."""
    changes = {difference.field: (difference.old, difference.new) for difference in differences}
    problems = service.frozen_problems(study, changes)
    if problems:
        raise Frozen(problems)
