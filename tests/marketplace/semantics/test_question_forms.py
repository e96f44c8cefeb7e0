"""QuestionForm: all that AWS's reference describes is read, what it does not know is refused, answers are checked.

Limits and defaults are those of "QuestionForm" in the MTurk API reference (2017-01-17); the order of elements and what
exists at all is that of its schema, 2005-10-01.
"""

from __future__ import annotations

import pytest

from marketplace import questions
from marketplace.questions import Given, Upload
from tests.marketplace.support import question_forms as forms


def read(*parts: str, overview: str = "", version: str = "2017-11-06") -> questions.Form:
    form = questions.parse_question(forms.form(*parts, overview=overview, version=version)).form
    assert form is not None
    return form


def only(part: str) -> questions.FormQuestion:
    (question,) = read(part).questions
    return question


# --- What is read -------------------------------------------------------------------------------------------

BINARY = (
    "<Binary><MimeType><Type>{0}</Type><SubType>x</SubType></MimeType><DataURL>https://m.example/1</DataURL>"
    "<AltText>A board</AltText></Binary>"
)
EMBEDDED = (
    "<EmbeddedBinary><EmbeddedMimeType><Type>{0}</Type><SubType>x</SubType></EmbeddedMimeType>"
    "<DataURL>https://m.example/1</DataURL><AltText>A board</AltText><Width>{1}</Width><Height>300</Height>"
    "<ApplicationParameter><Name>game</Name><Value>1</Value></ApplicationParameter></EmbeddedBinary>"
)
APPLET = (
    "<Application><JavaApplet><AppletPath>http://a.example/</AppletPath><AppletFilename>G.class</AppletFilename>"
    "<Width>400</Width><Height>300</Height></JavaApplet></Application>"
)
Block = questions.Block


@pytest.mark.parametrize("version", ["2005-10-01", "2017-11-06"])
@pytest.mark.parametrize(
    ("xml", "block"),
    [
        ("<Title>The next move</Title>", Block("title", "The next move")),
        ("<Text>\n  1 &lt; 2 &amp; <![CDATA[<b>]]>\n</Text>", Block("text", "1 < 2 & <b>")),
        ("<List><ListItem>a</ListItem><ListItem>b</ListItem></List>", Block("list", items=("a", "b"))),
        ("<FormattedContent><![CDATA[<b>A</b>]]></FormattedContent>", Block("html", "<b>A</b>")),
        (
            '<FormattedContent><![CDATA[<font color="red">A</font>]]></FormattedContent>',
            Block("html", '<font color="red">A</font>', coloured=True),
        ),
        *[
            (BINARY.format(kind), Block(kind, "A board", url="https://m.example/1"))
            for kind in ("image", "audio", "video")
        ],
        (EMBEDDED.format("image", 400), Block("image", "A board", url="https://m.example/1", width=400, height=300)),
        (EMBEDDED.format("video", "50%"), Block("video", "A board", url="https://m.example/1", height=300)),
        (
            EMBEDDED.format("application", 1),
            Block("file", "A board", url="https://m.example/1", width=1, height=300),
        ),
        (APPLET, Block("application", "a Java applet")),
        (APPLET.replace("JavaApplet", "Flash"), Block("application", "a Flash film")),
    ],
)
def test_content(xml: str, block: Block, version: str) -> None:
    form = read(forms.free_text(content=xml), overview=xml, version=version)
    assert form.parts[0] == (block,)
    assert form.questions[0].blocks == (block,)
    assert list(form.blocks) == [block, block]


@pytest.mark.parametrize("regex", ["", "[a-", "(?i)a", "a" * 5000, "((((a{99}){99}){99}){99})"])
def test_every_expression_is_read_as_it_is(regex: str) -> None:
    """MTurk does not look into them, and no server runs them."""
    part = forms.free_text(f"<AnswerFormatRegex regex='{regex}'/>")
    assert [pattern.regex for pattern in only(part).rule.patterns] == [regex]


def test_overviews_and_questions_stay_in_their_order() -> None:
    first, second = forms.free_text(identifier="1"), forms.free_text(identifier="2")
    form = read(first, "<Overview><Title>Between</Title></Overview>", second)
    assert [getattr(part, "identifier", "overview") for part in form.parts] == ["1", "overview", "2"]


def test_a_free_text_with_everything() -> None:
    constraints = (
        '<IsNumeric minValue="-5" maxValue="999"/><Length minLength="2" maxLength="3"/>'
        + forms.pattern("^1", error="Begin with 1")
        + forms.pattern("[a-z]", flags="i")
    )
    question = only(forms.free_text(constraints, default=" 10 ", lines=3, name="Number"))
    rule = question.rule
    assert (question.name, question.kind, rule.numeric, rule.least, rule.most) == ("Number", "text", True, -5, 999)
    assert (rule.shortest, rule.longest, rule.default, rule.lines) == (2, 3, " 10 ", 3)
    assert [(each.regex, each.flags, each.error) for each in rule.patterns] == [
        ("^1", "", "Begin with 1"),
        ("[a-z]", "i", ""),
    ]
    assert question.required  # "If you specify the minLength attribute, it is the same as if IsRequired is true"


@pytest.mark.parametrize(
    ("given", "kind"),
    [
        ({}, "one"),  # MaxSelectionCount is 1 by default
        ({"style": "radiobutton"}, "one"),
        ({"style": "dropdown"}, "one"),
        ({"style": "checkbox", "most": 1}, "one"),
        ({"most": 2}, "several"),
        ({"style": "checkbox"}, "several"),  # "Allows multiple selections, but can be restricted"
        ({"style": "list"}, "several"),
        ({"style": "combobox"}, "several"),
        ({"style": "multichooser"}, "several"),
        ({"least": 2}, "several"),
    ],
)
def test_least_and_most_choices_are_checked(given: dict[str, object], kind: str) -> None:
    question = only(forms.selections(**given))  # type: ignore[arg-type]
    assert (question.kind, question.style) == (kind, given.get("style", ""))
    assert [option.identifier for option in question.options] == ["a", "b", "c"]
    assert question.other is None


def test_options_can_be_texts_pictures_or_formatted_content() -> None:
    picture = BINARY.format("image")
    formatted = "<FormattedContent>&lt;i&gt;A&lt;/i&gt;</FormattedContent>"
    part = forms.selections("a", "b")
    part = part.replace("<Text>Option a</Text>", picture).replace("<Text>Option b</Text>", formatted)
    assert [option.blocks[0].kind for option in only(part).options] == ["image", "html"]


def test_the_other_field_has_its_own_rules() -> None:
    question = only(forms.selections(other='<Constraints><Length maxLength="5"/></Constraints>'))
    assert question.other is not None and question.other.longest == 5


def test_a_file() -> None:
    question = only(forms.file_upload(1000, 3_000_000, required=True))
    assert (question.kind, question.least, question.most, question.required) == ("file", 1000, 3_000_000, True)
    assert read(forms.file_upload(), version="2005-10-01").takes_files
    assert not read(forms.free_text()).takes_files


# --- What is refused ----------------------------------------------------------------------------------------

TEXT = forms.free_text()
CHOICE = forms.selections()
FILE = forms.file_upload(10, 20)
MISTAKES = [
    (TEXT.replace("IsRequired", "Isrequired"), "no element <Isrequired>"),
    (TEXT.replace("<QuestionIdentifier>q</QuestionIdentifier>", ""), "needs a <QuestionIdentifier>"),
    (TEXT.replace("false", "maybe"), "must be true or false, not “maybe”"),
    (TEXT.replace("<IsRequired>", "<IsRequired>true</IsRequired><IsRequired>"), "two elements <IsRequired>"),
    (TEXT.replace("QuestionContent", "Content"), "no element <Content>"),
    (TEXT.replace("FreeTextAnswer", "TextAnswer"), "no answer of the kind <TextAnswer>"),
    (TEXT.replace("</FreeTextAnswer>", "</FreeTextAnswer><FreeTextAnswer/>"), "one kind of answer"),
    (TEXT.replace("What do", "<b>What</b> do"), "<Text> holds text only"),
    (TEXT.replace("<Text>", "<Table>").replace("</Text>", "</Table>"), "<QuestionContent> has no element <Table>"),
    (TEXT + TEXT, "Two questions have the QuestionIdentifier q"),
    (TEXT + "<Note/>", "<QuestionForm> has no element <Note>"),
    ("", "at least one Question"),
    (forms.free_text("<Numeric/>"), "<Constraints> has no element <Numeric>"),
    (forms.free_text('<IsNumeric minValue="low"/>'), "must be a whole number, not “low”"),
    (forms.free_text('<IsNumeric minValue="2" maxValue="1"/>'), "minValue of <IsNumeric> is above maxValue"),
    (forms.free_text('<Length minLength="-1"/>'), "whole number from 0"),
    (forms.free_text("<AnswerFormatRegex/>"), "needs an attribute regex"),
    (forms.free_text(forms.pattern("a", flags="g")), "the only flag is i"),
    (CHOICE.replace("<Text>Option a</Text>", ""), "<Selection> needs one of <Text>"),
    (CHOICE.replace(">b<", ">a<"), "two selections have the same SelectionIdentifier"),
    (forms.selections(style="slider"), "<StyleSuggestion> is one of radiobutton"),
    (forms.selections(least=2, most=1), "<MinSelectionCount> is above <MaxSelectionCount>"),
    (forms.selections(least=4, most=5), "there are 3 selections"),
    (forms.selections(most=0), "whole number from 1"),
    (forms.selections(other="<Text>x</Text>"), "<OtherSelection> has no element <Text>"),
    (FILE.replace("<MinFileSizeInBytes>10</MinFileSizeInBytes>", ""), "needs <MinFileSizeInBytes>"),
    (FILE.replace("10", "30"), "from <MinFileSizeInBytes> to"),
    (FILE.replace("20", "2000000001"), "to 2000000000"),
    (forms.free_text(content=BINARY.format("text")), "image, audio or video, not “text”"),
    (forms.free_text(content=BINARY.format("image").replace("https:", "ftp:")), "is not a web address"),
    (forms.free_text(content=BINARY.format("image").replace("<AltText>A board</AltText>", "")), "needs an <AltText>"),
    (forms.free_text(content="<FormattedContent><b>A</b></FormattedContent>"), "in a CDATA section"),
    (forms.free_text(content="<FormattedContent><![CDATA[<b>A]]></FormattedContent>"), "well-formed XHTML"),
    (forms.free_text(content="<Application/>"), "one <JavaApplet> or <Flash>"),
    (forms.free_text(content="<List><Item>a</Item></List>"), "<List> has no element <Item>"),
]


@pytest.mark.parametrize(("parts", "says"), MISTAKES, ids=[says for _, says in MISTAKES])
def test_mistakes_are_named(parts: str, says: str) -> None:
    with pytest.raises(questions.BadXml) as refused:
        questions.parse_question(forms.form(parts))
    assert says in str(refused.value)


# --- Answers ------------------------------------------------------------------------------------------------

UNANSWERED = "Please answer this question."
NUMBER = forms.free_text('<IsNumeric minValue="100" maxValue="999"/><Length minLength="3" maxLength="3"/>')
DECIMAL = forms.free_text("<IsNumeric/>")
NOT_BLANK = forms.free_text('<Length minLength="2"/>' + forms.pattern(r"\S", error="It cannot be blank."))
FORMAT = forms.free_text(forms.pattern("^a$"))
OTHER = forms.selections(least=1, other='<Constraints><Length maxLength="5"/></Constraints>', required=True)
ANSWERS = [
    (NUMBER, "100", ""),
    (NUMBER, "999", ""),
    (NUMBER, "99", "At least 100."),
    (NUMBER, "1000", "At most 999."),
    (NUMBER, "2.5", "At least 100."),
    (NUMBER, "100.0", "At most 3 characters."),
    (NUMBER, "abc", "Please enter a number."),
    (NUMBER, "", UNANSWERED),
    (DECIMAL, "-0.5", ""),
    (DECIMAL, " 3 ", ""),
    (DECIMAL, "", ""),
    *[(DECIMAL, text, "Please enter a number.") for text in ("nan", "inf", "1_000", "1e5", "٣", "3,5", "0x1f", ".")],
    (FORMAT, "b", ""),  # a format is checked in the browser, as on MTurk
    (NOT_BLANK, "ab", ""),
    (NOT_BLANK, "a", "At least 2 characters."),
    (NOT_BLANK, "  ", UNANSWERED),
    (NUMBER, ("1", "00"), "Please enter a number."),  # two fields of one name, sent past our page: they are joined
    (forms.selections(), (), ""),
    (forms.selections(), ("a",), ""),
    (forms.selections(), ("a", "b"), "Please choose one."),
    (forms.selections(), ("d",), "Please choose from the options shown."),
    (forms.selections(), Given(other="d"), "Please choose from the options shown."),
    (forms.selections(least=2, most=3), ("a",), "Please choose at least 2."),
    (forms.selections(least=2, most=3), ("a", "b"), ""),
    (forms.selections(most=2), ("a", "b", "c"), "Please choose at most 2."),
    (forms.selections(least=0, most=2), (), ""),
    (OTHER, (), UNANSWERED),
    (OTHER, Given(other="mine"), ""),
    (OTHER, Given(("a",), other="mine"), ""),
    (OTHER, Given(other="my own"), "In your own words: At most 5 characters."),
    (FILE, Given(upload=Upload("k", 10)), ""),
    (FILE, Given(upload=Upload("k", 20)), ""),
    (FILE, Given(upload=Upload("k", 9)), "The file has 9 bytes. It must have at least 10."),
    (FILE, Given(upload=Upload("k", 21)), "The file has 21 bytes. It can have at most 20."),
    (FILE, (), ""),
    (FILE, "a text", "Please choose a file."),
    (forms.file_upload(required=True), (), UNANSWERED),
]


@pytest.mark.parametrize(("part", "answer", "problem"), ANSWERS)
def test_answers_are_checked(part: str, answer: questions.Answer, problem: str) -> None:
    assert questions.check_answers(read(part), {"q": answer}).get("q", "") == problem
