"""How a worker saw what one rating is about: a type's hook, from which the export ``long`` has plain columns."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from annotation.task_types.items import Json


@dataclass(frozen=True, slots=True)
class Seen:
    """One rating with what it takes to say how its item and its part were shown.

    ``index`` is the item's index in the hit and ``payload`` its payload, as in ``Shown.items``; ``order`` is what
    `TaskType.arrange` recorded for the assignment. ``topic``, ``target`` and ``value`` are those of the rating.
    """

    payload: Json
    index: int
    order: Json
    topic: str
    target: str
    value: float | None


@dataclass(frozen=True, slots=True)
class Placement:
    """Where an item and a part of it were shown. Positions count from 1; None, or empty: there is nothing to say.

    ``item_position``: the item's, among the items of the hit. ``texts``: the part's own words, several only if the
    question compares parts by their target, as a pair of responses. ``part_position``: the part's, among the parts of
    its item. ``side``: the part's, as A, B, … from left to right or from top to bottom. Where one question compares two
    parts and ratings have no target, it is the side of the part that comes first in the data: text 1, set 1.
    """

    item_position: int | None = None
    texts: Sequence[str] = ()
    part_position: int | None = None
    side: str = ""


class Placements:
    """The hook of a task type whose questions are about parts of an item, or whose order is its own."""

    #: How many texts a `Placement` has at most: the export has as many columns.
    part_texts: ClassVar[int] = 1

    def placement(self, seen: Seen) -> Placement:
        """How the worker saw the item and the part that a rating is about.

        A pure function, called for every rating of an export: it must not make pages. It must be right for everything
        that `TaskType.arrange` has ever stored. Default: the item's position in ``order["items"]``, nothing on parts.
        Options of a question with several choices need nothing: their words are in the question's description.
        """
        return Placement(position_in(seen.order.get("items", ()), seen.index))


def position_in(order: Sequence[object], index: object) -> int | None:
    """The position of ``index`` in an order, from 1; None if it is missing."""
    return order.index(index) + 1 if index in order else None


def side_of(number: int) -> str:
    """The name of a side by its number from 0: A, B, …"""
    return chr(ord("A") + number)
