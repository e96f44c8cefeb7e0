"""The workers' pages inside the console: the start page and every step of the hit with any item, for any arm.

It uses only the workers' own templates, so it shows exactly what workers get. Unlike the public preview, it works for
drafts, includes the start page, can be answered without storing anything, and all its links stay within the frame.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from urllib.parse import urlencode

from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404
from django.urls import reverse
from django.views.decorators.csrf import csrf_exempt
from django.views.decorators.http import require_http_methods, require_safe

from annotation.instrument import Instrument, shown_to
from annotation.models import Arm, Item, Study, Submission
from annotation.shell.framing import embeds_own_pages, framed_by_own_pages
from annotation.shell.page import SignedIn, member, study_page
from annotation.studies.pages.preview_hits import hit_with
from annotation.studies.pages.preview_trial import open_trial, trial_page
from annotation.studies.pages.stepper import stepper
from annotation.work.pages.preview import Trial, preview_context
from annotation.work.pages.start import start_context
from annotation.work.pages.worker_page import Notice, page
from common.numbers import whole_number

WIDTHS = ("phone", "wide")
#: Instead of a step: the first one about the item asked for.
OF_ITEM = "item"
#: How many item ids the search box suggests.
LISTED_ITEMS = 200


@dataclass(frozen=True, slots=True)
class Choice:
    """Which arm and item to show, and how wide. Invalid values in the address are ignored."""

    arm: Arm | None
    item: Item | None
    width: str

    @property
    def arm_number(self) -> int:
        return self.arm.position + 1 if self.arm else 1

    def query(self, **changes: object) -> str:
        """The parameters for an address, with ``changes``. Parameters without a value are left out."""
        chosen = {"arm": self.arm_number if self.arm else "", "item": self.item.external_id if self.item else ""}
        return urlencode({name: value for name, value in (chosen | changes).items() if value not in ("", None)})


@require_safe
@embeds_own_pages
@member()
def preview(request: SignedIn, study: Study) -> HttpResponse:
    choice = _choice(request, study)
    items = Item.objects.filter(study=study).order_by("position")
    typed = request.GET.get("item", "").strip()
    item_exists = choice.item is not None
    if typed and not item_exists:
        choice = replace(choice, item=items.first())
    hit = hit_with(study, choice.arm, choice.item)
    shown = choice.item or (items.filter(external_id=hit.items[0].external_id).first() if hit else None)
    around = {
        "previous": items.filter(position__lt=shown.position).last() if shown else None,
        "next": items.filter(position__gt=shown.position).first() if shown else None,
    }
    step = request.GET.get("step", "") or (OF_ITEM if choice.item else "")
    context = {
        "steps": stepper(study, "preview") if study.status == Study.Status.DRAFT else [],
        "has_items": shown is not None,
        "has_training": Item.objects.filter(study=study, role=Item.Role.TRAINING).exists(),
        "hit": hit,
        "item": shown,
        "not_found": typed[:60] if typed and not item_exists and shown else "",
        "some_ids": list(items.values_list("external_id", flat=True)[:LISTED_ITEMS]),
        "width": choice.width,
        "arms": study.arms.exclude(name="").order_by("position"),
        "number": choice.arm_number,
        "links": {
            name: choice.query(item=item.external_id, width=choice.width) for name, item in around.items() if item
        },
        "phone": choice.query(width="phone", step=step),
        "wide": choice.query(width="wide", step=step),
        "frame_url": f"{reverse('console_preview_page', args=[study.slug])}?{choice.query(step=step)}",
    }
    return study_page(request, study, "studies/preview.html", context, section="preview")


@csrf_exempt  # its forms send no token, as for workers; here they only turn the page
@require_http_methods(["GET", "HEAD", "POST"])
@framed_by_own_pages
@member(write="viewer")
def preview_page(request: SignedIn, study: Study) -> HttpResponse:
    """The start page and, with ``?step=``, a page of the hit: its number, or ``item`` for the first about the item.

    A page can be answered. The answers so far are in the form and nowhere else.
    """
    choice = _choice(request, study)
    hit = hit_with(study, choice.arm, choice.item)
    address = f"{reverse('console_preview_page', args=[study.slug])}?{choice.query()}{'&' if choice.query() else ''}"
    if request.method == "POST" and hit:
        return trial_page(request, study, choice.arm, hit, address)
    pages = Trial(Instrument.of(study, choice.arm), hit.items, seed=study.seed).all_pages() if hit else []
    step = request.GET.get("step", "")
    position = hit.place_of(choice.item) if hit and step == OF_ITEM else None
    page_number = next(
        (
            page_number
            for page_number, shown_page in enumerate(pages, 1)
            if position is not None and shown_page.item == position
        ),
        0,
    )
    page_number = page_number or (1 if step == OF_ITEM and pages else whole_number(step, least=0, most=len(pages)) or 0)
    if page_number == 0 or hit is None:
        start = {"start": "", "preview_url": f"{address}step=1", "problems": []}
        return page("work/start.html", start_context(study, choice.arm) | start)
    return open_trial(study, choice.arm, hit, address, page_number=page_number, steps=len(pages))


@require_safe
@member(answers=True)
def submission_page(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    """The pages as one worker saw them, in the recorded order, with their answers."""
    submissions = Submission.objects.select_related("assignment__hit__arm", "participant")
    submission = get_object_or_404(submissions, pk=pk, study=study)
    if submission.participant.redacted_at is not None:
        raise Http404("The worker had their data deleted.")
    arm = submission.assignment.hit.arm
    instrument = Instrument.of(study, arm)
    pages = instrument.walk(shown_to(submission.assignment, instrument)).answered(submission.answers)
    page_number = whole_number(request.GET.get("step", ""), least=0, most=len(pages)) or 1
    shown_page = pages[page_number - 1]
    context = {
        **preview_context(study, shown_page, at=page_number, steps=len(pages), arm=arm),
        "start_url": reverse("console_submission", args=[study.slug, pk]),
        "values": shown_page.typed(submission.answers[page_number - 1]),
        "notice": Notice(
            "",
            f"What {submission.participant.pseudonym} saw and answered",
            "In the order that the worker saw.",
        ),
    }
    return page(shown_page.template, context)


def _choice(request: SignedIn, study: Study) -> Choice:
    """The arm by its number from 1 (default: the first), the item by its id (default: no particular item)."""
    arms = list(study.arms.order_by("position"))
    number = whole_number(request.GET.get("arm", ""), least=1, most=len(arms)) or 1
    arm = arms[number - 1] if arms else None
    name = request.GET.get("item", "").replace("\x00", "").strip()
    item = Item.objects.filter(study=study, external_id=name).first() if name else None
    width = request.GET.get("width", "")
    return Choice(arm, item, width if width in WIDTHS else WIDTHS[0])
