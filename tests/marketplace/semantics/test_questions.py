"""Question XML and answers: what is read, what is refused, what is written."""

from __future__ import annotations

import pytest

from marketplace import answers, questions
from tests.marketplace import factories
from tests.marketplace.factories import SCHEMAS

ENTITY = '<!DOCTYPE x [<!ENTITY e SYSTEM "file:///etc/passwd">]>'


def test_external_question() -> None:
    question = questions.parse_question(factories.external_question("https://example.org/a?b=1&c=2", 700))
    assert (question.kind, question.url, question.height) == (
        "ExternalQuestion",
        "https://example.org/a?b=1&c=2",
        700,
    )


def test_html_question_keeps_its_page_as_it_is() -> None:
    page = "<!DOCTYPE html><html><body><script>let a = 1 < 2 && 3;</script></body></html>"
    assert questions.parse_question(factories.html_question(page)).html == page


def test_question_form() -> None:
    form = questions.parse_question(factories.form_question()).form
    assert form is not None
    capital, why = form.questions
    assert (capital.kind, capital.required, [option.identifier for option in capital.options]) == (
        "one",
        True,
        ["paris", "rome"],
    )
    assert (why.kind, why.required) == ("text", False)
    assert questions.check_answers(form, {"capital": ["paris"]}) == {}
    assert set(questions.check_answers(form, {})) == {"capital"}
    assert set(questions.check_answers(form, {"capital": ["oslo"]})) == {"capital"}
    assert set(questions.check_answers(form, {"capital": ["paris", "rome"]})) == {"capital"}


REFUSED = [
    "",
    "not xml",
    "<ExternalQuestion><ExternalURL>https://example.org</ExternalURL></ExternalQuestion>",  # no namespace
    ENTITY + factories.external_question(),
    ENTITY + factories.external_question().replace("https://example.org", "&e;"),
    factories.external_question("javascript:alert(1)"),
    factories.external_question("https://"),
    factories.external_question("ftp://example.org"),
    factories.external_question().replace("600", "tall"),
    factories.html_question(""),
    f'<QuestionForm xmlns="{SCHEMAS}/2017-11-06/QuestionForm.xsd"/>',
    factories.form_question().replace(">why<", ">capital<"),
    factories.form_question().replace("FreeTextAnswer", "FileUploadAnswer"),
    f'<x xmlns="{SCHEMAS}/a.xsd">' * 100 + "</x>" * 100,
    factories.external_question() + "\x00",
    "\ud800",
]


@pytest.mark.parametrize("text", REFUSED)
def test_what_is_no_question(text: str) -> None:
    with pytest.raises(questions.BadXml):
        questions.parse_question(text)


def test_the_limit_counts_bytes() -> None:
    empty = len(factories.html_question(""))
    most = questions.MOST_BYTES - empty
    assert questions.parse_question(factories.html_question("x" * most)).html == "x" * most
    with pytest.raises(questions.TooLarge):
        questions.parse_question(factories.html_question("é" * (most // 2 + 1)))


def test_formatted_content_keeps_nothing_that_runs() -> None:
    cleaned = questions.cleaned(
        '<p onclick="x()" class="y">Read <a href="javascript:x()">this</a> <a href="https://example.org/?a=1&amp;b">that'
        '</a><script>x()</script><iframe src="https://example.org"/><b>&lt;bold&gt;</b><img src="data:x" alt="A"/></p>'
    )
    assert cleaned == (
        '<p>Read <a rel="noopener noreferrer" target="_blank">this</a> '
        '<a href="https://example.org/?a=1&amp;b" rel="noopener noreferrer" target="_blank">that</a>'
        '<b>&lt;bold&gt;</b><img alt="A"></p>'
    ).replace("<p>", "<div><p>").replace("</p>", "</p></div>")


NASTY = ["a & b < c", "]]>", "line\r\nnext\ttab", "\x00\x0bgone", "\ud800gone", "日本語 🎉", '"quotes"', ""]


def test_answers_survive_the_xml() -> None:
    given = {f"q{at}": text for at, text in enumerate(NASTY)}
    read = answers.read_answers(answers.answers_xml(given))
    wanted = [text.replace("\x00\x0b", "").replace("\ud800", "") for text in NASTY]
    assert read == {f"q{at}": [text] for at, text in enumerate(wanted)}


def test_several_values_of_a_field_are_joined() -> None:
    assert "<FreeText>a|b</FreeText>" in answers.answers_xml({"boxes": ["a", "b"]})


def key(mapping: str) -> str:
    questions_ = "".join(
        f"<Question><QuestionIdentifier>q{number}</QuestionIdentifier><AnswerOption>"
        "<SelectionIdentifier>a</SelectionIdentifier><SelectionIdentifier>b</SelectionIdentifier>"
        "<AnswerScore>3</AnswerScore></AnswerOption><AnswerOption><SelectionIdentifier>a</SelectionIdentifier>"
        "<AnswerScore>1</AnswerScore></AnswerOption><DefaultScore>-1</DefaultScore></Question>"
        for number in (1, 2)
    )
    return f'<AnswerKey xmlns="{SCHEMAS}/2005-10-01/AnswerKey.xsd">{questions_}{mapping}</AnswerKey>'


def mapped(inside: str) -> str:
    return f"<QualificationValueMapping>{inside}</QualificationValueMapping>"


RANGES = (
    "<RangeMapping><SummedScoreRange><InclusiveLowerBound>4</InclusiveLowerBound><InclusiveUpperBound>6"
    "</InclusiveUpperBound><QualificationValue>9</QualificationValue></SummedScoreRange>"
    "<OutOfRangeQualificationValue>2</OutOfRangeQualificationValue></RangeMapping>"
)
PERCENT = "<PercentageMapping><MaximumSummedScore>6</MaximumSummedScore></PercentageMapping>"
SCALE = "<ScaleMapping><SummedScoreMultiplier>2.5</SummedScoreMultiplier></ScaleMapping>"
SCORED = [
    # both options of the first question (3), one of the second (1): the sum is 4
    ("", {"q1": ["b", "a"], "q2": ["a"]}, 4),
    ("", {"q1": ["b"], "q2": ["a"]}, 0),
    ("", {}, -2),
    (
        mapped("<PercentageMapping><MaximumSummedScore>6</MaximumSummedScore></PercentageMapping>"),
        {"q1": ["a", "b"], "q2": ["a"]},
        67,
    ),
    (
        mapped("<ScaleMapping><SummedScoreMultiplier>2.5</SummedScoreMultiplier></ScaleMapping>"),
        {"q1": ["a"], "q2": ["a"]},
        5,
    ),
    (mapped(RANGES), {"q1": ["a", "b"], "q2": ["a"]}, 9),
    (mapped(RANGES), {"q1": ["a"], "q2": ["a"]}, 2),
]


@pytest.mark.parametrize(("mapping", "given", "value"), SCORED)
def test_scores(mapping: str, given: dict[str, list[str]], value: int) -> None:
    assert answers.score(key(mapping), given) == value


@pytest.mark.parametrize(
    "text", [factories.form_question(), key("<QualificationValueMapping/>"), key(mapped("<ScaleMapping/>"))]
)
def test_what_is_no_answer_key(text: str) -> None:
    with pytest.raises(questions.BadXml):
        answers.check_answer_key(text)
