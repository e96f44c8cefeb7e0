"""A page of a long list, without reading the list: it is counted up to a limit, and found near its beginning or end."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import QuerySet
from django.utils.functional import cached_property

#: So many of the newest rows are looked through first, where databases would otherwise look through all.
NEWEST = (500, 4_000)


class Listed(Paginator):  # type: ignore[type-arg]  # Django's own is not generic
    """Pages of rows, newest first. It counts up to ``most`` of them, or all if that is None; ``more``: there are more.

    ``among_newest``: numbers of what the rows are chosen from, newest first, if many of them match. PostgreSQL does not
    know that many do: it would find all that match and sort them.
    """

    def __init__(
        self, rows: QuerySet[Any, Any], per_page: int, *, most: int | None, among_newest: QuerySet[Any, Any] | None
    ) -> None:
        super().__init__(rows, per_page)
        self.rows, self.most, self.among_newest = rows, most, among_newest
        self.more = False

    def know(self, count: int | None) -> None:
        """Tell how many there are, if that is known."""
        if count is not None:
            self.most, self.count = None, count

    @cached_property
    def first(self) -> list[Any]:
        """The first page, and the row after it."""
        return self._up_to(self.per_page + 1)

    @property
    def is_one_page(self) -> bool:
        return len(self.first) <= self.per_page

    @cached_property
    def count(self) -> int:
        if self.is_one_page:
            return len(self.first)
        if self.most is None:
            return self.rows.count()
        n_counted, self.more = count_up_to(self.rows, self.most)
        return n_counted

    def page(self, number: int | str) -> Page[Any]:
        """The second half of a list whose length is known is read from its end."""
        number = self.validate_number(number)
        start = (number - 1) * self.per_page
        end = min(start + self.per_page, self.count)
        if number == 1:
            rows = self.first[: self.per_page]
        elif self.most is None and start > self.count / 2:
            rows = list(self.rows.reverse()[self.count - end : self.count - start])[::-1]
        else:
            rows = self._up_to(end)[start:] if end < max(NEWEST) else list(self.rows[start:end])
        return Page(rows, number, self)

    def _up_to(self, n_rows: int) -> list[Any]:
        """The first so many rows."""
        for width in NEWEST:
            if self.among_newest is not None and n_rows < width:
                rows = list(self.rows.filter(pk__in=self.among_newest[:width])[:n_rows])
                if len(rows) == n_rows:
                    return rows
        return list(self.rows[:n_rows])


def count_up_to(listed: QuerySet[Any, Any], most: int) -> tuple[int, bool]:
    """How many there are, at most ``most``, and whether there are more."""
    n_counted = listed.order_by()[: most + 1].count()
    return min(n_counted, most), n_counted > most
