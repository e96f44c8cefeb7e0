"""QuestionForm: the questions that a form asks, read from its XML.

It reads everything in AWS's schemas of 2005-10-01 and 2017-11-06, in any order. It refuses unknown elements by name,
so that a typo does not look like something left out.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from xml.etree import ElementTree as ET

from marketplace.questions.content import Block, read_binary, read_content, read_formatted
from marketplace.questions.markup import (
    BadXml,
    allow_only,
    child_of,
    name_of,
    plain_text,
    required_text,
    text_of,
    whole,
    whole_number,
)

STYLES = ("radiobutton", "checkbox", "list", "dropdown", "combobox", "multichooser")
SEVERAL_STYLES = ("checkbox", "list", "combobox", "multichooser")
MOST_LINES = 40
#: What a FileUploadAnswer can allow, according to AWS's reference.
MOST_FILE_BYTES = 2_000_000_000
TRUE, FALSE = ("true", "1"), ("false", "0", "")


@dataclass(frozen=True, slots=True)
class Pattern:
    """An AnswerFormatRegex: a JavaScript expression, and the message for an answer that does not match it.

    As on MTurk, only the worker's browser checks it: see `sites.work.form_page`.
    """

    regex: str
    flags: str = ""
    error: str = ""


@dataclass(frozen=True, slots=True)
class TextRule:
    """The rules for a typed answer. Limits are inclusive; None means no limit."""

    numeric: bool = False
    least: int | None = None
    most: int | None = None
    shortest: int | None = None
    longest: int | None = None
    patterns: tuple[Pattern, ...] = ()
    default: str = ""
    lines: int = 1


@dataclass(frozen=True, slots=True)
class Option:
    identifier: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """One question. ``kind``: text (typed, by ``rule``), one (of the options), several, file.

    ``least`` and ``most`` are numbers of options, or bytes of a file. With ``other``, a worker can type an answer that
    is not among the options.
    """

    identifier: str
    name: str
    required: bool
    blocks: tuple[Block, ...]
    kind: str
    rule: TextRule = field(default_factory=TextRule)
    options: tuple[Option, ...] = ()
    other: TextRule | None = None
    style: str = ""
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """A QuestionForm: the blocks of its overviews and its questions, in document order."""

    parts: tuple[tuple[Block, ...] | FormQuestion, ...]

    @property
    def questions(self) -> list[FormQuestion]:
        return [part for part in self.parts if isinstance(part, FormQuestion)]

    @property
    def takes_files(self) -> bool:
        return any(question.kind == "file" for question in self.questions)

    @property
    def blocks(self) -> Iterator[Block]:
        """All content, including that of the options."""
        for part in self.parts:
            if isinstance(part, FormQuestion):
                yield from part.blocks
                for option in part.options:
                    yield from option.blocks
            else:
                yield from part


def read_form(root: ET.Element) -> Form:
    """Raises BadXml."""
    allow_only(root, repeated=("Overview", "Question"))
    parts = [read_content(child) if name_of(child) == "Overview" else _question(child) for child in root]
    form = Form(tuple(parts))
    names = [question.identifier for question in form.questions]
    if not names:
        raise BadXml("A QuestionForm needs at least one Question.")
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice is not None:
        raise BadXml(f"Two questions have the QuestionIdentifier {twice}.")
    return form


def _question(element: ET.Element) -> FormQuestion:
    identifier = required_text(element, "QuestionIdentifier")
    try:
        allow_only(element, "QuestionIdentifier", "DisplayName", "IsRequired", "QuestionContent", "AnswerSpecification")
        content = child_of(element, "QuestionContent")
        specification = child_of(element, "AnswerSpecification")
        if content is None or specification is None or len(specification) != 1:
            raise BadXml("it needs a <QuestionContent> and an <AnswerSpecification> with one kind of answer.")
        answer = specification[0]
        read = {"FreeTextAnswer": _free_text, "SelectionAnswer": _selection, "FileUploadAnswer": _file_upload}
        if name_of(answer) not in read:
            raise BadXml(f"there is no answer of the kind <{name_of(answer)}>; there are {', '.join(read)}.")
        required = text_of(element, "IsRequired")
        if required.lower() not in (*TRUE, *FALSE):
            raise BadXml(f"<IsRequired> must be true or false, not “{required[:40]}”.")
        head = {
            "identifier": identifier,
            "name": text_of(element, "DisplayName"),
            "required": required.lower() in TRUE,
            "blocks": read_content(content),
        }
        return read[name_of(answer)](head, answer)
    except BadXml as error:
        raise BadXml(f"Question {identifier}: {error}") from None


# --- Typed answers ------------------------------------------------------------------------------------------


def _free_text(head: dict[str, object], answer: ET.Element) -> FormQuestion:
    rule = _text_rule(answer)
    # On AWS, an answer with a minimum length is required, whatever IsRequired says.
    required = bool(head["required"]) or bool(rule.shortest)
    return FormQuestion(**head | {"required": required}, kind="text", rule=rule)  # type: ignore[arg-type]


def _text_rule(element: ET.Element) -> TextRule:
    """The rule of a FreeTextAnswer or an OtherSelection."""
    allow_only(element, "Constraints", "DefaultText", "NumberOfLinesSuggestion")
    default = child_of(element, "DefaultText")
    constraints = child_of(element, "Constraints")
    limits: dict[str, object] = {}
    if constraints is not None:
        allow_only(constraints, "IsNumeric", "Length", repeated=("AnswerFormatRegex",))
        numeric, length = child_of(constraints, "IsNumeric"), child_of(constraints, "Length")
        limits["numeric"] = numeric is not None
        if numeric is not None:
            limits["least"], limits["most"] = _range(numeric, "minValue", "maxValue")
        if length is not None:
            limits["shortest"], limits["longest"] = _range(length, "minLength", "maxLength", least=0)
        patterns = []
        for format_ in (child for child in constraints if name_of(child) == "AnswerFormatRegex"):
            regex, flags = format_.get("regex"), format_.get("flags", "")
            if regex is None:
                raise BadXml("<AnswerFormatRegex> needs an attribute regex.")
            if flags not in ("", "i"):
                raise BadXml(f"the flags of <AnswerFormatRegex> are “{flags[:20]}”; the only flag is i.")
            patterns.append(Pattern(regex, flags, format_.get("errorText", "")))
        limits["patterns"] = tuple(patterns)
    return TextRule(
        **limits,  # type: ignore[arg-type]
        default="" if default is None else plain_text(default),
        lines=max(1, min(whole_number(element, "NumberOfLinesSuggestion") or 1, MOST_LINES)),
    )


def _range(element: ET.Element, low: str, high: str, least: int | None = None) -> tuple[int | None, int | None]:
    first, last = (whole(element.get(name), f"{name} of <{name_of(element)}>", least=least) for name in (low, high))
    if first is not None and last is not None and first > last:
        raise BadXml(f"{low} of <{name_of(element)}> is above {high}.")
    return first, last


# --- Selections ---------------------------------------------------------------------------------------------


def _selection(head: dict[str, object], answer: ET.Element) -> FormQuestion:
    allow_only(answer, "MinSelectionCount", "MaxSelectionCount", "StyleSuggestion", "Selections")
    style = text_of(answer, "StyleSuggestion").lower()
    if style and style not in STYLES:
        raise BadXml(f"<StyleSuggestion> is one of {', '.join(STYLES)}, not “{style[:40]}”.")
    selections = child_of(answer, "Selections")
    if selections is None:
        raise BadXml("<SelectionAnswer> needs <Selections>.")
    allow_only(selections, "OtherSelection", repeated=("Selection",))
    options = tuple(_option(selection) for selection in selections if name_of(selection) == "Selection")
    if not options:
        raise BadXml("<Selections> needs at least one <Selection>.")
    if len({option.identifier for option in options}) < len(options):
        raise BadXml("two selections have the same SelectionIdentifier.")
    other_selection = child_of(selections, "OtherSelection")
    other = None if other_selection is None else _text_rule(other_selection)
    least = whole_number(answer, "MinSelectionCount")
    most = whole_number(answer, "MaxSelectionCount", least=1)
    if least is not None and most is not None and least > most:
        raise BadXml("<MinSelectionCount> is above <MaxSelectionCount>.")
    if least is not None and least > len(options) + (other is not None):
        raise BadXml(f"<MinSelectionCount> is {least}, and there are {len(options)} selections.")
    several = (most or 1) > 1 or (most is None and (style in SEVERAL_STYLES or (least or 0) > 1))
    return FormQuestion(
        **head,  # type: ignore[arg-type]
        kind="several" if several else "one",
        options=options,
        other=other,
        style=style,
        least=least,
        most=most,
    )


def _option(element: ET.Element) -> Option:
    allow_only(element, "SelectionIdentifier", "Text", "FormattedContent", "Binary")
    shown = [child for child in element if name_of(child) != "SelectionIdentifier"]
    if len(shown) != 1:
        raise BadXml("a <Selection> needs one of <Text>, <FormattedContent>, <Binary>.")
    kind = name_of(shown[0])
    if kind == "Text":
        block = Block("text", plain_text(shown[0]).strip())
    else:
        block = read_binary(shown[0]) if kind == "Binary" else read_formatted(shown[0])
    return Option(required_text(element, "SelectionIdentifier"), (block,))


# --- Files --------------------------------------------------------------------------------------------------


def _file_upload(head: dict[str, object], answer: ET.Element) -> FormQuestion:
    allow_only(answer, "MinFileSizeInBytes", "MaxFileSizeInBytes")
    least = whole_number(answer, "MinFileSizeInBytes")
    most = whole_number(answer, "MaxFileSizeInBytes", least=1)
    if least is None or most is None:
        raise BadXml("<FileUploadAnswer> needs <MinFileSizeInBytes> and <MaxFileSizeInBytes>.")
    if not least <= most <= MOST_FILE_BYTES:
        raise BadXml(f"<MaxFileSizeInBytes> is from <MinFileSizeInBytes> to {MOST_FILE_BYTES}, not {most}.")
    return FormQuestion(**head, kind="file", least=least, most=most)  # type: ignore[arg-type]
