"""The source of every section of a report."""

from __future__ import annotations

from collections import Counter, deque
from collections.abc import Callable
from dataclasses import dataclass, field
from decimal import Decimal
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt
import pandas as pd

from analysis.data import StudyData
from analysis.description import TEXT, Factor, QuestionDescription, Scale, Score, StudyDescription
from analysis.diversity.resampling import Bootstrap
from analysis.factors import factors_of
from analysis.inference import Bounds, Dimensions
from analysis.rating_codes import RatingCodes, first_places
from analysis.scores import combined

T = TypeVar("T")
Codes = npt.NDArray[np.int32]
Names = npt.NDArray[np.object_]
#: Levels whose ratings have a mean.
NUMERIC = ("ordinal", "interval")
#: A scale with more points than this is not drawn or listed point by point where nothing is known about them.
MANY_POINTS = 12
#: Questions about the same items by the same workers share how their answers belong together.
MOST_DIMENSIONS = 3


def sorted_codes(names: pd.Series) -> tuple[Codes, Names]:
    """The code (N,) of every name, and the names in order."""
    codes, present = pd.factorize(names)
    return in_order(codes, np.asarray(present, dtype=object))


def in_order(codes: npt.NDArray[Any], names: Names) -> tuple[Codes, Names]:
    """The same codes (N,) in the order of their distinct names."""
    order = np.argsort(names)
    ranks = np.empty(len(order), dtype=np.int32)
    ranks[order] = np.arange(len(order))
    return ranks[codes], names[order]


def pairs_of(first: pd.Series, second: pd.Series) -> np.ndarray[Any, np.dtype[np.int64]]:
    """A number (N,) for every combination of two codes."""
    codes = second.to_numpy(dtype=np.int64)
    return np.asarray(first.to_numpy(dtype=np.int64) * (int(codes.max(initial=0)) + 1) + codes)


def of_people(rows: pd.DataFrame) -> pd.DataFrame:
    """The rows by people; all of them if there are only simulated ones, whose times would say nothing about people."""
    people = rows[~rows["synthetic"]]
    return people if len(people) else rows


@dataclass(frozen=True)
class Source:
    """A study's data, its questions by topic, and how to resample.

    Figures cover items of the role ``main`` and answers to questions that are not about an item. ``stops``: errors
    that end the whole report, not only a section.
    """

    data: StudyData
    draws: int = 1000
    seed: int = 1
    stops: tuple[type[Exception], ...] = ()
    unknown: list[str] = field(default_factory=list)
    item_names: list[str] = field(default_factory=list)
    worker_names: list[str] = field(default_factory=list)
    _keys: Counter[str] = field(default_factory=Counter)
    _ratings_on: dict[str, pd.DataFrame] = field(default_factory=dict)
    _units: list[tuple[dict[str, Codes], npt.NDArray[np.intp], npt.NDArray[np.bool_]]] = field(default_factory=list)
    _dimensions: deque[tuple[dict[str, Codes], Dimensions]] = field(
        default_factory=lambda: deque(maxlen=MOST_DIMENSIONS)
    )
    _remembered: dict[tuple[str, ...], Any] = field(default_factory=dict)

    @property
    def description(self) -> StudyDescription:
        return self.data.description

    @property
    def plan(self) -> Bootstrap:
        return Bootstrap(draws=self.draws, seed=self.seed)

    @cached_property
    def factors(self) -> list[Factor]:
        """What findings compare: declared, and suggested from the items and arms."""
        return factors_of(self.data)

    @cached_property
    def items(self) -> pd.DataFrame:
        """The items in the figures, by id, in the order of the file."""
        items = self.data.items
        return items[items["role"] == "main"].set_index("item")

    @cached_property
    def ratings(self) -> pd.DataFrame:
        """The ratings in the figures, with codes of items, targets and workers in the order of their names: to compare
        a million names for every figure takes seconds."""
        ratings, coded = self.data.ratings, self.data.rating_codes
        codes, items = in_order(coded.of("item").codes, coded.of("item").names)
        # A submission is of one worker, in one arm.
        submissions = coded.of("submission").codes
        first = first_places(submissions, len(coded.of("submission").names))
        of_submission = {name: sorted_codes(ratings[name].take(first)) for name in ("worker", "arm")}
        worker_codes, workers = of_submission["worker"][0][submissions], of_submission["worker"][1]
        targets = coded.of("target")
        of_target = np.array([self.target_codes[target] for target in targets.names], dtype=np.int32)
        self.item_names.extend(items)
        self.worker_names.extend(workers)
        counts = pd.Index(items, dtype=object).isin(["", *self.items.index])[codes]
        ratings = ratings.assign(
            item_code=codes,
            target_code=of_target[targets.codes],
            worker_code=worker_codes,
            arm_code=of_submission["arm"][0][submissions],
        )
        return ratings if counts.all() else ratings[counts]

    @cached_property
    def target_codes(self) -> dict[str, int]:
        """The code of every target, and of none."""
        return {
            target: code for code, target in enumerate(dict.fromkeys(["", *self.data.rating_codes.of("target").names]))
        }

    @cached_property
    def questions(self) -> dict[str, QuestionDescription]:
        """Questions by topic, in the type's order; last those found only in the ratings, on a scale made from these."""
        questions = {question.topic: question for question in self.description.questions}
        for name in self._rows_by_topic:
            if name not in questions:
                rows = self.answers_to(name)
                texts = bool(rows["value"].isna().all())
                scale = TEXT if texts else Scale(str(rows["scale"].iloc[0]), "interval")
                questions[name] = QuestionDescription(name, name, scale)
                self.unknown.append(name)
        return questions

    def ratings_on(self, topic: str) -> pd.DataFrame:
        """The numeric ratings of one question, or the answers of a derived score, with ``unit``: a number per item and
        target.

        A worker's second rating of a unit is left out. Only an item in two hits can have one.
        """
        if topic not in self._ratings_on:
            rows = combined(self.ratings, self.derived[topic]) if topic in self.derived else self.answers_to(topic)
            if rows["value"].isna().any():
                rows = rows[rows["value"].notna()]
            if topic in self.derived:  # its targets are not those of the rows that it is made of
                rows = rows.assign(target_code=rows["target"].map(self.target_codes).to_numpy(dtype=np.int32))
            units, again = self._units_of(rows)
            rows = rows.assign(unit=units)
            self._ratings_on[topic] = rows[~again] if again.any() else rows
        return self._ratings_on[topic].copy(deep=False)

    def _units_of(self, rows: pd.DataFrame) -> tuple[npt.NDArray[np.intp], npt.NDArray[np.bool_]]:
        """A number for every combination of an item and a target (N,), and whether the worker has an earlier rating of
        it (N,). Questions about the same items by the same workers follow each other."""
        named = {name: rows[name].to_numpy() for name in ("item_code", "target_code", "worker_code")}
        for known, units, again in self._units:
            if all(np.array_equal(known[name], named[name]) for name in named):
                return units, again
        units = pd.factorize(pairs_of(rows["item_code"], rows["target_code"]))[0]
        again = pd.Series(pairs_of(pd.Series(units), rows["worker_code"])).duplicated().to_numpy()
        self._units[:] = [(named, units, again)]
        return units, again

    def in_codes(self, rows: pd.DataFrame) -> pd.DataFrame:
        """The rows with codes in place of the names of items, parts and workers, for what groups by them. `item_names`
        has the items' names."""
        names = {"item_code": "item", "target_code": "target", "worker_code": "worker"}
        codes, first = pd.factorize(rows["arm_code"].to_numpy())
        arms = rows["arm"].iloc[first_places(codes, len(first))].tolist()
        in_codes = rows[[*names, "value"]].rename(columns=names)
        return in_codes.assign(arm=pd.Categorical.from_codes(codes, pd.Index(arms, dtype=object)))

    def answers_to(self, topic: str) -> pd.DataFrame:
        """The rows of one question in `ratings`, whether they are numbers or texts."""
        rows = self._rows_by_topic.get(topic)
        if rows is None:
            return self.ratings.iloc[:0]
        step = int(rows[1] - rows[0]) if len(rows) > 1 else 1
        if (np.diff(rows) != step).any():
            return self.ratings.take(rows)
        # Where workers answer the same questions about every item, no text is copied.
        every = self.ratings.iloc[rows[0] : rows[-1] + 1 : step]
        numbers = {name: every[name].to_numpy(copy=True) for name in every.select_dtypes("number").columns}
        return every.assign(**numbers)

    @cached_property
    def _rows_by_topic(self) -> dict[str, np.ndarray[Any, np.dtype[np.intp]]]:
        """By question the positions of its rows in `ratings`. Comparing a million texts for every figure takes
        seconds."""
        coded = self.data.rating_codes
        questions = coded if len(self.ratings) == len(coded.frame) else RatingCodes(self.ratings)
        codes, topics = questions.of("question").codes, questions.of("question").names
        return {str(topic): np.flatnonzero(codes == code) for code, topic in enumerate(topics)}

    def dimensions_of(self, rows: pd.DataFrame) -> Dimensions:
        """How answers belong together: by item and by worker, or by worker alone if workers answered about nothing that
        others answered about (no item, or their own texts)."""
        named = {"workers": rows["worker_code"].to_numpy()}
        if not self.description.own_work and not self.about_no_item(rows):
            named = {"items": rows["item_code"].to_numpy(), **named}
        for codes, dimensions in self._dimensions:
            if codes.keys() == named.keys() and all(np.array_equal(codes[name], named[name]) for name in codes):
                return dimensions
        self._dimensions.append((named, Dimensions.of(**named)))
        return self._dimensions[-1][1]

    @staticmethod
    def about_no_item(rows: pd.DataFrame) -> bool:
        """Whether all of these ratings are about no item."""
        first = rows["item_code"].to_numpy()[:1]
        return bool((rows["item"].iloc[:1] == "").all() and (rows["item_code"].to_numpy() == first).all())

    def ends_of(self, topic: str) -> Bounds | None:
        """The ends of the scale of the ratings on a topic; None if it has no points, or some ratings are outside."""
        if topic in self.derived:
            low, high = self.derived[topic].low, self.derived[topic].high
            return None if low is None or high is None else (low, high)
        scale = self.questions[topic].ratings_scale
        if len(scale.points) < 2:
            return None
        rated = self.ratings["value"].to_numpy()[self._rows_by_topic.get(topic, [])]
        return None if (rated < scale.low).any() or (rated > scale.high).any() else (scale.low, scale.high)

    def texts_on(self, topic: str) -> pd.DataFrame:
        """The answers in words to one question."""
        answers = self.answers_to(topic)
        return answers[answers["text"] != ""]

    @property
    def statement_topics(self) -> set[str]:
        """The topics whose means are in a section on statements."""
        sections = [section for section in self.description.sections if section.name == "scales"]
        topics = {topic for section in sections for topic in section.parameters.get("topics") or self.questions}
        return {topic for topic in topics & set(self.questions) if self.questions[topic].scale.level in NUMERIC}

    @property
    def scored_topics(self) -> list[str]:
        """The topics of questions that give items' scores; if the type has none, all topics with numeric ratings."""
        scored = [
            topic
            for score in self.description.scores
            for topic in ([term.topic for term in score.terms] or [score.topic])
        ]
        return list(dict.fromkeys(scored)) or [
            topic for topic, question in self.questions.items() if question.scale.level != "text"
        ]

    @cached_property
    def compared_topics(self) -> list[str]:
        """The topics on which workers can be compared: those with scores, then categories that items were put into."""
        categories = [
            topic
            for topic, question in self.questions.items()
            if question.scale.level == "nominal" and not self.about_no_item(self.ratings_on(topic))
        ]
        return list(dict.fromkeys([*self.scored_topics, *categories]))

    @cached_property
    def scores(self) -> list[Score]:
        """The type's scores, then one score for every other question whose ratings have a mean. Those with terms are
        for the answers that `ratings_on` has of their topics."""
        declared = {score.topic: score.answered() for score in self.description.scores}
        others = {
            topic: Score(topic, question.label).within(question.ratings_scale)
            for topic, question in self.questions.items()
            if question.scale.level in NUMERIC and topic not in declared
        }
        return [*declared.values(), *others.values()]

    @cached_property
    def derived(self) -> dict[str, Score]:
        """The scores that are made of several topics, by their own."""
        return {score.topic: score for score in self.description.scores if score.terms}

    @property
    def arms(self) -> list[str]:
        """The names of the arms, as declared; one nameless arm if there are no arms."""
        return [arm.name for arm in self.description.arms] or [""]

    def reward_of(self, arm: str) -> Decimal:
        """The reward per hit of an arm; the study's reward if there are no arms."""
        return next((a.reward for a in self.description.arms if a.name == arm), self.description.reward)

    def attempt(self, make: Callable[[Source], T]) -> T:
        """What ``make`` gives. If it fails, the keys that it took are free again."""
        before = self._keys.copy()
        try:
            return make(self)
        except Exception:
            self._keys.clear()
            self._keys.update(before)
            raise

    def remembered(self, key: tuple[str, ...], make: Callable[[], T]) -> T:
        """What ``make`` gave the first time: two sections show the same figures of a large study."""
        if key not in self._remembered:
            self._remembered[key] = make()
        value: T = self._remembered[key]
        return value

    def key(self, name: str) -> str:
        """``name``, with a number added if it is already in use, because ids in the page must be unique."""
        self._keys[name] += 1
        return name if self._keys[name] == 1 else f"{name}-{self._keys[name]}"
