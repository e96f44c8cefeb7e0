"""The factors of a study and the level of every rating: of items, of parts of items, of arms and of workers.

Factors that the description names come first. Where it names none of items or of arms, they are suggested: those that
the task type names, columns of the items whose names say what made a text, the items' parameter, and what arms differ
in.
"""

from __future__ import annotations

import math
from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace

import numpy as np
import pandas as pd

from analysis.data import StudyData
from analysis.description import Comparable, Factor, QuestionDescription, arm_level

#: Columns of items that are factors without being declared, if they have levels with several items each.
SUGGESTED = ("system", "model", "decoder", "domain", "genre", "condition", "label", "source", "from:arm")
MOST_SUGGESTED_LEVELS = 12
#: A column with longer levels on average, in words or characters, is a text and no factor.
MOST_SUGGESTED_WORDS, MOST_SUGGESTED_CHARACTERS = 4, 60
#: The factor of a study's arms that name no factors of their own.
ARM = "arm"


def factors_of(data: StudyData) -> list[Factor]:
    """The declared factors, then those that are suggested where nobody declared any of that sort."""
    declared = list(data.description.factors)
    return declared + suggested_besides(declared, data.description, data.items[data.items["role"] == "main"])


def suggested_besides(declared: Sequence[Factor], description: Comparable, items: pd.DataFrame) -> list[Factor]:
    """The suggestions of a sort of which nobody declared any: of items and their parts, of arms, of workers."""
    names = {factor.name for factor in declared}
    sorts = {_sort_of(factor) for factor in declared}
    suggested = suggested_factors(description, items)
    return [factor for factor in suggested if factor.name not in names and _sort_of(factor) not in sorts]


def _sort_of(factor: Factor) -> str:
    return "item" if factor.of == "part" else factor.of


def suggested_factors(description: Comparable, items: pd.DataFrame) -> list[Factor]:
    """What findings compare if nobody declares anything, from the description and the main items alone: what the task
    type suggests, columns and the parameter of the items, and what arms differ in. No name twice."""
    offered = {of: [f for f in description.suggested_factors if f.of == of] for of in ("item", "part", "arm", "worker")}
    suggested = [
        *suggested_of_parts(description, items, offered["part"]),
        *suggested_of_items(items, offered["item"]),
        *suggested_of_arms(description, offered["arm"]),
        *(f for f in offered["worker"] if any(question.topic == f.name for question in description.worker_questions)),
    ]
    by_name = {factor.name: factor for factor in reversed(suggested)}
    return [
        factor
        if not factor.reference or factor.reference in unit_levels(factor, description, items)
        else replace(factor, reference="")
        for factor in reversed(by_name.values())
    ]


def unit_levels(factor: Factor, description: Comparable, items: pd.DataFrame) -> list[str]:
    """The level of every item, of every part of every item, or of every arm; empty where one has none."""
    if factor.of == "arm":
        return list(arm_levels(description, factor.name).values())
    columns = factor.parts.values() if factor.of == "part" else [factor.name]
    return [level for column in columns for level in item_levels(items, column)]


def arm_levels(description: Comparable, name: str) -> dict[str, str]:
    """The level of every arm by its name."""
    if name == ARM and not any(ARM in arm.factors for arm in description.arms):
        return {arm.name: arm.name for arm in description.arms}
    shared = description.config
    return {arm.name: arm_level(name, arm.factors, {**shared, **arm.config}) for arm in description.arms}


def suggested_of_items(items: pd.DataFrame, offered: Sequence[Factor] = ()) -> list[Factor]:
    """Those ``offered``, known columns and the parameter, if they have 2 to 12 levels, and at least twice as many items
    as levels.

    A column that has the same levels as an earlier one, under any names, is left out: it says the same.
    """
    parameters = dict.fromkeys(items["parameter"])
    columns = {name for cells in items["cells"] for name in cells}
    candidates = {factor.name: factor for factor in offered}
    for name in [*SUGGESTED, *parameters]:
        if name and (name in columns or name in parameters):
            candidates.setdefault(name, Factor(name))
    factors: list[Factor] = []
    partitions: list[tuple[int, ...]] = []
    for name, factor in candidates.items():
        column = item_levels(items, name)
        used = column[column != ""]
        count = used.nunique()
        partition = tuple(pd.factorize(column)[0].tolist())
        if _is_text(used):
            continue
        if 2 <= count <= MOST_SUGGESTED_LEVELS and len(used) >= 2 * count and partition not in partitions:
            factors.append(factor)
            partitions.append(partition)
    return factors


def _is_text(levels: pd.Series) -> bool:
    """Whether the levels are texts rather than names, such as the sources of translations."""
    names = levels.unique()
    words = [len(name.split()) for name in names]
    characters = [len(name) for name in names]
    return len(names) > 0 and (
        sum(words) > MOST_SUGGESTED_WORDS * len(names) or sum(characters) > MOST_SUGGESTED_CHARACTERS * len(names)
    )


def suggested_of_parts(description: Comparable, items: pd.DataFrame, offered: Sequence[Factor]) -> Iterator[Factor]:
    """Those ``offered`` whose parts have two levels or more, or have their levels in the ratings' targets.

    After one with columns of its own, the targets themselves are left out: they only say where its levels are in the
    file.
    """
    partitions: list[tuple[int, ...]] = []
    for factor in offered:
        levels = unit_levels(factor, description, items) if factor.parts else []
        partition = tuple(pd.factorize(pd.Series(levels, dtype=object))[0].tolist())
        count = len(set(levels) - {""})
        if not factor.parts and partitions:
            continue
        if not factor.parts or (2 <= count <= MOST_SUGGESTED_LEVELS and partition not in partitions):
            if factor.parts:
                partitions.append(partition)
            yield factor


def suggested_of_arms(description: Comparable, offered: Sequence[Factor] = ()) -> Iterator[Factor]:
    """The levels that arms name, those ``offered``, or else the arms themselves; none that says the same as another."""
    if len(description.arms) < 2:
        return
    names = dict.fromkeys(name for arm in description.arms for name in arm.factors)
    candidates = [*(Factor(name, "arm") for name in names), *offered, Factor(ARM, "arm")]
    partitions: list[tuple[int, ...]] = []
    for factor in candidates:
        levels = list(arm_levels(description, factor.name).values())
        partition = tuple(levels.index(level) for level in levels)
        if factor.name == ARM and partitions:
            continue
        if len(set(levels) - {""}) > 1 and partition not in partitions:
            partitions.append(partition)
            yield factor


def level_names(data: StudyData, factor: Factor, ratings: pd.DataFrame) -> pd.Series:
    """The level of every rating (its index is that of ``ratings``), empty where it has none.

    ``ratings`` has ``item``, ``target``, ``worker`` and ``arm``. A part's level needs a target; see `part_levels` for
    a question that compares two parts.
    """
    if factor.of == "arm":
        return ratings["arm"].map(arm_levels(data.description, factor.name)).astype(object).fillna("")
    if factor.of == "worker":
        return ratings["worker"].map(worker_levels(data, factor.name)).astype(object).fillna("")
    if factor.of == "part" and not factor.parts:
        return labels_of(data.description.questions, ratings)
    if factor.of == "part":
        levels = pd.Series("", index=ratings.index, dtype=object)
        for target, column in factor.parts.items():
            rows = ratings["target"] == target
            levels[rows] = of_items(item_levels(data.items, column), ratings.loc[rows, "item"])
        return levels.fillna("")
    return of_items(item_levels(data.items, factor.name), ratings["item"])


def labels_of(questions: Sequence[QuestionDescription], ratings: pd.DataFrame) -> pd.Series:
    """What follows the last slash of every rating's target, under the name that its question gives it."""
    names = {key: name for question in questions for key, name in question.targets.items()}
    keys = {target: str(target).rpartition("/")[2] for target in ratings["target"].unique()}
    return ratings["target"].map({target: names.get(key, key) for target, key in keys.items()})


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
    if not (items["parameter"] == name).any():
        return pd.Series("", index=items.index, dtype=object)
    values = [
        f"{value:g}" if parameter == name and not math.isnan(value) else ""
        for parameter, value in zip(items["parameter"], items["parameter_value"], strict=True)
    ]
    return pd.Series(values, index=items.index, dtype=object)


def worker_levels(data: StudyData, topic: str) -> dict[str, str]:
    """What every worker answered to a question about no item: the name of the point, or the words."""
    asked = next((question for question in data.description.worker_questions if question.topic == topic), None)
    if asked is not None and asked not in data.description.questions:
        return questionnaire_levels(data, asked)
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


def questionnaire_levels(data: StudyData, question: QuestionDescription) -> dict[str, str]:
    """What every worker answered to a question around the tasks: the name of the point, the chosen options, or the
    words."""
    rows = data.questionnaires[data.questionnaires["question"] == question.topic]
    points = {point.value: point.label or point.key for point in question.ratings_scale.points}
    chosen: dict[str, list[str]] = {}
    for worker, target, value, text in rows[["worker", "target", "value", "text"]].itertuples(index=False, name=None):
        levels = chosen.setdefault(worker, [])
        if question.targets:
            levels += [question.targets.get(target, target)] if value else []
        else:
            levels.append(text.strip() if math.isnan(value) else points.get(value, f"{value:g}"))
    return {worker: "; ".join(levels) for worker, levels in chosen.items()}


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
        return list(dict.fromkeys(level for level in arm_levels(description, factor.name).values() if level))
    if factor.of == "worker":
        questions: list[QuestionDescription] = [q for q in description.worker_questions if q.topic == factor.name]
        return [point.label or point.key for question in questions for point in question.ratings_scale.points]
    if factor.of == "part" and not factor.parts:
        return [name for question in description.questions for name in question.targets.values()]
    return list(dict.fromkeys(level for level in unit_levels(factor, description, data.items) if level))
