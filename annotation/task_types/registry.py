"""Finds every task type: each sub-package of ``annotation.task_types`` lists its classes in ``TYPES``."""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Iterable, Mapping
from functools import cache

from annotation import task_types
from annotation.task_types.base import TaskType

#: The package beside the families that holds the kinds of questions.
KINDS = "kinds"


class UnknownTaskType(LookupError):
    """A study names a type that is not installed. ``what`` says so, and ``fix`` lists those that are."""

    def __init__(self, name: str, installed: Iterable[str]) -> None:
        self.what = f"There is no task type “{name}”."
        self.fix = f"Known types: {', '.join(installed)}."
        super().__init__(f"{self.what} {self.fix}")


@cache
def all_types() -> dict[str, TaskType]:
    """Every task type by name, sorted by name. Raises ValueError if two have the same name."""
    types: dict[str, TaskType] = {}
    for module in pkgutil.iter_modules(task_types.__path__):
        if not module.ispkg or module.name == KINDS:
            continue
        package = importlib.import_module(f"{task_types.__name__}.{module.name}")
        for cls in package.TYPES:
            if cls.name in types:
                raise ValueError(f"Two task types are named {cls.name}: {type(types[cls.name])} and {cls}.")
            types[cls.name] = cls()
    return dict(sorted(types.items()))


#: The order of the groups before any study is made. Any other group comes after them.
GROUPS = ("Judging texts", "Writing", "Diversity of sets", "Coding")


def grouped_types(used: Mapping[str, int]) -> list[tuple[str, list[TaskType]]]:
    """Every task type under its group, the most used first, and the group of the most used type first.

    ``used``: how many studies have each type. Types used as often are in the order of ``TaskType.group_rank``, then
    by name.
    """
    groups: dict[str, list[TaskType]] = {group: [] for group in GROUPS}
    for task in sorted(all_types().values(), key=lambda task: (-used.get(task.name, 0), task.group_rank)):
        groups.setdefault(task.group, []).append(task)
    filled = [(group, types) for group, types in groups.items() if types]
    return sorted(filled, key=lambda group: -max(used.get(task.name, 0) for task in group[1]))


def get_type(name: str) -> TaskType:
    """The task type called ``name``. Raises UnknownTaskType, which lists the existing types."""
    try:
        return all_types()[name]
    except KeyError:
        raise UnknownTaskType(name, all_types()) from None
