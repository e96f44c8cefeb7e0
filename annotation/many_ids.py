"""Any number of values in one query: databases limit how many a query may list one by one (SQLite: 32,766)."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from django.db.models import BigIntegerField, Field, Func, TextField, Value


class _Listed(Func):
    """The values of a JSON list, as a subquery with one parameter."""

    template = "(SELECT value%(cast)s FROM json_array_elements_text(%(expressions)s::json))"

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="(SELECT value FROM json_each(%(expressions)s))", **context)


def among(ids: Iterable[int]) -> Any:
    """The ids, for a filter: ``Submission.objects.filter(pk__in=among(ids))``."""
    return _listed(list(ids), BigIntegerField(), "::bigint")


def among_texts(texts: Iterable[str]) -> Any:
    """Like `among`, for a column with text."""
    return _listed(list(texts), TextField(), "")


def _listed(values: list[Any], field: Field[Any, Any], cast: str) -> Any:
    # Django makes no query at all for an empty list.
    return _Listed(Value(json.dumps(values)), output_field=field, cast=cast) if values else []
