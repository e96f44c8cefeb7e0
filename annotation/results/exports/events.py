"""The export of edits: one row per change of a text box, with its time.

A page whose browser recorded nothing has one row per box, in which ``recorded`` is false.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from functools import lru_cache

from django.db.models import Exists, OuterRef, Prefetch, Q

from annotation.instrument import Instrument, shown_to
from annotation.models import Arm, Assignment, EventBatch, Step, Study
from annotation.record_writers import Record, Sheet, csv_bytes, utc
from annotation.recruiting.confirmation_marks import Marks
from annotation.results.exports.request import ExportError, Request
from annotation.task_types.registry import get_type
from annotation.work.edit_log import boxes_of, records_edits

#: Assignments at a time.
BATCH = 10
COLUMNS = (
    *("study", "submission", "worker", "synthetic", "included", "confirmation", "arm"),
    *("page", "question", "recorded", "matches"),
    *("edit", "loading", "at", "moment", "how", "position", "deleted", "inserted"),
)
_TEXTS = ("study", "worker", "arm", "question", "how", "inserted")


def events_sheet(request: Request) -> Sheet:
    """The edits, by assignment and then in order of time. Hits in progress are included, without ``submission``.

    Raises ExportError for studies that record no edits.
    """
    if not records_edits(request.study):
        title = get_type(request.study.task_type).title
        raise ExportError(f"{title} records no edits in this study. Export “long” for what workers sent.")

    def batches() -> Iterator[list[Record]]:
        marks = Marks(request.study)
        instrument = lru_cache(maxsize=None)(lambda arm: Instrument.of(request.study, arm))
        # The assignments with a page that was sent or recorded.
        steps, batches = (model.objects.filter(assignment=OuterRef("pk")) for model in (Step, EventBatch))
        assignments = (
            Assignment.objects.filter(Q(Exists(steps)) | Q(Exists(batches)), hit__study=request.study)
            .select_related("participant__arm", "submission")
            .prefetch_related(Prefetch("steps", Step.objects.order_by("number")), "event_batches")
            .order_by("pk")
        )
        if request.simulated is not None:
            assignments = assignments.filter(participant__synthetic=request.simulated)
        last = 0
        while page := list(assignments.filter(pk__gt=last)[:BATCH]):
            yield [
                row
                for assignment in page
                for row in _rows(assignment, request, instrument(assignment.participant.arm), marks)
            ]
            last = page[-1].pk

    return Sheet(COLUMNS, [index for index, name in enumerate(COLUMNS) if name in _TEXTS], batches())


def events_file(study: Study) -> Iterator[bytes]:
    """The whole sheet as CSV for a bundle. Unlike in exports, cells are not changed for spreadsheets."""
    sheet = replace(events_sheet(Request(study, yes_no=("false", "true"))), texts=())
    return (data for data, _ in csv_bytes(sheet))


def _rows(assignment: Assignment, request: Request, instrument: Instrument, marks: Marks) -> Iterator[Record]:
    if not instrument.records_edits:
        return
    submission = assignment.submission.pk if hasattr(assignment, "submission") else None
    arm: Arm = assignment.participant.arm
    no, yes = request.yes_no
    assignment_cells = [
        *(request.study.slug, submission, assignment.participant.pseudonym),
        yes if assignment.participant.synthetic else no,
        *request.use(marks, submission),
        arm.name,
    ]
    answers = [step.answers for step in assignment.steps.all()]
    pages = instrument.pages(shown_to(assignment, instrument), answers)
    for box in boxes_of(assignment, instrument, pages):
        matches = None if box.matches is None else yes if box.matches else no
        start = [*assignment_cells, box.page, box.key, yes if box.recorded else no, matches]
        if not box.edits:
            yield [*start, None, None, None, "", "", None, None, ""]
        views = {view: number for number, view in enumerate(dict.fromkeys(edit.view for edit in box.edits), start=1)}
        for number, edit in enumerate(box.edits, start=1):
            when = (number, views[edit.view], edit.at, utc(edit.moment))
            yield [*start, *when, edit.how, edit.position, edit.deleted, edit.inserted]
