"""Trying a study's training in the console, round by round. What is answered stays in the session of who tries it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Any

from django.http import Http404, HttpResponse
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods

from annotation.instrument import HitItems, Instrument, item_data
from annotation.languages import speaking
from annotation.models import Arm, Item, Study
from annotation.shell.page import SignedIn, member
from annotation.studies.pages.launch_plan import fingerprint
from annotation.task_types.questions import clean_text
from annotation.work.pages.preview import preview_context
from annotation.work.pages.training import Practice, explained
from annotation.work.pages.worker_page import Link, Notice, SeeOther, message, page, problems_of
from annotation.work.training_rounds import (
    TrainingPage,
    TriedRow,
    last_answered,
    page_after,
    round_passed,
    tried_columns,
)

NOBODY = 0  # no participant has this number
NOTHING_SAVED = Notice("", "This is a preview", "Answer as a worker would. Nothing is kept with the study.")


@csrf_exempt  # the form is the workers' and sends no token; here it only turns the page
@require_http_methods(["GET", "HEAD", "POST"])
@member(write="viewer")
def training_preview(request: SignedIn, study: Study) -> HttpResponse:
    """GET: the page that is due; ``?answered``: what was right on the last one; ``?begin``: from the start."""
    arm = study.arms.order_by("position").first()
    rows_of_study = Item.objects.filter(study=study, role=Item.Role.TRAINING).order_by("position")
    named = {item.pk: item_data(item) for item in rows_of_study}
    if not named:
        raise Http404
    items, instrument = HitItems(tuple(named), tuple(named.values())), Instrument.of(study, arm)
    address = reverse("console_training_preview", args=[study.slug])
    session_key, version = f"training-preview-{study.pk}", fingerprint(study)
    stored = request.session.get(session_key, {})
    rows = [TriedRow(*row) for row in stored.get("rows", [])] if stored.get("version") == version else []
    if "begin" in request.GET:
        request.session.pop(session_key, None)
        return SeeOther(address)
    with speaking(instrument.voice):
        if "answered" in request.GET and request.method != "POST":
            return _answered(study, arm, instrument, items, rows, address) or SeeOther(address)
        due = page_after(rows, NOBODY, items, instrument)
        if due is None:
            return message(
                "This is the end of the training",
                "A worker who passed would do the first task now. Nothing was saved.",
                status=200,
                link=Link(f"{address}?begin", "Try it again"),
            )
        context = _context(study, arm, due) | {"trying": "training", "action": address}
        if request.method != "POST":
            return page(due.page.template, context)
        typed = {name: clean_text(str(value)) for name, value in request.POST.items()}
        answers, errors = due.page.clean(typed)
        errors = errors or dict(instrument.task.check(due.shown, due.page, answers, due.before))
        if errors:
            context |= {"values": typed, "errors": errors, "problems": problems_of(due.page, errors)}
            return page(due.page.template, context, status=422)
    verdicts = tried_columns(due, answers)["verdicts"]
    passed = round_passed(due, answers, verdicts, instrument.asked.training.needed_of(len(items.ids)))
    row = TriedRow(due.attempt, due.place, due.item_id, answers, verdicts, due.order, passed)
    request.session[session_key] = {"version": version, "rows": [astuple(row) for row in (*rows, row)]}
    return SeeOther(f"{address}?answered#explained")


def _answered(
    study: Study, arm: Arm | None, instrument: Instrument, items: HitItems, rows: Sequence[TriedRow], address: str
) -> HttpResponse | None:
    answered = last_answered(NOBODY, items, instrument, rows)
    if answered is None:
        return None
    due, row = answered
    practice = explained(due, row, instrument.asked.training)
    if practice is None:
        return None
    context = _context(study, arm, due) | {
        "values": due.page.typed(row.answers),
        "practice": replace(practice, next_url=address),
    }
    return page(due.page.template, context)


def _context(study: Study, arm: Arm | None, due: TrainingPage) -> dict[str, Any]:
    """What both pages share. The banner of the page that is due says which try it is."""
    training, n_items = Instrument.of(study, arm).asked.training, len(due.items.ids)
    return preview_context(study, due.page, at=due.position + 1, steps=n_items, arm=arm) | {
        "feedback_box": False,
        "notice": NOTHING_SAVED,
        "practice": Practice(training.needed_of(n_items), n_items, due.attempt, training.tries),
    }
