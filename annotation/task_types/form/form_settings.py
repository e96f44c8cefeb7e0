"""The settings of a form: what is shown of an item, which texts are judged, and the questions about them."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from typing import Any

from django import forms

from annotation.task_types.described_questions import DescribedQuestionsField, Record, build
from annotation.task_types.items import Json
from annotation.task_types.settings import Cell, ConfigForm, ListField, TableField, record_edits_field

#: Columns that the type itself reads.
ID = "sample_id"
_COLUMN = re.compile(r"[A-Za-z][A-Za-z0-9_]{0,39}")
MOST_TEXTS = 10
MOST_SHOWN = 10
#: What a column can hold besides text: media, which an items file names.
MEDIA = ("audio", "video", "image")
#: What a question can be about, with how it reads.
ABOUT = {"item": "the whole item", "text": "each text", "segment": "each segment of a document"}
FIRST_QUESTION = {
    "kind": "scale",
    "topic": "quality",
    "question": "How good is the text?",
    "low_label": "Very bad",
    "high_label": "Very good",
}


class FormSettings(ConfigForm):
    """An instrument of one's own. Initially one text and one question about it."""

    texts = ListField(
        label="Columns with the texts to judge",
        required=False,
        most=MOST_TEXTS,
        max_length=40,
        initial=["text"],
        help_text="One column for each text that workers see together, such as text_a and text_b for two systems. "
        "Several texts are in random order, without the names of their columns.",
    )
    texts_as = forms.ChoiceField(
        label="These columns hold",
        required=False,
        choices=[
            ("text", "Texts"),
            ("audio", "Names of audio files"),
            ("video", "Names of video files"),
            ("image", "Names of images"),
        ],
        initial="text",
        help_text="Workers then hear, watch or see what the columns name. Captions are in columns such as "
        "text_a_captions, what is said in text_a_transcript, and what an image shows in text_a_alt.",
    )
    play_to_end = forms.BooleanField(
        label="Audio and video must be played to the end",
        required=False,
        initial=False,
        help_text="A page cannot be sent before. What somebody skips does not count. Needs JavaScript.",
    )
    layout = forms.ChoiceField(
        label="Several texts",
        choices=[("beside", "Side by side on wide screens"), ("below", "One below the other")],
        initial="beside",
    )
    shown = TableField(
        label="What else is shown, above the texts",
        required=False,
        most=MOST_SHOWN,
        cells=[
            Cell("field", "Column", max_length=40),
            Cell("heading", "Heading", required=False, max_length=100),
            Cell(
                "as",
                "Shown as",
                required=False,
                choices=[(name, name) for name in ("text", "chat", "table", *MEDIA)],
            ),
        ],
        help_text="Columns with a context, a source, a reference and so on.",
    )
    document = forms.CharField(
        label="Column that puts rows together as a document",
        required=False,
        initial="",
        max_length=40,
        help_text="Rows with the same value are the segments of one document, in the order of the file. Empty: every "
        "row is an item.",
    )
    pages = forms.ChoiceField(
        label="Pages",
        choices=[
            ("item", "One page for everything about an item"),
            ("part", "One page for each text or segment, then one for the whole item"),
        ],
        initial="item",
    )
    questions = DescribedQuestionsField(
        about=ABOUT,
        least=1,
        label="Questions",
        initial=DescribedQuestionsField(about=ABOUT).clean([FIRST_QUESTION]),
        help_text="Each has a kind, a topic (its name in the data) and a question (what people read).",
    )
    question_order = forms.ChoiceField(
        label="Order of the questions about the same thing",
        choices=[("fixed", "As listed"), ("shuffled", "Random, one order per worker and task")],
        initial="fixed",
    )
    record_edits = record_edits_field()

    def clean(self) -> dict[str, Any]:
        config: dict[str, Any] = super().clean() or self.cleaned_data
        for name in ("texts", "shown"):
            for problem in _column_problems(config, name):
                self.add_error(name, problem)
        document = config.get("document", "")
        if document and not _COLUMN.fullmatch(document):
            self.add_error("document", _bad_name(document))
        config["texts_as"] = config.get("texts_as") or "text"
        if config.get("play_to_end") and not {"audio", "video"} & {
            config["texts_as"],
            *(row["as"] for row in config.get("shown") or ()),
        }:
            what = "Nothing in this study is played: no column is shown as audio or video."
            self.add_error("play_to_end", f"{what} Turn this off, or show a column as audio or video.")
        if "questions" in config and "texts" in config:
            for problem in _question_problems(config):
                self.add_error("questions", problem)
        return config


def _bad_name(name: str) -> str:
    return f"“{name[:40]}” is no name for a column here: begin with a letter and use only letters, digits and _."


def _column_problems(config: Json, setting: str) -> Iterator[str]:
    rows = config.get(setting) or []
    names = [row["field"] for row in rows] if setting == "shown" else rows
    for number, name in enumerate(names, start=1):
        if not _COLUMN.fullmatch(name):
            yield f"Entry {number}: {_bad_name(name)}"
        elif setting == "shown" and name in names[: number - 1]:
            yield f"Entry {number}: “{name}” is in the list twice."
        elif setting == "shown" and name in (config.get("texts") or ()):
            yield f"Entry {number}: “{name}” is one of the texts to judge. Remove it here."


def _no_single_text(config: Json, of: str) -> str:
    """What to do if a question about this part of the item is not about one text. Empty if it is."""
    if not config["texts"]:
        return "Name a column in texts."
    if of != "text" and len(config["texts"]) > 1:
        return "The study shows several: ask about each text with “of: text”."
    if of == "item" and config.get("document"):
        return "A document has several: ask about each segment with “of: segment”."
    return ""


#: What is in a column of texts.
NOUNS = {"text": "texts", "audio": "recordings", "video": "videos", "image": "images"}


def _question_problems(config: Json) -> Iterator[str]:
    """Questions about what the study does not show, and conditions on answers about something else."""
    records: Sequence[Record] = config["questions"]
    about = {question.topic: record["of"] for record in records for question in build(record).questions}
    for number, record in enumerate(records, start=1):
        start, built = f"Question {number} ({record['topic']})", build(record)
        if record["of"] == "text" and not config["texts"]:
            yield f"{start} is about each text, but the study names no column with texts."
        elif record["of"] == "segment" and not config.get("document"):
            yield f"{start} is about each segment, but the study names no column in document."
        elif built.of_one_text and (what := _no_single_text(config, record["of"])):
            yield f"{start} needs a single text. {what}"
        if record["topic"] == "playing" and {config["texts_as"], *(row["as"] for row in config.get("shown") or ())} & {
            "audio",
            "video",
        }:
            yield f"{start}: the page records under “playing” what people played. Choose another topic."
        needs_words = built.shows_text or built.of_one_text
        if config["texts_as"] != "text" and record["of"] != "segment" and needs_words:
            what = f"needs texts, but the columns in texts hold {NOUNS[config['texts_as']]}"
            yield f"{start}: the kind {record['kind']} {what}. Ask about each with a scale, and “of: text”."
        taken = {ID, *config["texts"], *(row["field"] for row in config.get("shown") or ()), config.get("document")}
        for question in built.questions:
            if (column := question.given_column) and column in taken:
                yield f"{start}: the column “{column}” is used for something else. Choose another."
        for asked in record["shown_if"]:
            if about[asked] != record["of"]:
                what = f"about {ABOUT[about[asked]]}, and this one about {ABOUT[record['of']]}"
                yield f"{start}, shown_if: “{asked}” is {what}. A condition needs an answer about the same thing."
    if not config["texts"] and not config.get("shown"):
        yield "Nothing is shown to ask about: name a column in texts or in shown."
