"""The export of live suggestions: one row per suggestion on one side of one page, with its result."""

from __future__ import annotations

import json
from collections.abc import Iterator

from annotation.instrument import asks_for_offers
from annotation.models import Offer, Pull
from annotation.record_writers import Record, Sheet, utc
from annotation.recruiting.confirmation_marks import Marks
from annotation.results.exports.request import ExportError, Request
from annotation.task_types.registry import get_type

BATCH = 2_000
COLUMNS = (
    *("study", "offer", "submission", "worker", "synthetic", "included", "confirmation", "arm", "item"),
    *("page", "round", "side", "number", "suggester", "model", "decoder", "seed"),
    *("source", "latency", "asked_at", "shown_at", "text", "chosen", "switches", "typed"),
)
_TEXTS = ("study", "worker", "arm", "item", "side", "suggester", "model", "decoder", "source", "text", "typed")
_FIELDS = (
    *("pk", "assignment__submission__pk", "assignment__participant__pseudonym"),
    *("assignment__participant__synthetic", "assignment__participant__arm__name", "item__external_id"),
    *("step", "round", "side", "number", "suggester", "model", "decoder", "seed"),
    *("source", "latency", "asked_at", "shown_at", "text", "chosen", "switches"),
)
_WHERE = ("assignment", "step", "number")


def offers_sheet(request: Request) -> Sheet:
    """One row per suggestion, in the order shown. Includes hits in progress, whose ``submission`` is empty.

    Raises ExportError for studies without live suggestions.
    """
    if not asks_for_offers(request.study):
        title = get_type(request.study.task_type).title
        raise ExportError(f"{title} shows no live suggestions in this study. Export “long” for what workers answered.")

    def batches() -> Iterator[list[Record]]:
        marks = Marks(request.study)
        offers = Offer.objects.filter(study=request.study, assignment__participant__redacted_at=None).order_by("pk")
        if request.simulated is not None:
            offers = offers.filter(assignment__participant__synthetic=request.simulated)
        rows = offers.values_list(*_FIELDS)
        no, yes = request.yes_no
        last = 0
        while page := list(rows.filter(pk__gt=last)[:BATCH]):
            places = {pk: where for pk, *where in offers.filter(pk__gt=last).values_list("pk", *_WHERE)[:BATCH]}
            # What writers had typed when they asked for suggestions, as JSON, by assignment, step and number.
            pulls = Pull.objects.filter(assignment__in={assignment for assignment, *_ in places.values()})
            typed_at = {
                tuple(where): json.dumps(typed, ensure_ascii=False, sort_keys=True)
                for *where, typed in pulls.values_list(*_WHERE, "typed")
            }
            records: list[Record] = []
            for pk, submission, worker, synthetic, arm, item, step, *offer_cells in page:
                *middle, asked_at, shown_at, text, chosen, switches = offer_cells
                use = [yes if synthetic else no, *request.use(marks, submission)]
                records.append(
                    [
                        *(request.study.slug, pk, submission, worker, *use, arm, item or "", step + 1, *middle),
                        *(utc(asked_at), utc(shown_at), text, None if chosen is None else yes if chosen else no),
                        *(switches, typed_at.get(tuple(places[pk]), "")),
                    ]
                )
            yield records
            last = page[-1][0]

    return Sheet(COLUMNS, [index for index, name in enumerate(COLUMNS) if name in _TEXTS], batches())
