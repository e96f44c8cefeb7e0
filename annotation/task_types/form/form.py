"""`form`: an instrument that a study file or the console describes whole."""

from __future__ import annotations

import random
from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING

from analysis.description import Factor, QuestionDescription, ReportSection, Score
from annotation.task_types.base import FixedPages, Page, Shown, Text
from annotation.task_types.counterbalancing import balanced_order
from annotation.task_types.described_questions import Record, build
from annotation.task_types.form.form_items import (
    MOST_SEGMENTS,
    SYSTEM,
    columns_of,
    columns_of_item,
    read_form_items,
    segments_of,
    texts_of,
)
from annotation.task_types.form.form_pages import PLAYED, PLAYING, ItemPages, shown_by_whole
from annotation.task_types.form.form_settings import ABOUT, FormSettings
from annotation.task_types.items import Column, ItemData, ItemFacts, Json, Row, RowProblem, SourceOutput, SourceRow
from annotation.task_types.kinds.playing import PlayingQuestion
from annotation.task_types.labels import label_in
from annotation.task_types.placements import Placement, Seen, position_in, side_of
from annotation.task_types.questions import Question, joined_target
from annotation.task_types.settings import ConfigForm, Sizes
from annotation.task_types.sources import rows_from_outputs, rows_from_samples

if TYPE_CHECKING:
    from generation.runs.samples import SampleRow


#: How columns are shown that people play, and what one text is called by what it is.
PLAYED_AS = ("audio", "video")
HEADINGS = {"text": "Text", "audio": "Recording", "video": "Video", "image": "Image"}


class FormType(FixedPages):
    """Shows columns of an item, and asks described questions about the item, each text or each segment.

    Several texts of an item are in an order that is balanced over the workers; ratings name a text by its column,
    never by its place. The rating of a part has the target ``SEGMENT/COLUMN``, as far as there are several of each.
    """

    name = "form"
    group_rank = 0
    title = "Your own form"
    summary = "You say what is shown and what is asked: any questions, about an item, its texts or its segments."
    balance = (
        "The order of the items was random for every worker; each of several texts was in each place about equally "
        "often."
    )
    group = "Judging texts"
    config_form = FormSettings
    suggested = Sizes(items_per_hit=1, ratings_per_item=3, hits_per_worker=None)
    item_settings = ("texts", "texts_as", "shown", "document")
    sample_form = ConfigForm
    takes_outputs = ("text", "turn", "conversation")

    # --- items ---

    def columns(self, config: Json) -> Sequence[Column]:
        return columns_of(config)

    def read_items(self, rows: Sequence[Row], config: Json) -> tuple[list[ItemData], list[RowProblem]]:
        return read_form_items(rows, config)

    def export_columns(self, payload: Json) -> dict[str, str]:
        return columns_of_item(payload)

    def source_rows(self, payload: Json) -> list[dict[str, str]]:
        return segments_of(payload)

    def describe_item(self, payload: Json) -> ItemFacts:
        label = None if payload["document"] else label_in(payload["segments"][0])
        return ItemFacts("", label, texts_of(payload))

    # --- pages ---

    def arrange(self, items: Sequence[ItemData], config: Json, *, slot: int, rng: random.Random) -> Json:
        """The order of the items, of the texts of each, and of the questions."""
        order = list(range(len(items)))
        rng.shuffle(order)
        count = len(config["texts"])
        texts = [balanced_order(count, slot + sum(map(ord, item.external_id))) for item in items]
        questions = list(range(len(config["questions"])))
        if config["question_order"] == "shuffled":
            rng.shuffle(questions)
        return {"items": order, "texts": texts, "questions": _conditions_first(questions, config["questions"])}

    def pages(self, shown: Shown) -> Sequence[Page]:
        records = [shown.config["questions"][number] for number in shown.order["questions"]]
        return [
            page
            for place, index in enumerate(shown.order["items"], start=1)
            for page in ItemPages(shown, index, records, place).pages()
        ]

    # --- questions and texts ---

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        named = {name: name for name in config["texts"]}
        parts = [build(record).of_item(named if record["of"] == "item" else {}) for record in config["questions"]]
        asked = [question for part in parts for question in part.questions]
        return [*asked, PlayingQuestion(PLAYING, "Playing", PLAYING, PLAYED)] if played_columns(config) else asked

    def describe_questions(self, config: Json, texts: Mapping[str, str]) -> list[QuestionDescription]:
        """Questions about each of several texts have targets for every text."""
        described = []
        of_each_text = {
            question.topic: record
            for record in config["questions"]
            if record["of"] == "text" and len(config["texts"]) > 1 and not config["document"]
            for question in build(record).questions
        }
        for question in self.questions(config, texts):
            description = question.describe()
            if question.topic == PLAYING:
                description = replace(description, targets={} if config["document"] else played_columns(config))
            if record := of_each_text.get(question.topic):
                targets: dict[str, str] = {}
                for name in config["texts"]:
                    parts = build(record, target=name).questions
                    of_text = next(part for part in parts if part.topic == question.topic).describe().targets
                    targets |= {target: f"{name}: {label}" for target, label in of_text.items()}
                description = replace(description, targets=targets)
            described.append(description)
        return described

    def texts(self, config: Json) -> Sequence[Text]:
        about = [words for name, words in ABOUT.items() if any(record["of"] == name for record in config["questions"])]
        instructions = f"Read everything on the page. Then answer the questions about {' and '.join(about)}."
        texts = [
            Text("instructions", "Instructions", instructions, lines=6),
            Text("title", "Title of the page", "Read and answer"),
            Text("definition", "Definition of what is judged, shown above the texts", "", lines=3, optional=True),
        ]
        if shown_by_whole(config):
            return texts
        noun = HEADINGS[config.get("texts_as", "text")]
        if len(config["texts"]) == 1 and not config["document"]:
            texts.append(Text("text.heading", "Heading of the text", noun))
        if len(config["texts"]) > 1:
            texts += [
                Text(f"text.{number}", f"Name of the text in place {number}", f"{noun} {side_of(number - 1)}", "Places")
                for number in range(1, len(config["texts"]) + 1)
            ]
        if config["document"]:
            texts.append(Text("segment.heading", "Heading of a segment; {n} is its number", "Segment {n}"))
            if any(record["of"] == "item" for record in config["questions"]):
                texts.append(Text("whole.heading", "Heading of the questions about the document", "The whole document"))
        return texts

    # --- what becomes of the answers ---

    def placement(self, seen: Seen) -> Placement:
        """Where the text was that a rating is about, and its words."""
        order, segments = seen.order["texts"][seen.index], segments_of(seen.payload)
        item_position = position_in(seen.order["items"], seen.index)
        names, parts = seen.payload["texts"], seen.target.split("/")
        number = int(parts[0]) if seen.payload["document"] and parts[0].isdecimal() else 1
        name = next((part for part in parts if part in names), names[0] if len(names) == 1 else "")
        if not name or number > len(segments):
            return Placement(item_position)
        place = position_in(order, names.index(name)) if len(names) > 1 else None
        side = side_of(place - 1) if place else ""
        return Placement(item_position, [segments[number - 1].get(name, "")], place or number, side)

    # --- the report ---

    def scores(self, config: Json) -> Sequence[Score]:
        """Each of several texts has a score of its own."""
        asked = [(record["of"], question) for record in config["questions"] for question in build(record).questions]
        scores = [(of, score) for of, question in asked if (score := question.score())]
        several = len(config["texts"]) > 1
        return [replace(score, over="part") if several and of == "text" else score for of, score in scores]

    def factors(self, config: Json) -> Sequence[Factor]:
        """What wrote each text if the file says so, else the columns of the texts."""
        names = config["texts"]
        if len(names) < 2:
            return ()
        segments = [""] if not config["document"] else [str(number) for number in range(1, MOST_SEGMENTS + 1)]
        parts = {joined_target(segment, name): f"{name}{SYSTEM}" for segment in segments for name in names}
        return (Factor("system", "part", parts=parts), Factor("text", "part"))

    def sections(self, config: Json) -> Sequence[ReportSection]:
        topics = [score.topic for score in self.scores(config)]
        asked = [question for record in config["questions"] for question in build(record).questions]
        own = [section for question in asked for section in question.sections()]
        if not topics:
            return own
        return [ReportSection("scales", {"topics": topics}), ReportSection("origin_tests", {"topics": topics}), *own]

    # --- sources ---

    def from_samples(self, samples: Sequence[SampleRow], options: Json) -> tuple[list[SourceRow], int]:
        return rows_from_samples(samples)

    def from_outputs(self, outputs: Sequence[SourceOutput]) -> list[SourceRow]:
        return rows_from_outputs(outputs)


def played_columns(config: Json) -> dict[str, str]:
    """The columns with audio or video, each with how it is called."""
    shown = {row["field"]: row["heading"] or row["field"] for row in config["shown"] if row["as"] in PLAYED_AS}
    return shown | ({name: name for name in config["texts"]} if config.get("texts_as") in PLAYED_AS else {})


def _conditions_first(order: Sequence[int], records: Sequence[Record]) -> list[int]:
    """The order, in which a question with a condition comes directly after the one that it depends on."""
    topics = {question.topic: number for number, record in enumerate(records) for question in build(record).questions}
    depends = {number: topics[topic] for number, record in enumerate(records) for topic in record["shown_if"]}
    placed: list[int] = []

    def place(number: int) -> None:
        placed.append(number)
        for dependent in [other for other in order if depends.get(other) == number]:
            place(dependent)

    for number in order:
        if number not in depends:
            place(number)
    return placed
