"""Reads XML from strangers: no document type (so no custom entities), limited depth and size."""

from __future__ import annotations

from collections.abc import Collection
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET
from xml.parsers import expat

MOST_BYTES = 65_535
NAMESPACES = "http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/"
DEEPEST = 60


class BadXml(ValueError):
    """The text is not the XML that was expected; ``str()`` has the place and the reason."""


class TooLarge(BadXml):
    """More than ``MOST_BYTES``."""


def parse_xml(text: str) -> ET.Element:
    """The root element, which must be in one of MTurk's schemas. Raises BadXml, or TooLarge."""
    data = text.encode("utf-8", "surrogatepass")
    if len(data) > MOST_BYTES:
        raise TooLarge(f"It has {len(data):,} bytes. It can have at most {MOST_BYTES:,}.")
    root = parse_bytes(data, "This is not well-formed XML")
    if not root.tag.startswith("{" + NAMESPACES):
        raise BadXml(f"The element <{name_of(root)}> is not in a namespace that begins with {NAMESPACES}.")
    return root


def parse_bytes(data: bytes, problem: str) -> ET.Element:
    """The root of any XML. ``problem`` begins the message when the XML is broken. Raises BadXml."""
    _refuse_declarations(data, problem)
    try:
        return ET.fromstring(data)  # noqa: S314 - no document type, so no entities
    except (ET.ParseError, ValueError) as error:
        raise BadXml(f"{problem}: {error}.") from None


def _refuse_declarations(data: bytes, problem: str) -> None:
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
        raise BadXml(f"{problem}: {error}.") from None


# --- Elements -----------------------------------------------------------------------------------------------


def name_of(element: ET.Element) -> str:
    return str(element.tag).rpartition("}")[2]


def child_of(element: ET.Element, name: str) -> ET.Element | None:
    return next((child for child in element if name_of(child) == name), None)


def text_of(element: ET.Element, name: str) -> str:
    """The text of a child; empty if there is no such child."""
    child = child_of(element, name)
    return "" if child is None else plain_text(child).strip()


def plain_text(element: ET.Element) -> str:
    """The text of an element that contains nothing else. Raises BadXml."""
    if len(element):
        inside = name_of(element[0])
        raise BadXml(f"<{name_of(element)}> holds text only, and this one has <{inside}> in it.")
    return element.text or ""


def required_text(element: ET.Element, name: str) -> str:
    text = text_of(element, name)
    if not text:
        raise BadXml(f"<{name_of(element)}> needs a <{name}> with a text.")
    return text


def allow_only(element: ET.Element, *names: str, repeated: Collection[str] = ()) -> None:
    """Allow children with these names and no others, each once unless it is in ``repeated``. Raises BadXml."""
    seen = set()
    for child in element:
        name = name_of(child)
        if name not in names and name not in repeated:
            raise BadXml(f"<{name_of(element)}> has no element <{name}>; it has {', '.join([*names, *repeated])}.")
        if name in seen and name not in repeated:
            raise BadXml(f"<{name_of(element)}> has two elements <{name}>.")
        seen.add(name)


def whole_number(element: ET.Element, name: str, *, least: int = 0) -> int | None:
    """The whole number in a child; None if there is no such child. Raises BadXml."""
    return whole(text_of(element, name), f"<{name}>", least=least)


def whole(text: str | None, what: str, *, least: int | None = None) -> int | None:
    """A whole number; None for an empty text. ``what`` is its name in the message. Raises BadXml."""
    if not text or not text.strip():
        return None
    try:
        number = int(text)
    except ValueError:
        raise BadXml(f"{what} must be a whole number, not “{text[:40]}”.") from None
    if (least is not None and number < least) or abs(number) > 2**63:
        raise BadXml(f"{what} must be a whole number{f' from {least}' if least is not None else ''}, not {text[:40]}.")
    return number


def web_address(text: str) -> str:
    """The address, if it is a web address. Raises BadXml."""
    try:
        parts = urlsplit(text)
        good = parts.scheme in ("http", "https") and bool(parts.hostname)
    except ValueError:
        good = False
    if not good:
        raise BadXml(f"“{text[:100]}” is not a web address.")
    return text
