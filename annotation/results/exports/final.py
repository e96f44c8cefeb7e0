"""The export of final answers: for every item and option, who chose it and whether it is chosen in the end."""

from __future__ import annotations

from collections.abc import Iterator

from annotation.models import Participant
from annotation.record_writers import Record, Sheet, utc
from annotation.results.exports.request import ExportError, Request
from annotation.review.adjudicating import adjudicated_question
from annotation.work.coded_items import coded_items

BATCH = 500
COLUMNS = (
    *("study", "item", "question", "target", "label", "category", "answers", "chosen", "chosen_by"),
    *("final", "decided", "settled_by", "settled_at", "note"),
)
NUMBERS = ("answers", "chosen", "final", "settled_at")
#: How a final answer came about; empty while there is none.
DECIDED = {"settled": "settled", "agree": "agreed", "differ": "", "waiting": ""}


def final_sheet(request: Request) -> Sheet:
    """One row per item and option, in order. ``final`` is empty if people differ and nobody has settled the item.

    Raises ExportError for types whose answers nobody settles.
    """
    question = adjudicated_question(request.study)
    if question is None:
        raise ExportError("This type has no answers to settle. Export “long” for all answers.")
    columns = list(COLUMNS)
    text = [index for index, name in enumerate(columns) if name not in NUMBERS]

    def batches() -> Iterator[list[Record]]:
        names = dict(Participant.objects.filter(study=request.study).values_list("pk", "pseudonym"))
        items = coded_items(request.study, simulated=request.simulated)
        no, yes = request.yes_no
        for start in range(0, len(items), BATCH):
            records: list[Record] = []
            for item in items[start : start + BATCH]:
                final, settled = item.final, item.settled
                for option in question.options:
                    by = [names[person] for person, chosen in item.given.items() if option.key in chosen]
                    records.append(
                        [
                            *(request.study.slug, item.name, question.topic, option.key, option.label, option.group),
                            *(len(item.given), len(by), " ".join(by)),
                            "" if final is None else (yes if option.key in final else no),
                            DECIDED[item.state],
                            settled.by if settled else "",
                            utc(settled.at) if settled else "",
                            settled.note if settled else "",
                        ]
                    )
            yield records

    return Sheet(columns, text, batches())
