"""Cancels live suggestions that nobody needs any more. Those that are being written are stopped."""

from __future__ import annotations

from collections.abc import Iterable

from generation.suggestions.asking import cancel_requests


def requests_of(assignment_id: int, number: int | None = None) -> str:
    """How the keys of an assignment's requests begin, or those of its page ``number``."""
    return f"assignment {assignment_id}/" + ("" if number is None else f"{number}/")


def cancel_offers(*, assignments: Iterable[int], number: int | None = None) -> int:
    """Cancel what is still being written for these assignments, or only for their page ``number``. Returns how many
    suggestions. If a worker comes back to the page, they are asked for again."""
    return cancel_requests(beginnings=[requests_of(assignment_id, number) for assignment_id in assignments])
