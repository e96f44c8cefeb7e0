"""Workers' pages for people who do no work: the public preview, and a trial whose answers are stored nowhere."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from random import Random
from typing import Any

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.views.decorators.http import require_http_methods

from annotation.access import study_for
from annotation.instrument import Instrument, item_data
from annotation.languages import gettext as _
from annotation.models import Arm, Item, Study
from annotation.platforms import platform_class
from annotation.platforms.link import Link
from annotation.task_types.base import Answers, Page
from annotation.task_types.items import ItemData
from annotation.task_types.offers import Ask, Offers, PullData
from annotation.task_types.simulation import SimulatedWorker
from annotation.task_types.wording import recording_notice
from annotation.work.confirmation import bounded_on
from annotation.work.example_offers import example_offers
from annotation.work.pages.start import Visit, not_admitted, not_open, visit_to
from annotation.work.pages.terms import terms_of
from annotation.work.pages.worker_page import message, page, workers_page
from annotation.work.requested_offers import typed_texts
from common.numbers import whole_number

#: The maximum number of preview pages for a type whose pages depend on the answers.
MOST_PREVIEWED = 50


@workers_page
@require_http_methods(["GET", "HEAD"])
def study_preview(request: HttpRequest, slug: str) -> HttpResponse:
    """The real pages with one real item. Nothing can be sent. Only members can preview a draft."""
    visit = visit_to(request, slug)
    study = visit.study
    if not _may_preview(request, visit):
        return not_admitted(study, "invited") if study.status == Study.Status.LIVE else not_open(study)
    first = study.items.exclude(role=Item.Role.TRAINING).order_by("position").first()
    if first is None:
        return message(_("There is nothing to preview yet"), _("This study has no items."), status=404)
    pages = Trial(Instrument.of(study), [item_data(first)], seed=study.seed).all_pages()
    page_number = whole_number(request.GET.get("step", ""), least=1, most=len(pages)) or 1
    context = preview_context(study, pages[page_number - 1], at=page_number, steps=len(pages)) | {
        "limit_note": limit_note(study)
    }
    return page(pages[page_number - 1].template, context | _way_back(visit) | {"key": visit.query("&")})


def _way_back(visit: Visit) -> dict[str, str]:
    """Where the preview leads. Of work on a platform, it is all that people see there before they accept: it says what
    they can expect, and there is no start page to go back to."""
    offered = visit.study.postings.exclude(platform=Link.name).values_list("platform", flat=True).first()
    if offered is None or visit.bot:
        return {"start_url": visit.url}
    platform = platform_class(offered)
    terms = terms_of(visit.study, visit.study.arms.all(), platform=platform)
    return {"start_url": "", "terms_note": f"{terms.sentence(_(platform.task))} {terms.payment}".strip()}


def limit_note(study: Study) -> str:
    """How many hits one person can do, where a platform offers more, each on its own; empty elsewhere."""
    if not bounded_on(study):
        return ""
    return _("Each person can do at most %(count)s of these in this study.") % {"count": study.hits_per_worker}


def _may_preview(request: HttpRequest, visit: Visit) -> bool:
    study = visit.study
    invited = study.access == Study.Access.OPEN or visit.invitation or visit.bot
    if study.status in (Study.Status.LIVE, Study.Status.PAUSED) and invited:
        return True
    # Only people who have signed in to the console send this cookie. Nobody else's session is looked up.
    if settings.SESSION_COOKIE_NAME not in request.COOKIES:
        return False
    try:
        return bool(study_for(request.user, study.slug))
    except Http404:
        return False


class Trial:
    """A hit with these items as its first worker gets it, after ``answers`` to its first pages. Nothing is stored.

    Suggestions are examples from the pools; ``pulls`` are the presses of buttons for suggestions. ``pages`` has a page
    for each answer, and the one after them, ``due``, unless the hit is complete.
    """

    def __init__(
        self,
        instrument: Instrument,
        items: Sequence[ItemData],
        *,
        seed: int,
        answers: Sequence[Answers] = (),
        pulls: Sequence[PullData] = (),
    ) -> None:
        self.instrument = instrument
        rng = Random(seed)  # noqa: S311 - every visitor is to see the same preview
        order = self.instrument.task.arrange(items, self.instrument.config, slot=0, rng=rng)
        self.shown = self.instrument.shown(items, order)
        self.items, self.seed = items, seed
        self.answers = list(answers)
        self.pulls = list(pulls)
        self.pages: list[Page] = []
        for number in range(len(self.answers) + 1):
            self._turn_to(number)

    def copy(self) -> Trial:
        """The same hit after the same answers."""
        return Trial(self.instrument, self.items, seed=self.seed, answers=self.answers, pulls=self.pulls)

    @property
    def due(self) -> Page | None:
        """The page to answer next; None after the last."""
        return self.pages[len(self.answers)] if len(self.pages) > len(self.answers) else None

    @property
    def length(self) -> int | None:
        """How many pages there are; None if that depends on the answers."""
        return self.instrument.task.length(self.shown)

    def answer(self, form: Mapping[str, str]) -> dict[str, str]:
        """Answers the page that is due and turns to the next one; or errors by question key."""
        if self.due is None:
            return {}
        answers, errors = self.due.clean(form)
        errors = errors or dict(self.instrument.task.check(self.shown, self.due, answers, self.answers))
        if not errors:
            self.answers.append(answers)
            self._turn_to(len(self.answers))
        return errors

    def press(self, form: Mapping[str, str]) -> bool:
        """Presses the button for suggestions on the page that is due. False if what they begin from is missing."""
        number, due = len(self.answers), self.due
        before = [pull for pull in self.pulls if pull.step == number]
        if due is None or len(before) >= due.pulls:
            return True
        typed = typed_texts(due, form)
        if due.pull_lacks(typed) or not self.instrument.task.pull(self.shown, due, typed):
            return False
        self.pulls.append(PullData(number, len(before) + 1, typed))
        del self.pages[number:]
        self._turn_to(number)
        return True

    def skip(self, steps: int) -> None:
        """Lets a simulated worker answer up to ``steps`` pages."""
        worker = SimulatedWorker.named("preview", "careful")
        for _page in range(steps):
            if self.due is None:
                return
            form = self.instrument.task.simulate(worker, self.shown, self.due, self.answers)
            if self.answer(form):
                return

    def all_pages(self) -> list[Page]:
        """Every page. If pages depend on the answers, a simulated worker answers those that are left."""
        fixed = self.instrument.walk(self.shown).fixed
        if fixed:
            pages = (self.instrument.page(self.shown, number, list) for number in range(len(fixed.pages(self.shown))))
            return [shown_page for shown_page in pages if shown_page is not None]
        self.skip(MOST_PREVIEWED - len(self.answers))
        return self.pages[:MOST_PREVIEWED]

    def _turn_to(self, number: int) -> None:
        """Adds page ``number``, from 0, with example suggestions."""
        shown_page = self._page(number)
        if shown_page is None:
            return
        if shown_page.asks:
            self._offer(shown_page.asks, number)
        for pull in [press for press in self.pulls if press.step == number]:
            offers = self.shown.offers
            if pull not in offers.pulls:
                self.shown = replace(self.shown, offers=replace(offers, pulls=(*offers.pulls, pull)))
            self._offer(self.instrument.task.pull(self.shown, shown_page, pull.typed), number, pull.number)
        self.pages.append(self._page(number) or shown_page)

    def _page(self, number: int) -> Page | None:
        return self.instrument.page(self.shown, number, lambda: self.answers[:number])

    def _offer(self, asks: Sequence[Ask], number: int, press: int = 1) -> None:
        offers_shown = self.shown.offers.shown
        if any((offer.step, offer.number) == (number, press) for offer in offers_shown):
            return
        offers = example_offers(asks, number, press, used=[offer.text for offer in offers_shown])
        self.shown = replace(self.shown, offers=Offers((*offers_shown, *offers), self.shown.offers.pulls))


def preview_context(study: Study, shown_page: Page, *, at: int, steps: int, arm: Arm | None = None) -> dict[str, Any]:
    """What a page's template needs for a preview. The caller adds ``start_url``, where its links lead."""
    instrument = Instrument.of(study, arm)
    return {
        **shown_page.context,
        "preview": True,
        "key": "",
        "page": shown_page,
        "at": at,
        "steps": steps,
        "study_title": study.title,
        "contact": study.contact,
        "instructions": instrument.texts["instructions"],
        "values": shown_page.initial,
        "recording": recording_notice(instrument.texts) if instrument.records_edits else "",
        "errors": {},
        "feedback_box": study.feedback_box and at == steps,
    }
