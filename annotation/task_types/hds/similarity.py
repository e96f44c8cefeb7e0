"""simHDS: how similar are two responses? Every unordered pair of the set is asked."""

from __future__ import annotations

import random
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from annotation.task_types.base import FlagData, ItemData, Json, Score, Shown, StepSpec
from annotation.task_types.hds.common import WORDING, HdsType, word_overlap
from annotation.task_types.questions import Answer, Question, Scale

SIMILARITY = Scale.of(
    "similarity",
    "ordinal",
    ["Very similar", "Similar", "Slightly similar", "Almost not similar", "Not similar at all"],
)


class SimHds(HdsType):
    """One question per pair, pairs and their two sides in random order. The set's score is minus the mean."""

    name = "sim_hds"
    title = "simHDS"
    summary = "How similar are two responses? Every pair of the set, from 1 to 5."
    scale = SIMILARITY
    topic = "similarity"

    def scores(self) -> Sequence[Score]:
        return (Score(self.topic, self.title, -1),)

    def arrange_item(self, item: ItemData, *, slot: int, rng: random.Random) -> Json:
        """Every pair once, shuffled; the side that the lower-numbered response takes alternates over slots."""
        pairs = combinations(range(len(item.payload["responses"])), 2)
        sided = [list(pair if (slot + place) % 2 == 0 else pair[::-1]) for place, pair in enumerate(pairs)]
        rng.shuffle(sided)
        return {"pairs": sided}

    def judge_page(self, shown: Shown, index: int, common: Json) -> StepSpec:
        responses = shown.items[index].payload["responses"]
        questions, pairs = [], []
        for left, right in shown.order["shown"][index]["pairs"]:
            low, high = sorted((left, right))
            question = Question(
                f"pair-{low}-{high}", self.ask(shown.config), self.topic, self.scale, about=f"{low}-{high}"
            )
            questions.append(question)
            pairs.append({"question": question, "texts": [responses[left], responses[right]]})
        context = common | {"pairs": pairs}
        name = f"similarity-{common['place']}"
        return StepSpec(name, "Compare each pair", "hds/pairs.html", questions, context, index)

    def ask(self, config: Json) -> str:
        return f"How similar are these two {WORDING[config['generation_task']]['responses']}?"

    def task_in_words(self, config: Json) -> str:
        plural = WORDING[config["generation_task"]]["responses"]
        return f"you read {plural} two at a time and say for each pair how similar the two are"

    def explain(self, config: Json) -> str:
        plural = WORDING[config["generation_task"]]["responses"]
        return (
            f"Two {plural} are similar when they say the same thing, even in other words, and less similar the more "
            "they differ in what they say and how they say it."
        )

    def flags(
        self, shown: Shown, steps: Sequence[StepSpec], answers: Sequence[Mapping[str, Answer]], *, pastes: int
    ) -> Iterable[FlagData]:
        yield from super().flags(shown, steps, answers, pastes=pastes)
        for step, given in zip(steps, answers, strict=True):
            values = {answer for key, answer in given.items() if key.startswith("pair-")}
            if len(values) == 1 and len(step.questions) >= 6:
                yield FlagData("straight_line", f"All {len(step.questions)} pairs got the same answer.")

    def true_score(self, shown: Shown, step: StepSpec, question: Question) -> float:
        low, high = (int(part) for part in question.about.split("-"))
        responses = shown.items[step.item].payload["responses"]
        return 1.0 + 4.0 * min(1.0, 1.6 * word_overlap(responses[low], responses[high]))
