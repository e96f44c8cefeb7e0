"""Which version of HITServer this is."""

from __future__ import annotations

from functools import cache

from django.conf import settings


@cache
def version() -> str:
    """The version of this checkout, from pyproject.toml."""
    lines = (settings.BASE_DIR / "pyproject.toml").read_text().splitlines()
    return next(line.split('"')[1] for line in lines if line.startswith("version = "))
