"""How many requests a program may send per minute, and the headers that tell it how many are left.

Requests are counted per user, and per address for those who show no valid token, in the cache that all processes
share. A window begins with its first request.
"""

from __future__ import annotations

import hashlib
import math
import time
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from django.conf import settings
from django.core.cache import cache
from rest_framework.exceptions import AuthenticationFailed, Throttled
from rest_framework.request import Request
from rest_framework.views import APIView

from common.brake import address_of

WINDOW_SECONDS = 60


@dataclass(frozen=True, slots=True)
class Rate:
    """How many requests a window allows, how many are left, and the seconds until it ends."""

    limit: int
    left: int
    seconds: int

    @property
    def exceeded(self) -> bool:
        return self.left < 0

    def headers(self) -> dict[str, str]:
        """As in the IETF's draft of RateLimit header fields, version 03, which clients understand."""
        return {
            "RateLimit-Limit": str(self.limit),
            "RateLimit-Remaining": str(max(0, self.left)),
            "RateLimit-Reset": str(self.seconds),
        }


def count_request(request: Request) -> Rate | None:
    """Count one request of the signed-in user. None without a limit."""
    limit = settings.API_REQUESTS_PER_MINUTE
    return _count(f"api-user-{request.user.pk}", limit) if limit else None


def count_visitor(request: Request) -> Rate | None:
    """Count one request that came without a valid token. None without a limit."""
    limit = settings.API_VISITORS_PER_MINUTE
    address = hashlib.sha256(address_of(request._request).encode()).hexdigest()
    return _count(f"api-address-{address}", limit) if limit else None


def _count(name: str, limit: int) -> Rate:
    """If the cache cannot store the count, as on a full disk, the request counts as the first."""
    now = time.time()
    ends_at, counted = now + WINDOW_SECONDS, 1
    with suppress(OSError):
        cache.add(f"{name}-until", ends_at, WINDOW_SECONDS)
        ends_at = float(cache.get(f"{name}-until", ends_at))
        count_key = f"{name}-{int(ends_at)}"
        cache.add(count_key, 0, 2 * WINDOW_SECONDS)
        with suppress(ValueError):  # it expired a moment ago
            counted = cache.incr(count_key)
    return Rate(limit, limit - counted, max(1, math.ceil(ends_at - now)))


class Limited(APIView):
    """Counts each request, and refuses those above the limit."""

    rate: Rate | None = None

    def perform_authentication(self, request: Request) -> None:
        try:
            super().perform_authentication(request)
        except AuthenticationFailed:
            self._count(count_visitor(request))
            raise
        self._count(count_request(request) if request.user.is_authenticated else count_visitor(request))

    def _count(self, rate: Rate | None) -> None:
        self.rate = rate
        if rate is not None and rate.exceeded:
            raise Throttled(wait=rate.seconds)

    def finalize_response(self, request: Request, response: Any, *args: Any, **kwargs: Any) -> Any:
        answer = super().finalize_response(request, response, *args, **kwargs)
        if self.rate is not None:
            for name, value in self.rate.headers().items():
                answer[name] = value
        return answer
