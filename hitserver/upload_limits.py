"""How large a request may be, by its address, and the answer to one that is larger."""

from __future__ import annotations

from django.conf import settings
from django.http import HttpResponse
from django.template.loader import render_to_string

from hitserver.errors import problem

#: Workers' pages accept only text: anybody may have a link, so nobody can send files there.
TEXT_ONLY = ("/w/", "/s/", "/p/")


def most_bytes(path: str) -> int:
    """The largest body that any view at this address reads."""
    if path.startswith(TEXT_ONLY):
        return min(settings.DATA_UPLOAD_MAX_MEMORY_SIZE, settings.MAX_UPLOAD_BYTES)
    return settings.MAX_UPLOAD_BYTES


def too_large(path: str, most: int) -> HttpResponse:
    """The answer to a request with more than ``most`` bytes: a page, or JSON for programs."""
    limit = f"{most / 1024**2:,.4g} MB"
    if path.startswith("/api/"):
        detail = f"At most {limit} can be sent to this server at once. Send less, such as fewer items."
        return problem(413, "too-large", "Too large", detail)
    return HttpResponse(render_to_string("too_large.html", {"most": limit}), status=413)
