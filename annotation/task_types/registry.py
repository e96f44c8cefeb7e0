"""Finds every task type: each sub-package of ``annotation.task_types`` lists its classes in ``TYPES``."""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache

from annotation import task_types
from annotation.task_types.base import TaskType


class UnknownTaskType(LookupError):
    """A study names a type that is not installed."""


@cache
def all_types() -> dict[str, TaskType]:
    """Every task type by name, sorted by name. Raises ValueError if two have the same name."""
    found: dict[str, TaskType] = {}
    for module in pkgutil.iter_modules(task_types.__path__):
        if not module.ispkg:
            continue
        package = importlib.import_module(f"{task_types.__name__}.{module.name}")
        for cls in package.TYPES:
            if cls.name in found:
                raise ValueError(f"Two task types are named {cls.name}: {type(found[cls.name])} and {cls}.")
            found[cls.name] = cls()
    return dict(sorted(found.items()))


#: The order of the groups. Any other group comes after them.
GROUPS = ("Diversity of sets", "Judging texts", "Writing", "Coding")


def grouped_types() -> list[tuple[str, list[TaskType]]]:
    """Every task type under its group, by name within a group."""
    found: dict[str, list[TaskType]] = {group: [] for group in GROUPS}
    for task in all_types().values():
        found.setdefault(task.group, []).append(task)
    return [(group, types) for group, types in found.items() if types]


def get_type(name: str) -> TaskType:
    """The task type called ``name``. Raises UnknownTaskType, which lists the existing types."""
    try:
        return all_types()[name]
    except KeyError:
        known = ", ".join(all_types())
        raise UnknownTaskType(f"There is no task type “{name}”. Known types: {known}.") from None
