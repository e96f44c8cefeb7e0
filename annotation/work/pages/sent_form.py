"""What the forms on workers' pages have in common: the browser's measurements, and the notice if nothing was saved."""

from __future__ import annotations

import json
from typing import Any

from annotation.languages import marked
from annotation.work.pages.worker_page import Notice

MOST_TIMING = 50_000
NOT_SAVED = Notice(
    "bad",
    marked("This could not be saved just now"),
    marked(
        "The server has a problem right now. Nothing is lost: everything you entered is still below. Wait a minute, "
        "then "
        "press the button again."
    ),
)


def timing_of(timing_json: str) -> dict[str, Any]:
    """The browser's measurements; empty if they are not in the form that the page sends."""
    try:
        measured = json.loads(timing_json) if len(timing_json) <= MOST_TIMING else {}
    except (ValueError, RecursionError):
        return {}
    return measured if isinstance(measured, dict) else {}
