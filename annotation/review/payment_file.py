"""Payments as a CSV file: one row per worker, with the completion code that they saw."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.models import Study
from annotation.record_writers import Record, Sheet, csv_bytes, utc
from annotation.review.payment_lists import workers_in
from annotation.review.payments_due import payment_rows

COLUMNS = (
    "completion_code",
    "worker",
    "arm",
    "state",
    "hits_done",
    "hits_to_pay",
    "usd_to_pay",
    "hits_paid",
    "usd_paid",
    "usd_bonuses_and_compensations",
    "hits_excluded",
    "hits_unconfirmed",
    "hits_partly_paid",
    "last_paid_at",
)
#: The worker's id on the platform that they came from, and the name on their personal link.
WORKER_COLUMNS = ("platform", "worker_id", "name")
TEXTS = ("arm", *WORKER_COLUMNS)
#: Workers whose work is read at a time: the sums over the work of all take much longer than over that of some.
BATCH = 200


def payments_csv(study: Study, *, state: str = "", code: str = "", with_worker_ids: bool = False) -> Iterator[bytes]:
    """The rows of the workers from `review.payment_lists.workers_in`, in pieces."""
    columns = [*COLUMNS, *(WORKER_COLUMNS if with_worker_ids else ())]
    texts = [columns.index(name) for name in TEXTS if name in columns]
    sheet = Sheet(columns, texts, _batches(study, state, code, with_worker_ids))
    return (data for data, _ in csv_bytes(sheet))


def _batches(study: Study, state: str, code: str, with_worker_ids: bool) -> Iterator[list[Record]]:
    participants = workers_in(study, state=state, code=code)
    last = ""
    while page := list(participants.filter(pseudonym__gt=last)[:BATCH]):
        records: list[Record] = []
        for row in payment_rows(study, page):
            record: Record = [row.code, row.pseudonym, row.arm, row.state, row.hits_done, row.hits_due]
            record += [f"{row.due:.3f}", row.hits_paid, f"{row.paid:.3f}", f"{row.extra:.3f}", row.hits_excluded]
            record += [row.hits_unconfirmed, row.hits_partly, utc(row.last_paid_at) if row.last_paid_at else ""]
            records.append([*record, row.platform, row.platform_id, row.name] if with_worker_ids else record)
        yield records
        last = page[-1].pseudonym
