"""The ways in which answers belong together, and the sums of squares that make up a variance over them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike

from analysis.inference.cluster_sums import Ints


@dataclass(frozen=True, slots=True)
class Term:
    """One sum of squares of a variance: the answers' ``rows`` (None: all) by their clusters ``codes``, with its sign.

    ``dimension`` is the name if the term is one of a single dimension, "" for an intersection. ``counts``: its codes
    are the clusters of the dimension. ``sides``: which of an answer's two clusters each row is about, 0 or 1.
    """

    sign: int
    rows: Ints | None
    codes: Ints
    dimension: str = ""
    counts: bool = False
    sides: Ints | None = None

    def times(self, other: Term) -> Term:
        """The intersection with a term of another dimension, one of which must cover all rows."""
        if self.rows is None and other.rows is not None:
            return other.times(self)
        if other.rows is not None:
            raise ValueError("only one dimension can have two clusters for each answer")
        of_rows = other.codes if self.rows is None else other.codes[self.rows]
        return Term(-self.sign * other.sign, self.rows, crossed_codes(self.codes, of_rows))


@dataclass(frozen=True)
class Dimensions:
    """The ways in which answers belong together, by name in the plural: {"items": (N,), "workers": (N,)} as codes.

    One dimension may have two columns (N, 2), such as both texts of a comparison.
    """

    codes: Mapping[str, Ints]

    @classmethod
    def of(cls, **names: ArrayLike) -> Dimensions:
        """From the name of each answer's cluster: ``Dimensions.of(items=[…], workers=[…])``.

        ValueError: no dimension, lengths differ, or an answer has no name.
        """
        codes = {}
        for dimension, clusters in names.items():
            named = np.asarray(clusters)
            codes[dimension] = np.asarray(pd.factorize(named.ravel())[0], dtype=np.int64).reshape(named.shape)
        if len({len(column) for column in codes.values()}) != 1:
            raise ValueError("give at least one dimension, and a name for every answer in each")
        for dimension, column in codes.items():
            if (column < 0).any():
                raise ValueError(f"an answer has no name among the {dimension}")
        return cls(codes)

    def __len__(self) -> int:
        return len(next(iter(self.codes.values())))

    @property
    def cells(self) -> Ints:
        """Codes (N,) of what all dimensions together tell apart, such as a worker's answers about an item. Of
        dimensions with one cluster for each answer."""
        return self.terms[-1].codes

    def chosen(self, rows: ArrayLike) -> Dimensions:
        """The dimensions of some of the answers, by their numbers or by a flag for each."""
        return Dimensions({name: codes[np.asarray(rows)] for name, codes in self.codes.items()})

    @cached_property
    def terms(self) -> tuple[Term, ...]:
        """The sums that make up the variance: those of the single dimensions, then of their intersections."""
        terms: list[Term] = []
        for dimension, codes in self.codes.items():
            if codes.ndim == 1:
                dimension_terms = [Term(1, None, codes, dimension, counts=True)]
            else:
                first, second = codes.T
                rows, different = np.arange(len(codes)), np.nonzero(first != second)[0]
                sides = np.repeat([0, 1], [len(rows), len(different)]).astype(np.int64)
                member_codes = np.concatenate([first, second[different]])
                members = Term(1, np.concatenate([rows, different]), member_codes, dimension, counts=True, sides=sides)
                low, high = np.minimum(first, second)[different], np.maximum(first, second)[different]
                dimension_terms = [members, Term(-1, different, crossed_codes(low, high), dimension)]
            terms += [*dimension_terms, *(earlier.times(term) for earlier in terms for term in dimension_terms)]
        return tuple(terms)


def crossed_codes(first: Ints, second: Ints) -> Ints:
    """Codes of the combinations of two codes."""
    return np.asarray(pd.factorize(first * (int(second.max(initial=0)) + 1) + second)[0], dtype=np.int64)
