"""Columns of ratings as codes: to compare a million names for every figure takes seconds, to compare numbers does not.

A bundle's columns are codes when they are read. Those of other frames become codes when somebody asks. Shapes: N rows.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd

Flags = npt.NDArray[np.bool_]


@dataclass(frozen=True, slots=True, eq=False)
class Coded:
    """``codes`` (N,) into ``names``, the different values of a column in the order of appearance."""

    codes: npt.NDArray[np.int32]
    names: npt.NDArray[Any]

    @classmethod
    def of(cls, column: pd.Series) -> Coded:
        codes, names = pd.factorize(column)
        is_number = isinstance(names, np.ndarray) or names.dtype.kind in "iufb"
        return cls(codes.astype(np.int32), np.asarray(names, dtype=None if is_number else object))

    def chosen(self, rows: Flags) -> Coded:
        """Some of the rows, by a flag for each."""
        codes, used = pd.factorize(self.codes[rows])
        return Coded(codes.astype(np.int32), self.names[used])

    def is_one_of(self, names: pd.Series) -> Flags:
        """Whether the row's value is one of the names (N,)."""
        kind = self.names.dtype
        return np.asarray(pd.Index(self.names, dtype=kind).isin(names.to_numpy(dtype=kind))[self.codes])


class RatingCodes:
    """The columns of a frame as codes. ``known``: those that are codes already."""

    def __init__(self, frame: pd.DataFrame, known: Mapping[str, Coded] | None = None) -> None:
        self.frame = frame
        self._of = dict(known or {})

    def of(self, column: str) -> Coded:
        if column not in self._of:
            self._of[column] = Coded.of(self.frame[column])
        return self._of[column]

    def chosen(self, rows: Flags, frame: pd.DataFrame) -> RatingCodes:
        """Those of ``frame``, which has these rows alone."""
        if rows.all():
            return RatingCodes(frame, self._of)
        return RatingCodes(frame, {name: coded.chosen(rows) for name, coded in self._of.items()})

    @property
    def first_of_pages(self) -> npt.NDArray[np.intp]:
        """The numbers of the rows that are about another item than the row before, or of another submission: the
        answers of a page mostly follow each other."""
        if not len(self.frame):
            return np.zeros(0, dtype=np.intp)
        is_first = np.ones(len(self.frame), dtype=bool)
        is_first[1:] = False
        for name in ("submission", "item"):
            codes = self.of(name).codes
            is_first[1:] |= codes[1:] != codes[:-1]
        return np.flatnonzero(is_first)


def repeated_ratings(codes: RatingCodes, workers: npt.NDArray[Any], main_items: pd.Series) -> Flags:
    """Which ratings (N,) are about a main item that the same worker rated in an earlier submission, too. ``workers``
    (N,) are codes of who rated."""
    rows = codes.first_of_pages
    items = codes.of("item")
    submissions = codes.of("submission")
    of_page, submission = items.codes[rows].astype(np.int64), submissions.names[submissions.codes[rows]]
    pair = pd.factorize(workers[rows].astype(np.int64) * (len(items.names) + 1) + of_page)[0]
    first = np.full(int(pair.max(initial=-1)) + 1, np.iinfo(np.int64).max)
    np.minimum.at(first, pair, submission)
    is_main = pd.Index(items.names, dtype=object).isin(main_items.to_numpy(dtype=object))
    repeated = is_main[of_page] & (submission != first[pair])
    return np.repeat(repeated, np.diff(rows, append=len(workers)))


def submissions_by_item(codes: RatingCodes) -> dict[str, int]:
    """How many submissions have ratings of each item, by its name."""
    rows = codes.first_of_pages
    items = codes.of("item")
    count = max(len(items.names), 1)
    pairs = pd.unique(codes.of("submission").codes[rows].astype(np.int64) * count + items.codes[rows])
    return dict(zip(items.names.tolist(), np.bincount(pairs % count, minlength=len(items.names)).tolist(), strict=True))


def first_places(codes: npt.NDArray[Any], count: int) -> npt.NDArray[np.intp]:
    """Of each of ``count`` codes, which are in the order of appearance, the number of the first row that has it."""
    first = np.empty(count, dtype=np.intp)
    first[codes[::-1]] = np.arange(len(codes))[::-1]
    return first
