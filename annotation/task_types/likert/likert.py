"""How much do people agree with statements about a text?"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from django import forms

from analysis.description import Point, ReportSection, Scale, Score
from annotation.task_types.base import FixedPages, Page, Shown, Text
from annotation.task_types.items import Column, ItemData, ItemFacts, Json, SourceOutput, SourceRow
from annotation.task_types.kinds.scale import ScaleQuestion
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.labels import LABEL_COLUMNS, label_in
from annotation.task_types.questions import Grid, Part, Question
from annotation.task_types.settings import ConfigForm, ListField, Sizes, TopicsField
from annotation.task_types.sources import rows_from_outputs, rows_from_samples

if TYPE_CHECKING:
    from generation.runs.samples import SampleRow


MOST_POINTS = 11
PUBLISHED = [
    {"topic": "creative", "question": "The text is creative."},
    {"topic": "coherent", "question": "The text is coherent: everything in it fits together."},
    {"topic": "entertaining", "question": "The text is entertaining."},
    {"topic": "grammatical", "question": "The text is grammatically correct."},
    {"topic": "liked", "question": "I like the text."},
]


class LikertConfig(ConfigForm):
    """Statements, their scale, and how they are shown."""

    statements = TopicsField(
        question="Statement", reserved=("comment", "statements"), label="Statements", initial=PUBLISHED
    )
    points = forms.IntegerField(label="Points of the scale", min_value=3, max_value=MOST_POINTS, initial=7)
    low_label = forms.CharField(label="Name of the lowest point", max_length=60, initial="Strongly disagree")
    high_label = forms.CharField(label="Name of the highest point", max_length=60, initial="Strongly agree")
    labels = ListField(
        label="A name for every point",
        required=False,
        most=MOST_POINTS,
        max_length=60,
        help_text="From the lowest point to the highest. Empty: only the two ends have names.",
    )
    direction = forms.ChoiceField(
        label="Direction of the scale",
        choices=[("ascending", "Lowest point first"), ("descending", "Highest point first")],
        initial="ascending",
    )
    order = forms.ChoiceField(
        label="Order of the statements",
        choices=[("shuffled", "Random, one order per worker and task"), ("fixed", "As listed")],
        initial="shuffled",
    )
    show_context = forms.BooleanField(
        label="Show the context of each text, if it has one", initial=True, required=False
    )
    comment = forms.BooleanField(label="An optional comment box", initial=False, required=False)

    def clean(self) -> dict[str, Any]:
        config: dict[str, Any] = super().clean() or self.cleaned_data
        labels, points = config.get("labels"), config.get("points")
        if labels and points and len(labels) != points:
            what = f"There are {len(labels)} names for {points} points. Give every point a name, or none."
            self.add_error("labels", what)
        return config


class Likert(FixedPages):
    """One page per text: the text, a grid of statements, and perhaps a comment."""

    name = "likert"
    group_rank = 1
    title = "Likert scales"
    summary = "One text, several statements, one scale: how much do people agree with each?"
    source = "Clark 2021, §2.6.2"
    balance = "The order of the texts was random for every worker."
    group = "Judging texts"
    config_form = LikertConfig
    # Nine workers per text.
    suggested = Sizes(items_per_hit=1, ratings_per_item=9, hits_per_worker=None)
    sample_form = ConfigForm
    takes_outputs = ("text", "turn")

    # --- items ---

    def columns(self, config: Json) -> Sequence[Column]:
        return (
            Column("sample_id", "the text's id", example="s1"),
            Column("text", "the text to judge", example="The owl waited until the rain had stopped."),
            Column(
                "context", "what the text answers or continues, if anything", False, example="A story about an owl."
            ),
            *LABEL_COLUMNS,
        )

    def describe_item(self, payload: Json) -> ItemFacts:
        return ItemFacts(payload["context"], label_in(payload), [[payload["text"]]])

    def scores(self, config: Json) -> Sequence[Score]:
        return [Score(row["topic"], row["question"]) for row in config["statements"]]

    def sections(self, config: Json) -> Sequence[ReportSection]:
        topics = {"topics": [row["topic"] for row in config["statements"]]}
        return (ReportSection("scales", topics), ReportSection("origin_tests", topics))

    # --- pages ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the texts, and one order of the statements for all of them."""
        texts, statements = list(range(len(items))), list(range(len(config["statements"])))
        rng.shuffle(texts)
        if config["order"] == "shuffled":
            rng.shuffle(statements)
        return {"items": texts, "statements": statements}

    def pages(self, shown: Shown) -> Sequence[Page]:
        config, texts, pages = shown.config, shown.texts, []
        statements = self._statements(config, texts)
        in_order = tuple(statements[position] for position in shown.order["statements"])
        grid = Grid("statements", texts["question"], in_order)
        parts: list[Part] = [grid, *([_comment(texts)] if config["comment"] else [])]
        for number, index in enumerate(shown.order["items"], start=1):
            payload = shown.items[index].payload
            context = {
                "place": number,
                "definition": shown.texts.get("definition", ""),
                "places": len(shown.items),
                "text": payload["text"],
                "text_heading": texts["text.heading"],
                "context_text": payload["context"] if config["show_context"] else "",
                "context_heading": texts["context.heading"],
            }
            pages.append(Page(f"text-{number}", texts["title"], "likert/text.html", parts, context, index))
        return pages

    # --- questions ---

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        questions: list[Question] = list(self._statements(config, texts))
        return [*questions, _comment(texts)] if config["comment"] else questions

    def _statements(self, config: Json, texts: Mapping[str, str]) -> list[ScaleQuestion]:
        scale = agreement(config)
        return [ScaleQuestion(row["topic"], row["question"], row["topic"], scale) for row in config["statements"]]

    def texts(self, config: Json) -> Sequence[Text]:
        instructions = "Read each text. Then say how much you agree with each statement about it."
        texts = [
            Text("instructions", "Instructions", instructions, lines=6),
            Text("title", "Title of the page", "Rate the text"),
            Text("context.heading", "Heading of the context", "Context"),
            Text("text.heading", "Heading of the text", "Text"),
            Text("definition", "Definition of what is judged, shown above the statements", "", lines=3, optional=True),
            Text("question", "Line above the statements", "How much do you agree?"),
        ]
        if config["comment"]:
            texts.append(Text("comment.question", "Question above the comment box", "Do you want to add anything?"))
        return texts

    # --- sources ---

    def from_samples(self, samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
        return rows_from_samples(samples)

    def from_outputs(self, outputs: Sequence[SourceOutput]) -> list[SourceRow]:
        return rows_from_outputs(outputs)


def agreement(config: Json) -> Scale:
    """The scale of all statements, in the order shown."""
    points = config["points"]
    names = config["labels"] or [config["low_label"], *[""] * (points - 2), config["high_label"]]
    ascending = tuple(Point(float(value), name) for value, name in enumerate(names, start=1))
    return Scale("agreement", "ordinal", ascending if config["direction"] == "ascending" else ascending[::-1])


def _comment(texts: Mapping[str, str]) -> TextQuestion:
    return TextQuestion("comment", texts["comment.question"], "comment", required=False)
