"""What task types read and make: rows and columns of a file, items, and their sources."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal

Json = dict[str, Any]
Role = Literal["main", "practice", "exam", "gold", "attention", "training"]
ROLES: tuple[Role, ...] = ("main", "practice", "exam", "gold", "attention", "training")
#: Those of items with right answers.
ANSWERED_ROLES: tuple[Role, ...] = ("gold", "attention", "training")


@dataclass(frozen=True, slots=True)
class RowProblem:
    """A problem in a table. ``row`` counts data rows from 1 (0: the whole file); ``column`` may be empty."""

    row: int
    column: str
    what: str
    fix: str


@dataclass(frozen=True, slots=True)
class Row:
    """One data row of a table, with all cells as text. ``number`` counts from 1.

    ``sources`` are the ids of the samples or outputs behind its texts; empty for a row of a file. ``file_row`` is for a
    row of a file that was added to rows made from samples: the name of the file, and the number of the row there.
    """

    number: int
    cells: Mapping[str, str]
    sources: tuple[int, ...] = ()
    file_row: tuple[str, int] | None = None


#: What is wrong with a cell and how to fix it; None if the cell is fine.
Check = Callable[[str], tuple[str, str] | None]


@dataclass(frozen=True, slots=True)
class Column:
    """One column of an items file. ``name`` may end in ``_0 …`` for a numbered family (``resp_0 …``).

    ``example`` is what the sample file shows. ``media``: what its cells lead to, which is ``audio``, ``video``,
    ``image`` or ``captions``; empty for text.
    """

    name: str
    meaning: str
    required: bool = True
    check: Check | None = None
    example: str = ""
    media: str = ""


@dataclass(frozen=True, slots=True)
class ItemData:
    """An item as read: the researcher's id, and the payload that all other hooks get.

    ``rows`` are the numbers of the rows that it was made from.
    """

    external_id: str
    payload: Json
    role: Role = "main"
    rows: tuple[int, ...] = ()


@dataclass(frozen=True, slots=True)
class ExamItem:
    """An item of an exam and one worker's answers to it by topic, as text; numbers as ``%g`` writes them."""

    item: ItemData
    answers: Mapping[str, Sequence[str]] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class ItemFacts:
    """An item as the analysis sees it.

    ``context``: items that share it are not independent. ``parameter``: name and value of what was varied between
    items, such as a temperature. ``texts``: what was judged, one list per group (a set, each side of a comparison).
    ``responses``: the one set that automatic metrics can score; empty if there is no such set. ``metrics``: figures
    from the file.
    """

    context: str = ""
    parameter: tuple[str, float] | None = None
    texts: Sequence[Sequence[str]] = ()
    responses: Sequence[str] = ()
    metrics: Mapping[str, float] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceOutput:
    """A text or set of texts from a submission of another study. ``label`` is its parameter.

    ``cells`` are the columns of the item that it is about; empty if it is about none.
    """

    id: int
    kind: str
    context: str
    texts: Sequence[str]
    label: tuple[str, float] | None
    item: str
    author: str
    arm: str
    cells: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class SourceRow:
    """A row made from samples or outputs, with their ids. ``file_row``: see `Row`."""

    cells: dict[str, str]
    sources: tuple[int, ...]
    file_row: tuple[str, int] | None = None
