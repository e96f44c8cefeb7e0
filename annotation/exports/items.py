"""Exports with one row per item: ``wide`` with all statistics, ``diversity-eval`` in the format of the released files.

All figures come from `analysis.scores.item_scores`, computed for a few hundred items at a time.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from analysis.description import QuestionDescription, Score
from annotation.describing import instruments_of, questions_of, scores_of
from annotation.exports.request import ExportError, Request
from annotation.exports.writers import Record, Sheet
from annotation.models import Item, Study
from annotation.queries.left_out import left_out_submissions
from annotation.queries.scores import ItemScore, rating_frame, scores_by_item
from annotation.task_types.items import Json
from annotation.task_types.registry import get_type

if TYPE_CHECKING:
    import pandas as pd

#: Items per batch.
BATCH = 500
#: Levels whose ratings have no mean.
NO_MEAN = ("text", "nominal")


def wide_sheet(request: Request) -> Sheet:
    """One row per item: its own columns, then mean, s.d. and n per topic, and its scores.

    A study with arms has a row for every item and arm: ratings from different conditions have no common mean.
    """
    study = request.study
    task, arms = get_type(study.task_type), list(study.arms.all())
    instruments = instruments_of(study, arms)
    questions, scores = questions_of(instruments), score_columns(scores_of(instruments), "score")
    with_mean = {
        each.topic: Score(each.topic, each.label).within(each.ratings_scale)
        for each in questions
        if each.scale.level not in NO_MEAN and not each.targets
    }
    with_mean |= {score.topic: score for score in scores.values()}
    about = ["item", *(["arm"] if len(arms) > 1 else []), "role"]
    figures = ["submissions", "synthetic", *_topic_columns(questions, with_mean), *scores]
    own = merged_columns(task.export_columns(payload) for payload in _payloads(study))
    columns = [*about, *_renamed(own, taken=[*about, *figures]), *figures]

    def record(item: Item, names: Sequence[str], rated: Rated) -> Record:
        cells = task.export_columns(item.payload)
        statistics = [figure for each in questions for figure in rated.statistics(item.pk, each)]
        return [
            *(item.external_id, *names, item.role),
            *(cells.get(column, "") for column in own),
            *(rated.submissions.get(item.pk, 0), rated.synthetic.get(item.pk, 0)),
            *statistics,
            *(rated.score(item.pk, score.topic).score for score in scores.values()),
        ]

    def batches() -> Iterator[list[Record]]:
        for items, ratings in _batches(request):
            parts = [([arm.name], ratings[ratings["arm"] == arm.pk]) for arm in arms] if len(arms) > 1 else []
            found = [(names, Rated(part, with_mean)) for names, part in parts or [([], ratings)]]
            yield [record(item, names, rated) for item in items for names, rated in found]

    return Sheet(columns, range(len(about) + len(own)), batches())


def diversity_sheet(request: Request) -> Sheet:
    """The rows of the file that the items came from, with ``metric_<type>_mean`` and ``_std`` filled in.

    The columns are where the released files have them, before the other metrics; existing columns with these names are
    replaced. An item with several rows has its figures in the first row. Ratings from all arms count together. Raises
    ExportError for types without scores.
    """
    study = request.study
    task = get_type(study.task_type)
    scores = score_columns(scores_of(instruments_of(study, list(study.arms.all()))), f"metric_{task.name}")
    if not scores:
        what = f"{task.title} gives no scores of items, so there is no diversity-eval file."
        raise ExportError(f"{what} Export “wide” or “long”.")
    metrics = [f"{column}_{what}" for column in scores for what in ("mean", "std")]
    source = merged_columns(row for payload in _payloads(study) for row in task.source_rows(payload))
    columns = with_metrics(source, metrics)

    def records(item: Item, rated: Rated) -> Iterator[Record]:
        found = [rated.score(item.pk, score.topic) for score in scores.values()]
        figures = [_rounded(figure) for each in found for figure in (each.score, each.sd)]
        cells: Mapping[str, object] = dict(zip(metrics, figures, strict=True))
        for row in task.source_rows(item.payload):
            yield [(cells if column in metrics else row).get(column, "") for column in columns]
            cells = {}

    def batches() -> Iterator[list[Record]]:
        for items, ratings in _batches(request):
            rated = Rated(ratings, {score.topic: score for score in scores.values()})
            yield [record for item in items for record in records(item, rated)]

    return Sheet(columns, [at for at, column in enumerate(columns) if column not in metrics], batches())


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

    def score(self, item: int, topic: str) -> ItemScore:
        return self._scores[topic].get(item) or ItemScore(topic, "")

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
        found = self.score(item, topic)
        # The score without its sign; + 0.0, because nobody expects minus zero as a mean.
        mean = None if found.score is None else self._signs[topic] * found.score + 0.0
        return [mean, found.sd, found.n]


# --- columns ---


def merged_columns(headers: Iterable[Iterable[str]]) -> list[str]:
    """All columns of all items. A column that the first items lack follows the same column as in its own item."""
    merged: list[str] = []
    known: set[str] = set()
    for header in headers:
        if known.issuperset(header := list(header)):
            continue
        for place, column in enumerate(header):
            if column not in known:
                merged.insert(merged.index(header[place - 1]) + 1 if place else 0, column)
                known.add(column)
    return merged


def with_metrics(source: Sequence[str], metrics: Sequence[str]) -> list[str]:
    """``source`` with ``metrics`` before its first metric, or at the end. Columns with the same names are replaced."""
    rest = [column for column in source if column not in metrics]
    before = next((column for column in source if column.startswith("metric_")), None)
    place = source.index(before) if before else len(rest)
    return [*rest[:place], *metrics, *rest[place:]]


def score_columns(scores: Sequence[Score], stem: str) -> dict[str, Score]:
    """A column name for each score: the stem and, if there are several scores, the topic."""
    if len(scores) == 1:
        return {stem: scores[0]}
    return {f"{stem}_{score.topic}": score for score in scores}


def _renamed(own: Sequence[str], *, taken: Iterable[str]) -> list[str]:
    """The items' own columns. One with the same name as another column gets the prefix ``source_``."""
    used, names = set(taken), []
    for name in own:
        while name in used:
            name = f"source_{name}"
        used.add(name)
        names.append(name)
    return names


def _topic_columns(questions: Iterable[QuestionDescription], with_mean: Mapping[str, Score]) -> list[str]:
    return [
        f"{each.topic}_{what}"
        for each in questions
        for what in (
            *(each.targets or (("mean", "sd") if each.topic in with_mean else ())),
            "n",
        )
    ]


def _rounded(figure: float | None) -> str | None:
    """Three decimals, as in the released files."""
    return None if figure is None else f"{figure:.3f}"


# --- rows ---


def _payloads(study: Study) -> Iterator[Json]:
    return Item.objects.filter(study=study).order_by("position").values_list("payload", flat=True).iterator(BATCH)


def _batches(request: Request) -> Iterator[tuple[list[Item], pd.DataFrame]]:
    """Items in the order of the file, with their included ratings."""
    left_out = set(left_out_submissions(request.study))
    found = Item.objects.filter(study=request.study).order_by("position")
    last = -1
    while items := list(found.filter(position__gt=last)[:BATCH]):
        yield items, rating_frame([item.pk for item in items], left_out=left_out, simulated=request.simulated)
        last = items[-1].position
