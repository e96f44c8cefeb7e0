"""Lists in pages: by a cursor that names the last row, so that no row is missed or repeated while others arrive."""

from __future__ import annotations

import base64
import binascii
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, cast

from django.db.models import QuerySet
from rest_framework.pagination import BasePagination
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.utils.urls import replace_query_param
from rest_framework.views import APIView

from annotation.api.parsing import BadParameter, number
from common.numbers import whole_number

CURSOR, LIMIT, PAGE = "cursor", "limit", "page"
MOST_ROWS = 1_000
LARGEST_KEY = 2**63 - 1


@dataclass(frozen=True, slots=True)
class Cursor:
    """A place between two rows: ``forward`` from it, or back. ``key`` is the row's value of the page's order."""

    forward: bool
    key: int

    def __str__(self) -> str:
        return base64.urlsafe_b64encode(f"{'+' if self.forward else '-'}{self.key}".encode()).decode().rstrip("=")

    @classmethod
    def read(cls, text: str) -> Cursor:
        """Raises BadParameter."""
        try:
            plain = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4)).decode("ascii")
        except (binascii.Error, ValueError):
            plain = ""
        key = whole_number(plain[1:], least=0, most=LARGEST_KEY)
        if key is None or plain[0] not in "+-":
            raise BadParameter(CURSOR, "This cursor cannot be read.", "Use the address in “next” as it is.")
        return cls(plain[0] == "+", key)


class Pages(BasePagination):
    """Pages of rows in the order of ``key``, a unique column of whole numbers; newest first if it begins with “-”.

    A sequence is paged by position.
    """

    key = "pk"
    page_size = 100
    #: Whether the answer has ``count``: the number of all rows, where that is cheap.
    counted = False

    def paginate_queryset(
        self, queryset: QuerySet[Any] | Sequence[Any], request: Request, view: APIView | None = None
    ) -> list[Any]:
        if request.query_params.get(PAGE, "1") != "1":
            raise BadParameter(PAGE, "This list has no page numbers.", "Follow the address in “next” until it is null.")
        self.request = request
        limit = number(request, LIMIT, least=1, most=MOST_ROWS) or self.page_size
        text = request.query_params.get(CURSOR, "")
        cursor = Cursor.read(text) if text else None
        forward = cursor is None or cursor.forward
        if isinstance(queryset, QuerySet):
            self.count = queryset.count() if self.counted else None
            name = self.key.removeprefix("-")
            ascending = (self.key == name) == forward
            if cursor:
                queryset = queryset.filter(**{f"{name}__{'gt' if ascending else 'lt'}": cursor.key})
            ordered = queryset.order_by(name if ascending else f"-{name}")[: limit + 1]
            rows = [(cast("int", getattr(row, name)), row) for row in ordered]
        else:
            self.count = len(queryset) if self.counted else None
            pairs = list(enumerate(queryset, 1))
            pairs = pairs if forward else pairs[::-1]
            if cursor:
                pairs = [pair for pair in pairs if (pair[0] > cursor.key) == forward and pair[0] != cursor.key]
            rows = pairs[: limit + 1]
        more = len(rows) > limit
        rows = rows[:limit] if forward else rows[:limit][::-1]
        self.next = Cursor(True, rows[-1][0]) if rows and (more or not forward) else None
        self.previous = Cursor(False, rows[0][0]) if rows and (cursor if forward else more) else None
        return [row for _, row in rows]

    def get_paginated_response(self, data: Any) -> Response:
        links = {"next": self._link(self.next), "previous": self._link(self.previous)}
        count = {"count": self.count} if self.counted else {}
        return Response(count | links | {"results": data})

    def _link(self, cursor: Cursor | None) -> str | None:
        if cursor is None:
            return None
        return replace_query_param(self.request.build_absolute_uri(), CURSOR, str(cursor))

    def get_paginated_response_schema(self, schema: dict[str, Any]) -> dict[str, Any]:
        address = {"type": ["string", "null"], "format": "uri"}
        properties: dict[str, Any] = {"count": {"type": "integer"}} if self.counted else {}
        properties |= {
            "next": address | {"description": "The address of the next page; null on the last one."},
            "previous": address | {"description": "The address of the page before this one; null on the first one."},
            "results": schema,
        }
        return {"type": "object", "required": list(properties), "properties": properties}

    def get_schema_operation_parameters(self, view: APIView) -> list[dict[str, Any]]:
        limit = {"type": "integer", "minimum": 1, "maximum": MOST_ROWS, "default": self.page_size}
        return [
            {"name": LIMIT, "in": "query", "required": False, "description": "Rows in a page.", "schema": limit},
            {
                "name": CURSOR,
                "in": "query",
                "required": False,
                "description": "The place in the list, from the address in “next” or “previous”.",
                "schema": {"type": "string"},
            },
        ]
