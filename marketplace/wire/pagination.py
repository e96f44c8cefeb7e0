"""Lists in pages that stay correct while rows are added.

A `NextToken` names the row after which the next page begins, not how many rows to skip. It is sealed, because it
contains a row's number, which would show how many rows all requesters have. It is valid only for the same operation
with the same filters. It is short, because the model allows 255 characters.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from django.db.models import Model, Q, QuerySet

from marketplace.services.secrets import seal, unseal
from marketplace.wire.errors import bad_parameter

DEFAULT_RESULTS = 10

Row = TypeVar("Row", bound=Model)


def page(
    queryset: "QuerySet[Row]",
    *,
    order: Sequence[str] = ("created_at", "pk"),
    next_token: str | None,
    max_results: int | None,
    scope: object,
) -> tuple[list[Row], str | None]:
    """The rows after the token, at most `max_results`, and a token for what comes after the last of them.

    Only an empty page has no token. MTurk does the same (aws/aws-sdk-js issue 2522 shows a page of one row with a
    token). Mephisto and others use the token of each page to read the next, until a page is empty.

    `order` names fields ("-" for descending, "__" into relations) whose values never change and are unique together.
    `scope` is anything with a stable JSON form that identifies this list: requester, operation and filters.
    """
    ordered = queryset.order_by(*order)
    if next_token:
        ordered = ordered.filter(_after(order, _read(next_token, scope)))
    size = max_results or DEFAULT_RESULTS
    rows = list(ordered[:size])
    return rows, _write(rows[-1], order, scope) if rows else None


def _after(order: Sequence[str], values: Sequence[object]) -> Q:
    """Rows after these values: greater in the first field, or equal there and greater in the second, and so on."""
    after, equal = Q(), Q()
    for name, value in zip(order, values, strict=True):
        field, comparison = (name[1:], "lt") if name.startswith("-") else (name, "gt")
        after |= equal & Q(**{f"{field}__{comparison}": value})
        equal &= Q(**{field: value})
    return after


def _purpose(scope: object) -> str:
    digest = hashlib.sha256(json.dumps(scope, sort_keys=True, default=str).encode()).hexdigest()
    return f"marketplace pagination {digest}"


def _write(row: Model, order: Sequence[str], scope: object) -> str:
    values = [_plain(_value(row, name.lstrip("-"))) for name in order]
    return seal(json.dumps(values, separators=(",", ":")), purpose=_purpose(scope))


def _read(token: str, scope: object) -> list[object]:
    try:
        text = unseal(token, purpose=_purpose(scope))
    except ValueError:
        raise bad_parameter("NextToken", token, "Pass the token of the page before, with the same filters.") from None
    return [_unplain(value) for value in json.loads(text)]


def _value(row: Any, path: str) -> Any:
    for name in path.split("__"):
        row = getattr(row, name)
    return row


def _plain(value: Any) -> Any:
    return {"t": value.isoformat()} if isinstance(value, datetime) else value


def _unplain(value: Any) -> Any:
    return datetime.fromisoformat(value["t"]) if isinstance(value, dict) else value
