"""The export of tries: one row per question of a page of the training, or of a page that can come back with an
explanation."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

from annotation.record_writers import Record, Sheet, utc
from annotation.results.exports.request import ExportError, Request
from annotation.results.tried_answers import try_rows
from annotation.work.training_rounds import can_try

BATCH = 2_000
COLUMNS = (
    *("study", "worker", "synthetic", "arm", "role", "submission", "item", "attempt", "page", "question", "target"),
    *("value", "answer_text", "right", "passed", "answered_at"),
)
_TEXTS = ("study", "worker", "arm", "item", "question", "target", "answer_text")


def tries_sheet(request: Request) -> Sheet:
    """In the order in which they were sent. Raises ExportError if nothing in the study can be tried."""
    if not can_try(request.study):
        what = "This study has no training and no items that explain."
        raise ExportError(f"{what} Export “long” for the answers to its tasks.")

    def batches() -> Iterator[list[Record]]:
        rows = try_rows(request.study, simulated=request.simulated)
        no, yes = request.yes_no
        while batch := list(islice(rows, BATCH)):
            records: list[Record] = []
            for row in batch:
                who = [request.study.slug, row.worker, yes if row.synthetic else no, row.arm]
                page = [row.role, row.submission or None, row.item, row.attempt, row.place + 1]
                value = None if math.isnan(row.value) else row.value
                answer = [row.question, row.target, value, row.text, row.right, row.passed, utc(row.answered_at)]
                records.append([*who, *page, *answer])
            yield records

    return Sheet(COLUMNS, [COLUMNS.index(name) for name in _TEXTS], batches())
