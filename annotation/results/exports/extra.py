"""The exports that task types declare (`annotation.task_types.extra_exports`), streamed as tab-separated tables."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import islice

from annotation.models import Offer, Rating, Submission
from annotation.recruiting.confirmation_marks import Marks
from annotation.results.exports.request import ExportError, Request
from annotation.task_types.extra_exports import ExtraExport, OfferRow, RatingRow, SubmissionRows
from annotation.task_types.registry import all_types, get_type
from common.csv_files import csv_text

#: The exports of all types by name.
EXTRA_EXPORTS: dict[str, ExtraExport] = {
    table.name: table for task in all_types().values() for table in task.extra_exports
}
#: Submissions, and rows of the file, per batch.
BATCH = 200


def extra_chunks(request: Request, name: str) -> Iterator[tuple[bytes, int]]:
    """The file in pieces, each with its number of rows. Raises ExportError if the study does not have this export."""
    table, study = EXTRA_EXPORTS[name], request.study
    if table not in get_type(study.task_type).extra_exports or not table.fits(study.config):
        raise ExportError(table.refusal)

    def chunks() -> Iterator[tuple[bytes, int]]:
        yield _lines([table.columns]), 0
        rows = table.rows(study.config, _submissions(request))
        while batch := list(islice(rows, BATCH)):
            yield _lines(batch), len(batch)

    return chunks()


def _lines(rows: Sequence[Sequence[str]]) -> bytes:
    return csv_text(rows, delimiter="\t").encode("utf-8", "replace")


def _submissions(request: Request) -> Iterator[SubmissionRows]:
    """The included submissions in order, with two queries per batch."""
    marks = Marks(request.study)
    submissions = Submission.objects.filter(study=request.study).order_by("pk")
    if request.simulated is not None:
        submissions = submissions.filter(participant__synthetic=request.simulated)
    last = 0
    names_of = submissions.values_list("pk", "participant__pseudonym")
    while ids := list(names_of.filter(pk__gt=last)[:BATCH]):
        included = {pk: SubmissionRows([], [], pk, worker) for pk, worker in ids if marks.included(pk)}
        ratings = Rating.objects.filter(submission__in=included).order_by("submission", "pk")
        columns = ("submission_id", "item__external_id", "question", "target", "value", "text")
        for submission, item, question, target, value, text in ratings.values_list(*columns):
            rating = RatingRow(item or "", question, target, None if value is None else float(value), text)
            included[submission].ratings.append(rating)
        offers = Offer.objects.filter(assignment__submission__in=included).order_by("pk")
        for submission, item, round, side, number, suggester, text, chosen, *origin in offers.values_list(*_OFFER):
            model, decoder, seed, source, asked_at, waited, tokens, reason, seconds = origin
            offer = OfferRow(
                *(item or "", round, side, number, suggester, text, bool(chosen), model, decoder, _cell(seed), source),
                *(asked_at.isoformat(), *map(_cell, (waited, tokens, reason, seconds))),
            )
            included[submission].offers.append(offer)
        yield from included.values()
        last = ids[-1][0]


_OFFER = (
    *("assignment__submission__pk", "item__external_id", "round", "side", "number", "suggester", "text", "chosen"),
    *("model", "decoder", "seed", "source", "asked_at", "latency"),
    *("suggestion__n_tokens", "suggestion__parameters__finish_reason", "suggestion__parameters__seconds"),
)


def _cell(value: object) -> str:
    return "" if value is None else str(value)
