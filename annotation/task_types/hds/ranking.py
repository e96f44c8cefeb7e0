"""rnkHDS: two sets of one context side by side; which is more diverse?"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from analysis.description import Factor, Point, QuestionDescription, Score
from annotation.task_types.base import Answers, Page, RatingData, Shown
from annotation.task_types.counterbalancing import balanced_side
from annotation.task_types.hds.hds_scales import RANKING
from annotation.task_types.hds.hds_type import HdsType, rough_diversity, shuffled_places
from annotation.task_types.hds.sets import ID, SetRow, read_sets, set_columns, set_label, set_metrics
from annotation.task_types.hds.sets_from_sources import PairsForm, output_pair_rows, pair_rows
from annotation.task_types.items import Column, ItemData, ItemFacts, Json, Row, RowProblem, SourceOutput, SourceRow
from annotation.task_types.placements import Placement, Seen, side_of
from annotation.task_types.questions import Question
from annotation.task_types.wording import TASK_WORDS

if TYPE_CHECKING:
    from generation.runs.samples import SampleRow


class RnkHds(HdsType):
    """An item is a pair of sets, ``sets[0]`` being set 1. The stored rating is about set 1 against set 2.

    Which set is on side A alternates over the hit's slots. The item's id decides which comes first. So if an item is
    rated an even number of times, each set is on each side equally often.
    """

    name = "rnk_hds"
    title = "rnkHDS"
    summary = "Which of two sets of responses to one context is more diverse? From 1 to 5 in half steps."
    scale = RANKING
    topic = "ranking"
    balance = (
        "The order of the pairs, and of the responses within a set, was random for every worker; each set of "
        "a pair was on each side equally often."
    )

    sample_form = PairsForm

    def scores(self, config: Json) -> Sequence[Score]:
        return (Score(self.topic, self.title, middle=(self.scale.low + self.scale.high) / 2),)

    def columns(self, config: Json) -> Sequence[Column]:
        meaning = "the comparison's id, in two rows with one context: set 1 first, then set 2"
        return [replace(column, meaning=meaning) if column is ID else column for column in super().columns(config)]

    def read_items(self, rows: Sequence[Row], config: Json) -> tuple[list[ItemData], list[RowProblem]]:
        sets, problems = read_sets(rows, keep_empty=config["empty_responses"] == "keep")
        if not any(problem.row == 0 for problem in problems):
            problems += _pairing_problems(rows)
        if problems:
            return [], sorted(problems, key=lambda problem: problem.row)
        groups: dict[str, list[SetRow]] = defaultdict(list)
        for response_set in sets:
            groups[response_set.sample_id].append(response_set)
        items = []
        for sample_id, group in groups.items():
            payload = {"context": group[0].payload["context"], "sets": [response_set.payload for response_set in group]}
            row_numbers = tuple(response_set.number for response_set in group)
            items.append(ItemData(sample_id, payload, rows=row_numbers))
        return items, []

    def export_columns(self, payload: Json) -> dict[str, str]:
        """Both sets in one row. The columns of set 2 have the prefix ``set2_``."""
        first, second = self.source_rows(payload)
        return first | {f"set2_{name}": cell for name, cell in second.items() if name not in ("sample_id", "context")}

    def source_rows(self, payload: Json) -> list[dict[str, str]]:
        return [set_columns(part) for part in payload["sets"]]

    def factors(self, config: Json) -> Sequence[Factor]:
        """The labels of both sets."""
        return (Factor("label", "part", parts={"1": "label_value", "2": "set2_label_value"}),)

    def describe_item(self, payload: Json) -> ItemFacts:
        """The parameter is the difference of the two sets' labels, set 1 minus set 2, if both have the same label.
        Metrics are such differences, too.

        No responses: the rating is about the difference of two sets, so it cannot be compared with a metric of one set.
        """
        texts = [list(part["responses"]) for part in payload["sets"]]
        of_first, of_second = (set_metrics(part) for part in payload["sets"])
        metrics = {name: round(value - of_second[name], 12) for name, value in of_first.items() if name in of_second}
        first, second = (set_label(part) for part in payload["sets"])
        if first is None or second is None or first[0] != second[0]:
            return ItemFacts(payload["context"], None, texts, metrics=metrics)
        # Without rounding, 0.6 − 0.9 and 0.3 − 0.6 would be two different values.
        apart = round(first[1] - second[1], 12)
        return ItemFacts(payload["context"], (f"{first[0]} (set 1 − set 2)", apart), texts, metrics=metrics)

    def from_samples(self, samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
        return pair_rows(samples, options)

    def from_outputs(self, outputs: Sequence[SourceOutput]) -> list[SourceRow]:
        return output_pair_rows(outputs)

    def first_response(self, payload: Json) -> str:
        return str(payload["sets"][0]["responses"][0])

    def arrange_item(self, item: ItemData, *, slot: int, rng: random.Random) -> Json:
        """Which set is on side A, and the order of each set's responses."""
        return {
            "set_on_a": balanced_side(item.external_id, slot),
            "responses": [shuffled_places(part["responses"], rng) for part in item.payload["sets"]],
        }

    def judge_page(self, shown: Shown, index: int, common: Json) -> Page:
        order = shown.order["shown"][index]
        sets = [
            [part["responses"][number] for number in indices]
            for part, indices in zip(shown.items[index].payload["sets"], order["responses"], strict=True)
        ]
        on_a = order["set_on_a"] - 1
        context = common | {"sides": [("A", sets[on_a]), ("B", sets[1 - on_a])]}
        name = f"ranking-{common['place']}"
        return Page(name, "Compare the sets", "hds/ranking.html", [self.main_question(shown.texts)], context, index)

    def ratings(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[RatingData]:
        """Converts sides back to sets: 5 always means that set 1 is much more diverse."""
        return [
            replace(row, value=6.0 - row.value)
            if row.question == self.topic and row.value is not None and shown.order["shown"][row.item]["set_on_a"] == 2
            else row
            for row in super().ratings(shown, pages, answers)
        ]

    def placement(self, seen: Seen) -> Placement:
        """The side is that of set 1."""
        placement = super().placement(seen)
        if seen.topic != self.topic:
            return placement
        return replace(placement, side=side_of(seen.order["shown"][seen.index]["set_on_a"] - 1))

    def describe_questions(self, config: Json, texts: Mapping[str, str]) -> list[QuestionDescription]:
        """Answers about A and B are stored as ratings of set 1 and set 2."""
        return [
            replace(
                question, stored_scale=replace(question.scale, points=tuple(map(about_sets, question.scale.points)))
            )
            if question.topic == self.topic
            else question
            for question in super().describe_questions(config, texts)
        ]

    def ask(self, config: Json) -> str:
        return "Which set is more diverse?"

    def task_in_words(self, config: Json) -> str:
        plural = TASK_WORDS[config["generation_task"]]["responses"]
        return f"you read two sets of {plural}, A and B, and say which set is more diverse"

    def define(self, config: Json) -> str:
        plural = TASK_WORDS[config["generation_task"]]["responses"]
        return f"A set is diverse when its {plural} differ from each other in what they say and how they say it."

    def true_score(self, shown: Shown, page: Page, question: Question) -> float:
        payload, order = shown.items[page.item or 0].payload, shown.order["shown"][page.item or 0]
        one, two = (rough_diversity(part["responses"]) for part in payload["sets"])
        return min(5.0, max(1.0, 3.0 + (one - two if order["set_on_a"] == 1 else two - one)))


def about_sets(point: Point) -> Point:
    """The point as stored, about sets 1 and 2. A study with its own words for the sides gets the published names."""
    published_labels = {named.value: named.label for named in RANKING.points}
    for label in (point.label, published_labels[point.value]):
        renamed = label.replace("Set A", "Set 1").replace("Set B", "Set 2")
        if renamed != label or point.value == 3.0:
            return replace(point, label=renamed, description="")
    return replace(point, description="")


def _pairing_problems(rows: Sequence[Row]) -> list[RowProblem]:
    """Checks the raw rows, so that a mistake in one cell does not hide one in another row."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if sample_id := row.cells.get("sample_id", ""):
            groups[sample_id].append(row)
    problems = []
    for sample_id, group in groups.items():
        contexts = {context for row in group if (context := row.cells.get("context", ""))}
        if len(group) != 2:
            count = f"{len(group)} row{'s' if len(group) > 1 else ''}"
            what = f"“{sample_id[:80]}” is in {count}; a comparison needs exactly two."
            fix = "Give each pair of sets its own sample_id, or remove the extra rows."
            problems += [RowProblem(row.number, "sample_id", what, fix) for row in group]
        elif len(contexts) > 1:
            what = f"This is not the context of row {group[0].number}, which has the same sample_id."
            fix = "Both sets of a comparison answer one context: make the two cells equal."
            problems.append(RowProblem(group[1].number, "context", what, fix))
    return problems
