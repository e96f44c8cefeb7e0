"""The export of outputs: one row per text or set of texts that another study can judge."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.models import Output
from annotation.record_writers import Record, Sheet, utc
from annotation.recruiting.confirmation_marks import Marks
from annotation.results.exports.request import ExportError, Request
from annotation.results.row_pages import pages_by_pk
from annotation.task_types.registry import get_type

BATCH = 2_000
BEFORE = ("study", "output", "kind", "item", "context", "label_name", "label_value")
AFTER = ("worker", "synthetic", "included", "confirmation", "arm", "submission", "submitted_at")
_FIELDS = ("pk", "kind", "item__external_id", "context", "label_name", "label_value", "texts")
_SUBMISSION_FIELDS = ("submission__participant__pseudonym", "submission__participant__synthetic", "submission_id")
_REST = ("submission__participant__arm__name", "submission__received_at")


def outputs_sheet(request: Request) -> Sheet:
    """One row per output, in the order made. ``text_0`` … contain the texts: as many as the longest set has.

    Raises ExportError for types without outputs.
    """
    task = get_type(request.study.task_type)
    if not task.output_kinds:
        what = f"{task.title} makes no texts that another study could judge."
        raise ExportError(f"{what} Export “long” for everything that workers wrote.")
    texts_of_outputs = Output.objects.filter(study=request.study).values_list("texts", flat=True)
    most_texts = max((len(texts) for texts in texts_of_outputs.iterator(BATCH)), default=0)
    texts = [f"text_{number}" for number in range(most_texts)]
    columns = [*BEFORE, *texts, *AFTER]
    numbers = ("output", "label_value", "synthetic", "included", "confirmation", "submission", "submitted_at")
    return Sheet(
        columns, [index for index, name in enumerate(columns) if name not in numbers], _batches(request, len(texts))
    )


def _batches(request: Request, width: int) -> Iterator[list[Record]]:
    marks = Marks(request.study)
    outputs = Output.objects.filter(study=request.study, submission__participant__redacted_at=None).order_by("pk")
    if request.simulated is not None:
        outputs = outputs.filter(submission__participant__synthetic=request.simulated)
    no, yes = request.yes_no
    for page in pages_by_pk(outputs.values_list(*_FIELDS, *_SUBMISSION_FIELDS, *_REST), BATCH):
        records: list[Record] = []
        for row in page:
            pk, kind, item, context, label_name, label_value, texts, worker, synthetic, submission, arm, received = row
            use = [yes if synthetic else no, *request.use(marks, submission)]
            # New outputs since the columns were counted may contain more texts than fit. They belong to the next file.
            cells = [*texts, *[""] * width][:width]
            before = [request.study.slug, pk, kind, item or "", context, label_name, label_value]
            records.append([*before, *cells, worker, *use, arm, submission, utc(received)])
        yield records
