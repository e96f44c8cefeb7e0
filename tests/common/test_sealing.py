"""Sealed texts: what opens them, and everything that does not."""

from __future__ import annotations

from typing import Any

import pytest
from cryptography.hazmat.primitives.ciphers.aead import AESGCM
from cryptography.hazmat.primitives.hashes import SHA256
from cryptography.hazmat.primitives.kdf.hkdf import HKDF

from common.sealing import CannotOpen, _box, open_sealed, seal

OWN, OTHER = "a" * 50, "b" * 50


@pytest.fixture(autouse=True)
def keys(settings: Any) -> None:
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = OWN, []


def sealed(text: str = "sesame") -> str:
    return seal(text, purpose="p", bound_to="row 1")


def opened(text: str, *, purpose: str = "p", bound_to: str = "row 1") -> str:
    return open_sealed(text, purpose=purpose, bound_to=bound_to)


def test_a_sealed_text_opens_and_shows_nothing() -> None:
    assert opened(sealed("sésame ✓")) == "sésame ✓"
    assert "sesame" not in sealed()


def test_the_same_text_is_never_sealed_the_same_way_twice() -> None:
    assert sealed() != sealed()


@pytest.mark.parametrize("other", [{"purpose": "q"}, {"bound_to": "row 2"}, {"bound_to": ""}])
def test_it_opens_only_for_what_it_was_sealed_for(other: dict[str, str]) -> None:
    with pytest.raises(CannotOpen):
        opened(sealed(), **other)


@pytest.mark.parametrize("position", range(2, 45, 7))
def test_a_changed_letter_is_noticed(position: int) -> None:
    text = sealed()
    changed = text[:position] + ("A" if text[position] != "A" else "B") + text[position + 1 :]
    with pytest.raises(CannotOpen):
        opened(changed)


@pytest.mark.parametrize("text", ["", "1.", "1.AAAA", "sesame", "2." + "A" * 60, "1.ä" + "A" * 60, "1.*" + "A" * 59])
def test_what_nobody_sealed_cannot_be_opened(text: str) -> None:
    with pytest.raises(CannotOpen):
        opened(text)


def test_an_earlier_secret_key_opens_and_does_not_seal(settings: Any) -> None:
    before = sealed()
    settings.SECRET_KEY, settings.SECRET_KEY_FALLBACKS = OTHER, [OWN]
    after = sealed()
    assert (opened(before), opened(after)) == ("sesame", "sesame")
    settings.SECRET_KEY_FALLBACKS = []
    assert opened(after) == "sesame"
    with pytest.raises(CannotOpen):
        opened(before)


def test_the_cipher_is_aes_gcm_with_a_key_from_hkdf() -> None:
    """The `cryptography` package opens it from NIST SP 800-38D and RFC 5869 alone: nonce, then text with tag."""
    import base64

    key = HKDF(algorithm=SHA256(), length=32, salt=None, info=b"p").derive(OWN.encode())
    data = base64.urlsafe_b64decode(sealed().removeprefix("1."))
    assert AESGCM(key).decrypt(data[:12], data[12:], b"row 1") == b"sesame"
    assert len(data) == 12 + len("sesame") + 16


def test_each_purpose_has_its_own_key() -> None:
    assert _box(OWN.encode(), "p") is not _box(OWN.encode(), "q")
