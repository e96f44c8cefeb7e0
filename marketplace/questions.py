"""Question XML: what a HIT or a test asks. ExternalQuestion, HTMLQuestion and QuestionForm.

The XML comes from strangers: a document type declaration, and with it every entity, is refused, and formatted content
keeps a short list of elements and attributes.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET
from xml.parsers import expat
from xml.sax.saxutils import escape, quoteattr

MOST_BYTES = 65_535
NAMESPACES = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/"
DEEPEST = 60

_TEXT = ("a", "abbr", "b", "big", "br", "cite", "code", "del", "dfn", "em", "font", "i", "img", "ins", "kbd", "q", "s")
_MORE_TEXT = ("samp", "small", "span", "strong", "sub", "sup", "tt", "u", "var")
_PARTS = ("blockquote", "dd", "div", "dl", "dt", "h1", "h2", "h3", "h4", "h5", "h6", "hr", "li", "ol", "p", "pre", "ul")
_TABLES = ("caption", "col", "colgroup", "table", "tbody", "td", "tfoot", "th", "thead", "tr")
ELEMENTS = frozenset((*_TEXT, *_MORE_TEXT, *_PARTS, *_TABLES))
ATTRIBUTES = frozenset(
    ("href", "src", "alt", "title", "colspan", "rowspan", "width", "height", "align", "valign", "lang", "dir", "abbr")
)
EMPTY = frozenset(("br", "hr", "img", "col"))


class BadXml(ValueError):
    """The text is not what was asked for; ``str()`` says where and why."""


class TooLarge(BadXml):
    """More than ``MOST_BYTES``."""


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of content. ``kind``: title, text, list, html (clean, ready to be shown), image, audio, video, file."""

    kind: str
    text: str = ""
    items: tuple[str, ...] = ()
    url: str = ""


@dataclass(frozen=True, slots=True)
class Option:
    identifier: str
    blocks: tuple[Block, ...]


@dataclass(frozen=True, slots=True)
class FormQuestion:
    """One question. ``kind``: text, number, one (of the options), several, file."""

    identifier: str
    name: str
    required: bool
    blocks: tuple[Block, ...]
    kind: str
    options: tuple[Option, ...] = ()
    style: str = ""
    default: str = ""
    lines: int = 1
    least: int | None = None
    most: int | None = None


@dataclass(frozen=True, slots=True)
class Form:
    """A QuestionForm: its overviews' blocks and questions in the order of the document."""

    parts: tuple[tuple[Block, ...] | FormQuestion, ...]

    @property
    def questions(self) -> list[FormQuestion]:
        return [part for part in self.parts if isinstance(part, FormQuestion)]


@dataclass(frozen=True, slots=True)
class Question:
    """``kind``: ExternalQuestion (``url``), HTMLQuestion (``html``) or QuestionForm (``form``)."""

    kind: str
    url: str = ""
    html: str = ""
    form: Form | None = None
    height: int = 0


def parse_question(text: str) -> Question:
    """What this XML asks. Raises BadXml, and TooLarge over the limit."""
    root = parse_xml(text)
    kind = _name(root)
    if kind == "ExternalQuestion":
        return Question(kind, url=_url(_required(root, "ExternalURL")), height=_integer(root, "FrameHeight") or 0)
    if kind == "HTMLQuestion":
        return Question(kind, html=_required(root, "HTMLContent"), height=_integer(root, "FrameHeight") or 0)
    if kind == "QuestionForm":
        return Question(kind, form=_form(root))
    raise BadXml(f"A question is an ExternalQuestion, an HTMLQuestion or a QuestionForm, not <{kind}>.")


def parse_xml(text: str) -> ET.Element:
    """The root element, of one of MTurk's schemas. Raises BadXml."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MOST_BYTES:
        raise TooLarge(f"It has {len(data)} bytes; at most {MOST_BYTES} are allowed.")
    _refuse_declarations(data)
    try:
        root = ET.fromstring(data)  # noqa: S314 - no document type, so no entities
    except (ET.ParseError, ValueError) as error:
        raise BadXml(f"This is not well-formed XML: {error}.") from None
    if not root.tag.startswith("{" + NAMESPACES):
        raise BadXml(f"The element <{_name(root)}> is not in a namespace that begins with {NAMESPACES}.")
    return root


def _refuse_declarations(data: bytes) -> None:
    depth = 0

    def refuse(*_: object) -> None:
        raise BadXml("A document type declaration is not allowed.")

    def start(*_: object) -> None:
        nonlocal depth
        depth += 1
        if depth > DEEPEST:
            raise BadXml("The elements are nested too deeply.")

    def end(*_: object) -> None:
        nonlocal depth
        depth -= 1

    parser = expat.ParserCreate()
    parser.StartDoctypeDeclHandler = refuse
    parser.StartElementHandler = start
    parser.EndElementHandler = end
    try:
        parser.Parse(data, True)
    except (expat.ExpatError, ValueError) as error:
        if isinstance(error, BadXml):
            raise
        raise BadXml(f"This is not well-formed XML: {error}.") from None


# --- Forms --------------------------------------------------------------------------------------------------


def _form(root: ET.Element) -> Form:
    parts: list[tuple[Block, ...] | FormQuestion] = []
    for child in root:
        if _name(child) == "Overview":
            parts.append(tuple(_blocks(child)))
        elif _name(child) == "Question":
            parts.append(_question(child))
        else:
            raise BadXml(f"A QuestionForm has no element <{_name(child)}>.")
    form = Form(tuple(parts))
    names = [question.identifier for question in form.questions]
    if not names:
        raise BadXml("A QuestionForm needs at least one Question.")
    if len(set(names)) < len(names):
        raise BadXml("Two questions have the same QuestionIdentifier.")
    return form


def _question(element: ET.Element) -> FormQuestion:
    identifier = _required(element, "QuestionIdentifier")
    content = _child(element, "QuestionContent")
    specification = _child(element, "AnswerSpecification")
    if content is None or specification is None or len(specification) != 1:
        raise BadXml(f"Question {identifier} needs a QuestionContent and an AnswerSpecification with one answer.")
    answer = specification[0]
    head = {
        "identifier": identifier,
        "name": _text(element, "DisplayName"),
        "required": _text(element, "IsRequired").lower() in ("true", "1"),
        "blocks": tuple(_blocks(content)),
    }
    if _name(answer) == "FreeTextAnswer":
        return _free_text(head, answer)
    if _name(answer) == "SelectionAnswer":
        return _selection(head, answer)
    if _name(answer) == "FileUploadAnswer":
        raise BadXml(f"Question {identifier}: FileUploadAnswer is not supported any more; use an ExternalQuestion.")
    raise BadXml(f"Question {identifier} has no answer of the kind <{_name(answer)}>.")


def _free_text(head: dict[str, object], answer: ET.Element) -> FormQuestion:
    constraints = _child(answer, "Constraints")
    numeric = _child(constraints, "IsNumeric") if constraints is not None else None
    length = _child(constraints, "Length") if constraints is not None else None
    least = numeric.get("minValue") if numeric is not None else length.get("minLength") if length is not None else None
    most = numeric.get("maxValue") if numeric is not None else length.get("maxLength") if length is not None else None
    return FormQuestion(
        **head,  # type: ignore[arg-type]
        kind="text" if numeric is None else "number",
        default=_text(answer, "DefaultText"),
        lines=max(1, min(_integer(answer, "NumberOfLinesSuggestion") or 1, 40)),
        least=_whole(least),
        most=_whole(most),
    )


def _selection(head: dict[str, object], answer: ET.Element) -> FormQuestion:
    selections = _child(answer, "Selections")
    options = [
        Option(_required(each, "SelectionIdentifier"), tuple(_blocks(each)))
        for each in (selections if selections is not None else ())
        if _name(each) == "Selection"
    ]
    if not options:
        raise BadXml(f"Question {head['identifier']} offers no selections.")
    least, most = _integer(answer, "MinSelectionCount"), _integer(answer, "MaxSelectionCount")
    style = _text(answer, "StyleSuggestion").lower()
    several = (most or 1) > 1 or (most is None and style in ("checkbox", "list", "combobox", "multichooser"))
    return FormQuestion(
        **head,  # type: ignore[arg-type]
        kind="several" if several else "one",
        options=tuple(options),
        style=style,
        least=least,
        most=most,
    )


def _blocks(parent: ET.Element) -> Iterator[Block]:
    for child in parent:
        kind, text = _name(child), (child.text or "").strip()
        if kind in ("Title", "Text"):
            yield Block(kind.lower(), text)
        elif kind == "List":
            yield Block("list", items=tuple((item.text or "").strip() for item in child))
        elif kind == "FormattedContent":
            yield Block("html", cleaned(child.text or ""))
        elif kind in ("Binary", "EmbeddedBinary"):
            yield _binary(child)


def _binary(element: ET.Element) -> Block:
    mime = _child(element, "MimeType")
    if mime is None:
        mime = _child(element, "EmbeddedMimeType")
    names = "" if mime is None else _text(mime, "Type") or (mime.text or "").strip()
    kind = names.partition("/")[0].lower()
    url = _url(_required(element, "DataURL"))
    return Block(kind if kind in ("image", "audio", "video") else "file", _text(element, "AltText"), url=url)


def cleaned(html: str) -> str:
    """Formatted content with nothing in it that runs: only known elements and attributes, links to the web."""
    wrapped = f"<div>{html}</div>".encode()
    _refuse_declarations(wrapped)
    try:
        root = ET.fromstring(wrapped)  # noqa: S314 - no document type, so no entities
    except ET.ParseError as error:
        raise BadXml(f"Formatted content must be well-formed: {error}.") from None
    return "".join(_written(root))


def _written(element: ET.Element) -> Iterator[str]:
    known = _name(element) if _name(element) in ELEMENTS else ""
    if known:
        yield f"<{known}{''.join(_attributes(element))}>"
    if known not in EMPTY and _name(element) not in ("script", "style"):
        yield escape(element.text or "")
        for child in element:
            yield from _written(child)
            yield escape(child.tail or "")
        if known:
            yield f"</{known}>"


def _attributes(element: ET.Element) -> Iterator[str]:
    for name, value in element.attrib.items():
        web = urlsplit(value.strip()).scheme.lower() in ("http", "https", "mailto")
        if name in ATTRIBUTES and (name not in ("href", "src") or web):
            yield f" {name}={quoteattr(value)}"
    if _name(element) == "a":
        yield ' rel="noopener noreferrer" target="_blank"'


# --- Answers to forms ---------------------------------------------------------------------------------------


def check_answers(form: Form, answers: Mapping[str, Sequence[str]]) -> dict[str, str]:
    """What is wrong with the answers to a form, by question; empty if nothing is."""
    found = (
        (question.identifier, _wrong(question, answers.get(question.identifier, ()))) for question in form.questions
    )
    return {identifier: problem for identifier, problem in found if problem}


def _wrong(question: FormQuestion, values: Sequence[str]) -> str:
    given = [value for value in values if value.strip()]
    if not given:
        return "Please answer this question." if question.required else ""
    if question.kind in ("one", "several"):
        return _wrong_selection(question, given)
    value = given[0]
    if question.kind == "number":
        try:
            size = float(value)
        except ValueError:
            return "Please enter a number."
        shown = "a number"
    else:
        size, shown = float(len(value)), "characters"
    if question.least is not None and size < question.least:
        return f"At least {question.least} {'' if shown == 'a number' else shown}".strip() + "."
    if question.most is not None and size > question.most:
        return f"At most {question.most} {'' if shown == 'a number' else shown}".strip() + "."
    return ""


def _wrong_selection(question: FormQuestion, given: Sequence[str]) -> str:
    if not set(given) <= {option.identifier for option in question.options}:
        return "Please choose from what is offered."
    if question.kind == "one" and len(given) > 1:
        return "Please choose one."
    if question.least is not None and len(given) < question.least:
        return f"Please choose at least {question.least}."
    if question.most is not None and len(given) > question.most:
        return f"Please choose at most {question.most}."
    return ""


# --- Elements -----------------------------------------------------------------------------------------------


def _name(element: ET.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def _child(element: ET.Element, name: str) -> ET.Element | None:
    return next((child for child in element if _name(child) == name), None)


def _text(element: ET.Element, name: str) -> str:
    child = _child(element, name)
    return (child.text or "").strip() if child is not None else ""


def _required(element: ET.Element, name: str) -> str:
    text = _text(element, name)
    if not text:
        raise BadXml(f"<{_name(element)}> needs a <{name}> with a text.")
    return text


def _integer(element: ET.Element, name: str) -> int | None:
    text = _text(element, name)
    if text and _whole(text) is None:
        raise BadXml(f"<{name}> takes a whole number, not “{text[:40]}”.")
    return _whole(text)


def _whole(text: str | None) -> int | None:
    try:
        return int(text or "")
    except ValueError:
        return None


def _url(text: str) -> str:
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        good = False
    if not good:
        raise BadXml(f"“{text[:100]}” is not a web address.")
    return text
