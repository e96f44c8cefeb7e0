"""Who rated what: the ratings of one question as items × workers, with gaps for missing ratings."""

from __future__ import annotations

import numpy as np
import pandas as pd

from analysis import plots
from analysis.description import QuestionDescription
from analysis.diversity.association import Floats, Ints
from analysis.report.blocks import Figure, Section
from analysis.report.source import Source
from analysis.report.tables import Column, Table
from analysis.scores import repeated_rows
from common.words import counted

#: Readers cannot distinguish more rows or columns, so neighbours are averaged.
MOST_ROWS, MOST_COLUMNS = 50, 60


def add_matrix(
    source: Source, section: Section, topic: str, question: QuestionDescription, frame: pd.DataFrame
) -> None:
    """The ratings as a matrix, items by their mean and workers by their bias; none with fewer than two of either. The
    page draws that of the first question: who rated what hardly differs between questions.

    Items are sorted by mean rating, the highest at the top; workers by the mean of rating − item mean, the most
    critical on the left. Ratings of an item's parts are averaged.
    """
    about_items = frame
    if "" in source.item_names:
        about_items = frame[(frame["item_code"] != source.item_names.index("")).to_numpy()]
    cells = about_items[["item_code", "worker_code", "value"]]
    if repeated_rows(cells, ["item_code", "worker_code"]).any():
        cells = cells.groupby(["item_code", "worker_code"], sort=False)["value"].mean().reset_index()
    item, item_codes = pd.factorize(cells["item_code"])
    worker, worker_codes = pd.factorize(cells["worker_code"])
    items = np.array(source.item_names, dtype=object)[item_codes]
    workers = np.array(source.worker_names, dtype=object)[worker_codes]
    if min(len(items), len(workers)) < 2:
        return
    value = cells["value"].to_numpy(dtype=float)
    means = np.bincount(item, value) / np.bincount(item)
    bias = np.bincount(worker, value - means[item]) / np.bincount(worker)
    row, rows = positions(-means, MOST_ROWS)
    column, columns = positions(bias, MOST_COLUMNS)
    table = averaged(row[item], column[worker], value, (rows, columns))
    items_of = [np.flatnonzero(row == position) for position in range(rows)]
    workers_of = [np.flatnonzero(column == position) for position in range(columns)]
    is_first = "matrix" not in section.data
    section.data.setdefault("matrix", {})[topic] = {
        "items": [items[group].tolist() for group in items_of],
        "workers": [workers[group].tolist() for group in workers_of],
        "mean_ratings": table,
    }
    if not is_first:
        return
    ratings_of_items = np.bincount(item)
    numbers = [
        (position, counted(len(group), "item"), float(means[group].mean()), int(ratings_of_items[group].sum()))
        for position, group in enumerate(items_of, start=1)
    ]
    title = f"Who rated what: {topic}"
    numbers_table = Table(title, [Column("Row"), Column("Holds", "text"), Column("Mean"), Column("Ratings")], numbers)
    scale = question.ratings_scale
    limits = (scale.low, scale.high) if len(scale.points) > 1 else (float(value.min()), float(value.max()))
    size = (len(items), len(workers))
    section.add(heat_map(source, question, table, limits, size=size, n=len(cells), numbers=numbers_table))


def positions(keys: Floats, most: int) -> tuple[Ints, int]:
    """The row of each item (or column of each worker) in the order of its key, and the number of rows."""
    order = np.argsort(keys, kind="stable")
    n = min(len(keys), most)
    position = np.empty(len(keys), dtype=np.int64)
    position[order] = np.arange(len(keys)) * n // len(keys)
    return position, n


def averaged(row: Ints, column: Ints, value: Floats, shape: tuple[int, int]) -> Floats:
    """The mean value in each cell, NaN if there is none."""
    cell = row * shape[1] + column
    n = np.bincount(cell, minlength=shape[0] * shape[1])
    total = np.bincount(cell, value, minlength=shape[0] * shape[1])
    means: Floats = np.divide(total, n, out=np.full(n.shape, np.nan), where=n > 0)
    return means.reshape(shape)


def heat_map(
    source: Source,
    question: QuestionDescription,
    table: Floats,
    limits: tuple[float, float],
    *,
    size: tuple[int, int],
    n: int,
    numbers: Table,
) -> Figure:
    """``table``: the mean rating in each cell; ``size``: the numbers of items and workers, with ``n`` pairs rated."""
    labels = {point.value: point.text for point in question.ratings_scale.points}
    low, high = (labels.get(end, f"{end:g}") for end in limits)
    items, workers = size
    filled = 100 * n / (items * workers)
    words = plots.Words(
        source.key("matrix"),
        numbers.caption,
        f"{counted(items, 'item')} by {counted(workers, 'worker')}; {filled:.0f}% of the pairs have a rating. Items "
        "with the highest mean are at the top; the most critical workers are on the left.",
        "Workers, the most critical on the left",
        "Items, the highest mean at the top",
    )
    svg = plots.heat_map(words, table.tolist(), limits=limits, ends=(low, high))
    caption = f"{numbers.caption}: {counted(items, 'item')} by {counted(workers, 'worker')}, {filled:.0f}% rated."
    if table.shape != size:
        per = [f"{count / shown:.1f}".removesuffix(".0") for count, shown in zip(size, table.shape, strict=True)]
        caption += f" Each cell is the mean rating of about {per[0]} items by {per[1]} workers."
    if np.isnan(table).any():
        caption += " Empty: no rating."
    return Figure(svg, caption, numbers)
