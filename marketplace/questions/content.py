"""A form's content apart from its questions: titles, texts, lists, pictures, sounds, videos, formatted content."""

from __future__ import annotations

from dataclasses import dataclass
from xml.etree import ElementTree as ET

from common.numbers import whole_number
from marketplace.questions.formatted import cleaned, has_colours
from marketplace.questions.markup import (
    BadXml,
    allow_only,
    child_of,
    name_of,
    plain_text,
    required_text,
    text_of,
    web_address,
)

MEDIA = ("image", "audio", "video")
LARGEST = 4000


@dataclass(frozen=True, slots=True)
class Block:
    """A piece of content.

    ``kind``: title, text, list (``items``), html (``text`` is clean and ready to show), image, audio, video, file
    (something else at ``url``), application (a program that browsers no longer run). ``text`` replaces a picture,
    sound or film that cannot be shown. ``coloured``: formatted content that sets colours, chosen for a white page.
    """

    kind: str
    text: str = ""
    items: tuple[str, ...] = ()
    url: str = ""
    width: int | None = None
    height: int | None = None
    coloured: bool = False


def read_content(parent: ET.Element) -> tuple[Block, ...]:
    """The content of an Overview or a QuestionContent. Raises BadXml."""
    blocks = []
    for child in parent:
        kind = name_of(child)
        if kind in ("Title", "Text"):
            blocks.append(Block(kind.lower(), plain_text(child).strip()))
        elif kind == "List":
            allow_only(child, repeated=("ListItem",))
            blocks.append(Block("list", items=tuple(plain_text(item).strip() for item in child)))
        elif kind == "FormattedContent":
            blocks.append(read_formatted(child))
        elif kind == "Binary":
            blocks.append(read_binary(child))
        elif kind == "EmbeddedBinary":
            # Like a Binary, but with a size and of any type. Anything but a picture, sound or film becomes a link.
            names = ("EmbeddedMimeType", "DataURL", "AltText", "Width", "Height")
            allow_only(child, *names, repeated=("ApplicationParameter",))
            media = _type(child, "EmbeddedMimeType")
            blocks.append(
                Block(
                    media if media in MEDIA else "file",
                    _alternative(child),
                    url=web_address(required_text(child, "DataURL")),
                    width=_pixels(text_of(child, "Width")),
                    height=_pixels(text_of(child, "Height")),
                )
            )
        elif kind == "Application":
            inside = [name_of(part) for part in child]
            if inside not in (["JavaApplet"], ["Flash"]):
                raise BadXml("An <Application> holds one <JavaApplet> or <Flash>.")
            blocks.append(Block("application", "a Java applet" if inside == ["JavaApplet"] else "a Flash film"))
        else:
            raise BadXml(f"<{name_of(parent)}> has no element <{kind}>.")
    return tuple(blocks)


def read_formatted(element: ET.Element) -> Block:
    if len(element):
        raise BadXml("<FormattedContent> needs its XHTML as text, in a CDATA section.")
    clean = cleaned(element.text or "")
    return Block("html", clean, coloured=has_colours(clean))


def read_binary(element: ET.Element) -> Block:
    """A picture, a sound or a film."""
    allow_only(element, "MimeType", "DataURL", "AltText")
    kind = _type(element, "MimeType")
    if kind not in MEDIA:
        raise BadXml(f"The Type of a <Binary> is image, audio or video, not “{kind[:40]}”.")
    return Block(kind, _alternative(element), url=web_address(required_text(element, "DataURL")))


def _type(element: ET.Element, name: str) -> str:
    mime = child_of(element, name)
    if mime is None:
        raise BadXml(f"<{name_of(element)}> needs a <{name}>.")
    allow_only(mime, "Type", "SubType")
    return required_text(mime, "Type").lower()


def _alternative(element: ET.Element) -> str:
    if child_of(element, "AltText") is None:
        raise BadXml(f"<{name_of(element)}> needs an <AltText> for those who cannot see or hear it.")
    return text_of(element, "AltText")


def _pixels(text: str) -> int | None:
    """A size in pixels that our page can use; None for percentages and the like, which the page decides."""
    return min(whole_number(text, least=1, most=10**9) or 0, LARGEST) or None
