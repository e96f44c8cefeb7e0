"""How much do people agree with statements about a text?"""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from analysis.description import Point, ReportSection, Scale, Score
from annotation.task_types.base import FixedPages, Page, Shown, Text
from annotation.task_types.hooks import Sizes
from annotation.task_types.items import Column, ItemData, ItemFacts, Json, SourceOutput, SourceRow
from annotation.task_types.labels import LABEL_COLUMNS, label_cells, label_in
from annotation.task_types.likert.config import LikertConfig
from annotation.task_types.questions import Grid, Part, Question, ScaleQuestion, TextQuestion
from annotation.task_types.settings import ConfigForm
from annotation.task_types.sources import output_name, sample_text

if TYPE_CHECKING:
    from generation.runs.samples import SampleRow


class Likert(FixedPages):
    """One page per text: the text, a grid of statements, and perhaps a comment."""

    name = "likert"
    place = 1
    title = "Likert scales"
    summary = "One text, several statements, one scale: how much do people agree with each?"
    source = "Clark 2021, §2.6.2"
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
        return (ReportSection("scales", {"topics": [row["topic"] for row in config["statements"]]}),)

    # --- pages ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the texts, and one order of the statements for all of them."""
        texts, statements = list(range(len(items))), list(range(len(config["statements"])))
        rng.shuffle(texts)
        if config["order"] == "shuffled":
            rng.shuffle(statements)
        return {"items": texts, "statements": statements}

    def pages(self, shown: Shown) -> Sequence[Page]:
        return [self._page(shown, place, index) for place, index in enumerate(shown.order["items"], start=1)]

    def _page(self, shown: Shown, place: int, index: int) -> Page:
        payload, config, texts = shown.items[index].payload, shown.config, shown.texts
        asked = self._statements(config, texts)
        grid = Grid("statements", texts["question"], tuple(asked[at] for at in shown.order["statements"]))
        parts: list[Part] = [grid]
        if config["comment"]:
            parts.append(_comment(texts))
        context = {
            "place": place,
            "definition": shown.texts.get("definition", ""),
            "places": len(shown.items),
            "text": payload["text"],
            "text_heading": texts["text.heading"],
            "context_text": payload["context"] if config["show_context"] else "",
            "context_heading": texts["context.heading"],
        }
        return Page(f"text-{place}", texts["title"], "likert/text.html", parts, context, index)

    # --- questions ---

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        asked: list[Question] = list(self._statements(config, texts))
        return [*asked, _comment(texts)] if config["comment"] else asked

    def _statements(self, config: Json, texts: Mapping[str, str]) -> list[ScaleQuestion]:
        scale = agreement(config)
        return [ScaleQuestion(row["topic"], row["question"], row["topic"], scale) for row in config["statements"]]

    def texts(self, config: Json) -> Sequence[Text]:
        instructions = "Read each text. Then say how much you agree with each statement about it."
        found = [
            Text("instructions", "Instructions", instructions, lines=6),
            Text("title", "Title of the page", "Rate the text"),
            Text("context.heading", "Heading of the context", "Context"),
            Text("text.heading", "Heading of the text", "Text"),
            Text("definition", "Definition of what is judged, shown above the statements", "", lines=3, optional=True),
            Text("question", "Line above the statements", "How much do you agree?"),
        ]
        if config["comment"]:
            found.append(Text("comment.question", "Question above the comment box", "Do you want to add anything?"))
        return found

    # --- sources ---

    def from_samples(self, samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
        """One item per sample that is not empty."""
        rows = []
        for each in samples:
            cells = {
                "sample_id": f"{each.context_id}-{each.model}-{each.decoder}-{each.number}",
                "context": each.context,
                "text": sample_text(each.text),
                **label_cells(each.label),
                "model": each.model,
                "decoder": each.decoder,
            }
            rows.append(SourceRow(cells, (each.id,)))
        written = [row for row in rows if row.cells["text"]]
        return written, len(rows) - len(written)

    def from_outputs(self, outputs: Sequence[SourceOutput]) -> list[SourceRow]:
        """One item per text."""
        return [self._output_row(each) for each in outputs]

    def _output_row(self, output: SourceOutput) -> SourceRow:
        cells = {
            "sample_id": output_name(output),
            "context": output.context,
            "text": "\n\n".join(output.texts),
            **label_cells(output.label),
            "writer": output.author,
            "arm": output.arm,
        }
        return SourceRow(cells, (output.id,))


def agreement(config: Json) -> Scale:
    """The scale of all statements, in the order shown."""
    points = config["points"]
    names = config["labels"] or [config["low_label"], *[""] * (points - 2), config["high_label"]]
    ascending = tuple(Point(float(at), name) for at, name in enumerate(names, start=1))
    return Scale("agreement", "ordinal", ascending if config["direction"] == "ascending" else ascending[::-1])


def _comment(texts: Mapping[str, str]) -> TextQuestion:
    return TextQuestion("comment", texts["comment.question"], "comment", required=False)
