"""QuestionFormAnswers: how the answers to a question or a test are stored and sent to requesters."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from marketplace.questions.checks import Answer, given
from marketplace.questions.markup import NAMESPACES, name_of
from marketplace.questions.question_form import Form

_SCHEMA = f"{NAMESPACES}2005-10-01/QuestionFormAnswers.xsd"
_HEAD = f'<?xml version="1.0" encoding="UTF-8"?><QuestionFormAnswers xmlns="{_SCHEMA}">'
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Answers = Mapping[str, Answer]


def values_of(answers: Answers) -> dict[str, list[str]]:
    """What was typed or chosen, as lists of texts: the answers that an answer key can score."""
    return {name: list(given(answer).values) for name, answer in answers.items()}


def answers_xml(answers: Answers, form: Form | None = None) -> str:
    """The answers in the form that requesters get. Several values of one field are joined with "|", as on MTurk;
    a form's selections are listed one by one.
    """
    kinds = {question.identifier: question.kind for question in form.questions} if form else {}
    elements = []
    for name, raw_answer in answers.items():
        answer, kind = given(raw_answer), kinds.get(name, "text")
        if answer.upload is not None:
            parts = [("UploadedFileSizeInBytes", str(answer.upload.size)), ("UploadedFileKey", answer.upload.key)]
        elif kind in ("one", "several"):
            parts = [("SelectionIdentifier", value) for value in answer.values]
            parts += [("OtherSelectionText", answer.other)] if answer.other else []
        else:
            parts = [("FreeText", "|".join(answer.values))]
        written = "".join(f"<{element}>{_clean(text)}</{element}>" for element, text in parts)
        elements.append(f"<Answer><QuestionIdentifier>{_clean(name)}</QuestionIdentifier>{written}</Answer>")
    return f"{_HEAD}{''.join(elements)}</QuestionFormAnswers>"


def _clean(text: str) -> str:
    """The text, escaped and without characters that XML forbids. Line ends survive parsing unchanged."""
    return escape(_NOT_XML.sub("", text), {"\r": "&#13;"})


def read_answers(xml: str) -> dict[str, list[str]]:
    """The answers by question, each as texts for people: the reverse of `answers_xml`. A file is shown as its size."""
    root = ET.fromstring(xml.encode())  # noqa: S314 - we wrote it
    return {
        _text_as_it_is(answer, "QuestionIdentifier"): [
            f"a file of {child.text} bytes" if name_of(child) == "UploadedFileSizeInBytes" else child.text or ""
            for child in answer
            if name_of(child) not in ("QuestionIdentifier", "UploadedFileKey")
        ]
        for answer in root
    }


def given_values(xml: str) -> dict[str, list[str]]:
    """What was typed or chosen, by question, without files. Review policies compare these values."""
    root = ET.fromstring(xml.encode()) if xml else ()  # noqa: S314 - we wrote it
    value_elements = ("FreeText", "SelectionIdentifier", "OtherSelectionText")
    return {
        _text_as_it_is(answer, "QuestionIdentifier"): [
            child.text or "" for child in answer if name_of(child) in value_elements
        ]
        for answer in root
    }


def uploaded_key(xml: str, question: str) -> str | None:
    """The key of the file that answers this question; None if no file does."""
    for answer in ET.fromstring(xml.encode()) if xml else ():  # noqa: S314 - we wrote it
        if _text_as_it_is(answer, "QuestionIdentifier") == question:
            return next((child.text for child in _named(answer, "UploadedFileKey")), None)
    return None


def _text_as_it_is(element: ET.Element, name: str) -> str:
    return next((child.text or "" for child in _named(element, name)), "")


def _named(element: ET.Element, name: str) -> Iterable[ET.Element]:
    return (child for child in element if name_of(child) == name)
