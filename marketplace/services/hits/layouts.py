"""HIT layouts: a requester creates one, and each HIT fills in its values."""

from __future__ import annotations

import re
from collections.abc import Mapping
from datetime import datetime

from marketplace import clock
from marketplace.ids import new_id
from marketplace.models import HITLayout, Requester
from marketplace.questions import MOST_BYTES, BadXml, html_question, parse_question
from marketplace.services.refusals import InvalidParameter, NotFound

NAME_LENGTH = 200
TALLEST = 20_000
_PLACEHOLDER = re.compile(r"\$\{([A-Za-z0-9_]+)\}")


def create_layout(
    *, requester: Requester, name: str, html: str, frame_height: int = 0, now: datetime | None = None
) -> HITLayout:
    """Create a page to make HITs from. Raises InvalidParameter, where ``parameter`` is name, html or frame_height."""
    name = name.strip()
    if not 1 <= len(name) <= NAME_LENGTH or not name.isprintable():
        raise InvalidParameter("name", f"It must have from 1 to {NAME_LENGTH} characters, without line breaks.")
    if not 0 <= frame_height <= TALLEST:
        raise InvalidParameter("frame_height", f"It must be a whole number from 0 to {TALLEST:,}.")
    html = html.replace("\r\n", "\n")
    try:
        parse_question(html_question(html, height=frame_height))
    except BadXml as error:
        raise InvalidParameter("html", f"This page cannot be a HIT. {error}") from None
    return HITLayout.objects.create(
        layout_id=new_id(),
        requester=requester,
        name=name,
        html=html,
        frame_height=frame_height,
        created_at=now or clock.now(),
    )


def placeholders(html: str) -> list[str]:
    """The names between ${ and }, each once, in page order."""
    return list(dict.fromkeys(_PLACEHOLDER.findall(html)))


def find_layout(*, requester: Requester, layout_id: str) -> HITLayout:
    """The requester's layout with this ID. Raises NotFound, also for somebody else's layout."""
    layout = HITLayout.objects.filter(requester=requester, layout_id=layout_id).first()
    if layout is None:
        raise NotFound("HITLayout", layout_id)
    return layout


def filled(layout: HITLayout, values: Mapping[str, str]) -> str:
    """The question of a HIT: an HTMLQuestion with these values in place of the placeholders. Raises InvalidParameter.

    Values are inserted unchanged, as on MTurk, so the client must escape text for HTML. A placeholder inside a value is
    not replaced.
    """
    names = placeholders(layout.html)
    missing = [name for name in names if name not in values]
    if missing:
        raise InvalidParameter(
            "HITLayoutParameters",
            "You have not provided all required HITLayout parameters. Missing parameter names: "
            f"{', '.join(missing)[:500]}",
            code="MissingParameter",
        )
    unknown = [name for name in values if name not in names]
    if unknown:
        raise InvalidParameter(
            "HITLayoutParameters",
            f"Layout {layout.layout_id} has no parameters called {', '.join(unknown)[:500]}. "
            f"Its parameters are: {', '.join(names)[:500] or 'none'}.",
        )
    length = len(layout.html) + sum(len(values[name]) for name in _PLACEHOLDER.findall(layout.html))
    if length > 2 * MOST_BYTES:  # stop early: a value in very many places makes a very large page
        raise InvalidParameter(
            "HITLayoutParameters", f"At most {MOST_BYTES:,} bytes are allowed.", code="ParameterTooLong"
        )
    page = _PLACEHOLDER.sub(lambda match: values[match[1]], layout.html)
    return html_question(page, height=layout.frame_height)
