"""Is a suggester's model still the one that it began with? As for a run, a process that opens the model compares.

The first process that opens the model for a suggester stores what it found. A process that finds other weights later
writes nothing for that suggester, whose writers get texts from its pool: otherwise some of a study's suggestions would
come from another model. Its page says what changed. `accept_weights` makes the new weights the suggester's own.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Any, NamedTuple

from django.db import transaction

from common.problems import Problem, invalid
from generation.backends.model_origin import differing
from generation.models import Suggester
from generation.suggestions.suggester_uses import InUse, users_of

OTHER_WEIGHTS = (
    "The model {model} is not the one that suggester {suggester} began with: it was {was} and is now {now}. Bring the "
    "old files back, accept the new ones, or register them as another model."
)


logger = logging.getLogger(__name__)


class Changed(NamedTuple):
    """The weights that a suggester began with, and those that a process found."""

    was: str
    now: str


def changed_weights(suggester: Suggester) -> Changed | None:
    """What a process has found instead of the weights that the suggester began with; None if none has."""
    changed = differing(suggester.origin, suggester.other_origin)
    return Changed(*changed) if changed else None


def why_not_these(suggester: Suggester, now: Mapping[str, Any]) -> str:
    """Why a model with these weights must not write for the suggester; empty if it may."""
    changed = differing(suggester.origin, now)
    if not changed:
        return ""
    return OTHER_WEIGHTS.format(model=suggester.model.name, suggester=suggester.name, was=changed[0], now=changed[1])


@transaction.atomic
def note_weights(*, suggester_id: int, now: Mapping[str, Any]) -> None:
    """Store what the model is if no process has opened it for the suggester yet; otherwise whether it has changed."""
    row = Suggester.objects.select_for_update(of=("self",), no_key=True).select_related("model").get(pk=suggester_id)
    if not row.origin:
        row.origin = dict(now)
    why = why_not_these(row, now)
    if why and row.other_origin != now:
        logger.error("%s", why)
    row.other_origin = dict(now) if why else {}
    row.save(update_fields=["origin", "other_origin"])


@transaction.atomic
def accept_weights(*, suggester: Suggester) -> None:
    """From now on, the suggester writes with the weights that were found. Raises Invalid if none were, or InUse if a
    live study uses the suggester."""
    row = Suggester.objects.select_for_update().get(pk=suggester.pk)
    if changed_weights(row) is None:
        raise invalid("weights", f"The model of {row.name} has not changed.", "There is nothing to accept.")
    if users := users_of(row):
        what = f"Suggester {row.name} is used by {', '.join(users)}, whose writers would get another model."
        raise InUse([Problem("weights", what, "Bring the old files back, or close the study first.")])
    row.origin, row.other_origin = row.other_origin, {}
    row.save(update_fields=["origin", "other_origin"])
