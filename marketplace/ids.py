"""IDs in the API's format. They are random, so an ID does not show how many others exist."""

from __future__ import annotations

import secrets
import string

_CAPITALS = string.ascii_uppercase + string.digits


def new_id(prefix: str = "3", length: int = 30) -> str:
    """An ID of capital letters and digits."""
    return prefix + "".join(secrets.choice(_CAPITALS) for _ in range(length - len(prefix)))
