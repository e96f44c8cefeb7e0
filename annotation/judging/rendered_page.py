"""A page as a judge reads it: the words that workers see on it, in their order, without its form."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from html.parser import HTMLParser
from typing import Any

from django.template import Context
from django.template.loader import get_template
from django.template.loader_tags import BlockNode
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation.instrument import Instrument
from annotation.languages import speak, stop_speaking
from annotation.task_types.base import Page
from annotation.task_types.for_judges import ForJudge
from annotation.task_types.questions import Grid, Part, Question

#: Elements that end a line.
_BLOCKS = {
    *("p", "div", "section", "h1", "h2", "h3", "h4", "h5", "h6", "li", "ul", "ol"),
    *("tr", "table", "details", "summary", "blockquote", "br", "hr"),
}
_UNREAD = ("script", "style", "template")
_MEDIA = {"img": "an image", "video": "a video", "audio": "a recording", "canvas": "a drawing", "iframe": "a page"}


class CannotJudge(ValueError):
    """The page has something that no judge of texts can take. ``str()`` says what."""


@dataclass(frozen=True, slots=True)
class AskedQuestion:
    """A question of the page, under the neutral name that the prompt has for it: q1, q2, …"""

    name: str
    question: Question
    task: ForJudge


@dataclass(frozen=True, slots=True)
class ReadPage:
    """``words``: what is on the page, with marks where its questions are. ``asked``: the questions in their order."""

    words: str
    asked: Sequence[AskedQuestion]


def read_page(instrument: Instrument, page: Page) -> ReadPage:
    """The page for a judge. Raises `CannotJudge`."""
    asked = asked_on(page)
    names = {question.question.key: question for question in asked}

    def mark(part: Part) -> SafeString:
        """What stands in the place of a question, a grid or a group."""
        marks = []
        for question in part.questions:
            name, task = names[question.key].name, names[question.key].task
            marks.append(format_html("<p>[Question {} is asked here]</p>", name))
            if task.shown:
                marks.append(format_html("<p>{}</p>", task.shown))
        heading = format_html("<p>{}</p>", part.label) if isinstance(part, Grid) else SafeString()
        return SafeString(heading + SafeString("").join(marks))

    speak(instrument.voice)
    try:
        reader = _Words(_rendered(page, mark))
    finally:
        stop_speaking()
    if reader.media or "item_image" in page.context:
        what = reader.media or "an image"
        raise CannotJudge(f"The page shows {what}, and a judge reads words only.")
    return ReadPage(reader.text, asked)


def asked_on(page: Page) -> list[AskedQuestion]:
    """Raises `CannotJudge` if a judge cannot answer a question of the page."""
    if page.asks or page.pulls:
        raise CannotJudge("The page shows live suggestions, which are written for a worker.")
    asked = []
    for number, question in enumerate(page.questions, start=1):
        task = question.for_judge()
        if task is None:
            name = question.kind_name or question.kind
            raise CannotJudge(f"A judge cannot answer “{question.topic}”: its kind is {question.kind} ({name}).")
        asked.append(AskedQuestion(f"q{number}", question, task))
    if not asked:
        raise CannotJudge("The page asks nothing.")
    return asked


def _rendered(page: Page, mark: Callable[[Part], SafeString]) -> str:
    """The page's own block. What surrounds it on a worker's screen is about sending a form."""
    template: Any = get_template(page.template)
    compiled = template.template
    values = {**page.context, "page": page, "values": {}, "errors": {}, "mark": mark}
    context = Context(values, use_l10n=False)
    with context.bind_template(compiled), context.render_context.push_state(compiled):
        for block in compiled.nodelist.get_nodes_by_type(BlockNode):
            if block.name == "task":
                return str(block.nodelist.render(context))
    return "".join(mark(part) for part in page.parts)


class _Words(HTMLParser):
    """The words of a page, a line for each block, and what media it shows."""

    def __init__(self, html: str) -> None:
        super().__init__(convert_charrefs=True)
        self.media = ""
        self._unread = 0
        self._pieces: list[str] = []
        self.feed(html)
        self.close()

    @property
    def text(self) -> str:
        lines = (line.strip() for line in "".join(self._pieces).split("\n"))
        kept: list[str] = []
        for line in lines:
            if line or (kept and kept[-1]):
                kept.append(line)
        return "\n".join(kept).strip()

    def handle_starttag(self, tag: str, attrs: Sequence[tuple[str, str | None]]) -> None:
        self._unread += tag in _UNREAD
        self.media = self.media or _MEDIA.get(tag, "")
        if tag in _BLOCKS:
            self._pieces.append("\n")
        elif tag in ("td", "th"):
            self._pieces.append(" | ")

    def handle_endtag(self, tag: str) -> None:
        self._unread -= tag in _UNREAD and self._unread > 0
        if tag in _BLOCKS:
            self._pieces.append("\n")

    def handle_data(self, data: str) -> None:
        if not self._unread:
            self._pieces.append(data)
