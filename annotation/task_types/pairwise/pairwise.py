"""Two texts side by side, one or several criteria. Pages never show which system wrote which."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from django import forms

from analysis.description import Factor, Point, QuestionDescription, ReportSection, Scale, Score
from annotation.task_types.base import Answers, FixedPages, Page, RatingData, Shown, Text
from annotation.task_types.counterbalancing import balanced_side
from annotation.task_types.items import Column, ItemData, ItemFacts, Json, SourceOutput, SourceRow
from annotation.task_types.kinds.choice import ChoiceQuestion
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.pairwise.pairs_from_sources import SystemsForm, output_pairs, sample_pairs
from annotation.task_types.placements import Placement, Seen, position_in, side_of
from annotation.task_types.questions import Question
from annotation.task_types.settings import ConfigForm, Sizes, TopicsField

if TYPE_CHECKING:
    from generation.runs.samples import SampleRow

#: The stored values: +1 for text 1, −1 for text 2.
STORED = Scale("preference", "pairwise", (Point(1.0, "Text 1"), Point(0.0, "No difference"), Point(-1.0, "Text 2")))


class PairwiseConfig(ConfigForm):
    """Criteria and reason; initially one forced choice with a short reason, as in Clark 2021, §3.7."""

    criteria = TopicsField(
        question="Question",
        reserved=("reason",),
        most=10,
        label="Criteria",
        initial=[{"topic": "better", "question": "Which text is better?"}],
        help_text="One question each, about both texts.",
    )
    ties = forms.BooleanField(label="“No difference” is an answer", initial=False, required=False)
    reason = forms.ChoiceField(
        label="Reason in the worker's own words",
        choices=[("required", "Required"), ("optional", "Optional"), ("none", "Not asked")],
        initial="required",
    )
    min_words = forms.IntegerField(label="Minimum words in a reason", min_value=1, max_value=200, initial=3)


class Pairwise(FixedPages):
    """One page per pair. Workers choose between sides A and B; what is stored is about text 1 and text 2.

    Which text is on side A alternates over the hit's slots. The item's id decides which comes first. So if a pair is
    judged an even number of times, each text is on each side equally often.
    """

    name = "pairwise"
    group_rank = 2
    title = "Pairwise comparison"
    summary = "Two texts for one context: which is better, by one or several criteria?"
    source = "Clark 2021, §3.7, appendix B.7"
    balance = "The order of the pairs was random for every worker; each text of a pair was on each side equally often."
    group = "Judging texts"
    config_form = PairwiseConfig
    # One forced choice by eleven workers.
    suggested = Sizes(items_per_hit=1, ratings_per_item=11, hits_per_worker=None)
    sample_form = SystemsForm
    takes_outputs = ("text", "turn")

    # --- items ---

    def columns(self, config: Json) -> Sequence[Column]:
        return (
            Column("sample_id", "the pair's id", example="p1"),
            Column("text_1", "the first text", example="She fell ill."),
            Column("text_2", "the second text", example="She laughed."),
            Column("context", "what both texts answer or continue, if anything", False, example="It rained all day."),
            Column("system_1", "what wrote text 1; never shown to workers", False, example="model"),
            Column("system_2", "what wrote text 2; never shown to workers", False, example="human"),
        )

    def describe_item(self, payload: Json) -> ItemFacts:
        return ItemFacts(payload["context"], None, [[payload["text_1"]], [payload["text_2"]]])

    def scores(self, config: Json) -> Sequence[Score]:
        return [Score(row["topic"], row["question"], middle=0.0) for row in config["criteria"]]

    def factors(self, config: Json) -> Sequence[Factor]:
        """What wrote the texts; or, if that is not in the file, the writers' arms, or the models and decoders."""
        columns = {"system": "system_{}", "from:arm": "from:arm:{}", "from:model": "from:model:{}"}
        columns |= {"from:decoder": "from:decoder:{}"}
        return [
            Factor(name, "part", parts={number: column.format(number) for number in ("1", "2")})
            for name, column in columns.items()
        ]

    def sections(self, config: Json) -> Sequence[ReportSection]:
        return (ReportSection("preference", {"systems": ["system_1", "system_2"]}),)

    # --- pages ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the pairs, and for each pair, by its index in the hit, which text is on side A."""
        order = list(range(len(items)))
        rng.shuffle(order)
        return {"items": order, "on_a": [balanced_side(item.external_id, slot) for item in items]}

    def pages(self, shown: Shown) -> Sequence[Page]:
        texts, pages = shown.texts, []
        questions = self.questions(shown.config, texts)
        for number, index in enumerate(shown.order["items"], start=1):
            payload, on_a = shown.items[index].payload, shown.order["on_a"][index]
            context = {
                "place": number,
                "definition": shown.texts.get("definition", ""),
                "places": len(shown.items),
                "context_text": payload["context"],
                "context_heading": texts["context.heading"],
                "sides": [
                    (texts["side.a"], payload[f"text_{on_a}"]),
                    (texts["side.b"], payload[f"text_{3 - on_a}"]),
                ],
            }
            pages.append(Page(f"pair-{number}", texts["title"], "pairwise/pair.html", questions, context, index))
        return pages

    # --- questions ---

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        scale = sides(config, texts)
        questions: list[Question] = [
            ChoiceQuestion(row["topic"], row["question"], row["topic"], scale) for row in config["criteria"]
        ]
        if config["reason"] != "none":
            least, required = config["min_words"], config["reason"] == "required"
            start = "Write" if required else "If you give a reason, write"
            help_text = f"{start} at least {least} words." if least > 1 else ""
            reason = texts["reason.question"]
            questions.append(
                TextQuestion("reason", reason, "reason", help=help_text, required=required, min_words=least)
            )
        return questions

    def describe_questions(self, config: Json, texts: Mapping[str, str]) -> list[QuestionDescription]:
        """Answers about sides A and B are stored as ratings of texts 1 and 2."""
        points = STORED.points if config["ties"] else (STORED.points[0], STORED.points[-1])
        return [
            replace(question, stored_scale=replace(STORED, points=points))
            if question.scale.name == STORED.name
            else question
            for question in super().describe_questions(config, texts)
        ]

    def texts(self, config: Json) -> Sequence[Text]:
        questions = "each question" if len(config["criteria"]) > 1 else "the question"
        instructions = [
            f"Read both texts and answer {questions} about them.",
            "If you see no difference, say so."
            if config["ties"]
            else "Choose one even if they are almost equally good.",
        ]
        if config["reason"] == "required":
            instructions.append("Then give a short reason in your own words.")
        texts = [
            Text("instructions", "Instructions", " ".join(instructions), lines=6),
            Text("title", "Title of the page", "Compare the texts"),
            Text("definition", "Definition of what is judged, shown above the texts", "", lines=3, optional=True),
            Text("context.heading", "Heading of the context", "Context"),
            Text("side.a", "Name of side A", "Text A", "Sides and answers"),
            Text("side.b", "Name of side B", "Text B", "Sides and answers"),
        ]
        if config["ties"]:
            texts.append(Text("tie", "Answer for no difference", "No difference", "Sides and answers"))
        if config["reason"] != "none":
            texts.append(Text("reason.question", "Question for the reason", "Why did you choose this answer?"))
        return texts

    # --- ratings ---

    def ratings(self, shown: Shown, pages: Sequence[Page], answers: Sequence[Answers]) -> list[RatingData]:
        """Converts sides back to texts: +1 always means text 1, −1 text 2."""
        return [
            replace(row, value=-row.value + 0.0)  # 0.0, not −0.0, for no difference
            if row.value is not None and row.item is not None and shown.order["on_a"][row.item] == 2
            else row
            for row in super().ratings(shown, pages, answers)
        ]

    def placement(self, seen: Seen) -> Placement:
        """The side is that of text 1."""
        side = side_of(seen.order["on_a"][seen.index] - 1) if seen.topic != "reason" else ""
        return Placement(position_in(seen.order["items"], seen.index), side=side)

    # --- sources ---

    def from_samples(self, samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
        return sample_pairs(samples, options)

    def from_outputs(self, outputs: Sequence[SourceOutput]) -> list[SourceRow]:
        return output_pairs(outputs)

    # --- simulated workers ---

    def true_answer(self, shown: Shown, page: Page, question: Question) -> float | None:
        """The pair's id decides which text is better, whichever side it is on."""
        if page.item is None:
            return None
        better = random.Random(f"{shown.items[page.item].external_id}/{question.topic}").choice((1.0, -1.0))
        return better if shown.order["on_a"][page.item] == 1 else -better


def sides(config: Json, texts: Mapping[str, str]) -> Scale:
    """The answers about sides A and B, as workers read them from left to right."""
    tie = (Point(0.0, texts["tie"]),) if config["ties"] else ()
    return replace(STORED, points=(Point(1.0, texts["side.a"]), *tie, Point(-1.0, texts["side.b"])))
