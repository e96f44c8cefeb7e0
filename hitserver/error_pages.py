"""What pages about errors leave out: they are for developers, and still must not show anybody's keys."""

from __future__ import annotations

from django.http import HttpRequest
from django.views.debug import SafeExceptionReporterFilter


class AlwaysDiscreet(SafeExceptionReporterFilter):
    """Hides what views and functions mark as sensitive. Django does that only where HITSERVER_DEBUG is off."""

    def is_active(self, request: HttpRequest | None) -> bool:
        return True
