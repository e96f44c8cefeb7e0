"""Trying a study in its preview. What is typed travels in the pages' forms; nothing is stored."""

from __future__ import annotations

import hashlib
from collections.abc import Mapping
from typing import Any

from django.core import signing
from django.http import HttpResponse

from annotation.instrument import Instrument
from annotation.models import Arm, Study
from annotation.shell.page import SignedIn
from annotation.studies.pages.launch_plan import fingerprint
from annotation.studies.pages.preview_hits import PreviewedHit
from annotation.task_types.offers import PullData
from annotation.task_types.questions import clean_text
from annotation.work.pages.offers import NOT_PULLED
from annotation.work.pages.preview import Trial, preview_context
from annotation.work.pages.worker_page import Link, SeeOther, message, page, problems_of

SALT = "annotation.preview"
#: The parameter of the address that the button for suggestions leads to.
PULL = "suggest"


def open_trial(
    study: Study, arm: Arm | None, hit: PreviewedHit, address: str, *, page_number: int, steps: int
) -> HttpResponse:
    """Page ``at``, from 1, of a hit with ``steps`` pages. A simulated worker has answered the pages before it."""
    trial = Trial(Instrument.of(study, arm), hit.items, seed=study.seed)
    trial.skip(page_number - 1)
    return _shown(study, arm, hit, trial, address, steps=steps)


def trial_page(request: SignedIn, study: Study, arm: Arm | None, hit: PreviewedHit, address: str) -> HttpResponse:
    """What follows the page that was sent: the next one, or the same one with its errors."""
    try:
        state: dict[str, Any] = signing.loads(request.POST.get("form", ""), salt=SALT)
    except signing.BadSignature:  # the start page's button
        return SeeOther(f"{address}step=1")
    if state["about"] != _about(study, arm, hit):
        return SeeOther(f"{address}step=1")
    pulls = [PullData(step, number, typed) for step, number, typed in state["pulls"]]
    instrument = Instrument.of(study, arm)
    trial = Trial(instrument, hit.items, seed=study.seed, answers=state["answers"], pulls=pulls)
    typed = {name: clean_text(str(value)) for name, value in request.POST.items() if name != "form"}
    if PULL in request.GET:
        pressed = trial.press(typed)
        return _shown(study, arm, hit, trial, address, values=typed, pull_refused=not pressed)
    if errors := trial.answer(typed):
        return _shown(study, arm, hit, trial, address, values=typed, errors=errors)
    if trial.due is None:
        return message(
            "This is the end of the task",
            "A worker would have sent it now. Nothing was saved.",
            status=200,
            link=Link(f"{address}step=1", "Try it again"),
        )
    return _shown(study, arm, hit, trial, address)


def _shown(
    study: Study,
    arm: Arm | None,
    hit: PreviewedHit,
    trial: Trial,
    address: str,
    *,
    steps: int | None = None,
    values: Mapping[str, str] | None = None,
    errors: Mapping[str, str] | None = None,
    pull_refused: bool = False,
) -> HttpResponse:
    page_number, due = len(trial.answers) + 1, trial.due
    if due is None:
        return SeeOther(f"{address}step=1")
    steps = steps or trial.length or len(trial.copy().all_pages())
    state = {
        "about": _about(study, arm, hit),
        "answers": trial.answers,
        "pulls": [(pull.step, pull.number, dict(pull.typed)) for pull in trial.pulls],
    }
    context = preview_context(study, due, at=page_number, steps=steps, arm=arm) | {
        "trying": signing.dumps(state, salt=SALT, compress=True),
        "action": f"{address}step={page_number + 1}",
        "start_url": address.rstrip("?&"),
        "key": f"&{address.partition('?')[2]}".rstrip("&"),
        "errors": errors or {},
        "problems": problems_of(due, errors or {}),
        "notice": NOT_PULLED["empty"] if pull_refused and not due.pull_needs else None,
        "pull": {
            "url": f"{address}step={page_number}&{PULL}=1",
            "step": page_number - 1,
            "waiting": None,
            "lacks": due.pull_lacks(values or due.initial),
            "refused": pull_refused,
        },
    }
    if values is not None:
        context["values"] = dict(values)
    return page(due.template, context, status=422 if errors else 200)


def _about(study: Study, arm: Arm | None, hit: PreviewedHit) -> str:
    """A text that changes with everything that the answers depend on."""
    parts = [fingerprint(study), arm.name if arm else "", *(item.external_id for item in hit.items)]
    return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]
