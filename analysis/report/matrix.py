"""Who rated what: the ratings of one question as items × workers, with gaps for missing ratings."""

from __future__ import annotations

from typing import Any

import numpy as np
import pandas as pd

from analysis import plots
from analysis.description import QuestionDescription
from analysis.diversity.association import Floats, Ints
from analysis.report.blocks import Column, Figure, Table
from analysis.report.source import Source
from common.words import counted

#: Readers cannot distinguish more rows or columns, so neighbours are averaged.
MOST_ROWS, MOST_COLUMNS = 50, 60


def matrix(
    source: Source, topic: str, question: QuestionDescription, frame: pd.DataFrame, data: dict[str, Any]
) -> Figure | None:
    """A heat map of the ratings, items by their mean and workers by their bias. None if there are fewer than two of
    either.

    Items are sorted by mean rating, the highest at the top; workers by the mean of rating − item mean, the most
    critical on the left. Ratings of an item's parts are averaged.
    """
    cells = frame[frame["item"] != ""].groupby(["item", "worker"], sort=False)["value"].mean().reset_index()
    item, items = pd.factorize(cells["item"])
    worker, workers = pd.factorize(cells["worker"])
    if min(len(items), len(workers)) < 2:
        return None
    value = cells["value"].to_numpy(dtype=float)
    means = np.bincount(item, value) / np.bincount(item)
    bias = np.bincount(worker, value - means[item]) / np.bincount(worker)
    row, rows = places(-means, MOST_ROWS)
    column, columns = places(bias, MOST_COLUMNS)
    table = averaged(row[item], column[worker], value, (rows, columns))
    limits = limits_of(question, value)
    by_row = [np.flatnonzero(row == at) for at in range(rows)]
    found = [(counted(len(mine), "item"), float(means[mine].mean()), int(np.isin(item, mine).sum())) for mine in by_row]
    data.setdefault("matrix", {})[topic] = {
        "items": [[str(name) for name in items[mine]] for mine in by_row],
        "workers": [[str(name) for name in workers[np.flatnonzero(column == at)]] for at in range(columns)],
        "mean_ratings": table,
    }
    return figure(source, topic, question, table, limits, (len(items), len(workers)), found, len(cells))


def places(keys: Floats, most: int) -> tuple[Ints, int]:
    """The row of each item (or column of each worker) in the order of its key, and the number of rows."""
    order = np.argsort(keys, kind="stable")
    n = min(len(keys), most)
    found = np.empty(len(keys), dtype=np.int64)
    found[order] = np.arange(len(keys)) * n // len(keys)
    return found, n


def averaged(row: Ints, column: Ints, value: Floats, shape: tuple[int, int]) -> Floats:
    """The mean value in each cell, NaN if there is none."""
    cell = row * shape[1] + column
    n = np.bincount(cell, minlength=shape[0] * shape[1])
    total = np.bincount(cell, value, minlength=shape[0] * shape[1])
    means: Floats = np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0)
    return means.reshape(shape)


def limits_of(question: QuestionDescription, value: Floats) -> tuple[float, float]:
    scale = question.ratings_scale
    if len(scale.points) > 1:
        return scale.low, scale.high
    return float(value.min()), float(value.max())


def figure(
    source: Source,
    topic: str,
    question: QuestionDescription,
    table: Floats,
    limits: tuple[float, float],
    there: tuple[int, int],
    rows: list[tuple[str, float, int]],
    n: int,
) -> Figure:
    labels = {point.value: point.text for point in question.ratings_scale.points}
    ends = tuple(labels.get(end, f"{end:g}") for end in limits)
    items, workers = there
    title = f"Who rated what: {topic}"
    filled = 100 * n / (items * workers)
    words = plots.Words(
        source.key("matrix"),
        title,
        f"{counted(items, 'item')} by {counted(workers, 'worker')}; {filled:.0f}% of the pairs have a rating. Items "
        "with the highest mean are at the top; the most critical workers are on the left.",
        "Workers, the most critical on the left",
        "Items, the highest mean at the top",
    )
    svg = plots.heat_map(words, table.tolist(), limits=limits, ends=(ends[0], ends[-1]))
    merged = ""
    if table.shape != there:
        per = [f"{whole / shown:.1f}".removesuffix(".0") for whole, shown in zip(there, table.shape, strict=True)]
        merged = f" Each cell is the mean rating of about {per[0]} items by {per[1]} workers."
    empty = " Empty: no rating." if np.isnan(table).any() else ""
    caption = f"{title}: {counted(items, 'item')} by {counted(workers, 'worker')}, {filled:.0f}% rated.{merged}{empty}"
    columns = [Column("Row"), Column("Holds", "text"), Column("Mean"), Column("Ratings")]
    return Figure(svg, caption, Table(title, columns, [(at, *row) for at, row in enumerate(rows, start=1)]))
