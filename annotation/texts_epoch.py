"""Tells processes that remember items when some of them have changed, which only a redaction does."""

from __future__ import annotations

from pathlib import Path

from django.conf import settings


def journal() -> Path:
    """The file to which each redaction appends (``services.redacting_files``)."""
    return Path(settings.VAR) / "redactions.jsonl"


def texts_epoch() -> int:
    """A number that is different after each redaction. Machines that share VAR share it."""
    try:
        return journal().stat().st_mtime_ns
    except FileNotFoundError:
        return 0
