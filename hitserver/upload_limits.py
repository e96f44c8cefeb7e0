"""How large a request may be, by its address, and the page about that limit."""

from __future__ import annotations

from django.conf import settings
from django.template.loader import render_to_string

#: Workers' pages accept only text: anybody may have a link, so nobody can send files there.
TEXT_ONLY = ("/w/", "/s/", "/p/")


def most_bytes(path: str) -> int:
    """The largest body that any view at this address reads."""
    if path.startswith(TEXT_ONLY):
        return min(settings.DATA_UPLOAD_MAX_MEMORY_SIZE, settings.MAX_UPLOAD_BYTES)
    return settings.MAX_UPLOAD_BYTES


def too_large_page(most: int) -> str:
    """The page for a request with more than ``most`` bytes."""
    return render_to_string("too_large.html", {"most": f"{most / 1024**2:,.4g} MB"})
