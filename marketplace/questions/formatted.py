"""FormattedContent: the XHTML that requesters can use in their forms, with nothing in it that runs.

The elements and attributes are those of AWS's table of supported XHTML ("Formatted Content: XHTML" in its API
reference), without the attributes that could name, focus or restyle parts of our page, and with a few more elements
that only change how text looks.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from html.entities import name2codepoint
from urllib.parse import urlsplit
from xml.etree import ElementTree as ET
from xml.sax.saxutils import escape, quoteattr

from marketplace.questions.markup import name_of, parse_bytes

_PLAIN = (
    "abbr b big br center cite code dd dfn div dl dt em i kbd li ol p pre s samp small span strong sub sup tt u ul var"
)
_CELL = ("abbr", "align", "bgcolor", "colspan", "height", "nowrap", "rowspan", "scope", "valign", "width")
_COLUMN = ("align", "span", "valign", "width")
_ROWS = ("align", "valign")
_HEADING = ("align",)
#: Elements and the attributes they can have in addition to `EVERYWHERE`.
ELEMENTS: dict[str, tuple[str, ...]] = dict.fromkeys(_PLAIN.split(), ()) | {
    "a": ("href", "hreflang", "type"),
    "area": ("alt", "coords", "href", "nohref", "shape"),
    "blockquote": ("cite",),
    "caption": _HEADING,
    "col": _COLUMN,
    "colgroup": _COLUMN,
    "del": ("cite", "datetime"),
    "font": ("color", "face", "size"),
    **{f"h{level}": _HEADING for level in range(1, 7)},
    "hr": ("align", "noshade", "size", "width"),
    "img": ("align", "alt", "border", "height", "hspace", "src", "usemap", "vspace", "width"),
    "ins": ("cite", "datetime"),
    "li": ("type", "value"),
    "map": ("name",),
    "ol": ("compact", "start", "type"),
    "p": _HEADING,
    "q": ("cite",),
    "table": ("align", "bgcolor", "border", "cellpadding", "cellspacing", "frame", "rules", "summary", "width"),
    "tbody": _ROWS,
    "td": _CELL,
    "tfoot": _ROWS,
    "th": _CELL,
    "thead": _ROWS,
    "tr": ("align", "bgcolor", "valign"),
    "ul": ("compact", "type"),
}
EVERYWHERE = ("dir", "lang", "title")
EMPTY = frozenset(("area", "br", "col", "hr", "img"))
#: The content of these is not text for people.
_DROPPED = frozenset(("script", "style"))
_ADDRESSES = ("cite", "href", "src")
_SCHEMES = ("http", "https", "mailto")
_FRAGMENT = re.compile(r"#[A-Za-z][\w.-]*", re.ASCII)
_ENTITY = re.compile(r"&([A-Za-z][A-Za-z0-9]{1,31});")
_OWN_TO_XML = ("amp", "apos", "gt", "lt", "quot")
_COLOURS = re.compile(r' (?:bgcolor|color)="')


def cleaned(html: str) -> str:
    """Formatted content with only known elements and attributes. Raises BadXml if it is not well-formed."""

    def character(match: re.Match[str]) -> str:
        """The character of an entity that only XHTML names: XML without a document type defines only five of them."""
        name = match[1]
        return match[0] if name in _OWN_TO_XML or name not in name2codepoint else chr(name2codepoint[name])

    wrapped = f"<formatted>{_ENTITY.sub(character, html)}</formatted>".encode("utf-8", "surrogatepass")
    root = parse_bytes(wrapped, "Formatted content must be well-formed XHTML")
    return "".join(_written(root))


def has_colours(clean: str) -> bool:
    """Whether the text sets colours, which were chosen for a white page."""
    return bool(_COLOURS.search(clean))


def _written(element: ET.Element) -> Iterator[str]:
    name = name_of(element)
    tag = name if name in ELEMENTS else ""
    if tag:
        yield f"<{tag}{''.join(_attributes(tag, element))}>"
    if tag not in EMPTY and name.lower() not in _DROPPED:
        yield escape(element.text or "")
        for child in element:
            yield from _written(child)
            yield escape(child.tail or "")
        if tag:
            yield f"</{tag}>"


def _attributes(name: str, element: ET.Element) -> Iterator[str]:
    allowed = ELEMENTS[name]
    for key, value in element.attrib.items():
        if (key in EVERYWHERE or key in allowed) and _harmless(key, value):
            yield f" {key}={quoteattr(value)}"
    if name == "img" and "alt" not in element.attrib:
        yield ' alt=""'
    if name in ("a", "area"):
        yield ' rel="noopener noreferrer" target="_blank"'


def _harmless(key: str, value: str) -> bool:
    if key in _ADDRESSES:
        try:
            return urlsplit(value.strip()).scheme.lower() in _SCHEMES
        except ValueError:
            return False
    return bool(_FRAGMENT.fullmatch(value)) if key == "usemap" else True
