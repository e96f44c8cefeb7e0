"""The table that the evaluation script of the Choose Your Own Adventure authors reads (Clark 2021, ch. 4).

Tab-separated, one story per row, the first column its number from 0. The script compares two models, called *model* and
*baseline*, over five rounds, and expects every cell to have a value.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from annotation.exports.request import ExportError, Request
from annotation.exports.turns import Story, TurnRules, story_batches, turn_rules
from annotation.models import Rating, Study
from annotation.task_types.registry import get_type
from common.csv_files import csv_text

ROUNDS, QUESTIONS = 5, 5
#: Every second turn has suggestions: a line is written alone, then one from suggestions.
EVERY = 2
_NUMBERED = ("modelLines", "baselineLines", "userLines", "userEdits", "isModelAccepted")
COLUMNS = (
    *(f"{name}{place}" for name in _NUMBERED for place in range(1, ROUNDS + 1)),
    "isModelAccepted",
    *(f"Q{place}" for place in range(1, QUESTIONS + 1)),
)


@dataclass(frozen=True, slots=True)
class Shape:
    """What a study of this shape compares: two suggesters, and the topics of five statements in order."""

    model: str
    baseline: str
    topics: Sequence[str]
    rules: TurnRules


def script_shape(study: Study) -> Shape | None:
    """The shape of the study; None unless writers choose five times between two suggesters and rate five statements."""
    rules, task = turn_rules(study), get_type(study.task_type)
    chooses = any(section.name == "choices" for section in task.sections(study.config))
    if rules is None or rules.every != EVERY or not chooses:
        return None
    needs = task.suggesters(study.config)
    topics = [score.topic for score in task.scores(study.config)]
    if len(needs) != 2 or {need.rounds for need in needs} != {ROUNDS} or len(topics) != QUESTIONS:
        return None
    return Shape(needs[0].name, needs[1].name, topics, rules)


def script_bytes(request: Request) -> Iterator[tuple[bytes, int]]:
    """The table in pieces, each with its number of rows: complete stories of included submissions.

    A story is complete if both models suggested a text in every round and every statement has an answer. Texts are on
    one line: the script reads line by line. Raises ExportError if the study has another shape.
    """
    shape = script_shape(request.study)
    if shape is None:
        raise ExportError(
            "The authors’ script compares two suggesters over five rounds, with five statements at the end. This study "
            "has another design. Export “turns” and use “python -m analysis writing”."
        )
    return _pieces(request, shape)


def _pieces(request: Request, shape: Shape) -> Iterator[tuple[bytes, int]]:
    yield _lines([["", *COLUMNS]]), 0
    number = 0
    for stories in story_batches(request, shape.rules):
        included = [story for story in stories if story.included]
        answers = _answers([story.submission for story in included], shape.topics)
        rows = []
        for story in included:
            row = _row(story, answers.get((story.submission, story.item), {}), shape)
            if row is not None:
                rows.append([str(number), *row])
                number += 1
        yield _lines(rows), len(rows)


def _row(story: Story, answers: Mapping[str, float], shape: Shape) -> list[str] | None:
    """The cells of a story, or None if one of them would be empty."""
    cells: dict[str, str] = {}
    for line in story.lines:
        text = " ".join(line.text.split())
        if not line.round:
            cells[f"userLines{(line.turn + 1) // EVERY}"] = text
        elif line.author in (shape.model, shape.baseline):
            name = "modelLines" if line.author == shape.model else "baselineLines"
            cells[f"{name}{line.round}"] = text
            if line.chosen:
                cells[f"userEdits{line.round}"] = " ".join(line.submitted.split())
                cells[f"isModelAccepted{line.round}"] = "true" if line.author == shape.model else "false"
    accepted = [cells.get(f"isModelAccepted{place}", "") for place in range(1, ROUNDS + 1)]
    cells["isModelAccepted"] = "".join(f",{each}" for each in accepted)
    for place, topic in enumerate(shape.topics, start=1):
        if topic in answers:
            cells[f"Q{place}"] = f"{answers[topic]:g}"
    row = [cells.get(name, "") for name in COLUMNS]
    return row if all(row) else None


def _answers(submissions: Sequence[int], topics: Sequence[str]) -> dict[tuple[int, str], dict[str, float]]:
    ratings = Rating.objects.filter(submission__in=submissions, question__in=topics, value__isnull=False).order_by("pk")
    found: dict[tuple[int, str], dict[str, float]] = {}
    for submission, item, topic, value in ratings.values_list(
        "submission_id", "item__external_id", "question", "value"
    ):
        found.setdefault((submission, item or ""), {})[topic] = float(value or 0)
    return found


def _lines(rows: Sequence[Sequence[str]]) -> bytes:
    return csv_text(rows, delimiter="\t").encode("utf-8", "replace")
