"""rnkHDS: two sets of one context side by side; which is more diverse?"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from annotation.task_types.base import ItemData, Json, Problem, RatingData, Row, Score, Shown, StepSpec
from annotation.task_types.hds.common import WORDING, HdsType, rough_diversity, shuffled_places
from annotation.task_types.hds.sets import SetRow, read_sets, set_columns
from annotation.task_types.questions import Answer, Question, Scale

RANKING = Scale.of(
    "ranking",
    "ordinal",
    [
        "Set A is much more diverse",
        "Set A is somewhat more diverse",
        "The diversity of both sets is similar",
        "Set B is somewhat more diverse",
        "Set B is much more diverse",
    ],
    half_steps=True,
)


class RnkHds(HdsType):
    """An item is a pair of sets, ``sets[0]`` being set 1. The stored rating is about set 1 against set 2.

    Which of them stands on side A alternates over the hit's slots, beginning with one or the other by the item's
    id, so that an item that is rated an even number of times has each set on each side equally often.
    """

    name = "rnk_hds"
    title = "rnkHDS"
    summary = "Which of two sets of responses to one context is more diverse? From 1 to 5 in half steps."
    scale = RANKING
    topic = "ranking"

    def scores(self) -> Sequence[Score]:
        return (Score(self.topic, self.title, middle=(self.scale.low + self.scale.high) / 2),)

    def columns(self, config: Json) -> str:
        return (
            "Two rows per item with one sample_id and one context: the first row is set 1, the second set 2. "
            + super().columns(config)
        )

    def read_items(self, rows: Sequence[Row], config: Json) -> tuple[list[ItemData], list[Problem]]:
        sets, problems = read_sets(rows, keep_empty=config["empty_responses"] == "keep")
        if not any(problem.row == 0 for problem in problems):
            problems += _pairing_problems(rows)
        if problems:
            return [], sorted(problems, key=lambda problem: problem.row)
        groups: dict[str, list[SetRow]] = defaultdict(list)
        for found in sets:
            groups[found.sample_id].append(found)
        return [_pair(sample_id, group) for sample_id, group in groups.items()], []

    def export_columns(self, payload: Json) -> dict[str, str]:
        """Both sets in one row: the columns of set 2 carry ``set2_`` before their names."""
        first, second = self.source_rows(payload)
        return first | {f"set2_{name}": cell for name, cell in second.items() if name not in ("sample_id", "context")}

    def source_rows(self, payload: Json) -> list[dict[str, str]]:
        return [set_columns(part) for part in payload["sets"]]

    def parameter(self, payload: Json) -> tuple[str, float] | None:
        """The difference of the two sets' labels, set 1 less set 2; None unless both have the same label."""
        first, second = payload["sets"]
        if None in (first["label_value"], second["label_value"]) or first["label_name"] != second["label_name"]:
            return None
        # Without rounding 0.6 − 0.9 and 0.3 − 0.6 were two values.
        apart = round(float(first["label_value"]) - float(second["label_value"]), 12)
        return f"{first['label_name']} (set 1 − set 2)", apart

    def responses(self, payload: Json) -> list[str]:
        """None: the rating is about a difference of two sets, which a metric of one set cannot be compared with."""
        return []

    def all_responses(self, payload: Json) -> list[str]:
        return [text for part in payload["sets"] for text in part["responses"]]

    def first_response(self, payload: Json) -> str:
        return str(payload["sets"][0]["responses"][0])

    def arrange_item(self, item: ItemData, *, slot: int, rng: random.Random) -> Json:
        """Which set is on side A, and the order of each set's responses."""
        return {
            "set_on_a": 1 + (slot + sum(map(ord, item.external_id))) % 2,
            "responses": [shuffled_places(part["responses"], rng) for part in item.payload["sets"]],
        }

    def judge_page(self, shown: Shown, index: int, common: Json) -> StepSpec:
        question = Question(self.topic, self.ask(shown.config), self.topic, self.scale)
        order = shown.order["shown"][index]
        sets = [
            [part["responses"][at] for at in places]
            for part, places in zip(shown.items[index].payload["sets"], order["responses"], strict=True)
        ]
        on_a = order["set_on_a"] - 1
        context = common | {"sides": [("A", sets[on_a]), ("B", sets[1 - on_a])]}
        name = f"ranking-{common['place']}"
        return StepSpec(name, "Compare the sets", "hds/ranking.html", [question], context, index)

    def ratings(
        self, shown: Shown, steps: Sequence[StepSpec], answers: Sequence[Mapping[str, Answer]]
    ) -> list[RatingData]:
        """The sides undone: 5 always means that set 1 is much more diverse."""
        return [
            replace(row, value=6.0 - row.value)
            if row.question == self.topic and row.value is not None and shown.order["shown"][row.item]["set_on_a"] == 2
            else row
            for row in super().ratings(shown, steps, answers)
        ]

    def stored_scale(self, question: Question) -> Scale:
        """The sides undone: what workers chose about A and B is kept about set 1 and set 2."""
        if question.topic != self.topic:
            return question.scale
        sides = (("Set A", "Set 1"), ("Set B", "Set 2"))
        points = question.scale.points
        for side, of in sides:
            points = tuple(replace(point, label=point.label.replace(side, of)) for point in points)
        return replace(question.scale, points=points)

    def ask(self, config: Json) -> str:
        return "Which set is more diverse?"

    def task_in_words(self, config: Json) -> str:
        plural = WORDING[config["generation_task"]]["responses"]
        return f"you read two sets of {plural}, A and B, and say which set is more diverse"

    def explain(self, config: Json) -> str:
        plural = WORDING[config["generation_task"]]["responses"]
        return f"A set is diverse when its {plural} differ from each other in what they say and how they say it."

    def true_score(self, shown: Shown, step: StepSpec, question: Question) -> float:
        sides = step.context["sides"]
        assert isinstance(sides, list)  # noqa: S101 - written by judge_page above
        (_, first), (_, second) = sides
        return min(5.0, max(1.0, 3.0 + rough_diversity(first) - rough_diversity(second)))


def _pairing_problems(rows: Sequence[Row]) -> list[Problem]:
    """Looked for in the rows as they are, so that a mistake in one cell does not hide one in another row."""
    groups: dict[str, list[Row]] = defaultdict(list)
    for row in rows:
        if name := row.cells.get("sample_id", ""):
            groups[name].append(row)
    return [problem for name, group in groups.items() for problem in _group_problems(name, group)]


def _group_problems(sample_id: str, group: Sequence[Row]) -> list[Problem]:
    if len(group) != 2:
        there = f"{len(group)} row{'s' if len(group) > 1 else ''}"
        return [
            Problem(
                row.number,
                "sample_id",
                f"“{sample_id[:80]}” stands in {there}; a comparison needs exactly two.",
                "Give each pair of sets a sample_id of its own, or take the odd rows out.",
            )
            for row in group
        ]
    first, second = (row.cells.get("context", "") for row in group)
    if first and second and first != second:
        return [
            Problem(
                group[1].number,
                "context",
                f"Not the context of row {group[0].number}, which has the same sample_id.",
                "Both sets of a comparison answer one context: make the two cells equal.",
            )
        ]
    return []


def _pair(sample_id: str, group: Sequence[SetRow]) -> ItemData:
    return ItemData(sample_id, {"context": group[0].payload["context"], "sets": [found.payload for found in group]})
