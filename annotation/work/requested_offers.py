"""Suggestions at the press of a button: first saves what is typed, then the press, then asks the suggesters.

The press and what was typed at that moment are stored, so that a page can be loaded again at any time. While one press
waits for its suggestions, another one (from a second tab, or because the network retries) changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Literal

from django.utils import timezone

from annotation import sql
from annotation.instrument import live_instrument, offers_to, shown_items
from annotation.models import Assignment, Pull
from annotation.task_types.base import Page
from annotation.task_types.questions import MAX_CHARS, clean_text
from annotation.work.drafts import save_draft
from annotation.work.offers import request_pulled
from annotation.work.standing import given_answers

#: What became of a press. ``asked``: suggestions are requested; ``waits``: those of the last press have not arrived;
#: ``spent``: no presses are left; ``empty``: nothing is typed that suggestions could begin from; ``lacks``: a box that
#: they need is empty (`Page.pull_needs`); ``closed``: the step is not the one that is due, or has no such button.
Pulled = Literal["asked", "waits", "spent", "empty", "lacks", "closed"]
_ONCE = " ON CONFLICT (assignment_id, step, number) DO NOTHING"


def pull_offers(*, assignment_id: int, participant_id: int, number: int, data: Mapping[str, str]) -> Pulled:
    """Save what is typed on page ``number`` (from 0), and request the suggestions that its button promises."""
    saved = save_draft(assignment_id=assignment_id, participant_id=participant_id, number=number, data=data)
    if saved != "saved":
        return "closed"
    assignment = Assignment.objects.select_related("participant").get(pk=assignment_id, participant=participant_id)
    answers = given_answers(assignment_id)
    if assignment.state != Assignment.State.ACCEPTED or number != len(answers):
        return "closed"
    instrument = live_instrument(assignment.participant.arm_id)
    offers = offers_to(assignment_id, instrument)
    shown = instrument.shown(shown_items(assignment.hit_id), assignment.order, offers)
    page = instrument.page(shown, number, lambda: answers)
    if page is None or not page.pulls:
        return "closed"
    if offers.open_pull(number):
        return "waits"
    last = max((pull.number for pull in offers.pulls if pull.step == number), default=0)
    if last >= page.pulls:
        return "spent"
    typed = typed_texts(page, data)
    if page.pull_lacks(typed):
        return "lacks"
    if not (asks := instrument.task.pull(shown, page, typed)):
        return "empty"
    row = {
        "assignment": assignment_id,
        "step": number,
        "number": last + 1,
        "typed": typed,
        "asked_at": timezone.now(),
    }
    statement, params = sql.insertion(Pull, row)
    if sql.execute(statement + _ONCE, *params) == 0:
        return "waits"  # another tab was faster
    request_pulled(assignment_id=assignment_id, number=number, asks=asks, pull=last + 1)
    return "asked"


def typed_texts(page: Page, data: Mapping[str, str]) -> dict[str, str]:
    """What is in the page's text boxes, by question."""
    boxes = [question.key for question in page.questions if question.writes]
    return {key: clean_text(data.get(key, ""))[:MAX_CHARS] for key in boxes}
