"""Ratings as arrays: the two shapes that every statistic here accepts, and the converters that make them.

``Ratings`` is the long form: N ratings as three parallel integer arrays (which unit, which rater, which value) plus the
labels they point to. ``Counts`` is a sparse units × values table of how often each unit got each value. 100,000 units ×
2,000 raters × 10 ratings each is a million integers in either form; it never becomes a dense matrix.

Accepted wherever a parameter is called *data*:

- a 2-D array, **units in rows, raters in columns**, NaN (or None) where a rater did not rate a unit;
- ``Ratings`` from `ratings_from_matrix`, `ratings_from_arrays` or `ratings_from_frame`;
- ``Counts`` (``Ratings.counts()`` or `counts_from_table`), if it does not matter who rated.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Any

import numpy as np
import numpy.typing as npt
import pandas as pd
from scipy import sparse

FloatArray = npt.NDArray[np.float64]
IntArray = npt.NDArray[np.int64]
Labels = npt.NDArray[Any]

#: A matrix with more cells than this never becomes dense.
MAX_DENSE_CELLS = 50_000_000


@dataclass(frozen=True, slots=True, eq=False)
class Counts:
    """How often each unit got each value: ``table`` (U × V, CSR, float64), ``values`` (V,) in rank order.

    ``ratings`` (U,) is the number of ratings per unit. Units without ratings are not left out: their rows are zeros.
    ``ordered`` is False for text without a known order.
    """

    table: sparse.csr_array
    values: Labels
    ordered: bool = True

    @property
    def ratings(self) -> FloatArray:
        return _ratings_per_unit(self)

    @property
    def units(self) -> int:
        return int(self.table.shape[0])


@dataclass(frozen=True, slots=True, eq=False)
class Ratings:
    """N ratings. ``unit``, ``rater`` and ``code`` (N,) index ``units`` (U,), ``raters`` (R,) and ``values`` (V,).

    ``values`` is ascending for numbers, in the order of ``categories`` if the caller gave them, else sorted text.
    ``ordered`` is False for text without categories; ``missing`` counts rows of the input without a value. A unit that
    nobody rated stays in ``units``.
    """

    unit: IntArray
    rater: IntArray
    code: IntArray
    units: Labels
    raters: Labels
    values: Labels
    missing: int = 0
    ordered: bool = True

    @property
    def per_unit(self) -> IntArray:
        """Ratings per unit (U,)."""
        return np.bincount(self.unit, minlength=len(self.units))

    def numbers(self) -> FloatArray:
        """The ratings as numbers (N,). ValueError if the values are text."""
        return numeric_values(self.values)[self.code]

    def counts(self) -> Counts:
        """The units × values table."""
        return _counts_of(self)

    def matrix(self) -> FloatArray:
        """Dense units × raters matrix (U × R) of numbers with NaN for missing.

        ValueError if it would have more than ``MAX_DENSE_CELLS`` cells, if values are text, or if a rater rated a unit
        more than once.
        """
        cells = len(self.units) * len(self.raters)
        if cells > MAX_DENSE_CELLS:
            raise ValueError(f"{len(self.units)} units × {len(self.raters)} raters are too many for a dense matrix")
        refuse_repeats(self)
        dense = np.full((len(self.units), len(self.raters)), np.nan)
        dense[self.unit, self.rater] = self.numbers()
        return dense


Data = Ratings | Counts | npt.ArrayLike


@lru_cache(maxsize=1)  # several coefficients of the same ratings follow each other
def _counts_of(ratings: Ratings) -> Counts:
    shape = (len(ratings.units), len(ratings.values))
    table = sparse.coo_array((np.ones(len(ratings.code)), (ratings.unit, ratings.code)), shape=shape).tocsr()
    return Counts(table, ratings.values, ratings.ordered)


@lru_cache(maxsize=1)
def _ratings_per_unit(counts: Counts) -> FloatArray:
    sums = np.asarray(counts.table.sum(axis=1), dtype=np.float64).ravel()
    sums.flags.writeable = False
    return sums


def numeric_values(values: Labels) -> FloatArray:
    """``values`` as float64. ValueError if they are text."""
    if values.dtype.kind not in "fiub":
        raise ValueError("this statistic needs numbers, but the values are text")
    return values.astype(np.float64)


def refuse_unordered(data: Ratings | Counts) -> None:
    """ValueError if values are text without a known order."""
    if not data.ordered:
        raise ValueError("text has no order: give the categories in their order")


def ratings_from_arrays(
    unit: npt.ArrayLike,
    rater: npt.ArrayLike,
    value: npt.ArrayLike,
    *,
    categories: Sequence[Any] | None = None,
    repeats: bool = False,
) -> Ratings:
    """Convert long arrays of equal length N to ``Ratings``.

    ``unit`` and ``rater`` may be integers or text, ``value`` numbers or text. NaN and None in ``value`` mean missing:
    the row is left out and counted in ``missing``, but its unit and rater stay. ``categories`` lists all values that
    the scale allows, in order, used or not.

    ValueError: lengths differ; a unit or rater is missing; an infinite value; a value outside ``categories``; numbers
    mixed with text; the same (unit, rater) twice unless ``repeats``, which only `dawid_skene` can use.
    """
    columns = [np.asarray(column) for column in (unit, rater, value)]
    if len({column.shape for column in columns}) != 1 or columns[0].ndim != 1:
        raise ValueError("unit, rater and value must be one-dimensional and of equal length")
    unit_code, units = _codes_of(columns[0], "unit")
    rater_code, raters = _codes_of(columns[1], "rater")
    present = ~pd.isna(columns[2])
    values = columns[2][present]
    code, labels = _value_codes(values, categories)
    ordered = categories is not None or labels.dtype.kind == "f"
    missing = int((~present).sum())
    ratings = Ratings(unit_code[present], rater_code[present], code, units, raters, labels, missing, ordered)
    if not repeats:
        refuse_repeats(ratings)
    return ratings


def ratings_from_frame(
    frame: pd.DataFrame,
    *,
    unit: str = "unit",
    rater: str = "rater",
    value: str = "value",
    categories: Sequence[Any] | None = None,
    repeats: bool = False,
) -> Ratings:
    """Convert a long frame, one row per rating, to ``Ratings``. ``unit``, ``rater`` and ``value`` name its columns.

    Missing values, ``categories``, ``repeats`` and errors as in `ratings_from_arrays`; if a column is missing, KeyError
    names the existing ones.
    """
    for column in (unit, rater, value):
        if column not in frame.columns:
            raise KeyError(f'no column "{column}"; the columns are {", ".join(map(str, frame.columns))}')
    arrays = [frame[column].to_numpy() for column in (unit, rater, value)]
    return ratings_from_arrays(*arrays, categories=categories, repeats=repeats)


def ratings_from_matrix(matrix: npt.ArrayLike, *, categories: Sequence[Any] | None = None) -> Ratings:
    """Convert a units × raters matrix (numbers, or text with None) to ``Ratings``. NaN and None mean missing.

    Row and column numbers become the names of units and raters. ValueError: not 2-D; an infinite value.
    """
    dense = np.asarray(matrix)
    if dense.ndim != 2:
        raise ValueError(f"a units × raters matrix has two dimensions, this has {dense.ndim}")
    unit, rater = np.nonzero(~pd.isna(dense))
    code, values = _value_codes(dense[unit, rater], categories)
    rows, columns = dense.shape
    missing = dense.size - len(unit)
    ordered = categories is not None or values.dtype.kind == "f"
    return Ratings(unit, rater, code, np.arange(rows), np.arange(columns), values, missing, ordered)


def counts_from_table(table: npt.ArrayLike | sparse.sparray, values: Sequence[Any] | None = None) -> Counts:
    """Convert a units × values table of counts (dense or sparse) to ``Counts``.

    ``values`` (V,) are what the columns stand for, ascending if they are numbers; 0 … V−1 by default. ValueError: not
    2-D, negative or fractional counts, or values that are repeated, out of order, too many or too few.
    """
    cells: Any = table if sparse.issparse(table) else np.asarray(table)
    rows = sparse.csr_array(cells).astype(np.float64)
    labels = np.arange(rows.shape[-1], dtype=np.float64) if values is None else as_labels(values)
    if rows.ndim != 2 or len(labels) != rows.shape[1]:
        raise ValueError("the table must be units × values, with one value per column")
    if rows.nnz and (rows.data.min() < 0 or (rows.data % 1).any()):
        raise ValueError("counts must be whole numbers, 0 or more")
    if len(set(labels.tolist())) != len(labels):
        raise ValueError("the values of the columns must differ")
    if labels.dtype.kind == "f" and (np.diff(labels) <= 0).any():
        raise ValueError("the columns must be in ascending order of their values")
    return Counts(rows, labels)


def as_ratings(data: Data) -> Ratings:
    """``data`` as ``Ratings``. ValueError for ``Counts``, which does not record who rated, and for long frames."""
    if isinstance(data, Ratings):
        return data
    if isinstance(data, Counts):
        raise ValueError("this statistic needs to know who rated: give Ratings or a units × raters matrix")
    if isinstance(data, pd.DataFrame):
        raise ValueError("give ratings_from_frame(frame, unit=…, rater=…, value=…) or frame.to_numpy()")
    return ratings_from_matrix(data)


def as_counts(data: Data) -> tuple[Counts, Ratings | None]:
    """``data`` as ``Counts``, and as ``Ratings`` if the raters are known."""
    if isinstance(data, Counts):
        return data, None
    ratings = as_ratings(data)
    return ratings.counts(), ratings


def refuse_repeats(ratings: Ratings) -> None:
    """Raise ValueError with the first (unit, rater) pairs that occur more than once."""
    pairs = np.sort(ratings.unit * len(ratings.raters) + ratings.rater)
    repeated = np.unique(pairs[1:][pairs[1:] == pairs[:-1]])
    if not len(repeated):
        return
    named = [
        f"({ratings.units[pair // len(ratings.raters)]}, {ratings.raters[pair % len(ratings.raters)]})"
        for pair in repeated[:5]
    ]
    omitted = f" and {len(repeated) - 5} more" if len(repeated) > 5 else ""
    raise ValueError(f"these (unit, rater) pairs have more than one rating: {', '.join(named)}{omitted}")


def in_order_of(codes: IntArray) -> npt.NDArray[np.intp]:
    """The numbers of the rows in the order of their codes from 0, else in that of the rows: small codes are counted,
    not compared."""
    return np.argsort(codes.astype(np.min_scalar_type(int(codes.max(initial=0)))), kind="stable")


def as_labels(values: Sequence[Any] | Labels) -> Labels:
    """Numbers as float64, anything else as objects. ValueError for infinite or mixed values."""
    labels = np.asarray(values)
    if labels.dtype.kind in "fiub":
        labels = labels.astype(np.float64)
        if np.isinf(labels).any():
            raise ValueError("a value is infinite")
        return labels
    objects = np.asarray(values, dtype=object)
    if all(isinstance(label, int | float | np.number) for label in objects):
        return as_labels(objects.astype(np.float64))
    if not all(isinstance(label, str) for label in objects):
        raise ValueError("values must be all numbers or all text")
    return objects


def _codes_of(labels: Labels, name: str) -> tuple[IntArray, Labels]:
    """Indices into the sorted distinct labels. Hashed, because sorting a million strings would take seconds."""
    if labels.dtype.kind in "US":
        labels = labels.astype(object)
    if labels.dtype.kind in "iu" and len(labels) and labels.min() >= 0 and labels.max() <= 4 * len(labels):
        counts = np.bincount(labels)  # codes already: they are counted, not hashed
        values = np.flatnonzero(counts)
        ranks = np.empty(len(counts), dtype=np.int64)
        ranks[values] = np.arange(len(values))
        return ranks[labels], values.astype(labels.dtype)
    codes, distinct = pd.factorize(labels)
    if len(codes) and codes.min() < 0:
        raise ValueError(f"a {name} is missing in row {int(np.argmin(codes)) + 1}")
    try:
        order = np.argsort(distinct)
    except TypeError as error:
        raise ValueError(f"the {name}s are numbers mixed with text") from error
    ranks = np.empty_like(order)
    ranks[order] = np.arange(len(order))
    return ranks[codes].astype(np.int64), distinct[order]


def _value_codes(values: Labels, categories: Sequence[Any] | None) -> tuple[IntArray, Labels]:
    """Indices of values in the categories, or in the ordered distinct values."""
    codes, distinct = pd.factorize(values.astype(object) if values.dtype.kind in "US" else values)
    distinct = as_labels(distinct)
    if categories is None:
        order = np.argsort(distinct, kind="stable")
        ranks = np.empty_like(order)
        ranks[order] = np.arange(len(order))
        return ranks[codes].astype(np.int64), distinct[order]
    labels = as_labels(categories)
    if len(set(labels.tolist())) != len(labels):
        raise ValueError("a category is listed twice")
    position = {label: index for index, label in enumerate(labels.tolist())}
    outside = [label for label in distinct.tolist() if label not in position]
    if outside:
        raise ValueError(f"these values are not among the categories: {', '.join(map(str, outside[:5]))}")
    category_codes = np.array([position[label] for label in distinct.tolist()], dtype=np.int64)
    return category_codes[codes].astype(np.int64), labels
