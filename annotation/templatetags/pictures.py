"""The addresses of an item's image and of its smaller copies, for the browser to choose from."""

from __future__ import annotations

from collections.abc import Sequence

from django import template
from django.urls import reverse
from django.utils.html import format_html
from django.utils.safestring import SafeString

from annotation.studies.image_files import widths_below

register = template.Library()
#: The width of the column with an image in CSS pixels: ``--page`` in hitserver.css. On narrower screens, the margins.
COLUMN, MARGINS = 736, "2rem"
#: What browsers load that choose nothing: old ones, on old phones.
WITHOUT_CHOICE = 960


@register.simple_tag
def picture_source(key: str, size: Sequence[int] | None) -> SafeString:
    """The attributes of an ``img``: ``src``; with a ``size`` (width and height in pixels) also these, and the choice.

    ``sizes`` says how wide the image is shown: never wider than it is.
    """
    source = reverse("media_file", args=[key])
    if not size:
        return format_html('src="{}"', source)
    width, height = size
    measures = format_html('width="{}" height="{}"', width, height)
    copies = {smaller: reverse("media_copy", args=[key, smaller]) for smaller in widths_below(width)}
    if not copies:
        return format_html('src="{}" {}', source, measures)
    shown = min(width, COLUMN)
    return format_html(
        'src="{}" srcset="{}" sizes="(max-width: {}px) calc(100vw - {}), {}px" {}',
        copies.get(WITHOUT_CHOICE, source),
        ", ".join(f"{address} {wide}w" for wide, address in [*copies.items(), (width, source)]),
        shown,
        MARGINS,
        shown,
        measures,
    )
