"""Best–worst scaling as docs/adding-a-task-type.md declares it: which of four texts is best, which is worst?

Source of the score: Kiritchenko and Mohammad 2017, §3: the share of a text as best minus its share as worst.
"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence

from analysis.description import Factor, ReportSection, Score, Term
from annotation.task_types.base import Answers, FixedPages, Page, Shown, Text
from annotation.task_types.items import Column, ItemData, ItemFacts, Json
from annotation.task_types.kinds.choices import ChoicesQuestion
from annotation.task_types.questions import Option, Question

NUMBERS = ("0", "1", "2", "3")


class BestWorst(FixedPages):
    name = "best_worst"
    title = "Best and worst of four"
    summary = "Which of four texts is best, and which is worst?"
    group = "Judging texts"

    def columns(self, config: Json) -> Sequence[Column]:
        texts = [Column(f"text_{number}", "a text", example=f"Text {number}.") for number in NUMBERS]
        systems = [Column(f"system_{number}", "what wrote it", False, example=f"system {number}") for number in NUMBERS]
        return (Column("set_id", "the set's id", example="s1"), *texts, *systems)

    def texts(self, config: Json) -> Sequence[Text]:
        return (
            Text("instructions", "Instructions", "Read the four texts. Choose the best and the worst.", lines=3),
            Text("title", "Title of the page", "Compare the texts"),
            Text("best", "First question", "Which text is best?"),
            Text("worst", "Second question", "Which text is worst?"),
        )

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        options = tuple(Option(number, f"Text {int(number) + 1}") for number in NUMBERS)
        return [
            ChoicesQuestion(topic, texts[topic], topic, options=options, least=1, most=1) for topic in ("best", "worst")
        ]

    def check(self, shown: Shown, page: Page, page_answers: Answers, before: Sequence[Answers]) -> Mapping[str, str]:
        same = page_answers["best"] == page_answers["worst"]
        return {"worst": "This is the text that you chose as the best. Choose another."} if same else {}

    def scores(self, config: Json) -> Sequence[Score]:
        terms = (Term("best"), Term("worst", -1.0))
        return (Score("quality", "Best − worst", low=-1, high=1, over="part", terms=terms),)

    def factors(self, config: Json) -> Sequence[Factor]:
        return (Factor("system", "part", parts={number: f"system_{number}" for number in NUMBERS}),)

    def sections(self, config: Json) -> Sequence[ReportSection]:
        return (ReportSection("item_scores"),)

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        return {"items": rng.sample(range(len(items)), len(items))}

    def pages(self, shown: Shown) -> Sequence[Page]:
        questions = self.questions(shown.config, shown.texts)
        pages = []
        for number, index in enumerate(shown.order["items"], start=1):
            payload = shown.items[index].payload
            context = {"texts": [payload[f"text_{number}"] for number in NUMBERS]}
            name = f"set-{number}"
            pages.append(Page(name, shown.texts["title"], "best_worst/set.html", questions, context, index))
        return pages

    def describe_item(self, payload: Json) -> ItemFacts:
        return ItemFacts(texts=[[payload[f"text_{number}"]] for number in NUMBERS])


TYPES = (BestWorst,)
