"""Relaxes the server's policy on frames for two responses: the preview, and the page inside its frame."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import ParamSpec

from django.http import HttpResponseBase

P = ParamSpec("P")
View = Callable[P, HttpResponseBase]

_BASE = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
    "connect-src 'self'; form-action 'self'; base-uri 'none'"
)


def embeds_own_pages(view: View[P]) -> View[P]:
    """Lets the page contain frames with pages of this server."""

    @wraps(view)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        response = view(*args, **kwargs)
        response.headers["Content-Security-Policy"] = f"{_BASE}; frame-src 'self'; frame-ancestors 'none'"
        return response

    return wrapped


def framed_by_own_pages(view: View[P]) -> View[P]:
    """Lets the page appear in a frame on a page of this server."""

    @wraps(view)
    def wrapped(*args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        response = view(*args, **kwargs)
        response.headers["Content-Security-Policy"] = f"{_BASE}; frame-ancestors 'self'"
        response.headers["X-Frame-Options"] = "SAMEORIGIN"
        return response

    return wrapped
