"""Addresses that leave this server: in e-mails, in what an operator hands on, in what a requester's page is told.

One rule for all of them: the address that the server was given (``HITSERVER_BASE_URL``; in production there always is
one), else that of the request, which in development is wherever the server happens to listen.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest


def absolute(path: str, request: HttpRequest | None = None) -> str:
    """``path``, which begins with a slash, as an address that works from elsewhere."""
    return f"{base(request)}{path}"


def base(request: HttpRequest | None = None) -> str:
    """Scheme, host and port, without a slash at the end."""
    if request is None or settings.BASE_URL_IS_SET:
        return str(settings.BASE_URL)
    return request.build_absolute_uri("/").rstrip("/")
