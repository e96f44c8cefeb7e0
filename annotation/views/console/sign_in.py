"""Signing in, with a brake on guessing: after some wrong passwords in a row an address has to wait."""

from __future__ import annotations

import hashlib
from contextlib import suppress
from typing import Any

from django.conf import settings
from django.contrib.auth.forms import AuthenticationForm
from django.core.cache import cache
from django.core.exceptions import ValidationError
from django.http import HttpRequest

#: How long after the last wrong password they are forgotten.
WINDOW_SECONDS = 15 * 60
#: Wrong passwords from one address: for one user name, and for all.
MOST_FOR_A_NAME, MOST_FOR_AN_ADDRESS = 5, 30


class SignInForm(AuthenticationForm):
    """Django's, which asks nobody for a password while there have been too many wrong ones."""

    def clean(self) -> dict[str, Any]:
        address = address_of(self.request) if self.request else ""
        for_name, for_address = _key(address, str(self.cleaned_data.get("username", "")).casefold()), _key(address)
        if cache.get(for_name, 0) >= MOST_FOR_A_NAME or cache.get(for_address, 0) >= MOST_FOR_AN_ADDRESS:
            raise ValidationError(
                "There were too many wrong passwords. Wait a quarter of an hour, then try again.", code="too_many"
            )
        try:
            cleaned: dict[str, Any] = super().clean()
        except ValidationError:
            _count(for_name)
            _count(for_address)
            raise
        if self.user_cache:
            cache.delete(for_name)
        return cleaned


def address_of(request: HttpRequest) -> str:
    """Where the request comes from; the word of a web server in front of this one is taken for it."""
    direct = str(request.META.get("REMOTE_ADDR", ""))
    forwarded = request.headers.get("X-Forwarded-For", "").rpartition(",")[2].strip()
    return forwarded if forwarded and direct in settings.PROXY_IPS else direct


def _key(*parts: str) -> str:
    return "wrong-passwords-" + hashlib.sha256("\0".join(parts).encode()).hexdigest()


def _count(key: str) -> None:
    """One more. A full disk does not keep anybody out."""
    with suppress(OSError):
        cache.set(key, cache.get(key, 0) + 1, WINDOW_SECONDS)
