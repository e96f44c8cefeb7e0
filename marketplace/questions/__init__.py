"""Question XML: what a HIT or a test asks. ExternalQuestion, HTMLQuestion and QuestionForm."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from marketplace.questions.checks import Answer, Given, Upload, check_answers, given
from marketplace.questions.content import Block
from marketplace.questions.formatted import cleaned
from marketplace.questions.markup import (
    MOST_BYTES,
    NAMESPACES,
    BadXml,
    TooLarge,
    allow_only,
    name_of,
    parse_xml,
    required_text,
    web_address,
    whole_number,
)
from marketplace.questions.question_form import Form, FormQuestion, Option, TextRule, read_form

__all__ = [
    "MOST_BYTES",
    "NAMESPACES",
    "Answer",
    "BadXml",
    "Block",
    "Form",
    "FormQuestion",
    "Given",
    "Option",
    "Question",
    "TextRule",
    "TooLarge",
    "Upload",
    "check_answers",
    "cleaned",
    "external_question",
    "given",
    "html_question",
    "parse_question",
    "parse_xml",
]
HTML_SCHEMA = f"{NAMESPACES}2011-11-11/HTMLQuestion.xsd"
EXTERNAL_SCHEMA = f"{NAMESPACES}2006-07-14/ExternalQuestion.xsd"


@dataclass(frozen=True, slots=True)
class Question:
    """``kind``: ExternalQuestion (``url``), HTMLQuestion (``html``) or QuestionForm (``form``)."""

    kind: str
    url: str = ""
    html: str = ""
    form: Form | None = None
    height: int = 0


def parse_question(text: str) -> Question:
    """The question in this XML. Raises BadXml, or TooLarge if it is over the limit."""
    root = parse_xml(text)
    kind = name_of(root)
    if kind == "ExternalQuestion":
        allow_only(root, "ExternalURL", "FrameHeight")
        return Question(kind, url=web_address(required_text(root, "ExternalURL")), height=_height(root))
    if kind == "HTMLQuestion":
        allow_only(root, "HTMLContent", "FrameHeight")
        return Question(kind, html=required_text(root, "HTMLContent"), height=_height(root))
    if kind == "QuestionForm":
        return Question(kind, form=read_form(root))
    raise BadXml(f"A question is an ExternalQuestion, an HTMLQuestion or a QuestionForm, not <{kind}>.")


def _height(root: ET.Element) -> int:
    return whole_number(root, "FrameHeight") or 0


def html_question(html: str, *, height: int = 0) -> str:
    """An HTMLQuestion with this page, whatever the page contains."""
    held = html.replace("]]>", "]]]]><![CDATA[>")
    return (
        f'<HTMLQuestion xmlns="{HTML_SCHEMA}"><HTMLContent><![CDATA[{held}]]></HTMLContent>'
        f"<FrameHeight>{height}</FrameHeight></HTMLQuestion>"
    )


def external_question(url: str, *, height: int = 0) -> str:
    """An ExternalQuestion that shows the page at this address."""
    return (
        f'<ExternalQuestion xmlns="{EXTERNAL_SCHEMA}"><ExternalURL>{escape(url)}</ExternalURL>'
        f"<FrameHeight>{height}</FrameHeight></ExternalQuestion>"
    )
