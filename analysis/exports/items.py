"""Exports with one row per item: ``wide`` with all statistics, ``diversity-eval`` in the format of the released files.

Scores and standard deviations are those of ``analysis.diversity.set_scores``: where a question is asked about several
parts of an item, each part counts the same; the s.d. is over the workers' own scores, with ddof = 0.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from analysis.exports.ratings import Request, excluded_submissions
from analysis.exports.writers import Record, Sheet
from annotation.models import Item, Rating, Study
from annotation.task_types.base import Json, Score
from annotation.task_types.questions import Question
from annotation.task_types.registry import get_type

#: Items per batch.
BATCH = 200
NO_MEAN = ("text", "nominal")


class ExportError(ValueError):
    """An export that there is not. ``str()`` says what to do instead."""


class Tally:
    """The ratings of one item on one topic."""

    __slots__ = ("n", "parts", "workers")

    def __init__(self) -> None:
        self.n = 0
        self.parts: defaultdict[str, list[float]] = defaultdict(lambda: [0.0, 0])
        self.workers: defaultdict[int, list[float]] = defaultdict(lambda: [0.0, 0])

    def add(self, part: str, worker: int, value: float) -> None:
        for kept in (self.parts[part], self.workers[worker]):
            kept[0] += value
            kept[1] += 1

    @property
    def mean(self) -> float | None:
        if not self.parts:
            return None
        return math.fsum(total / n for total, n in self.parts.values()) / len(self.parts)

    @property
    def sd(self) -> float | None:
        """Over the workers' own means, ddof = 0, as the released files have it."""
        own = [total / n for total, n in self.workers.values()]
        if not own:
            return None
        middle = math.fsum(own) / len(own)
        return math.sqrt(math.fsum((value - middle) ** 2 for value in own) / len(own))


@dataclass(slots=True)
class Rated:
    """What one item got."""

    topics: defaultdict[str, Tally] = field(default_factory=lambda: defaultdict(Tally))
    submissions: set[int] = field(default_factory=set)
    synthetic: set[int] = field(default_factory=set)


PerItem = Callable[[str, Json, Rated], Iterable[Record]]


def wide_sheet(request: Request) -> Sheet:
    """One row per item: its own columns, then what it got: per topic mean, s.d. and n, and its scores."""
    task = get_type(request.study.task_type)
    topics = task.question_topics(request.study.config)
    scores = score_columns(task.scores(), "score")
    added = ["submissions", "synthetic", *_topic_columns(topics), *scores]
    own = merged_columns(task.export_columns(payload) for payload in _payloads(request.study))
    columns = ["item", *_renamed(own, taken=["item", *added]), *added]

    def records(name: str, payload: Json, rated: Rated) -> Iterable[Record]:
        cells = task.export_columns(payload)
        statistics = [figure for topic, asked in topics.items() for figure in _statistics(rated.topics[topic], asked)]
        found = [
            len(rated.submissions),
            len(rated.synthetic),
            *statistics,
            *(_score(s, rated)[0] for s in scores.values()),
        ]
        return [[name, *(cells.get(column, "") for column in own), *found]]

    return Sheet(columns, range(1 + len(own)), _batches(request, records))


def diversity_sheet(request: Request) -> Sheet:
    """The rows of the file that the items came from, with ``metric_<type>_mean`` and ``_std`` filled in.

    They stand where the released files have them: before the other metrics, or in place of columns of those names.
    An item of several rows has its figures in the first of them.
    """
    task = get_type(request.study.task_type)
    scores = score_columns(task.scores(), f"metric_{task.name}")
    if not scores:
        what = f"{task.title} gives no scores of items, so there is no diversity-eval file."
        raise ExportError(f"{what} Export “wide” or “long”.")
    metrics = [f"{column}_{what}" for column in scores for what in ("mean", "std")]
    source = merged_columns(row for payload in _payloads(request.study) for row in task.source_rows(payload))
    columns = with_metrics(source, metrics)

    def records(name: str, payload: Json, rated: Rated) -> Iterator[Record]:
        figures = [_rounded(figure) for score in scores.values() for figure in _score(score, rated)]
        cells: Mapping[str, object] = dict(zip(metrics, figures, strict=True))
        for row in task.source_rows(payload):
            yield [(cells if column in metrics else row).get(column, "") for column in columns]
            cells = {}

    return Sheet(
        columns, [at for at, column in enumerate(columns) if column not in metrics], _batches(request, records)
    )


# --- columns ---


def merged_columns(headers: Iterable[Iterable[str]]) -> list[str]:
    """All columns of all items. One that the first items lack stands behind its neighbour in the item that has it."""
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
    """``source`` with all of ``metrics``: where the first of them stands, or before the first other metric."""
    rest = [column for column in source if column not in metrics]
    before = next((column for column in source if column.startswith("metric_")), None)
    place = source.index(before) if before else len(rest)
    return [*rest[:place], *metrics, *rest[place:]]


def score_columns(scores: Sequence[Score], stem: str) -> dict[str, Score]:
    """A column for each score: the stem alone where there is one, else with the topic behind it."""
    if len(scores) == 1:
        return {stem: scores[0]}
    return {f"{stem}_{score.topic}": score for score in scores}


def _renamed(own: Sequence[str], *, taken: Iterable[str]) -> list[str]:
    """The items' own columns; one that has the name of another column gets ``source_`` in front."""
    used, names = set(taken), []
    for name in own:
        while name in used:
            name = f"source_{name}"
        used.add(name)
        names.append(name)
    return names


def _topic_columns(topics: Mapping[str, Question]) -> list[str]:
    return [
        f"{topic}_{what}"
        for topic, asked in topics.items()
        for what in (("n",) if asked.scale.level in NO_MEAN else ("mean", "sd", "n"))
    ]


# --- figures ---


def _statistics(tally: Tally, asked: Question) -> Record:
    return [tally.n] if asked.scale.level in NO_MEAN else [tally.mean, tally.sd, tally.n]


def _score(score: Score, rated: Rated) -> tuple[float | None, float | None]:
    """The item's score and its s.d. over workers."""
    tally = rated.topics[score.topic]
    return None if tally.mean is None else score.sign * tally.mean, tally.sd


def _rounded(figure: float | None) -> float | str | None:
    """Three decimals, as the released files have them."""
    return None if figure is None else f"{figure:.3f}"


# --- rows ---


def _payloads(study: Study) -> Iterator[Json]:
    return Item.objects.filter(study=study).order_by("position").values_list("payload", flat=True).iterator(BATCH)


def _batches(request: Request, records: PerItem) -> Iterator[list[Record]]:
    excluded = excluded_submissions(request.study)
    found = Item.objects.filter(study=request.study).order_by("position")
    last = -1
    while page := list(found.filter(position__gt=last).values_list("pk", "external_id", "payload", "position")[:BATCH]):
        rated = _rated([row[0] for row in page], request, excluded)
        yield [record for pk, name, payload, _ in page for record in records(name, payload, rated[pk])]
        last = page[-1][3]


def _rated(items: Sequence[int], request: Request, excluded: Collection[int]) -> dict[int, Rated]:
    """What these items got, without the submissions that are left out."""
    rows = Rating.objects.filter(item__in=items)
    if request.simulated is not None:
        rows = rows.filter(participant__synthetic=request.simulated)
    fields = ("item_id", "submission_id", "participant_id", "participant__synthetic", "question", "target", "value")
    rated = {item: Rated() for item in items}
    for item, submission, worker, synthetic, question, target, value in rows.values_list(*fields).iterator(10_000):
        if submission in excluded:
            continue
        of_item = rated[item]
        of_item.submissions.add(submission)
        if synthetic:
            of_item.synthetic.add(submission)
        tally = of_item.topics[question]
        tally.n += 1
        if value is not None:
            tally.add(target, worker, value)
    return rated
