"""The answers on one criterion, as comparisons of levels need them."""

from __future__ import annotations

import math
from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np
import numpy.typing as npt
import pandas as pd
from numpy.typing import ArrayLike

from analysis.inference import LEAST_CLUSTERS, Bounds, Dimensions, LevelDesign, LevelFigures

Floats = npt.NDArray[np.float64]
Codes = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]
#: More names in a sentence would not be read.
MOST_NAMED = 4
#: The columns that say what answers are about.
COLUMNS = ("items", "workers", "parts", "contexts")
#: Two factors that are crossed have four: of cells, of rows, of columns, and of everything. Those of rows and columns
#: are the designs of the factors by themselves.
MOST_DESIGNS = 8
#: Figures are small beside their designs.
MOST_FIGURES = 32


@dataclass(frozen=True)
class Answers:
    """N answers on one criterion, all arrays (N,).

    ``values`` are numbers, where higher is better or more. ``items``, ``workers`` and ``contexts`` are codes: the items
    of one context, such as the outputs of several systems for one prompt, are alike. ``parts`` are codes of the part of
    the item that an answer is about. ``own``: every worker answered about something of their own, or about no item, so
    that only workers vary. ``bounds``: the ends of the scale, if known.
    """

    values: Floats
    items: Codes
    workers: Codes
    parts: Codes
    contexts: Codes
    own: bool = False
    bounds: Bounds | None = None
    designs: Designs = field(default_factory=lambda: Designs(), compare=False, repr=False)

    @classmethod
    def of(
        cls,
        values: ArrayLike,
        *,
        items: ArrayLike | None,
        workers: ArrayLike,
        parts: ArrayLike | None = None,
        contexts: ArrayLike | None = None,
        bounds: Bounds | None = None,
    ) -> Answers:
        """From names. ``items`` None: the answers are about no item that others answered about. Without ``contexts``,
        or with an empty one, an item is its own context.

        ValueError: lengths differ, no answers, a NaN, a worker or item without a name.
        """
        numbers = np.asarray(values, dtype=float)
        if not len(numbers):
            raise ValueError("there are no answers")
        if np.isnan(numbers).any():
            raise ValueError("an answer is missing: leave out its row")
        worker_codes = _codes(workers, "worker", len(numbers))
        item_codes = worker_codes if items is None else _codes(items, "item", len(numbers))
        part_codes = np.zeros(len(numbers), dtype=np.int64) if parts is None else _codes(parts, "part", len(numbers))
        context_codes = item_codes
        if contexts is not None and items is not None:
            names = np.asarray(contexts, dtype=object)
            alone = pd.isna(names) | (names == "")
            context_codes = np.where(alone, -1 - item_codes, pd.factorize(names)[0])
            context_codes = np.asarray(pd.factorize(context_codes)[0], dtype=np.int64)
        return cls(numbers, item_codes, worker_codes, part_codes, context_codes, items is None, bounds)

    def __len__(self) -> int:
        return len(self.values)

    def chosen(self, rows: ArrayLike) -> Answers:
        """Some of the answers, by a flag for each or by their numbers."""
        keep = np.asarray(rows)
        if keep.dtype == bool and keep.all():
            return self  # and what it has worked out about its clusters
        columns = {name: getattr(self, name)[keep] for name in ("values", *COLUMNS)}
        return replace(self, **columns, designs=Designs())

    @cached_property
    def cluster_name(self) -> str:
        """What varies besides workers: contexts, if items share them and there are enough; else items."""
        context_count, item_count = (np.count_nonzero(np.bincount(codes)) for codes in (self.contexts, self.items))
        shared = context_count < item_count
        return "contexts" if shared and context_count >= LEAST_CLUSTERS else "items"

    @property
    def dimensions(self) -> Dimensions:
        if self.designs.dimensions is None:
            clusters = self.contexts if self.cluster_name == "contexts" else self.items
            named = {} if self.own else {self.cluster_name: clusters}
            self.designs.dimensions = Dimensions({**named, "workers": self.workers})
        return self.designs.dimensions

    def means(self, levels: Codes, count: int, *, level: float) -> LevelFigures:
        """The means of ``count`` levels, every item with the same weight; ``levels`` (N,) are codes of all answers."""
        return LevelFigures.on(self.designs.of(self, levels, count), self.values, level=level)

    def known_means(self, levels: Codes, count: int, *, level: float) -> LevelFigures:
        """The same; for those that were asked for last, their intervals are known, too."""
        return self.designs.figures(self, levels, count, level)

    def weights(self, levels: Codes) -> Floats:
        """How much each answer counts in the mean of its level, so that all items of a level count the same, and all
        parts of an item; the same for all answers that are about no item. ``levels`` (N,) are codes."""
        if self.own:
            return np.ones(len(self))
        items, parts = int(self.items.max()) + 1, int(self.parts.max()) + 1
        of_item = _dense(levels * items + self.items)
        of_part = of_item if parts == 1 else _dense(of_item * parts + self.parts)
        answers = np.bincount(of_part)
        item_of_part = np.zeros(len(answers), dtype=np.int64)
        item_of_part[of_part] = of_item
        parts_of_item = np.bincount(item_of_part[answers > 0])
        return np.asarray(1 / (answers[of_part] * parts_of_item[of_item]))

    def standardised(self) -> tuple[Answers, Flags]:
        """The answers in standard deviations from their worker's mean, over all of the worker's answers, as the
        Conference on Machine Translation does (Barrault et al. 2020, §3).

        And which of the N answers are in it: not those of workers whose answers do not vary.
        """
        count = np.bincount(self.workers)
        mean = np.bincount(self.workers, self.values) / np.maximum(count, 1)
        away = self.values - mean[self.workers]
        squares = np.bincount(self.workers, away**2)
        sd = np.sqrt(np.divide(squares, count - 1, out=np.zeros(len(count)), where=count > 1))
        varies = sd[self.workers] > 1e-6
        scores = np.divide(away, sd[self.workers], out=np.zeros(len(away)), where=varies)
        return replace(self, values=scores, bounds=None).chosen(varies), varies


class Designs:
    """What follows from who answered about what, and from levels: worked out once for all criteria that share it.

    Only the last few are kept, because each takes several times the memory of the answers.
    """

    def __init__(self) -> None:
        self.dimensions: Dimensions | None = None
        self._last: deque[LevelDesign] = deque(maxlen=MOST_DESIGNS)
        self._figures: deque[LevelFigures] = deque(maxlen=MOST_FIGURES)

    def of(self, answers: Answers, levels: Codes, count: int) -> LevelDesign:
        for design in self._last:
            if design.level_count == count and np.array_equal(design.codes, levels):
                return design
        self._last.append(LevelDesign.of(levels, count, answers.dimensions, answers.weights(levels)))
        return self._last[-1]

    def figures(self, answers: Answers, levels: Codes, count: int, level: float) -> LevelFigures:
        design = self.of(answers, levels, count)
        for known in self._figures:
            if known.design is design and known.answers is answers.values and known.level == level:
                return known
        self._figures.append(LevelFigures.on(design, answers.values, level=level))
        return self._figures[-1]


def level_codes(names: Sequence[str] | ArrayLike, order: Sequence[str] = ()) -> tuple[Codes, tuple[str, ...]]:
    """Codes (N,) of the levels' names, −1 where there is none, and the levels: those in ``order`` first."""
    column = np.asarray(names, dtype=object)
    if pd.api.types.infer_dtype(column) != "string":
        column = pd.Series(column).fillna("").astype(str).to_numpy(dtype=object)
    # Only the distinct names are looked at one by one: there may be a million answers.
    codes_of_names, distinct = pd.factorize(column)
    present = {str(name) for name in distinct if name}
    levels = [name for name in order if name in present]
    levels += sorted(present - set(levels), key=natural)
    code_of = {name: code for code, name in enumerate(levels)}
    codes = np.array([code_of.get(name, -1) for name in distinct], dtype=np.int64)
    return codes[codes_of_names], tuple(levels)


def names_in_words(names: Sequence[str]) -> str:
    """a, b and c; the first few of many."""
    shown = (
        [*names] if len(names) <= MOST_NAMED else [*names[: MOST_NAMED - 1], f"{len(names) - MOST_NAMED + 1} others"]
    )
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def natural(name: str) -> tuple[float, str]:
    """Numbers in their order, before words."""
    try:
        number = float(name)
    except ValueError:
        number = math.inf
    return (number if not math.isnan(number) else math.inf), name


def _dense(codes: Codes) -> Codes:
    """The same codes, or others where there are many numbers without an answer."""
    return codes if codes.max(initial=0) <= 4 * len(codes) else np.asarray(pd.factorize(codes)[0], dtype=np.int64)


def _codes(names: ArrayLike, what: str, count: int) -> Codes:
    codes = np.asarray(pd.factorize(np.asarray(names))[0], dtype=np.int64)
    if len(codes) != count:
        raise ValueError(f"there are {count:,} values, and {len(codes):,} {what}s")
    if (codes < 0).any():
        raise ValueError(f"an answer has no {what}")
    return codes
