"""rnkHDS: two sets of one context side by side; which is more diverse?"""

from __future__ import annotations

import random
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

from annotation.task_types.base import ItemData, Json, Problem, RatingData, Row, Shown, StepSpec
from annotation.task_types.hds.common import WORDING, HdsType, rough_diversity
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

    Which of them stands on side A alternates over the hit's places, starting at random, so that every item that is
    rated an even number of times has each set on each side equally often.
    """

    name = "rnk_hds"
    title = "rnkHDS"
    summary = "Which of two sets of responses to one context is more diverse? From 1 to 5 in half steps."
    scale = RANKING
    topic = "ranking"

    def columns(self, config: Json) -> str:
        return (
            "Two rows per item with one sample_id and one context: the first row is set 1, the second set 2. "
            + super().columns(config)
        )

    def read_items(self, rows: Sequence[Row], config: Json) -> tuple[list[ItemData], list[Problem]]:
        sets, problems = read_sets(rows, keep_empty=config["empty_responses"] == "keep")
        if problems:
            return [], problems
        groups: dict[str, list[SetRow]] = defaultdict(list)
        for found in sets:
            groups[found.sample_id].append(found)
        for sample_id, group in groups.items():
            problems += _group_problems(sample_id, group)
        if problems:
            return [], sorted(problems, key=lambda problem: problem.row)
        return [_pair(sample_id, group) for sample_id, group in groups.items()], []

    def export_columns(self, payload: Json) -> dict[str, str]:
        """Both sets in one row: the columns of set 2 carry ``set2_`` before their names."""
        first, second = (set_columns(part) for part in payload["sets"])
        return first | {f"set2_{name}": cell for name, cell in second.items() if name not in ("sample_id", "context")}

    def parameter(self, payload: Json) -> tuple[str, float] | None:
        """The difference of the two sets' labels, set 1 less set 2."""
        first, second = (part["label_value"] for part in payload["sets"])
        if first is None or second is None:
            return None
        return f"{payload['sets'][0]['label_name']} (set 1 − set 2)", float(first) - float(second)

    def responses(self, payload: Json) -> list[str]:
        return list(payload["sets"][0]["responses"])

    def all_responses(self, payload: Json) -> list[str]:
        return [text for part in payload["sets"] for text in part["responses"]]

    def first_response(self, payload: Json) -> str:
        return str(payload["sets"][0]["responses"][0])

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        return {"set_on_a": [1 + (slot + sum(map(ord, item.external_id))) % 2 for item in items]}

    def judge_page(self, shown: Shown, item: ItemData, place: int, common: Json) -> StepSpec:
        question = Question(self.topic, self.ask(shown.config), self.topic, self.scale)
        on_a = shown.order["set_on_a"][place]
        first, second = item.payload["sets"][on_a - 1], item.payload["sets"][2 - on_a]
        context = common | {"sides": [("A", first["responses"]), ("B", second["responses"])]}
        return StepSpec(f"ranking-{place + 1}", "Compare the sets", "hds/ranking.html", [question], context, place)

    def ratings(
        self, shown: Shown, steps: Sequence[StepSpec], answers: Sequence[Mapping[str, Answer]]
    ) -> list[RatingData]:
        """The sides undone: 5 always means that set 1 is much more diverse."""
        return [
            replace(row, value=6.0 - row.value)
            if row.question == self.topic and row.value is not None and shown.order["set_on_a"][row.item] == 2
            else row
            for row in super().ratings(shown, steps, answers)
        ]

    def ask(self, config: Json) -> str:
        return "Which set is more diverse?"

    def describe(self, config: Json) -> str:
        plural = WORDING[config["generation_task"]]["responses"]
        return (
            f"Last, you read two sets of {plural}, A and B, and say which set is more diverse. A set is diverse when its "
            f"{plural} differ from each other in what they say and how they say it."
        )

    def true_score(self, shown: Shown, step: StepSpec, question: Question) -> float:
        sides = step.context["sides"]
        assert isinstance(sides, list)  # noqa: S101 - written by judge_page above
        (_, first), (_, second) = sides
        return min(5.0, max(1.0, 3.0 + rough_diversity(first) - rough_diversity(second)))


def _group_problems(sample_id: str, group: Sequence[SetRow]) -> list[Problem]:
    if len(group) != 2:
        return [
            Problem(
                found.number,
                "sample_id",
                f"“{sample_id}” stands in {len(group)} row{'s' if len(group) > 1 else ''}; a comparison needs exactly two.",
                "Give each pair of sets a sample_id of its own, or take the odd rows out.",
            )
            for found in group
        ]
    if group[0].payload["context"] != group[1].payload["context"]:
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
