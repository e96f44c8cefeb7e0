"""Receipts for bookkeeping: one file per worker, month and year, with everything that the worker was paid then."""

from __future__ import annotations

import zipfile
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from typing import BinaryIO

from annotation.models import Participant, Payment, Study
from annotation.record_writers import utc
from common.cells import protect_cell
from common.csv_files import csv_text

COLUMNS = ("paid_at", "study", "kind", "usd", "reason", "platform", "worker_id", "worker", "platform_id", "payment")
#: The file that lists all receipts with their sums.
INDEX = "receipts.csv"
INDEX_COLUMNS = ("year", "month", "platform", "worker_id", "workers", "payments", "usd", "file")
BATCH = 2_000


@dataclass(frozen=True, slots=True)
class Paid:
    """One payment with the worker who got it. ``pseudonym`` is their name in the study, if anything arrived here."""

    payment: Payment
    platform: str
    worker_id: str
    pseudonym: str


def write_receipts(
    studies: Iterable[Study], file: BinaryIO, *, year: int | None = None, month: int | None = None
) -> int:
    """Write a zip with one CSV file for each worker and month (in UTC), and an index. Returns how many receipts.

    The same worker in several studies has one file. The worker's id is the platform's; the name in a study differs
    from study to study.
    """
    receipts: defaultdict[tuple[int, int, str, str], list[Paid]] = defaultdict(list)
    for study in studies:
        for paid in _payments(study, year, month):
            day = paid.payment.created_at.astimezone(UTC)
            receipts[day.year, day.month, paid.platform, paid.worker_id].append(paid)
    names = _names(receipts)
    with zipfile.ZipFile(file, "w", zipfile.ZIP_DEFLATED) as out:
        index = []
        for (on_year, on_month, platform, worker_id), rows in sorted(receipts.items()):
            pseudonyms = " ".join(sorted({paid.pseudonym for paid in rows} - {""}))
            name = names[on_year, on_month, platform, worker_id]
            cells = [str(on_year), str(on_month), platform, worker_id, pseudonyms, str(len(rows))]
            index.append([*cells, f"{_total(rows):.3f}", name])
        out.writestr(INDEX, _csv(INDEX_COLUMNS, index))
        for key, rows in sorted(receipts.items()):
            lines = []
            for paid in sorted(rows, key=lambda paid: paid.payment.pk):
                payment = paid.payment
                about = [utc(payment.created_at), payment.study.slug, payment.kind, f"{payment.amount:.3f}"]
                worker = [paid.platform, paid.worker_id, paid.pseudonym]
                lines.append([*about, payment.reason, *worker, payment.platform_id, str(payment.pk)])
            total = ["total", "", "", f"{_total(rows):.3f}", "", "", "", "", "", ""]
            out.writestr(names[key], _csv(COLUMNS, [*lines, total]))
    return len(receipts)


def _payments(study: Study, year: int | None, month: int | None) -> Iterator[Paid]:
    rows = Payment.objects.filter(study=study).select_related(
        "study", "submission__participant__worker", "part__assignment__participant__worker"
    )
    if year is not None:
        begin = datetime(year, month or 1, 1, tzinfo=UTC)
        end = datetime(year + (month in (None, 12)), 1 if month in (None, 12) else month + 1, 1, tzinfo=UTC)
        rows = rows.filter(created_at__gte=begin, created_at__lt=end)
    people = Participant.objects.filter(study=study).values_list("worker__platform", "worker__platform_id", "pseudonym")
    pseudonyms = {(platform, worker_id): pseudonym for platform, worker_id, pseudonym in people}
    for payment in rows.order_by("pk").iterator(BATCH):
        work = payment.submission or (payment.part.assignment if payment.part else None)
        if work is not None:
            worker = work.participant.worker
            yield Paid(payment, worker.platform, worker.platform_id, work.participant.pseudonym)
        else:
            name = pseudonyms.get((payment.platform, payment.worker_id), "")
            yield Paid(payment, payment.platform, payment.worker_id, name)


def _names(keys: Iterable[tuple[int, int, str, str]]) -> dict[tuple[int, int, str, str], str]:
    """A file name for each receipt, such as 2026/11/mturk-A1B2C3.csv. Ids that look the same get a number."""
    names: dict[tuple[int, int, str, str], str] = {}
    used: set[str] = {INDEX}
    for year, month, platform, worker_id in sorted(keys):
        plain = "".join(letter if letter.isascii() and letter.isalnum() else "-" for letter in worker_id)[:80]
        name = stem = f"{year}/{month:02}/{platform}-{plain or 'unknown'}"
        number = 1
        while f"{name.lower()}.csv" in used:
            number += 1
            name = f"{stem}-{number}"
        used.add(f"{name.lower()}.csv")
        names[year, month, platform, worker_id] = f"{name}.csv"
    return names


def _total(rows: list[Paid]) -> Decimal:
    return sum((paid.payment.amount for paid in rows), Decimal(0))


def _csv(columns: Iterable[str], rows: Iterable[list[str]]) -> str:
    return csv_text([list(columns), *([protect_cell(cell) for cell in row] for row in rows)])
