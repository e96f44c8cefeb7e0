"""The ways into a study: its start page and its preview. Viewing them writes nothing.

The address identifies a visitor (by a personal link, a panel's id or a simulated worker's token), or the key that their
browser sends with the start form does. Without any of these, each start is a new person.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal
from random import Random
from typing import Any
from urllib.parse import urlencode

from django.conf import settings
from django.http import Http404, HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation.access import study_for
from annotation.instrument import Instrument, item_data, whole_texts, with_image
from annotation.models import Arm, Invitation, Participant, Study, Worker
from annotation.platforms import platform_class
from annotation.queries.events import arms_record_edits
from annotation.queries.example_offers import example_offers
from annotation.queries.platforms import bounded_on, is_posted
from annotation.queries.work import invitation_by_key, openings, participant_of, study_by_slug
from annotation.services import people
from annotation.services.allocation import NotAdmitted, enrol
from annotation.task_types.base import Answers, Page
from annotation.task_types.offers import Offers
from annotation.task_types.questions import clean_text
from annotation.task_types.registry import get_type
from annotation.task_types.simulation import SimulatedWorker
from annotation.tokens import BadToken, BotToken, participant_token, read_bot_token, read_start_token, start_token
from annotation.views.work_brake import cancel_start, note_start, take_start, too_many_starts
from annotation.views.work_events import RECORDING
from annotation.views.work_pages import SeeOther, message, page, workers_page
from common.numbers import whole_number
from common.words import counted, money

#: What workers read before they start, by the study's rule for people who stop.
PART_PAY = {
    "none": "",
    "steps": "If you stop in the middle of a task, you get the part of the reward for the steps that you have sent.",
    "fixed": "If you stop in the middle of a task after at least one step, you get {amount} for it.",
}
#: By whether ratings stay when a worker's data are deleted.
DELETION = {
    False: "You can see what is recorded about you, and ask for its deletion, on your own page.",
    True: "You can see what is recorded about you, and ask for its deletion, on your own page. Your ratings are then "
    "kept without your name; everything you wrote is deleted.",
}
DISAGREED = "Please tick this box if you agree. If you do not agree, close this page."
Identity = Study.Identity
#: The maximum number of preview pages for a type whose pages depend on the answers.
MOST_PREVIEWED = 50


@dataclass(frozen=True, slots=True)
class Visit:
    """Who opens a study's page, according to the address. ``named`` contains the parameters that identify them."""

    study: Study
    named: Mapping[str, str]
    invitation: Invitation | None = None
    panel_id: str = ""
    bot: BotToken | None = None

    @property
    def url(self) -> str:
        return reverse("study_start", args=[self.study.slug]) + self.query()

    def query(self, mark: str = "?") -> str:
        return mark + urlencode(self.named) if self.named else ""

    @property
    def lacks_id(self) -> bool:
        return self.study.identity == Identity.PARAMETER and not self.named

    def participant(self, browser_key: str = "") -> Participant | None:
        """This visitor's participation, if there is one."""
        if self.invitation:
            worker = self.invitation.worker
            return participant_of(self.study, worker.platform, worker.platform_id)
        if self.bot:
            return participant_of(self.study, people.SIMULATED, people.simulated_id(self.study, self.bot.name))
        if self.panel_id:
            return participant_of(self.study, people.PANEL, people.panel_id(self.study.panel, self.panel_id))
        return participant_of(self.study, people.BROWSER, browser_key) if browser_key else None

    def worker(self, *, browser_key: str, start: str) -> Worker:
        """The worker who starts now. Raises BadToken if that depends on the start form's token and it is wrong."""
        if self.invitation:
            return self.invitation.worker
        if self.bot:
            return people.simulated_worker(self.study, self.bot.name)
        if self.panel_id:
            return people.panel_worker(self.study.panel, self.panel_id)
        key = read_start_token(start, self.study.pk)
        return people.browser_worker(browser_key) if browser_key else people.link_worker(key)


def _visit(request: HttpRequest, slug: str) -> Visit:
    """The visit to a study. Raises BadToken or Invitation.DoesNotExist if the key or token in the address is wrong."""
    study = study_by_slug(slug)
    if "k" in request.GET:
        key = clean_text(request.GET["k"])
        return Visit(study, {"k": key}, invitation=invitation_by_key(study, key))
    if "bot" in request.GET:
        token = request.GET["bot"]
        return Visit(study, {"bot": token}, bot=read_bot_token(token, study.pk))
    if study.identity == Identity.PARAMETER:
        panel_id = request.GET.get(study.identity_parameter, "").strip()
        if people.is_panel_id(panel_id):
            return Visit(study, {study.identity_parameter: panel_id}, panel_id=panel_id)
    return Visit(study, {})


def _browser_key(request: HttpRequest, study: Study) -> str:
    """The key saved in the browser; empty if the study does not use it or the browser has none."""
    key = request.POST.get("browser", "") if study.identity == Identity.BROWSER else ""
    return key if people.is_browser_key(key) else ""


# --- start ---


@workers_page
@require_http_methods(["GET", "HEAD", "POST"])
def study_start(request: HttpRequest, slug: str) -> HttpResponse:
    visit = _visit(request, slug)
    study, browser_key = visit.study, _browser_key(request, visit.study)
    known = visit.participant(browser_key)
    if study.status == Study.Status.DRAFT or (study.status != Study.Status.LIVE and not known):
        return _not_open(study, visit)
    if study.access == Study.Access.INVITED and not (visit.invitation or visit.bot):
        return not_admitted(study, "invited")
    if get_type(study.task_type).for_members and not visit.bot:
        return not_admitted(study, "members")
    if visit.lacks_id:
        return _no_id(study)
    if not visit.bot and is_posted(study):
        return not_admitted(study, "platform")
    if request.method != "POST" or ("return" in request.POST and not known):
        room = "open" if known else openings(study)
        if room != "open":
            return not_admitted(study, room, visit)
        return _start_page(visit, known=known, start=start_token(study.pk))
    if known:
        return _to_work(known)
    start = request.POST.get("start", "")
    if study.consent and request.POST.get("agree") != "yes":
        read_start_token(start, study.pk)
        return _start_page(visit, start=start, disagreed=True)
    return _enrol(request, visit, browser_key=browser_key, start=start)


def _enrol(request: HttpRequest, visit: Visit, *, browser_key: str, start: str) -> HttpResponse:
    study = visit.study
    receipt = "" if visit.invitation or visit.bot else take_start(request, study)
    if receipt is None:
        return too_many_starts(study)
    try:
        participant = enrol(
            study=study,
            worker=visit.worker(browser_key=browser_key, start=start),
            consented=bool(study.consent),
            profile=visit.bot.profile if visit.bot else "",
            invitation=visit.invitation,
        )
    except NotAdmitted as refusal:
        cancel_start(receipt)
        return not_admitted(study, refusal.reason, visit)
    except BadToken:
        cancel_start(receipt)
        raise
    note_start(participant.pk, receipt)
    return _to_work(participant)


def _to_work(participant: Participant) -> HttpResponse:
    return SeeOther(reverse("work", args=[participant_token(participant.pk)]))


def _start_page(visit: Visit, *, known: Participant | None = None, start: str, disagreed: bool = False) -> HttpResponse:
    study = visit.study
    context = {
        **start_context(study, known.arm if known else None),
        "start": start,
        "asks_browser": study.identity == Identity.BROWSER and not visit.named,
        "known_by_address": bool(visit.named),
        "preview_url": reverse("study_preview", args=[study.slug]) + visit.query(),
        "continue_url": reverse("work", args=[participant_token(known.pk)]) if known else "",
        "problems": [("agree", "Taking part:", DISAGREED)] if disagreed else [],
    }
    return page("annotation/start.html", context, status=422 if disagreed else 200)


def start_context(study: Study, arm: Arm | None = None) -> dict[str, Any]:
    """What the start page shows about the study. Until the arm is known, only what all arms have in common."""
    arms = [arm] if arm else list(study.arms.all())
    rewards = {study.reward if each.reward is None else each.reward for each in arms} or {study.reward}
    return {
        "study": study,
        "instructions": _instructions(study, arms),
        "reward": min(rewards),
        "at_least": len(rewards) > 1,
        "recording": RECORDING if arms_record_edits(study, arms) else "",
        "part_pay": PART_PAY[study.part_pay].format(amount=money(study.part_pay_amount or Decimal(0))),
        "deletion": DELETION[study.keep_ratings],
    }


def _instructions(study: Study, arms: Sequence[Arm]) -> str:
    found = {Instrument.of(study, arm).texts["instructions"] for arm in arms}
    if len(found) == 1:
        return found.pop()
    return whole_texts(get_type(study.task_type), study.config, study.texts)["instructions"]


#: For people who have started before.
OWN_PAGE = (
    "Have you started already? Open the address of your own page: you can still send the task you are working on."
)


def _not_open(study: Study, visit: Visit | None = None) -> HttpResponse:
    if study.status == Study.Status.DRAFT:
        return message("This study is not open yet", "Please look again later.", status=403)
    if study.status == Study.Status.PAUSED:
        heading, line, status = (
            "This study is paused",
            "There are no new tasks right now. Please look again later.",
            403,
        )
        own_page = OWN_PAGE
    else:
        heading, line, status = "This study is closed", "Thank you for your interest. There are no new tasks.", 410
        own_page = f"{OWN_PAGE} It also shows your completion code."
    return message(
        heading, line, own_page, status=status, contact=study.contact, asks_browser=_may_be_known(study, visit)
    )


def _may_be_known(study: Study, visit: Visit | None) -> bool:
    """Whether only the browser's key can show that this visitor has started. The page then asks for it."""
    return study.identity == Identity.BROWSER and visit is not None and not visit.named


REFUSALS = {
    "members": (
        "This study is for members of the research team",
        "They start in the console: sign in there, open the study, and choose Coding.",
    ),
    "platform": (
        "This study is done on another site",
        "Its tasks are offered on a platform for workers. Open it from there.",
    ),
    "invited": (
        "This study is by invitation",
        "You need the personal link that was sent to you. Open that link, and check that you have all of it.",
    ),
    "took_part": (
        "You have already taken part in a related study",
        "Each person can take part in only one of these studies. Thank you for your interest.",
    ),
    "exam": (
        "This study is for people who passed another one",
        "Take part in that one first, with the same link or in the same browser. If you have, your result was not "
        "good enough. Thank you for your interest.",
    ),
    "full": (
        "This study has all the participants it needs",
        "Thank you for your interest. You can look again later, in case a place becomes free.",
        OWN_PAGE,
    ),
    "taken": (
        "All tasks are taken right now",
        "Somebody is working on each of them. Look again in a few minutes, in case one becomes free.",
        OWN_PAGE,
    ),
}


def not_admitted(study: Study, reason: str, visit: Visit | None = None) -> HttpResponse:
    """The page for somebody who cannot take part. ``reason`` comes from NotAdmitted or `openings`."""
    heading, *lines = REFUSALS[reason]
    asks_browser = reason in ("full", "taken") and _may_be_known(study, visit)
    return message(heading, *lines, status=403, contact=study.contact, asks_browser=asks_browser)


def _no_id(study: Study) -> HttpResponse:
    return message(
        "Your id is missing from this link",
        "This study needs to know your id on the site that sent you here, and the link does not contain it.",
        "Open the study again from that site. If you see this page again, tell the researchers.",
        status=400,
        contact=study.contact,
    )


# --- preview ---


@workers_page
@require_http_methods(["GET", "HEAD"])
def study_preview(request: HttpRequest, slug: str) -> HttpResponse:
    """The real pages with one real item. Nothing can be sent. Only members can preview a draft."""
    visit = _visit(request, slug)
    study = visit.study
    if not _may_preview(request, visit):
        return not_admitted(study, "invited") if study.status == Study.Status.LIVE else _not_open(study)
    pages = preview_pages(study, items=1)
    if not pages:
        return message("There is nothing to preview yet", "This study has no items.", status=404)
    at = whole_number(request.GET.get("step", ""), least=1, most=len(pages)) or 1
    context = preview_context(study, pages[at - 1], at=at, steps=len(pages)) | {"limit_note": limit_note(study)}
    return page(pages[at - 1].template, context | {"start_url": visit.url, "key": visit.query("&")})


def limit_note(study: Study) -> str:
    """How many hits one person can do, where a platform offers more, each on its own; empty elsewhere."""
    name = bounded_on(study)
    if not name:
        return ""
    return f"Each person can do at most {counted(study.hits_per_worker or 0, platform_class(name).task)} of this study."


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


def preview_pages(study: Study, *, items: int, arm: Arm | None = None, first: int = 0) -> list[Page]:
    """The pages of a hit with ``items`` items from position ``first``, as the first worker gets them.

    Empty if there are no such items. If pages depend on the answers, a simulated worker answers them.
    """
    found = [item_data(item) for item in study.items.filter(position__gte=first).order_by("position")[:items]]
    if not found:
        return []
    instrument = Instrument.of(study, arm)
    rng = Random(study.seed)  # noqa: S311 - every visitor is to see the same preview
    order = instrument.task.arrange(found, instrument.config, slot=0, rng=rng)
    shown = instrument.shown(found, order)
    walk = instrument.walk(shown)
    if walk.fixed:
        return [with_image(each, shown) or each for each in walk.fixed.pages(shown)]
    worker = SimulatedWorker.named("preview", "careful")
    pages: list[Page] = []
    given: list[Answers] = []
    while len(pages) < MOST_PREVIEWED and (due := instrument.page(shown, len(given), lambda: given)):
        if due.asks:
            offers = (*shown.offers.shown, *example_offers(due, len(given)))
            shown = replace(shown, offers=Offers(offers))
            due = instrument.page(shown, len(given), lambda: given) or due
        pages.append(due)
        answers, errors = due.clean(instrument.task.simulate(worker, shown, due, given))
        if errors:
            break
        given.append(answers)
    return pages


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
        "recording": RECORDING if instrument.records_edits else "",
        "errors": {},
        "feedback_box": study.feedback_box and at == steps,
    }
