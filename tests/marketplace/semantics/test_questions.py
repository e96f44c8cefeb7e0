"""Question XML and answers: what is read, what is refused, what is written."""

from __future__ import annotations

import pytest

from marketplace import questions
from marketplace.questions import answer_key, answers_xml
from tests.marketplace.support import factories
from tests.marketplace.support import question_forms as forms
from tests.marketplace.support.factories import SCHEMAS

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


def test_any_page_becomes_an_html_question() -> None:
    page = "<script>if (a[b[0]]>1 && c < 2) {}</script>]]>"
    assert questions.parse_question(questions.html_question(page, height=300)) == questions.Question(
        "HTMLQuestion", html=page, height=300
    )


@pytest.mark.parametrize("text", ["", "  \n", "\u200b" * 200, "\ufeff", "\u00ad\u2060", "\u3164", "\u2800", "\u0301"])
@pytest.mark.parametrize(
    "question",
    [
        forms.free_text(required=True),
        forms.free_text('<Length minLength="3"/>'),
        forms.free_text('<Length minLength="200"/>'),
    ],
    ids=["required", "three characters", "200 characters"],
)
def test_a_text_in_which_nothing_can_be_seen_is_no_answer(text: str, question: str) -> None:
    form = questions.parse_question(forms.form(question)).form
    assert form is not None
    assert set(questions.check_answers(form, {"q": text})) == {"q"}
    assert questions.check_answers(form, {"q": "word " * 50}) == {}


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
    factories.external_question().replace("FrameHeight", "Frameheight"),
    factories.html_question("<p>A</p>").replace("<![CDATA[", "").replace("]]>", ""),
]


@pytest.mark.parametrize("text", REFUSED)
def test_invalid_questions_are_refused(text: str) -> None:
    with pytest.raises(questions.BadXml):
        questions.parse_question(text)


def test_the_limit_counts_bytes() -> None:
    empty = len(factories.html_question(""))
    most = questions.MOST_BYTES - empty
    assert questions.parse_question(factories.html_question("x" * most)).html == "x" * most
    with pytest.raises(questions.TooLarge):
        questions.parse_question(factories.html_question("é" * (most // 2 + 1)))


CLEANED = [
    ('<p onclick="x()" class="y" style="z" id="i">A</p>', "<p>A</p>"),
    (
        '<a href="https://example.org/?a=1&amp;b">A</a>',
        '<a href="https://example.org/?a=1&amp;b" rel="noopener noreferrer" target="_blank">A</a>',
    ),
    ('<a href="javascript:x()" target="_top">A</a>', '<a rel="noopener noreferrer" target="_blank">A</a>'),
    ('<a href="  JAVASCRIPT:x()">A</a>', '<a rel="noopener noreferrer" target="_blank">A</a>'),
    ('<a href="java&#10;script:x()">A</a>', '<a rel="noopener noreferrer" target="_blank">A</a>'),
    ('<a href="https://[bad">A</a>', '<a rel="noopener noreferrer" target="_blank">A</a>'),
    ("A<script>x()</script><style>y</style><SCRIPT>z</SCRIPT>", "A"),
    ('<iframe src="https://example.org">A</iframe><form action="/x"><input name="y"/>B</form>', "AB"),
    ('<svg xmlns="http://www.w3.org/2000/svg" onload="x()"><script>y</script></svg>', ""),
    ("<b>&lt;script&gt;</b>", "<b>&lt;script&gt;</b>"),
    ('<img src="data:image/svg+xml,x" onerror="x()"/>', '<img alt="">'),
    ('<img src="https://example.org/a.png" alt="&quot;&gt;"/>', "<img src=\"https://example.org/a.png\" alt='\"&gt;'>"),
    ('<img name="forms" src="http://example.org/a" alt=""/>', '<img src="http://example.org/a" alt="">'),
    ("<td colspan='2' onmouseover='x()'>A</td>", '<td colspan="2">A</td>'),
    ("<!-- no -->A<br/>", "A<br>"),
    # AWS's own example of formatted content has named characters in its table.
    ('<table border="1"><tr><td align="center">&nbsp;&eacute;&amp;</td></tr></table>',
     '<table border="1"><tr><td align="center">\xa0é&amp;</td></tr></table>'),
    (
        '<map name="m"><area shape="rect" coords="0,0,9,9" href="https://example.org" alt="A"/></map>',
        '<map name="m"><area shape="rect" coords="0,0,9,9" href="https://example.org" alt="A" '
        'rel="noopener noreferrer" target="_blank"></map>',
    ),
    ('<img src="https://e.org/a" alt="" usemap="#m"/>', '<img src="https://e.org/a" alt="" usemap="#m">'),
    ('<img src="https://e.org/a" alt="" usemap="https://e.org"/>', '<img src="https://e.org/a" alt="">'),
]  # fmt: skip


@pytest.mark.parametrize(("html", "expected"), CLEANED)
def test_formatted_content_keeps_nothing_that_runs(html: str, expected: str) -> None:
    assert questions.cleaned(html) == expected


@pytest.mark.parametrize("html", ["<b>A", "<b><i>A</b></i>", "A & B", "<p title=x>A</p>", "&unknown;", ENTITY + "A"])
def test_formatted_content_that_is_not_well_formed_is_refused(html: str) -> None:
    with pytest.raises(questions.BadXml):
        questions.cleaned(html)


NASTY = ["a & b < c", "]]>", "line\r\nnext\ttab", "\x00\x0bgone", "\ud800gone", "日本語 🎉", '"quotes"', ""]


def test_answers_survive_the_xml() -> None:
    given = {f"q{at}": text for at, text in enumerate(NASTY)}
    read = answers_xml.read_answers(answers_xml.answers_xml(given))
    wanted = [text.replace("\x00\x0b", "").replace("\ud800", "") for text in NASTY]
    assert read == {f"q{at}": [text] for at, text in enumerate(wanted)}


def test_answers_to_a_form_are_written_as_the_schema_has_them() -> None:
    """As in the answers that AWS's own Perl and Java kits have in their tests: selections, then the other text; the
    size of a file, then its key."""
    form = questions.parse_question(
        forms.form(
            forms.selections(identifier="q1", other=True),
            forms.file_upload(identifier="q2"),
            forms.free_text(identifier="q3"),
        )
    ).form
    given = {
        "q1": questions.Given(("a", "b"), other="c < d"),
        "q2": questions.Given(upload=questions.Upload("3KEY", 20, "me.txt")),
        "q3": questions.Given(("free",)),
    }
    xml = answers_xml.answers_xml(given, form)
    assert xml.partition('QuestionFormAnswers.xsd">')[2] == (
        "<Answer><QuestionIdentifier>q1</QuestionIdentifier><SelectionIdentifier>a</SelectionIdentifier>"
        "<SelectionIdentifier>b</SelectionIdentifier><OtherSelectionText>c &lt; d</OtherSelectionText></Answer>"
        "<Answer><QuestionIdentifier>q2</QuestionIdentifier><UploadedFileSizeInBytes>20</UploadedFileSizeInBytes>"
        "<UploadedFileKey>3KEY</UploadedFileKey></Answer>"
        "<Answer><QuestionIdentifier>q3</QuestionIdentifier><FreeText>free</FreeText></Answer></QuestionFormAnswers>"
    )
    assert answers_xml.read_answers(xml) == {"q1": ["a", "b", "c < d"], "q2": ["a file of 20 bytes"], "q3": ["free"]}
    assert answers_xml.uploaded_key(xml, "q2") == "3KEY"
    assert (
        answers_xml.uploaded_key(xml, "q1")
        is answers_xml.uploaded_key(xml, "none")
        is answers_xml.uploaded_key("", "q2")
        is None
    )


def test_several_values_of_a_field_are_joined() -> None:
    assert "<FreeText>a|b</FreeText>" in answers_xml.answers_xml({"boxes": ["a", "b"]})


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
    assert answer_key.score(key(mapping), given) == value


@pytest.mark.parametrize(
    "text", [factories.form_question(), key("<QualificationValueMapping/>"), key(mapped("<ScaleMapping/>"))]
)
def test_invalid_answer_keys_are_refused(text: str) -> None:
    with pytest.raises(questions.BadXml):
        answer_key.check_answer_key(text)
