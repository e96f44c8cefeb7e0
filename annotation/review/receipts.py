"""Receipts for bookkeeping: one file per worker, month and year, with everything that the worker was paid then.

The database sorts the payments and they are read in pieces, so that memory does not grow with their number.
"""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from decimal import Decimal
from itertools import groupby
from operator import itemgetter
from typing import Any, BinaryIO

from django.db.models import CharField, Func, OuterRef, Subquery
from django.db.models.functions import Coalesce

from annotation.models import Participant, Payment, Study
from annotation.record_writers import utc
from common.cells import protect_cell
from common.csv_files import csv_text

COLUMNS = ("paid_at", "study", "kind", "usd", "reason", "platform", "worker_id", "worker", "platform_id", "payment")
#: The file that lists all receipts with their sums.
INDEX = "receipts.csv"
INDEX_COLUMNS = ("year", "month", "platform", "worker_id", "workers", "payments", "usd", "file")
BATCH = 2_000
#: Bytes that are sent at a time.
PIECE = 64 * 1024
Row = dict[str, Any]
#: Payments of the same month to the same worker are one receipt.
_receipt = itemgetter("month", "of_platform", "of_worker")


class _Month(Func):
    """The month of a time in UTC, such as 2026-11."""

    template = "to_char(%(expressions)s AT TIME ZONE 'UTC', 'YYYY-MM')"
    output_field = CharField()

    def as_sqlite(self, compiler: Any, connection: Any, **context: Any) -> Any:
        return self.as_sql(compiler, connection, template="substr(%(expressions)s, 1, 7)", **context)


def receipts_bytes(studies: Iterable[Study]) -> Iterator[bytes]:
    """The zip of `write_receipts` in pieces."""
    with tempfile.TemporaryFile() as file:
        write_receipts(studies, file)
        file.seek(0)
        while piece := file.read(PIECE):
            yield piece


def write_receipts(
    studies: Iterable[Study], file: BinaryIO, *, year: int | None = None, month: int | None = None
) -> int:
    """Write a zip with one CSV file for each worker and month (in UTC), and an index. Returns how many receipts.

    The same worker in several studies has one file. The worker's id is the platform's; the name in a study differs
    from study to study.
    """
    names, index = _Names(), []
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        for (in_month, platform, worker_id), payments in groupby(_payments(studies, year, month), _receipt):
            rows = list(payments)
            name = names.next(in_month, platform, worker_id)
            pseudonyms = " ".join(sorted({row["pseudonym"] for row in rows if row["pseudonym"]}))
            usd = f"{sum((row['amount'] for row in rows), Decimal(0)):.3f}"
            cells = [in_month[:4], str(int(in_month[5:])), platform, worker_id, pseudonyms, str(len(rows)), usd, name]
            index.append(_csv([cells]))
            total = ["total", "", "", usd, "", "", "", "", "", ""]
            out.writestr(name, _csv([COLUMNS, *map(_cells, rows), total]))
        out.writestr(INDEX, "".join([_csv([INDEX_COLUMNS]), *index]))
    return len(index)


def _cells(row: Row) -> list[str]:
    about = [utc(row["created_at"]), row["study__slug"], row["kind"], f"{row['amount']:.3f}", row["reason"]]
    worker = [row["of_platform"], row["of_worker"], row["pseudonym"] or ""]
    return [*about, *worker, row["platform_id"], str(row["pk"])]


def _payments(studies: Iterable[Study], year: int | None, month: int | None) -> Iterator[Row]:
    """The payments with the workers who got them, by receipt. ``pseudonym`` is the worker's name in the study, if
    anything arrived here."""
    payments = Payment.objects.filter(study__in=[study.pk for study in studies])
    if year is not None:
        begin = datetime(year, month or 1, 1, tzinfo=UTC)
        end = datetime(year + (month in (None, 12)), 1 if month in (None, 12) else month + 1, 1, tzinfo=UTC)
        payments = payments.filter(created_at__gte=begin, created_at__lt=end)
    sent, stopped = "submission__participant", "part__assignment__participant"
    there = Participant.objects.filter(
        study=OuterRef("study"), worker__platform=OuterRef("platform"), worker__platform_id=OuterRef("worker_id")
    )
    rows = payments.annotate(
        month=_Month("created_at"),
        of_platform=Coalesce(f"{sent}__worker__platform", f"{stopped}__worker__platform", "platform"),
        of_worker=Coalesce(f"{sent}__worker__platform_id", f"{stopped}__worker__platform_id", "worker_id"),
        pseudonym=Coalesce(f"{sent}__pseudonym", f"{stopped}__pseudonym", Subquery(there.values("pseudonym")[:1])),
    ).order_by("month", "of_platform", "of_worker", "pk")
    found: Iterator[Row] = rows.values(
        *("month", "of_platform", "of_worker", "pseudonym", "pk", "study__slug", "kind", "amount", "reason"),
        *("platform_id", "created_at"),
    ).iterator(BATCH)
    return found


@dataclass(slots=True)
class _Names:
    """A file name for each receipt, such as 2026/11/mturk-A1B2C3.csv. Ids that look the same get a number."""

    used: set[str] = field(default_factory=lambda: {INDEX})

    def next(self, month: str, platform: str, worker_id: str) -> str:
        plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in worker_id)[:80]
        name = stem = f"{month.replace('-', '/')}/{platform}-{plain or 'unknown'}"
        number = 1
        while f"{name.lower()}.csv" in self.used:
            number += 1
            name = f"{stem}-{number}"
        self.used.add(f"{name.lower()}.csv")
        return f"{name}.csv"


def _csv(rows: Iterable[Iterable[str]]) -> str:
    return csv_text([[protect_cell(cell) for cell in row] for row in rows])
