"""Secrets: those that must be readable later are sealed with SECRET_KEY; of the others, only a hash is stored."""

from __future__ import annotations

import base64
import hashlib
import hmac
import secrets

from cryptography.fernet import Fernet, InvalidToken
from django.conf import settings
from django.utils.encoding import force_bytes

KEYS = "marketplace access keys"


def new_token() -> str:
    return secrets.token_urlsafe(32)


def hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def seal(secret: str, *, purpose: str = KEYS) -> str:
    """Unreadable without SECRET_KEY, so a copy of the database alone is useless. `unseal` needs the same purpose."""
    return _box(settings.SECRET_KEY, purpose).encrypt(secret.encode()).decode()


def unseal(sealed: str, *, purpose: str = KEYS) -> str:
    """Raises ValueError if it was changed, or sealed for another purpose or with a key that is no longer in use."""
    for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        try:
            return _box(key, purpose).decrypt(sealed.encode()).decode()
        except InvalidToken:
            continue
    raise ValueError("This was sealed with another SECRET_KEY. If it is an access key, make a new one.")


def _box(key: str | bytes, purpose: str) -> Fernet:
    derived = hmac.new(force_bytes(key), purpose.encode(), hashlib.sha256).digest()
    return Fernet(base64.urlsafe_b64encode(derived))
