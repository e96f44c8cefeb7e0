"""simHDS: how similar are two responses? It asks about every unordered pair in the set."""

from __future__ import annotations

import random
from collections.abc import Sequence
from dataclasses import replace
from itertools import combinations

from analysis.description import Score
from annotation.task_types.base import Page, Shown
from annotation.task_types.hds.absolute import OneSet
from annotation.task_types.hds.hds_scales import SIMILARITY
from annotation.task_types.hds.hds_type import word_overlap
from annotation.task_types.items import ItemData, Json
from annotation.task_types.placements import Placement, Seen, position_in, side_of
from annotation.task_types.questions import Question
from annotation.task_types.wording import TASK_WORDS


class SimHds(OneSet):
    """One question per pair, pairs and their two sides in random order. The set's score is minus the mean."""

    name = "sim_hds"
    title = "simHDS"
    summary = "How similar are two responses? Every pair of the set, from 1 to 5."
    scale = SIMILARITY
    topic = "similarity"
    part_texts = 2
    balance = (
        "The order of the items and of the pairs of responses was random for every worker; the sides of each "
        "pair alternated over workers."
    )

    def scores(self, config: Json) -> Sequence[Score]:
        return (Score(self.topic, self.title, -1),)

    def arrange_item(self, item: ItemData, *, slot: int, rng: random.Random) -> Json:
        """Every pair once, shuffled. The side of the lower-numbered response alternates over slots."""
        pairs = combinations(range(len(item.payload["responses"])), 2)
        sided = [list(pair if (slot + number) % 2 == 0 else pair[::-1]) for number, pair in enumerate(pairs)]
        rng.shuffle(sided)
        return {"pairs": sided}

    def judge_page(self, shown: Shown, index: int, common: Json) -> Page:
        responses = shown.items[index].payload["responses"]
        main_question = self.main_question(shown.texts)
        questions, pairs = [], []
        for left, right in shown.order["shown"][index]["pairs"]:
            low, high = sorted((left, right))
            question = replace(main_question, key=f"pair-{low}-{high}", target=f"{low}-{high}")
            questions.append(question)
            pairs.append({"question": question, "texts": [responses[left], responses[right]]})
        name = f"similarity-{common['place']}"
        return Page(name, "Compare each pair", "hds/pairs.html", questions, common | {"pairs": pairs}, index)

    def placement(self, seen: Seen) -> Placement:
        """The texts of a pair in the order of its target. The side is that of the first of them."""
        if seen.topic != self.topic:
            return super().placement(seen)
        low, high = (int(number) for number in seen.target.split("-"))
        pairs = seen.order["shown"][seen.index]["pairs"]
        return Placement(
            position_in(seen.order["items"], seen.index),
            [seen.payload["responses"][number] for number in (low, high)],
            position_in([sorted(pair) for pair in pairs], [low, high]),
            side_of(int([low, high] not in pairs)),
        )

    def ask(self, config: Json) -> str:
        return f"How similar are these two {TASK_WORDS[config['generation_task']]['responses']}?"

    def task_in_words(self, config: Json) -> str:
        plural = TASK_WORDS[config["generation_task"]]["responses"]
        return f"you read {plural} two at a time and say for each pair how similar the two are"

    def define(self, config: Json) -> str:
        plural = TASK_WORDS[config["generation_task"]]["responses"]
        return (
            f"Two {plural} are similar when they say the same thing, even in other words, and less similar the more "
            "they differ in what they say and how they say it."
        )

    def true_score(self, shown: Shown, page: Page, question: Question) -> float:
        low, high = (int(part) for part in question.target.split("-"))
        responses = shown.items[page.item or 0].payload["responses"]
        return 1.0 + 4.0 * min(1.0, 1.6 * word_overlap(responses[low], responses[high]))
