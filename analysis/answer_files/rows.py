"""Answers that are in memory with the columns of the export ``long``: those of a bundle, and those of the API."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis.answer_files.columns import ARM_FACTOR, RESERVED, WORKER_FACTOR, named_apart
from analysis.answer_files.files import AnswerFile, Criterion, Detection, LevelColumn
from analysis.data import StudyData
from analysis.description import Factor, Scale
from analysis.factors import arm_levels, factors_of, level_names, levels_in_order, questionnaire_levels
from analysis.input_errors import InputError
from analysis.rating_codes import Coded, first_places
from analysis.tables import require_columns

#: Columns of a bundle that no file has: what items share, and the levels of a factor.
CONTEXT, LEVELS = "(context)", "(levels) "
#: Names of the ratings of a bundle and of the API, by those of the export.
OF_RATINGS = {"criterion": "question", "part": "target", "answer_text": "text"}

Column = Callable[[], Any]


class RowsFile(AnswerFile):
    """Answers by column. ``columns``: what makes each, an array-like of (N,) values or a Categorical."""

    is_study = True

    def __init__(self, path: str, columns: Mapping[str, Column]) -> None:
        super().__init__(path)
        self._columns = columns
        self._made: dict[str, pd.Categorical] = {}

    @property
    def names(self) -> Sequence[str]:
        return [name for name in self._columns if not name.startswith("(")]

    def read(self, columns: Sequence[str]) -> pd.DataFrame:
        require_columns(list(self._columns), self.path, *(name for name in columns if name not in self._columns))
        for name in columns:
            if name not in self._made:
                self._made[name] = as_texts(self._columns[name]())
        data = {name: self._made[name] for name in columns}
        frame = pd.DataFrame(data, columns=list(dict.fromkeys(columns)))
        return frame.set_axis(pd.RangeIndex(1, len(frame) + 1, name="row"), axis=0)


def as_texts(values: Any) -> pd.Categorical:
    """The values as texts, each different value once; missing ones are empty."""
    if isinstance(values, pd.Categorical):
        return values
    if isinstance(values, Coded):
        coded = values
    else:
        coded = Coded.of(pd.Series(values, dtype=object) if isinstance(values, list) else pd.Series(values))
    codes, distinct = coded.codes.astype(np.int64), coded.names
    texts = [as_text(value) for value in distinct]
    codes = np.where(codes < 0, len(texts), codes)
    if "" not in texts:
        texts.append("")
    else:
        codes = np.where(codes == len(distinct), texts.index(""), codes)
    return pd.Categorical.from_codes(codes, pd.Index(texts, dtype=object))


def as_text(value: Any) -> str:
    if isinstance(value, bool | np.bool_):
        return str(bool(value)).lower()
    return repr(float(value)) if isinstance(value, float | np.floating) else str(value)


def taken(by_key: Mapping[Any, Any] | pd.Series, keys: pd.Series | Coded) -> pd.Categorical:
    """The value of every row by its key; empty for a key that is missing."""
    coded = keys if isinstance(keys, Coded) else Coded.of(keys)
    codes, names = coded.codes, coded.names
    values = [str(by_key.get(name, "")) for name in names]
    code_of = {text: code for code, text in enumerate(dict.fromkeys([*values, ""]))}
    of_key = np.array([*(code_of[text] for text in values), code_of[""]])
    return pd.Categorical.from_codes(of_key[codes], pd.Index(list(code_of), dtype=object))


class BundleFile(RowsFile):
    """A study with its description. ``data``: the study."""

    declares = True

    def __init__(self, path: str, data: StudyData) -> None:
        self.data = data
        ratings = data.ratings
        items = data.items.set_index("item", drop=False)
        main = set(items.index[items["role"] == "main"])
        self._codes = data.rating_codes
        used = self._codes.of("item").is_one_of(pd.Series(["", *main], dtype=object))
        self.ratings = ratings
        if not used.all():
            self.ratings = ratings[used].reset_index(drop=True)
            self._codes = self._codes.chosen(used, self.ratings)
        super().__init__(path, self._column_makers(items))
        if self.ratings.empty:
            raise InputError(path, "", "no submission is in the figures", "export a study with included submissions")

    def _column_makers(self, items: pd.DataFrame) -> dict[str, Column]:
        ratings, description = self.ratings, self.data.description
        scales = {question.topic: question.ratings_scale for question in description.questions}
        with_points = {topic: scale for topic, scale in scales.items() if scale.points}
        makers: dict[str, Column] = {"study": partial(np.repeat, description.slug, len(ratings))}
        for name in ("submission", "worker", "synthetic", "arm", "item", "scale", "value", "seconds"):
            makers[name] = partial(self._codes.of, name)
        for name, field in OF_RATINGS.items():
            makers[name] = partial(self._codes.of, field)
        named = [name for arm in description.arms for name in arm.factors]
        offered = [factor.name for factor in description.suggested_factors if factor.of == "arm"]
        for factor in dict.fromkeys([*named, *offered]):
            levels = arm_levels(description, factor)
            if factor in named or len({*levels.values()} - {""}) > 1:
                makers[f"{ARM_FACTOR}{factor}"] = partial(self._taken, "arm", levels)
        for asked in (question for around in description.questionnaires for question in around.questions):
            if asked.scale.points or asked.targets:
                makers[f"{WORKER_FACTOR}{asked.topic}"] = partial(
                    self._taken, "worker", questionnaire_levels(self.data, asked)
                )
        about_what = dict.fromkeys(items.index, "own" if description.own_work else "item")
        makers["about"] = partial(self._taken, "item", about_what)
        makers["role"] = partial(self._taken, "item", items["role"])
        makers[CONTEXT] = partial(self._taken, "item", items["context"])
        makers["scale_level"] = partial(self._taken, "question", {t: scale.level for t, scale in scales.items()})
        lows = {topic: repr(scale.low) for topic, scale in with_points.items()}
        highs = {topic: repr(scale.high) for topic, scale in with_points.items()}
        makers["scale_low"] = partial(self._taken, "question", lows)
        makers["scale_high"] = partial(self._taken, "question", highs)
        makers["label"] = partial(self._labels, scales)
        own = list(dict.fromkeys(name for cells in items["cells"] for name in cells))
        for name, own_name in zip(own, named_apart(own, {*RESERVED, *makers}), strict=True):
            makers[own_name] = partial(self._own_cells, items["cells"], name)
        for compared in factors_of(self.data):
            makers[f"{LEVELS}{compared.name}"] = partial(self._levels, compared)
        return makers

    def _taken(self, column: str, by_key: Mapping[Any, Any] | pd.Series) -> pd.Categorical:
        return taken(by_key, self._codes.of(column))

    def _levels(self, factor: Factor) -> Any:
        """The level of every answer, looked up once for each item, arm or worker."""
        if factor.of == "part":
            return level_names(self.data, factor, self.ratings)
        codes = self._codes.of(factor.of)
        rows = self.ratings.iloc[first_places(codes.codes, len(codes.names))]
        names = level_names(self.data, factor, rows).tolist()
        return taken(dict(enumerate(names)), Coded(codes.codes, np.arange(len(names))))

    def _own_cells(self, cells: pd.Series, name: str) -> pd.Categorical:
        return self._taken("item", {item: of_item.get(name, "") for item, of_item in cells.items()})

    def _labels(self, scales: Mapping[str, Scale]) -> pd.Categorical:
        """The words of the answers, looked up once for each different answer."""
        words = {(topic, point.value): point.label for topic, scale in scales.items() for point in scale.points}
        topics, topic_names = self._codes.of("question").codes, self._codes.of("question").names
        values, numbers = self._codes.of("value").codes, self._codes.of("value").names
        answers = topics.astype(np.int64) * (len(numbers) + 1) + values + 1
        by_answer = {
            number * (len(numbers) + 1) + code + 1: words.get((topic, value), "")
            for number, topic in enumerate(topic_names)
            for code, value in enumerate(numbers)
        }
        return taken(by_answer, pd.Series(answers))

    @property
    def criteria(self) -> list[Criterion]:
        """Those that the study describes, in its order, and others that have answers."""
        answered = self._codes.of("question").names.tolist()
        described = [question for question in self.data.description.questions if question.topic in answered]
        criteria = []
        for question in described:
            scale = question.ratings_scale
            low, high = (scale.low, scale.high) if scale.points else (None, None)
            criteria.append(Criterion(question.topic, scale.level, low, high))
        return criteria + [Criterion(topic, "") for topic in answered if topic not in {c.name for c in criteria}]

    @property
    def systems(self) -> tuple[str, str]:
        """Those of a declared factor of two parts, or those that the report uses."""
        for factor in self.data.description.factors:
            if factor.of == "part" and len(factor.parts) == 2:
                first, second = factor.parts.values()
                return first, second
        for section in self.data.description.sections:
            if section.name == "preference" and len(section.parameters.get("systems", ())) == 2:
                first, second = section.parameters["systems"]
                return str(first), str(second)
        return super().systems

    @property
    def system(self) -> str:
        return next(
            (
                str(section.parameters.get("system", "system"))
                for section in self.data.description.sections
                if section.name == "systems"
            ),
            super().system,
        )

    @property
    def detection(self) -> Detection | None:
        """The parameters of the section on judgements, if the study has one."""
        for section in self.data.description.sections:
            if section.name == "human_or_machine":
                renamed = {"text_source": "source"}
                return Detection(**{renamed.get(name, name): str(value) for name, value in section.parameters.items()})
        return None

    @property
    def context(self) -> str:
        return CONTEXT

    @property
    def factors(self) -> list[LevelColumn]:
        """The declared factors, or those that the report suggests."""
        return [
            LevelColumn(factor.name, f"{LEVELS}{factor.name}", factor.reference, levels_in_order(self.data, factor))
            for factor in factors_of(self.data)
        ]
