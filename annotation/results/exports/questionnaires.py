"""The export of questionnaires: one row per answer to a question around the tasks."""

from __future__ import annotations

import math
from collections.abc import Iterator
from itertools import islice

from annotation.instrument import asked_around
from annotation.record_writers import Record, Sheet, utc
from annotation.results.answers_around_tasks import questionnaire_rows
from annotation.results.exports.request import ExportError, Request

BATCH = 2_000
COLUMNS = (
    *("study", "worker", "synthetic", "arm", "questionnaire", "attempt", "question", "wording", "option"),
    *("value", "label", "answer_text", "passed", "seconds", "answered_at"),
)
_TEXTS = ("study", "worker", "arm", "question", "wording", "option", "label", "answer_text")


def questionnaires_sheet(request: Request) -> Sheet:
    """In the order in which they were answered. Raises ExportError if the study asks nothing around its tasks."""
    if not asked_around(request.study):
        what = "This study asks nothing before or after its tasks."
        raise ExportError(f"{what} Export “long” for the answers to its tasks.")

    def batches() -> Iterator[list[Record]]:
        questions = {question.topic: question for question in asked_around(request.study).all_questions}
        rows = questionnaire_rows(request.study, simulated=request.simulated)
        no, yes = request.yes_no
        while batch := list(islice(rows, BATCH)):
            records: list[Record] = []
            for row in batch:
                question = questions[row.question]
                names = question.short_names()
                option = str(names.get(row.target, "")) if row.target else ""
                label = "" if row.target else str(names.get(row.value, ""))
                seconds = None if math.isnan(row.seconds) else row.seconds
                value = None if math.isnan(row.value) else row.value
                who = [request.study.slug, row.worker, yes if row.synthetic else no, row.arm, row.questionnaire]
                answer = [row.attempt, row.question, question.label, option or row.target, value, label, row.text]
                records.append([*who, *answer, row.passed, seconds, utc(row.answered_at)])
            yield records

    return Sheet(COLUMNS, [COLUMNS.index(name) for name in _TEXTS], batches())
