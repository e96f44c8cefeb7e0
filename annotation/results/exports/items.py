"""Exports with one row per item: ``wide`` with all statistics, ``diversity-eval`` in the format of the released files.

All figures come from `analysis.scores.item_scores`, computed for a few hundred items at a time.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from analysis.description import QuestionDescription, Scale, Score
from annotation.models import Item, Rating, Study
from annotation.record_writers import Record, Sheet
from annotation.results.exports.request import ExportError, Request
from annotation.studies.declared_scores import instruments_of, questions_of, scores_of
from annotation.studies.item_scores import ItemScore, rating_frame, scores_by_item
from annotation.task_types.items import Json
from annotation.task_types.registry import get_type
from annotation.work.left_out import left_out_submissions

if TYPE_CHECKING:
    import pandas as pd

#: Items per batch.
BATCH = 500
#: Levels whose ratings have no mean.
NO_MEAN = ("text", "nominal")
NO_SCORE = Score("", "")


def wide_sheet(request: Request) -> Sheet:
    """One row per item: its own columns, then mean, s.d. and n per topic, and its scores.

    A study with arms has a row for every item and arm: ratings from different conditions have no common mean.
    """
    study = request.study
    task, arms = get_type(study.task_type), list(study.arms.all())
    instruments = instruments_of(study, arms)
    declared = scores_of(instruments)
    # A score made of several topics has figures like a question.
    questions = [
        *questions_of(instruments),
        *(
            QuestionDescription(score.topic, score.title, Scale(score.topic, "interval"))
            for score in declared
            if score.terms
        ),
    ]
    scores = score_columns([score for score in declared if score.over != "part"], "score")
    of_parts = part_columns(study, [score for score in declared if score.over == "part"])
    with_mean = {
        question.topic: Score(question.topic, question.label).within(question.ratings_scale)
        for question in questions
        if question.scale.level not in NO_MEAN and not question.targets
    }
    with_mean |= {score.topic: score for score in declared}
    questions = [question for question in questions if with_mean.get(question.topic, NO_SCORE).over != "part"]
    key_columns = ["item", *(["arm"] if len(arms) > 1 else []), "role"]
    figures = ["submissions", "synthetic", *_topic_columns(questions, with_mean), *scores, *of_parts]
    item_columns = merged_columns(task.export_columns(payload) for payload in _payloads(study))
    columns = [*key_columns, *_renamed(item_columns, used_names=[*key_columns, *figures]), *figures]

    def record(item: Item, names: Sequence[str], rated: Rated) -> Record:
        cells = task.export_columns(item.payload)
        statistics = [figure for question in questions for figure in rated.statistics(item.pk, question)]
        return [
            *(item.external_id, *names, item.role),
            *(cells.get(column, "") for column in item_columns),
            *(rated.submissions.get(item.pk, 0), rated.synthetic.get(item.pk, 0)),
            *statistics,
            *(rated.score(item.pk, score.topic).score for score in scores.values()),
            *(getattr(rated.score(item.pk, topic, part), figure) for topic, part, figure in of_parts.values()),
        ]

    def batches() -> Iterator[list[Record]]:
        for items, ratings in _batches(request):
            parts = [([arm.name], ratings[ratings["arm"] == arm.pk]) for arm in arms] if len(arms) > 1 else []
            rated_parts = [(names, Rated(part, with_mean)) for names, part in parts or [([], ratings)]]
            yield [record(item, names, rated) for item in items for names, rated in rated_parts]

    return Sheet(columns, range(len(key_columns) + len(item_columns)), batches())


def diversity_sheet(request: Request) -> Sheet:
    """The rows of the file that the items came from, with ``metric_<type>_mean`` and ``_std`` filled in.

    The columns are where the released files have them, before the other metrics; existing columns with these names are
    replaced. An item with several rows has its figures in the first row. Ratings from all arms count together. Raises
    ExportError for types without scores.
    """
    study = request.study
    task = get_type(study.task_type)
    declared = scores_of(instruments_of(study, list(study.arms.all())))
    scores = score_columns([score for score in declared if score.over != "part"], f"metric_{task.name}")
    if not scores:
        what = f"{task.title} gives no scores of items, so there is no diversity-eval file."
        raise ExportError(f"{what} Export “wide” or “long”.")
    metrics = [f"{column}_{what}" for column in scores for what in ("mean", "std")]
    source = merged_columns(row for payload in _payloads(study) for row in task.source_rows(payload))
    columns = with_metrics(source, metrics)

    def records(item: Item, rated: Rated) -> Iterator[Record]:
        scored = [rated.score(item.pk, score.topic) for score in scores.values()]
        figures = [  # three decimals, as in the released files
            None if figure is None else f"{figure:.3f}"
            for item_score in scored
            for figure in (item_score.score, item_score.sd)
        ]
        cells: Mapping[str, object] = dict(zip(metrics, figures, strict=True))
        for row in task.source_rows(item.payload):
            yield [(cells if column in metrics else row).get(column, "") for column in columns]
            cells = {}

    def batches() -> Iterator[list[Record]]:
        for items, ratings in _batches(request):
            rated = Rated(ratings, {score.topic: score for score in scores.values()})
            yield [record for item in items for record in records(item, rated)]

    return Sheet(columns, [index for index, column in enumerate(columns) if column not in metrics], batches())


class Rated:
    """The results for a batch of items: ``submissions`` by item, how many of them are ``synthetic``, and figures."""

    def __init__(self, ratings: pd.DataFrame, scores: Mapping[str, Score]) -> None:
        self._signs = {topic: score.sign for topic, score in scores.items()}
        self._scores = {topic: scores_by_item(ratings, score) for topic, score in scores.items()}
        self._counts = ratings.groupby(["item", "question"]).size().to_dict()
        self._answers = ratings.groupby(["item", "question"])["submission"].nunique().to_dict()
        self._options = ratings.groupby(["item", "question", "target"])["value"].mean().to_dict()
        rated = ratings.drop_duplicates(["item", "submission"])
        self.submissions = rated["item"].value_counts().to_dict()
        self.synthetic = rated.loc[rated["synthetic"], "item"].value_counts().to_dict()

    def score(self, item: int, topic: str, part: str = "") -> ItemScore:
        scores = self._scores[topic].get(item, ())
        return next((score for score in scores if score.part == part), ItemScore(topic, ""))

    def statistics(self, item: int, question: QuestionDescription) -> Record:
        """Mean, s.d. and number of the ratings on a question; only the number if they have no mean.

        For a question about options: each option's mean (the share of answers that chose it, or its mean rank) and the
        number of answers.
        """
        topic = question.topic
        if question.targets:
            means = [self._options.get((item, topic, target)) for target in question.targets]
            return [*means, self._answers.get((item, topic), 0)]
        if topic not in self._scores:
            return [self._counts.get((item, topic), 0)]
        scored = self.score(item, topic)
        # The score without its sign; + 0.0, because nobody expects minus zero as a mean.
        mean = None if scored.score is None else self._signs[topic] * scored.score + 0.0
        return [mean, scored.sd, scored.n]


# --- columns ---


def merged_columns(headers: Iterable[Iterable[str]]) -> list[str]:
    """All columns of all items. A column that the first items lack follows the same column as in its own item."""
    merged: list[str] = []
    columns_seen: set[str] = set()
    for header in headers:
        if columns_seen.issuperset(header := list(header)):
            continue
        for index, column in enumerate(header):
            if column not in columns_seen:
                merged.insert(merged.index(header[index - 1]) + 1 if index else 0, column)
                columns_seen.add(column)
    return merged


def with_metrics(source: Sequence[str], metrics: Sequence[str]) -> list[str]:
    """``source`` with ``metrics`` before its first metric, or at the end. Columns with the same names are replaced."""
    rest = [column for column in source if column not in metrics]
    before = next((column for column in source if column.startswith("metric_")), None)
    index = source.index(before) if before else len(rest)
    return [*rest[:index], *metrics, *rest[index:]]


def score_columns(scores: Sequence[Score], stem: str) -> dict[str, Score]:
    """A column name for each score: the stem and, if there are several scores, the topic."""
    if len(scores) == 1:
        return {stem: scores[0]}
    return {f"{stem}_{score.topic}": score for score in scores}


def part_columns(study: Study, scores: Sequence[Score]) -> dict[str, tuple[str, str, str]]:
    """For scores over parts: a column for each part and figure, with the topic, the part and the figure that it has."""
    columns: dict[str, tuple[str, str, str]] = {}
    for score in scores:
        topics = [term.topic for term in score.terms] or [score.topic]
        rated = Rating.objects.filter(study=study, question__in=topics).order_by()
        parts = rated.values_list("target", flat=True).distinct()
        for part in sorted(parts, key=lambda part: (int(part) if part.isdigit() else math.inf, part)):
            for figure, ending in (("score", ""), ("sd", "_sd"), ("n", "_n")):
                columns[f"{score.topic}_{part}{ending}"] = (score.topic, part, figure)
    return columns


def _renamed(columns: Sequence[str], *, used_names: Iterable[str]) -> list[str]:
    """The items' own columns. One with the same name as another column gets the prefix ``source_``."""
    used, names = set(used_names), []
    for name in columns:
        while name in used:
            name = f"source_{name}"
        used.add(name)
        names.append(name)
    return names


def _topic_columns(questions: Iterable[QuestionDescription], with_mean: Mapping[str, Score]) -> list[str]:
    return [
        f"{question.topic}_{what}"
        for question in questions
        for what in (
            *(question.targets or (("mean", "sd") if question.topic in with_mean else ())),
            "n",
        )
    ]


# --- rows ---


def _payloads(study: Study) -> Iterator[Json]:
    return Item.objects.filter(study=study).order_by("position").values_list("payload", flat=True).iterator(BATCH)


def _batches(request: Request) -> Iterator[tuple[list[Item], pd.DataFrame]]:
    """Items in the order of the file, with their included ratings."""
    left_out = set(left_out_submissions(request.study))
    items_in_order = Item.objects.filter(study=request.study).order_by("position")
    last = -1
    while items := list(items_in_order.filter(position__gt=last)[:BATCH]):
        yield items, rating_frame([item.pk for item in items], left_out=left_out, simulated=request.simulated)
        last = items[-1].position
