"""Addresses used outside this server: in e-mails, in links that operators send, in the addresses of requesters' pages.

One rule for all of them: the address in the settings (``HITSERVER_BASE_URL``, which production always has). Without
one, the address of the request, which in development is wherever the server listens.
"""

from __future__ import annotations

from django.conf import settings
from django.http import HttpRequest


def absolute(path: str, request: HttpRequest | None = None) -> str:
    """``path``, which begins with a slash, as a full address that works anywhere."""
    return f"{base(request)}{path}"


def base(request: HttpRequest | None = None) -> str:
    """Scheme, host and port, without a trailing slash."""
    if request is None or settings.BASE_URL_IS_SET:
        return str(settings.BASE_URL)
    return request.build_absolute_uri("/").rstrip("/")
