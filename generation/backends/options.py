"""A backend's own options, checked."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from generation.backends.base import BackendError, ModelSpec


def checked_options(spec: ModelSpec, known: Sequence[str]) -> dict[str, Any]:
    """The options by name; every one is a whole number above 0. Raises BackendError that names unknown ones."""
    options = dict(spec.options)
    for name, value in options.items():
        if name not in known:
            raise BackendError(f"The backend {spec.backend} has no option {name!r}; use {', '.join(known)}.")
        if isinstance(value, bool) or not isinstance(value, int) or value < 1:
            raise BackendError(f"The option {name} is {value!r}; use a whole number above 0.")
    return options
