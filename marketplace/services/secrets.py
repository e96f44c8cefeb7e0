"""Secrets: those that have to be read again are sealed with SECRET_KEY, the others are kept as a hash only."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets
import string

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.utils.encoding import force_bytes

_CAPITALS = string.ascii_uppercase + string.digits


def new_id(prefix: str = "3", length: int = 30) -> str:
    """Capital letters and digits, as ids of the API are."""
    return prefix + "".join(secrets.choice(_CAPITALS) for _ in range(length - len(prefix)))


def new_token() -> str:
    return secrets.token_urlsafe(32)


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def seal(secret: str) -> str:
    """Unreadable without SECRET_KEY, so that a copy of the database alone signs nothing."""
    return _box(settings.SECRET_KEY).encrypt(secret.encode()).decode()


def unseal(sealed: str) -> str:
    """Raises ValueError if it was sealed with a key that is not in use any more."""
    for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        try:
            return _box(key).decrypt(sealed.encode()).decode()
        except InvalidToken:
            continue
    raise ValueError("This secret was sealed with another SECRET_KEY; make a new access key.")


def _box(key: str | bytes) -> Fernet:
    derived = hmac.new(force_bytes(key), b"marketplace access keys", hashlib.sha256).digest()
    return Fernet(base64.urlsafe_b64encode(derived))
