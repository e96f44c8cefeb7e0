"""Rows of a large table in pages."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from django.db.models import QuerySet


def pages_by_pk(rows: QuerySet[Any, Any], size: int) -> Iterator[list[tuple[Any, ...]]]:
    """The rows in pages. They are in the order of their primary key, which is the first value of each.

    So no cursor and no transaction stays open while a slow client reads.
    """
    last = 0
    while page := list(rows.filter(pk__gt=last)[:size]):
        yield page
        last = page[-1][0]
