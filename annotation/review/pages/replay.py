"""Plays back how the texts of a submission were written."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.views.decorators.http import require_safe

from annotation.instrument import Instrument, shown_to
from annotation.models import Study, Submission
from annotation.shell.page import SignedIn, member, study_page
from annotation.work.edit_log import BoxLog, boxes_of
from common.numbers import whole_number


@dataclass(frozen=True, slots=True)
class Figures:
    """What was done in a box. Characters are code points; ``seconds`` is the time from the first change to the last."""

    changes: int
    typed: int
    deleted: int
    pastes: int
    seconds: float


@require_safe
@member(answers=True)
def replay(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    """The replay of one box: ``?box=`` counts the boxes of the submission from 1."""
    submissions = Submission.objects.select_related("assignment__hit", "participant__arm")
    submission = get_object_or_404(submissions, pk=pk, study=study)
    if submission.participant.redacted_at is not None:
        raise Http404("The worker had their data deleted.")
    instrument = Instrument.of(study, submission.participant.arm)
    if not instrument.records_edits:
        raise Http404("This study records no edits.")
    pages = instrument.pages(shown_to(submission.assignment, instrument), submission.answers)
    boxes = list(boxes_of(submission.assignment, instrument, pages))
    if not boxes:
        raise Http404("This submission has no text boxes.")
    number = whole_number(request.GET.get("box", ""), least=1, most=len(boxes))
    number = number or next((position for position, box in enumerate(boxes, start=1) if box.edits), 1)
    box = boxes[number - 1]
    changes = [edit for edit in box.edits if edit.how != "start"]
    context = {
        "submission": submission,
        "boxes": list(enumerate(boxes, start=1)),
        "number": number,
        "box": box,
        "figures": Figures(
            changes=len(changes),
            typed=sum(len(edit.inserted) for edit in changes if edit.how == "type"),
            deleted=sum(edit.deleted for edit in changes),
            pastes=sum(edit.how == "paste" for edit in changes),
            seconds=(changes[-1].moment - changes[0].moment).total_seconds() if changes else 0.0,
        ),
        "film": _film(box),
        "before": number - 1,
        "after": number + 1 if number < len(boxes) else 0,
    }
    return study_page(request, study, "review/replay.html", context, section="submissions")


def _film(box: BoxLog) -> list[list[Any]]:
    """For each edit: milliseconds since the first page was loaded, position, deleted, inserted, how."""
    if not box.edits:
        return []
    first = box.edits[0].loaded_at
    return [
        [
            round((edit.moment - first).total_seconds() * 1000),
            *(edit.position, edit.deleted, edit.inserted, edit.how),
        ]
        for edit in box.edits
    ]
