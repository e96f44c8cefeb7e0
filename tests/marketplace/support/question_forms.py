"""QuestionForms for tests, put together from questions that can be changed one by one."""

from __future__ import annotations

from tests.marketplace.support.factories import SCHEMAS


def form(*questions: str, overview: str = "", version: str = "2017-11-06") -> str:
    head = f"<Overview>{overview}</Overview>" if overview else ""
    return f'<QuestionForm xmlns="{SCHEMAS}/{version}/QuestionForm.xsd">{head}{"".join(questions)}</QuestionForm>'


def question(answer: str, *, identifier: str = "q", name: str = "", required: bool = False, content: str = "") -> str:
    display = f"<DisplayName>{name}</DisplayName>" if name else ""
    return (
        f"<Question><QuestionIdentifier>{identifier}</QuestionIdentifier>{display}"
        f"<IsRequired>{str(required).lower()}</IsRequired>"
        f"<QuestionContent>{content or '<Text>What do you think?</Text>'}</QuestionContent>"
        f"<AnswerSpecification>{answer}</AnswerSpecification></Question>"
    )


def free_text(constraints: str = "", *, default: str = "", lines: int = 1, **of_question: object) -> str:
    inside = f"<Constraints>{constraints}</Constraints>" if constraints else ""
    inside += f"<DefaultText>{default}</DefaultText>" if default else ""
    inside += f"<NumberOfLinesSuggestion>{lines}</NumberOfLinesSuggestion>"
    return question(f"<FreeTextAnswer>{inside}</FreeTextAnswer>", **of_question)  # type: ignore[arg-type]


def pattern(regex: str, *, flags: str = "", error: str = "") -> str:
    given = {"regex": regex, "flags": flags, "errorText": error}
    attributes = "".join(f" {name}='{value}'" for name, value in given.items() if value)
    return f"<AnswerFormatRegex{attributes}/>".replace("&", "&amp;")


def selections(
    *options: str,
    least: int | None = None,
    most: int | None = None,
    style: str = "",
    other: bool | str = False,
    **of_question: object,
) -> str:
    """Choices, by default a, b and c; ``other`` is True or what the OtherSelection holds."""
    inside = f"<MinSelectionCount>{least}</MinSelectionCount>" if least is not None else ""
    inside += f"<MaxSelectionCount>{most}</MaxSelectionCount>" if most is not None else ""
    inside += f"<StyleSuggestion>{style}</StyleSuggestion>" if style else ""
    offered = "".join(
        f"<Selection><SelectionIdentifier>{each}</SelectionIdentifier><Text>Option {each}</Text></Selection>"
        for each in options or ("a", "b", "c")
    )
    offered += f"<OtherSelection>{'' if other is True else other}</OtherSelection>" if other else ""
    answer = f"<SelectionAnswer>{inside}<Selections>{offered}</Selections></SelectionAnswer>"
    return question(answer, **of_question)  # type: ignore[arg-type]


def file_upload(least: int = 1, most: int = 1_000_000, **of_question: object) -> str:
    return question(
        f"<FileUploadAnswer><MaxFileSizeInBytes>{most}</MaxFileSizeInBytes>"
        f"<MinFileSizeInBytes>{least}</MinFileSizeInBytes></FileUploadAnswer>",
        **of_question,  # type: ignore[arg-type]
    )


def everything(media: str = "") -> str:
    """A form with every kind of content, question and style; ``media`` is where its pictures and sounds are."""
    picture = (
        "<Binary><MimeType><Type>image</Type><SubType>svg</SubType></MimeType>"
        f"<DataURL>{media}/board.svg</DataURL><AltText>A board with three crosses</AltText></Binary>"
        if media
        else ""
    )
    sound = (
        "<Binary><MimeType><Type>audio</Type><SubType>wav</SubType></MimeType>"
        f"<DataURL>{media}/voice.wav</DataURL><AltText>The recording</AltText></Binary>"
        if media
        else ""
    )
    table = (
        '<FormattedContent><![CDATA[<p>The <b>scores</b> so&nbsp;far:</p><table border="1" cellpadding="4"><tr>'
        '<th scope="col">Player</th><th scope="col">Points</th></tr><tr><td bgcolor="#ffffcc">X</td><td>3</td></tr>'
        '<tr><td>O</td><td><font color="#9f271f">1</font></td></tr></table>]]></FormattedContent>'
    )
    overview = (
        "<Title>About one game</Title><Text>Look at the board, listen to the recording, then answer.</Text>"
        f"<List><ListItem>Crosses begin.</ListItem><ListItem>Nobody resigns.</ListItem></List>{table}{picture}{sound}"
    )
    return form(
        _typed(),
        "<Overview><Title>Choices</Title></Overview>",
        selections("C1", "C2", "A3", identifier="move", name="Best move", required=True, style="radiobutton"),
        selections(
            identifier="mood", style="radiobutton", content="<Text>How does the player feel?</Text>", other=True
        ),
        selections(identifier="tags", name="Tags", style="checkbox", least=1, most=2, other=True),
        selections(identifier="sure", style="dropdown", content="<Text>How sure are you?</Text>"),
        selections(
            *(f"opening{number}" for number in range(1, 16)),
            identifier="opening",
            name="Opening",
            style="multichooser",
            content="<Text>Which openings do you know?</Text>",
        ),
        "<Overview><Title>A recording</Title></Overview>",
        file_upload(10, 3_000_000, identifier="voice", name="Your voice", content="<Text>Read the rules aloud.</Text>"),
        overview=overview,
    )


def _typed() -> str:
    year = pattern(r"^\d{4}$", error="Four digits, please.")
    return (
        free_text(year, identifier="year", name="Year", content="<Text>When was it played?</Text>")
        + free_text(
            '<IsNumeric minValue="0" maxValue="9"/>', identifier="n", content="<Text>How many crosses are there?</Text>"
        )
        + free_text(
            '<Length minLength="5" maxLength="400"/>',
            identifier="why",
            lines=4,
            content="<Text>What happened?</Text><Text>Two sentences are enough.</Text>",
        )
    )
