"""Answers: QuestionFormAnswers XML, and the score of a test by its AnswerKey."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape

from marketplace.questions import NAMESPACES, Answer, BadXml, Form, Given, given, parse_xml

_SCHEMA = f"{NAMESPACES}2005-10-01/QuestionFormAnswers.xsd"
_HEAD = f'<?xml version="1.0" encoding="UTF-8"?><QuestionFormAnswers xmlns="{_SCHEMA}">'
_NOT_XML = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ud800-\udfff\ufffe\uffff]")

Answers = Mapping[str, Answer]


def values_of(answers: Answers) -> dict[str, list[str]]:
    """What was typed or chosen, as lists of texts: the answers that an answer key may know."""
    return {name: list(given(answer).values) for name, answer in answers.items()}


def answers_xml(answers: Answers, form: Form | None = None) -> str:
    """The answers as the requester gets them. Several values of one field are joined by "|", as MTurk does;
    a form's selections are named one by one.
    """
    kinds = {question.identifier: question.kind for question in form.questions} if form else {}
    parts = [_answer(name, given(answer), kinds.get(name, "text")) for name, answer in answers.items()]
    return f"{_HEAD}{''.join(parts)}</QuestionFormAnswers>"


def _answer(name: str, answer: Given, kind: str) -> str:
    if answer.upload is not None:
        parts = [("UploadedFileSizeInBytes", str(answer.upload.size)), ("UploadedFileKey", answer.upload.key)]
    elif kind in ("one", "several"):
        parts = [("SelectionIdentifier", value) for value in answer.values]
        parts += [("OtherSelectionText", answer.other)] if answer.other else []
    else:
        parts = [("FreeText", "|".join(answer.values))]
    written = "".join(f"<{element}>{_clean(text)}</{element}>" for element, text in parts)
    return f"<Answer><QuestionIdentifier>{_clean(name)}</QuestionIdentifier>{written}</Answer>"


def _clean(text: str) -> str:
    """Escaped, without the characters that no XML may hold. Line ends survive parsing as they were sent."""
    return escape(_NOT_XML.sub("", text), {"\r": "&#13;"})


def read_answers(xml: str) -> dict[str, list[str]]:
    """The answers by question, each as texts for people: the reverse of `answers_xml`. A file is told by its size."""
    root = ET.fromstring(xml.encode())  # noqa: S314 - we wrote it
    return {_text_as_it_is(answer, "QuestionIdentifier"): list(_texts(answer)) for answer in root}


def _texts(answer: ET.Element) -> Iterable[str]:
    for child in answer:
        if _name(child) == "UploadedFileSizeInBytes":
            yield f"a file of {child.text} bytes"
        elif _name(child) not in ("QuestionIdentifier", "UploadedFileKey"):
            yield child.text or ""


def given_values(xml: str) -> dict[str, list[str]]:
    """What was typed or chosen, by question, without files: what review policies compare."""
    root = ET.fromstring(xml.encode()) if xml else ()  # noqa: S314 - we wrote it
    wanted = ("FreeText", "SelectionIdentifier", "OtherSelectionText")
    return {
        _text_as_it_is(answer, "QuestionIdentifier"): [child.text or "" for child in answer if _name(child) in wanted]
        for answer in root
    }


def uploaded_key(xml: str, question: str) -> str | None:
    """The key of the file that answers this question; none if no file does."""
    for answer in ET.fromstring(xml.encode()) if xml else ():  # noqa: S314 - we wrote it
        if _text_as_it_is(answer, "QuestionIdentifier") == question:
            return next((child.text for child in _named(answer, "UploadedFileKey")), None)
    return None


def _text_as_it_is(element: ET.Element, name: str) -> str:
    return next((child.text or "" for child in _named(element, name)), "")


# --- Scoring ------------------------------------------------------------------------------------------------


def check_answer_key(text: str) -> None:
    """Raises BadXml if this is no AnswerKey that a test could be scored by."""
    score(text, {})


def score(answer_key: str, answers: Mapping[str, Sequence[str]]) -> int:
    """The value of the qualification that these answers earn."""
    root = parse_xml(answer_key)
    if _name(root) != "AnswerKey":
        raise BadXml(f"An answer key is an <AnswerKey>, not <{_name(root)}>.")
    questions = [child for child in root if _name(child) == "Question"]
    if not questions:
        raise BadXml("An AnswerKey needs at least one Question.")
    total = sum(_points(question, answers) for question in questions)
    mapping = next((child for child in root if _name(child) == "QualificationValueMapping"), None)
    return total if mapping is None else _mapped(total, mapping)


def _points(question: ET.Element, answers: Mapping[str, Sequence[str]]) -> int:
    identifier = _text(question, "QuestionIdentifier")
    if not identifier:
        raise BadXml("Every Question of an AnswerKey needs a QuestionIdentifier.")
    given = set(answers.get(identifier, ()))
    earned: int | None = None
    for option in (child for child in question if _name(child) == "AnswerOption"):
        wanted = {child.text or "" for child in option if _name(child) == "SelectionIdentifier"}
        points = _integer(option, "AnswerScore")
        if wanted == given and given and earned is None:
            earned = points
    if earned is not None:
        return earned
    return _integer(question, "DefaultScore", default=0)


def _mapped(total: int, mapping: ET.Element) -> int:
    kind = next(iter(mapping), None)
    if kind is not None and _name(kind) == "PercentageMapping":
        most = _integer(kind, "MaximumSummedScore")
        if most <= 0:
            raise BadXml("MaximumSummedScore takes a whole number above 0.")
        return _rounded(Decimal(100 * total) / most)
    if kind is not None and _name(kind) == "ScaleMapping":
        try:
            return _rounded(total * Decimal(_text(kind, "SummedScoreMultiplier")))
        except InvalidOperation:
            raise BadXml("SummedScoreMultiplier takes a number.") from None
    if kind is not None and _name(kind) == "RangeMapping":
        return _in_range(total, kind)
    raise BadXml("A QualificationValueMapping holds a PercentageMapping, a ScaleMapping or a RangeMapping.")


def _in_range(total: int, mapping: ET.Element) -> int:
    ranges = [child for child in mapping if _name(child) == "SummedScoreRange"]
    bounds = [
        tuple(_integer(each, name) for name in ("InclusiveLowerBound", "InclusiveUpperBound", "QualificationValue"))
        for each in ranges
    ]
    outside = _integer(mapping, "OutOfRangeQualificationValue")
    return next((value for low, high, value in bounds if low <= total <= high), outside)


def _rounded(value: Decimal) -> int:
    return int(value.quantize(Decimal(1), rounding=ROUND_HALF_UP))


def _name(element: ET.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _text(element: ET.Element, name: str) -> str:
    return next(((child.text or "").strip() for child in _named(element, name)), "")


def _named(element: ET.Element, name: str) -> Iterable[ET.Element]:
    return (child for child in element if _name(child) == name)


def _integer(element: ET.Element, name: str, *, default: int | None = None) -> int:
    text = _text(element, name)
    if not text and default is not None:
        return default
    try:
        return int(text)
    except ValueError:
        raise BadXml(f"<{_name(element)}> needs a <{name}> that is a whole number.") from None
