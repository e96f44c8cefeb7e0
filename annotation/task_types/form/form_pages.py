"""The pages about one item of a form: its blocks, its texts in the order shown, and the questions about each part."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from analysis.description import Scale
from annotation.task_types.base import Page, Shown
from annotation.task_types.described_questions import Record, build
from annotation.task_types.form.form_items import given_column, segments_of, table_in, turns_in
from annotation.task_types.form.form_settings import MEDIA
from annotation.task_types.items import Json
from annotation.task_types.kinds.playing import PlayingQuestion
from annotation.task_types.questions import Part, Question, joined_target

TEMPLATE = "form/page.html"
#: The topic of how recordings were played, and what its ratings are: seconds.
PLAYING = "playing"
PLAYED = Scale("seconds played", "interval")


@dataclass(frozen=True, slots=True)
class Block:
    """Something shown above the texts. ``shown_as`` names the template that draws ``content``."""

    heading: str
    shown_as: str
    content: object

    @property
    def playing(self) -> list[Part]:
        """The recording in it, if it has one."""
        return [self.content] if isinstance(self.content, PlayingQuestion) else []


@dataclass(frozen=True, slots=True)
class ShownText:
    """A text with the questions about it. ``visible``: whether the page shows it, because no question does.

    ``media``: the recording (a part of the page) or the image that stands for the text.
    """

    heading: str
    text: str
    questions: Sequence[Part]
    visible: bool = True
    media: Block | None = None


@dataclass(frozen=True, slots=True)
class Segment:
    """A part of a document, or the whole of an item that is no document."""

    heading: str
    blocks: Sequence[Block]
    texts: Sequence[ShownText]
    questions: Sequence[Part]


def question_key(topic: str, target: str) -> str:
    """The form field of the question about a part of the item."""
    return "-".join(filter(None, (topic, target.replace("/", "-"))))


def shown_by_whole(config: Json) -> bool:
    """Whether a question about the whole item shows its texts, so that the page need not."""
    records = config["questions"]
    all_whole = not config["document"] and all(record["of"] == "item" for record in records)
    return all_whole and any(build(record).shows_text for record in records)


class ItemPages:
    """Builds the pages about the item ``index`` of what is shown."""

    def __init__(self, shown: Shown, index: int, records: Sequence[Record], place: int) -> None:
        self.shown, self.index, self.place = shown, index, place
        self.config, self.texts = shown.config, shown.texts
        self.segments = segments_of(shown.items[index].payload)
        self.media: Sequence[Json] = shown.items[index].payload.get("media", ())
        self.is_document = bool(self.config["document"])
        self.names: Sequence[str] = [self.config["texts"][number] for number in shown.order["texts"][index]]
        self.records = records
        self.shown_by_whole = shown_by_whole(shown.config)

    def pages(self) -> list[Page]:
        """All pages about the item. With ``pages: part``, one for each part and then one for the whole item."""
        # All texts by their names in the data, in the order shown.
        rows = [(str(number) if self.is_document else "", cells) for number, cells in enumerate(self.segments, start=1)]
        texts = {
            self._target(number, name) or name: cells.get(name, "") for number, cells in rows for name in self.names
        }
        whole = self._questions("item", "", texts, self.segments[0])
        if self.config["pages"] == "item":
            return [self._page("", self._segments(), whole)]
        parts = self._segments()
        if not self.is_document:  # one part for each text
            parts = [Segment("", part.blocks, [text], ()) for part in parts for text in part.texts]
        pages = [self._page(f"-part-{number}", [part]) for number, part in enumerate(parts, start=1)]
        asked = [page for page in pages if page.questions]
        return [*asked, self._page("-whole", self._segments(ask=False), whole)] if whole or not asked else asked

    def _page(self, ending: str, segments: Sequence[Segment], whole: Sequence[Part] = ()) -> Page:
        context: Json = {
            "place": self.place,
            "places": len(self.shown.items),
            "segments": segments,
            "beside": self.config["layout"] == "beside" and len(self.names) > 1,
            "definition": self.texts.get("definition", ""),
            "whole": whole,
            "whole_heading": self.texts.get("whole.heading", "") if self.is_document else "",
        }
        parts: list[Part] = []
        for segment in segments:
            parts += [part for block in segment.blocks for part in block.playing]
            for text in segment.texts:
                parts += [*(text.media.playing if text.media else ()), *text.questions]
            parts += segment.questions
        title = self.texts["title"]
        return Page(f"item-{self.place}{ending}", title, TEMPLATE, [*parts, *whole], context, self.index)

    def _segments(self, *, ask: bool = True) -> list[Segment]:
        return [self._segment(number, ask=ask) for number in range(len(self.segments))]

    def _segment(self, number: int, *, ask: bool) -> Segment:
        cells, name = self.segments[number], str(number + 1) if self.is_document else ""
        heading = self.texts["segment.heading"].replace("{n}", name) if self.is_document else ""
        shown_texts = {text_name: cells.get(text_name, "") for text_name in self.names}
        questions = self._questions("segment", name, shown_texts, cells) if ask else []
        texts = []
        for position, (text_name, text) in enumerate(shown_texts.items()):
            about = self._target(name, text_name)
            about_text = self._questions("text", about, {text_name: text}, cells) if ask else []
            beside = questions if len(shown_texts) == 1 else ()
            hidden = self.shown_by_whole or any(question.shows_text for question in (*about_text, *beside))
            heading_of_text, media = self._text_heading(position), None
            if (shown_as := self.config.get("texts_as", "text")) in MEDIA:
                media = self._media(text_name, shown_as, heading_of_text, cells, number)
            texts.append(ShownText(heading_of_text, "" if media else text, about_text, not hidden, media))
        return Segment(heading, self._blocks(cells, number), texts, questions)

    def _target(self, segment: str, text_name: str) -> str:
        """The name of a text in the data: that of its column, if there are several, after that of its segment."""
        return joined_target(segment, text_name if len(self.names) > 1 else "")

    def _text_heading(self, position: int) -> str:
        if self.shown_by_whole:
            return ""
        if len(self.names) == 1:
            return "" if self.is_document else self.texts["text.heading"]
        return self.texts[f"text.{position + 1}"]

    def _questions(self, about: str, target: str, texts: dict[str, str], cells: dict[str, str]) -> list[Part]:
        """The questions about one part, in their order for this assignment, with the answers that its row brings."""
        questions = [
            build(record, target=target, key=lambda topic: question_key(topic, target)).of_item(texts)
            for record in self.records
            if record["of"] == about
        ]
        return [
            question.with_given(cells.get(given_column(question, next(iter(texts)), self.config), ""))
            if isinstance(question, Question) and question.given_column
            else question
            for question in questions
        ]

    def _blocks(self, cells: dict[str, str], number: int) -> list[Block]:
        """What is shown above the texts of a segment. What is the same in all segments is above the first one."""
        blocks = []
        for row in self.config["shown"]:
            cell = cells.get(row["field"], "")
            repeated = number > 0 and cell == self.segments[0].get(row["field"], "")
            if not cell.strip() or repeated:
                continue
            shown_as = row["as"] or "text"
            if shown_as in MEDIA:
                blocks.append(self._media(row["field"], shown_as, row["heading"], cells, number))
                continue
            content: object = {"chat": turns_in, "table": table_in}.get(shown_as, str)(cell)
            blocks.append(Block(row["heading"], shown_as, content))
        return blocks

    def _media(self, column: str, shown_as: str, heading: str, cells: dict[str, str], number: int) -> Block:
        """What is in a column with media. A recording is a part of the page, which records how it was played."""
        stored = self.media[number] if number < len(self.media) else {}
        file = stored.get(column, {})
        if shown_as == "image":
            return Block(heading, "image", file)
        captions = stored.get(f"{column}_captions", {})
        transcript = cells.get(f"{column}_transcript", "").strip()
        is_video = shown_as == "video"
        target = joined_target(str(number + 1) if self.is_document else "", column)
        recording = PlayingQuestion(
            question_key(PLAYING, target),
            heading,
            PLAYING,
            PLAYED,
            target=target,
            required=bool(file) and self.config.get("play_to_end", False),
            source=file.get("key", ""),
            is_video=is_video,
            captions=captions.get("key", "") if is_video else "",
            # Browsers show no captions for sound alone.
            transcript=transcript or ("" if is_video else captions.get("words", "")),
            to_the_end=bool(file) and self.config.get("play_to_end", False),
            seconds=file.get("seconds", 0.0),
        )
        return Block(heading, shown_as, recording)
