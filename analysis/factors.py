"""The factors of a study and the level of every rating: of items, of parts of items, of arms and of workers.

Factors that the description names come first. Where it names none of items or of arms, they are suggested: columns of
the items whose names say what made a text, the items' parameter, and what arms differ in.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.data import StudyData
from analysis.description import Factor, QuestionDescription

#: Columns of items that are factors without being declared, if they have levels with several items each.
SUGGESTED = ("system", "model", "decoder", "domain", "genre", "condition", "label", "source", "from:arm")
MOST_SUGGESTED_LEVELS = 12
#: The factor of a study's arms that name no factors of their own.
ARM = "arm"


def factors_of(data: StudyData) -> list[Factor]:
    """The declared factors, then those that are suggested where nobody declared any of that sort."""
    declared = list(data.description.factors)
    sorts = {factor.of for factor in declared}
    if not sorts & {"item", "part"}:
        declared += suggested_of_items(data.items[data.items["role"] == "main"])
    if "arm" not in sorts:
        declared += suggested_of_arms(data)
    return declared


def suggested_of_items(items: pd.DataFrame) -> list[Factor]:
    """Known columns and the parameter, if they have 2 to 12 levels, and at least twice as many items as levels.

    A column that has the same levels as an earlier one, under any names, is left out: it says the same.
    """
    columns = [
        (name, items["cells"].map(lambda cells, name=name: str(cells.get(name, "")).strip())) for name in SUGGESTED
    ]
    columns += [(name, parameter_levels(items, name)) for name in dict.fromkeys(items["parameter"]) if name]
    factors: list[Factor] = []
    partitions: list[tuple[int, ...]] = []
    for name, column in columns:
        used = column[column != ""]
        count = used.nunique()
        partition = tuple(pd.factorize(column)[0].tolist())
        if 2 <= count <= MOST_SUGGESTED_LEVELS and len(used) >= 2 * count and partition not in partitions:
            factors.append(Factor(name))
            partitions.append(partition)
    return factors


def suggested_of_arms(data: StudyData) -> Iterator[Factor]:
    """What the arms differ in, or else the arms themselves."""
    if not data.description.has_arms:
        return
    names = dict.fromkeys(name for arm in data.description.arms for name in arm.factors)
    for name in names or [ARM]:
        yield Factor(name, "arm")


def level_names(data: StudyData, factor: Factor, ratings: pd.DataFrame) -> pd.Series:
    """The level of every rating (its index is that of ``ratings``), empty where it has none.

    ``ratings`` has ``item``, ``target``, ``worker`` and ``arm``. A part's level needs a target; see `part_levels` for
    a question that compares two parts.
    """
    if factor.of == "arm":
        arms = data.description.arms
        of_arm = {
            arm.name: arm.name if factor.name == ARM and not arm.factors else arm.factors.get(factor.name, "")
            for arm in arms
        }
        return ratings["arm"].map(of_arm).fillna("")
    if factor.of == "worker":
        return ratings["worker"].map(worker_levels(data, factor.name)).fillna("")
    if factor.of == "part":
        levels = pd.Series("", index=ratings.index, dtype=object)
        for target, column in factor.parts.items():
            rows = ratings["target"] == target
            levels[rows] = of_items(item_levels(data.items, column), ratings.loc[rows, "item"])
        return levels.fillna("")
    return of_items(item_levels(data.items, factor.name), ratings["item"])


def of_items(levels: pd.Series, items: pd.Series) -> pd.Series:
    """The levels (by the items' ids) of these items, empty where there is no such item; quicker than ``Series.map``."""
    places = levels.index.get_indexer(pd.Index(items))
    return pd.Series(np.append(levels.to_numpy(dtype=object), "")[places], index=items.index, dtype=object)


def part_levels(data: StudyData, factor: Factor, ratings: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """The levels of both parts that every rating compares: of the part that a positive value favours, and of the other.

    ValueError: the factor has other than two parts.
    """
    if factor.of != "part" or len(factor.parts) != 2:
        raise ValueError(f"“{factor.name}” does not have two parts to compare")
    first, second = (of_items(item_levels(data.items, column), ratings["item"]) for column in factor.parts.values())
    return first, second


def item_levels(items: pd.DataFrame, name: str) -> pd.Series:
    """The level of every item, by its id: the cell of that column, or its parameter of that name."""
    levels = [str(cells.get(name, "")).strip() for cells in items["cells"]]
    if not any(levels):
        levels = parameter_levels(items, name).tolist()
    return pd.Series(levels, index=items["item"].to_numpy(), dtype=object)


def parameter_levels(items: pd.DataFrame, name: str) -> pd.Series:
    """The value of the items' parameter of that name, as text."""
    values = [
        f"{value:g}" if parameter == name and not math.isnan(value) else ""
        for parameter, value in zip(items["parameter"], items["parameter_value"], strict=True)
    ]
    return pd.Series(values, index=items.index, dtype=object)


def worker_levels(data: StudyData, topic: str) -> dict[str, str]:
    """What every worker answered to a question about no item: the name of the point, or the words."""
    points = {
        point.value: point.label or point.key
        for question in data.description.questions
        if question.topic == topic
        for point in question.ratings_scale.points
    }
    rows = data.ratings[(data.ratings["question"] == topic) & (data.ratings["item"] == "")]
    answers = rows.drop_duplicates("worker", keep="last")
    return {
        worker: text.strip() if math.isnan(value) else points.get(value, f"{value:g}")
        for worker, value, text in answers[["worker", "value", "text"]].itertuples(index=False, name=None)
    }


def levels_without(data: StudyData, factor: Factor, rated: Collection[str]) -> list[str]:
    """The levels of main items or of arms that are not among ``rated``, in order."""
    if factor.of == "worker":
        return []
    main = replace(data, items=data.items[data.items["role"] == "main"])
    return [level for level in levels_in_order(main, factor) if level and level not in rated]


def levels_in_order(data: StudyData, factor: Factor) -> Sequence[str]:
    """The levels in the order in which arms, points of a scale or items have them."""
    description = data.description
    if factor.of == "arm":
        if factor.name == ARM and not any(arm.factors for arm in description.arms):
            return [arm.name for arm in description.arms]
        return list(dict.fromkeys(arm.factors.get(factor.name, "") for arm in description.arms))
    if factor.of == "worker":
        questions: list[QuestionDescription] = [q for q in description.questions if q.topic == factor.name]
        return [point.label or point.key for question in questions for point in question.ratings_scale.points]
    columns = factor.parts.values() if factor.of == "part" else [factor.name]
    names = dict.fromkeys(level for column in columns for level in item_levels(data.items, column) if level)
    return list(names)
