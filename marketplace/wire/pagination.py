"""Lists in pages that stay correct while rows are added.

A `NextToken` names the row after which the next page begins, not how many rows to skip. It is sealed, because it
contains a row's number, which would show how many rows all requesters have. It is valid only for the same operation
with the same filters. It is short, because the model allows 255 characters.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from functools import reduce
from typing import TypeVar

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
    digest = hashlib.sha256(json.dumps(scope, sort_keys=True, default=str).encode()).hexdigest()
    purpose = f"marketplace pagination {digest}"
    if next_token:
        try:
            text = unseal(next_token, purpose=purpose)
        except ValueError:
            hint = "Pass the token of the page before, with the same filters."
            raise bad_parameter("NextToken", next_token, hint) from None
        last_values = [
            datetime.fromisoformat(value["t"]) if isinstance(value, dict) else value for value in json.loads(text)
        ]
        ordered = ordered.filter(_after(order, last_values))
    rows = list(ordered[: max_results or DEFAULT_RESULTS])
    if not rows:
        return rows, None
    values = [reduce(getattr, name.lstrip("-").split("__"), rows[-1]) for name in order]
    plain_values = [{"t": value.isoformat()} if isinstance(value, datetime) else value for value in values]
    return rows, seal(json.dumps(plain_values, separators=(",", ":")), purpose=purpose)


def _after(order: Sequence[str], values: Sequence[object]) -> Q:
    """Rows after these values: greater in the first field, or equal there and greater in the second, and so on."""
    after, equal = Q(), Q()
    for name, value in zip(order, values, strict=True):
        field, comparison = (name[1:], "lt") if name.startswith("-") else (name, "gt")
        after |= equal & Q(**{f"{field}__{comparison}": value})
        equal &= Q(**{field: value})
    return after
