"""The kinds of questions: one folder each, which owns everything about its kind.

A folder has ``__init__.py`` with ``KIND``, the class of its questions or of a `Group` of several;
``templates/annotation/questions/<kind>.html``, its widget; and ``static/`` for a script of its own, if it needs one.
How the analysis puts a kind into words is in `analysis.kinds`, in a module of the same name.
"""

from __future__ import annotations

import importlib
import pkgutil
from functools import cache
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from annotation.task_types.questions import Group, Question


@cache
def all_kinds() -> dict[str, type[Question] | type[Group]]:
    """Every kind of question by name, sorted by name. Raises ValueError if two have the same name."""
    kinds: dict[str, type[Question] | type[Group]] = {}
    for module in pkgutil.iter_modules(__path__):
        if not module.ispkg:
            continue
        cls = importlib.import_module(f"{__name__}.{module.name}").KIND
        if cls.kind in kinds:
            raise ValueError(f"Two kinds of questions are named {cls.kind}: {kinds[cls.kind]} and {cls}.")
        kinds[cls.kind] = cls
    return dict(sorted(kinds.items()))


def describable_kinds() -> dict[str, type[Question] | type[Group]]:
    """The kinds that a study can describe, by name."""
    return {name: kind for name, kind in all_kinds().items() if kind.settings_form is not None}
