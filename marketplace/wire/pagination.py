"""Lists in pages that stay right while rows are added.

A `NextToken` says after which row the next page begins, never how many rows to skip. It is signed and bound to the
operation and the filters it was given for, and short: the model allows it 255 characters.
"""

import hashlib
import json
from collections.abc import Sequence
from datetime import datetime
from typing import Any, TypeVar

from django.core.signing import BadSignature, Signer
from django.db.models import Model, Q, QuerySet
from django.utils.http import urlsafe_base64_decode, urlsafe_base64_encode

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

    There is none only where there are no rows. MTurk does it so (aws/aws-sdk-js issue 2522 shows a page of one row with
    a token), and Mephisto and others read on until a page is empty, taking a token from each before.

    `order` names fields (with "-" for falling ones, "__" into relations) whose values never change and together are
    unique; `scope` is anything with a stable JSON form that tells this list from others: requester, operation and
    filters.
    """
    ordered = queryset.order_by(*order)
    if next_token:
        ordered = ordered.filter(_after(order, _read(next_token, scope)))
    size = max_results or DEFAULT_RESULTS
    rows = list(ordered[:size])
    return rows, _write(rows[-1], order, scope) if rows else None


def _after(order: Sequence[str], values: Sequence[object]) -> Q:
    """Rows that come after these values: greater in the first field, or equal there and greater in the second …"""
    wanted, equal = Q(), Q()
    for name, value in zip(order, values, strict=True):
        field, comparison = (name[1:], "lt") if name.startswith("-") else (name, "gt")
        wanted |= equal & Q(**{f"{field}__{comparison}": value})
        equal &= Q(**{field: value})
    return wanted


def _signer(scope: object) -> Signer:
    digest = hashlib.sha256(json.dumps(scope, sort_keys=True, default=str).encode()).hexdigest()
    return Signer(salt=f"marketplace.pagination.{digest}")


def _write(row: Model, order: Sequence[str], scope: object) -> str:
    values = [_plain(_value(row, name.lstrip("-"))) for name in order]
    text = urlsafe_base64_encode(json.dumps(values, separators=(",", ":")).encode())
    return _signer(scope).sign(text)


def _read(token: str, scope: object) -> list[object]:
    try:
        text = _signer(scope).unsign(token)
    except BadSignature:
        raise bad_parameter(
            "NextToken", token, "Pass on the token of the page before, with the same filters."
        ) from None
    return [_unplain(value) for value in json.loads(urlsafe_base64_decode(text))]


def _value(row: Any, path: str) -> Any:
    for name in path.split("__"):
        row = getattr(row, name)
    return row


def _plain(value: Any) -> Any:
    return {"t": value.isoformat()} if isinstance(value, datetime) else value


def _unplain(value: Any) -> Any:
    return datetime.fromisoformat(value["t"]) if isinstance(value, dict) else value
