"""Secrets that must be readable later, sealed with a key made from ``SECRET_KEY``.

A sealed text is bound to what it belongs to: copied to another row or owner, it cannot be opened. The cipher is AES-GCM
with 256 bits (NIST SP 800-38D), and HKDF (RFC 5869) makes a separate key for each purpose.
"""

from __future__ import annotations

import base64
import binascii
import secrets
from functools import lru_cache

from cryptography.exceptions import InvalidTag
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF
from django.conf import settings
from django.utils.encoding import force_bytes
from django.views.decorators.debug import sensitive_variables

#: What a sealed text begins with, so that a later form can be told apart from this one.
FORM = "1."
NONCE_BYTES = 12


class CannotOpen(ValueError):
    """The text was changed, belongs to something else, or was sealed with a secret key that is no longer in use."""


@sensitive_variables()
def seal(text: str, *, purpose: str, bound_to: str) -> str:
    """Unreadable without ``SECRET_KEY``. `open_sealed` needs the same purpose and the same ``bound_to``."""
    nonce = secrets.token_bytes(NONCE_BYTES)
    box = _box(force_bytes(settings.SECRET_KEY), purpose)
    return FORM + base64.urlsafe_b64encode(nonce + box.encrypt(nonce, text.encode(), bound_to.encode())).decode()


@sensitive_variables()
def open_sealed(sealed: str, *, purpose: str, bound_to: str) -> str:
    """The text. What was sealed with one of ``SECRET_KEY_FALLBACKS`` can be opened, too. Raises CannotOpen."""
    try:
        data = base64.b64decode(sealed.removeprefix(FORM), altchars=b"-_", validate=True)
    except (binascii.Error, ValueError):
        raise CannotOpen from None
    if not sealed.startswith(FORM) or len(data) <= NONCE_BYTES:
        raise CannotOpen
    for key in (settings.SECRET_KEY, *settings.SECRET_KEY_FALLBACKS):
        try:
            opened = _box(force_bytes(key), purpose).decrypt(data[:NONCE_BYTES], data[NONCE_BYTES:], bound_to.encode())
        except InvalidTag:
            continue
        return opened.decode()
    raise CannotOpen


@lru_cache(maxsize=8)
def _box(secret_key: bytes, purpose: str) -> AESGCM:
    return AESGCM(HKDF(algorithm=SHA256(), length=32, salt=None, info=purpose.encode()).derive(secret_key))
