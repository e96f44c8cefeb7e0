"""AnswerKey: how a test is scored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from decimal import ROUND_HALF_UP, Decimal, InvalidOperation
from xml.etree import ElementTree as ET

from marketplace.questions.markup import BadXml, name_of, parse_xml


def check_answer_key(text: str) -> None:
    """Raises BadXml if this is not an AnswerKey that can score a test."""
    score(text, {})


def score(answer_key: str, answers: Mapping[str, Sequence[str]]) -> int:
    """The value of the qualification that these answers earn."""
    root = parse_xml(answer_key)
    if name_of(root) != "AnswerKey":
        raise BadXml(f"An answer key is an <AnswerKey>, not <{name_of(root)}>.")
    questions = [child for child in root if name_of(child) == "Question"]
    if not questions:
        raise BadXml("An AnswerKey needs at least one Question.")
    total = sum(_points(question, answers) for question in questions)
    mapping = next((child for child in root if name_of(child) == "QualificationValueMapping"), None)
    if mapping is None:
        return total
    kind = next(iter(mapping), None)
    if kind is not None and name_of(kind) == "PercentageMapping":
        most = _integer(kind, "MaximumSummedScore")
        if most <= 0:
            raise BadXml("MaximumSummedScore must be a whole number above 0.")
        return _rounded(Decimal(100 * total) / most)
    if kind is not None and name_of(kind) == "ScaleMapping":
        try:
            return _rounded(total * Decimal(_text(kind, "SummedScoreMultiplier")))
        except InvalidOperation:
            raise BadXml("SummedScoreMultiplier must be a number.") from None
    if kind is not None and name_of(kind) == "RangeMapping":
        ranges = [child for child in kind if name_of(child) == "SummedScoreRange"]
        names = ("InclusiveLowerBound", "InclusiveUpperBound", "QualificationValue")
        bounds = [tuple(_integer(score_range, name) for name in names) for score_range in ranges]
        outside = _integer(kind, "OutOfRangeQualificationValue")
        return next((value for low, high, value in bounds if low <= total <= high), outside)
    raise BadXml("A QualificationValueMapping holds a PercentageMapping, a ScaleMapping or a RangeMapping.")


def _points(question: ET.Element, answers: Mapping[str, Sequence[str]]) -> int:
    identifier = _text(question, "QuestionIdentifier")
    if not identifier:
        raise BadXml("Every Question of an AnswerKey needs a QuestionIdentifier.")
    chosen = set(answers.get(identifier, ()))
    earned: int | None = None
    for option in (child for child in question if name_of(child) == "AnswerOption"):
        right_choice = {child.text or "" for child in option if name_of(child) == "SelectionIdentifier"}
        points = _integer(option, "AnswerScore")
        if right_choice == chosen and chosen and earned is None:
            earned = points
    if earned is not None:
        return earned
    return _integer(question, "DefaultScore", default=0)


def _rounded(value: Decimal) -> int:
    return int(value.quantize(Decimal(1), rounding=ROUND_HALF_UP))


def _text(element: ET.Element, name: str) -> str:
    return next(((child.text or "").strip() for child in element if name_of(child) == name), "")


def _integer(element: ET.Element, name: str, *, default: int | None = None) -> int:
    text = _text(element, name)
    if not text and default is not None:
        return default
    try:
        return int(text)
    except ValueError:
        raise BadXml(f"<{name_of(element)}> needs a <{name}> that is a whole number.") from None
