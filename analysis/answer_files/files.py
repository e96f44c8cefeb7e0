"""A file with one answer per row, as commands read it, whatever its form.

A table of somebody's own has the columns that options name. The export ``long``, a bundle and pages of the API have
those of `columns`, and say themselves what was asked, on which scale, and what can be compared.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, ClassVar

import numpy as np
import pandas as pd

from analysis.answer_files.columns import ARM_FACTOR, MARKS, WORKER_FACTOR
from analysis.input_errors import InputError, number_in, shown
from analysis.tables import header_of, read_columns
from common.cells import restore_cell

#: Columns of items that are factors if nobody has declared any. The parameter of sets is among them.
PARAMETER, PARAMETER_NAME = "label_value", "label_name"
SUGGESTED = ("system", "model", "decoder", "domain", "genre", "condition", "item:label", "source", PARAMETER)
FROM_ARM = "from:arm"
MOST_LEVELS = 12
#: Columns of items that share what they answer or continue, in studies that do not say so themselves.
CONTEXTS = ("context", "prompt")
#: What most commands need of an export ``long``.
USUAL = frozenset(
    (
        *("submission", "worker", "arm", "item", "about", "part", "criterion", "scale_level", "scale_low"),
        *("scale_high", "value", "label", "system_1", "system_2", *SUGGESTED, PARAMETER_NAME, FROM_ARM, *CONTEXTS),
    )
)
#: Roles of items whose answers are in figures. The empty one is that of answers about no item.
COUNTED_ROLES = ("", "main")


@dataclass(frozen=True, slots=True)
class Criterion:
    """What was asked, in the order of the file: level of measurement and ends of the scale (None if it has none)."""

    name: str
    level: str
    low: float | None = None
    high: float | None = None

    @property
    def bounds(self) -> tuple[float, float] | None:
        return None if self.low is None or self.high is None else (self.low, self.high)


@dataclass(frozen=True, slots=True)
class LevelColumn:
    """A factor with the column of its levels. ``order``: the levels in theirs, if it is known."""

    name: str
    column: str
    reference: str = ""
    order: Sequence[str] = ()


@dataclass(frozen=True, slots=True)
class Detection:
    """Where people judge whether a text is by a person: the criterion, and the columns of the text's source and
    domain. ``human``: the source of texts by people."""

    topic: str = "judgement"
    source: str = "source"
    domain: str = "domain"
    human: str = "human"


class AnswerFile(ABC):
    """Answers with their columns, read when a command asks for them."""

    #: Whether it says itself what was asked and what can be compared.
    is_study: ClassVar[bool]
    #: Whether it contains the factors that the study declares, with their references.
    declares: bool = False

    def __init__(self, path: str) -> None:
        self.path = path
        #: What a reader should know about the file, such as what was left out.
        self.notes: Sequence[str] = ()

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The columns."""

    @abstractmethod
    def read(self, columns: Sequence[str]) -> pd.DataFrame:
        """These columns of the answers in the figures, each a Categorical of its texts; the index is the row.

        InputError: see `analysis.tables.read_columns`.
        """

    @cached_property
    def criteria(self) -> list[Criterion]:
        """Everything that was asked."""
        frame = self.read(["criterion", "scale_level", "scale_low", "scale_high"])
        combined = np.zeros(len(frame), dtype=np.int64)
        for name in frame.columns:
            combined = combined * (len(frame[name].cat.categories) + 1) + frame[name].cat.codes.to_numpy() + 1
        first_rows = np.flatnonzero(~pd.Series(combined).duplicated().to_numpy())
        criteria: dict[str, Criterion] = {}
        for name, level, low, high in frame.iloc[first_rows].astype(object).itertuples(index=False, name=None):
            criterion = Criterion(name, level or "", number_in(low or ""), number_in(high or ""))
            criteria[name] = widest(criteria.get(name, criterion), criterion)
        return list(criteria.values())

    @cached_property
    def own_work(self) -> bool:
        """Whether every worker answered about what they wrote themselves."""
        return bool((self.read(["about"])["about"] == "own").any())

    @property
    def context(self) -> str:
        """The column that items share which answer or continue the same text; empty if there is none."""
        return next((name for name in CONTEXTS if name in self.names), "")

    @property
    def systems(self) -> tuple[str, str]:
        """The columns of what wrote the two texts of a choice: first the one that a positive value favours."""
        return "system_1", "system_2"

    @property
    def system(self) -> str:
        """The column of what wrote a text."""
        return "system"

    @cached_property
    def detection(self) -> Detection | None:
        """None if nobody judges whether texts are by people."""
        usual = Detection()
        is_asked = any(criterion.name == usual.topic for criterion in self.criteria)
        return usual if is_asked and usual.source in self.names else None

    @cached_property
    def factors(self) -> list[LevelColumn]:
        """What can be compared: columns of items that say what made a text, then arms."""
        named = [name for name in (*SUGGESTED, FROM_ARM) if name in self.names]
        arms = [name for name in self.names if name.startswith(ARM_FACTOR)]
        frame = self.read(["item", *named, *(arms or ["arm"])])
        items = frame.drop_duplicates("item")
        items = items[(items["item"] != "").to_numpy()]
        factors: list[LevelColumn] = []
        partitions: list[tuple[int, ...]] = []
        for name in named:
            levels = items[name].astype(object).fillna("")
            used = levels[levels != ""]
            partition = tuple(pd.factorize(levels)[0].tolist())
            if 2 <= used.nunique() <= MOST_LEVELS and len(used) >= 2 * used.nunique() and partition not in partitions:
                factors.append(LevelColumn(self._parameter if name == PARAMETER else name, name))
                partitions.append(partition)
        for name in arms or ["arm"]:
            if len(set(frame[name].dropna().unique()) - {""}) > 1:
                factors.append(LevelColumn(name.removeprefix(ARM_FACTOR), name))
        return factors

    @property
    def _parameter(self) -> str:
        """The name of the parameter of sets, if it is the same for all."""
        named = set(self.read([PARAMETER_NAME])[PARAMETER_NAME].dropna().unique()) - {""}
        return str(named.pop()) if len(named) == 1 else PARAMETER

    def factor(self, name: str) -> LevelColumn:
        """A factor by its name or its column. InputError: neither."""
        for factor in self.factors:
            if name in (factor.name, factor.column):
                return factor
        possible = (name, f"{ARM_FACTOR}{name}", f"{WORKER_FACTOR}{name}")
        column = next((column for column in possible if column in self.names), "")
        if not column:
            listed = ", ".join(shown(existing) for existing in list(self.names)[:40])
            raise InputError(self.path, f'column "{name}"', "there is no such column", f"the columns are {listed}")
        return LevelColumn(name, column)


def widest(first: Criterion, second: Criterion) -> Criterion:
    """The criterion with the ends of both: arms may have scales of their own."""
    if first.bounds is None or second.bounds is None:
        return first
    low, high = min(first.bounds[0], second.bounds[0]), max(first.bounds[1], second.bounds[1])
    return Criterion(first.name, first.level, low, high)


class TableFile(AnswerFile):
    """A table with columns of somebody's own."""

    is_study = False

    @cached_property
    def names(self) -> Sequence[str]:
        return header_of(self.path)

    def read(self, columns: Sequence[str]) -> pd.DataFrame:
        return read_columns(self.path, columns)


class LongFile(AnswerFile):
    """The export ``long`` as a file. Answers that are in no figure are left out."""

    is_study = True

    def __init__(self, path: str, names: Sequence[str], *, guarded: bool) -> None:
        """``guarded``: cells that a spreadsheet would run have an apostrophe in front."""
        super().__init__(path)
        self._names, self._guarded = names, guarded
        self._frame: pd.DataFrame | None = None

    @property
    def names(self) -> Sequence[str]:
        return self._names

    def read(self, columns: Sequence[str]) -> pd.DataFrame:
        """The first call reads everything that most commands need, because to read a file takes longest of all."""
        wanted = list(dict.fromkeys(columns))
        if self._frame is None:
            usual = [name for name in self._names if name in USUAL or name.startswith(ARM_FACTOR)]
            self._frame = self._used([*wanted, *usual])
        missing = [name for name in wanted if name not in self._frame.columns]
        if missing:
            self._frame = self._frame.join(self._used(missing))
        return self._frame[wanted]

    def _used(self, columns: Sequence[str]) -> pd.DataFrame:
        frame = read_columns(self.path, [*columns, "included", "role"])
        used = cells_in(frame["included"], ("true", "TRUE", "True")) & cells_in(frame["role"], COUNTED_ROLES)
        if not used.any():
            raise InputError(self.path, "", "no answer is in the figures", "see the columns included, why_not and role")
        frame = frame.loc[used, list(dict.fromkeys(columns))]
        return pd.DataFrame({name: self._texts(frame[name]) for name in frame.columns}, frame.index)

    def _texts(self, column: pd.Series) -> pd.Series:
        """The cells without the apostrophes that guard a CSV file; JSON's null is an empty text, as it is in CSV."""
        texts = [restore_cell(str(text)) if self._guarded else str(text) for text in column.cat.categories]
        codes = column.cat.codes.to_numpy()
        if (codes < 0).any() or len(set(texts)) < len(texts):
            return pd.Series(pd.Categorical(np.array([*texts, ""], dtype=object)[codes]), column.index)
        return column.cat.rename_categories(texts)


def cells_in(column: pd.Series, texts: Sequence[str]) -> np.ndarray[Any, np.dtype[np.bool_]]:
    """Which cells (N,) are one of the texts; a missing cell is an empty one."""
    of_code = np.array([*(text in texts for text in column.cat.categories), "" in texts])
    return of_code[column.cat.codes.to_numpy()]


def is_long(names: Sequence[str]) -> bool:
    """Whether these are the columns of an export ``long``."""
    return set(MARKS) <= set(names)
