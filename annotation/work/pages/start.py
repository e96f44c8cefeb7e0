"""The way into a study: its start page. Viewing it writes nothing.

The address identifies a visitor (by a personal link, a panel's id or a simulated worker's token), or the key that their
browser sends with the start form does. Without any of these, each start is a new person.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from decimal import Decimal
from typing import Any
from urllib.parse import urlencode

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation import identity
from annotation.instrument import Instrument, whole_texts
from annotation.languages import gettext as _
from annotation.languages import marked, money, speak
from annotation.models import Arm, Invitation, Participant, Study, Worker
from annotation.platforms.base import Platform
from annotation.platforms.link import Link
from annotation.task_types.questions import clean_text
from annotation.task_types.registry import get_type
from annotation.task_types.wording import recording_notice
from annotation.tokens import BadToken, BotToken, participant_token, read_bot_token, read_start_token, start_token
from annotation.work.allocation import NotAdmitted, enrol_with_hit
from annotation.work.confirmation import is_posted
from annotation.work.pages.start_brake import cancel_start, note_start, take_start, too_many_starts
from annotation.work.pages.terms import terms_of
from annotation.work.pages.worker_page import SeeOther, message, page, workers_page
from annotation.work.standing import few_places, invitation_by_key, openings, participant_of, study_by_slug

#: What workers read before they start, by the study's rule for people who stop.
PART_PAY = {
    "none": "",
    "steps": marked(
        "If you stop in the middle of a task, you get the part of the reward for the steps that you have sent."
    ),
    "fixed": marked("If you stop in the middle of a task after at least one step, you get {amount} for it."),
}
#: By whether ratings stay when a worker's data are deleted.
DELETION = {
    False: marked("You can see what is recorded about you, and ask for its deletion, on your own page."),
    True: marked(
        "You can see what is recorded about you, and ask for its deletion, on your own page. Your ratings are then "
        "kept without your name; everything you wrote is deleted."
    ),
}
DISAGREED = marked("Please tick this box if you agree. If you do not agree, close this page.")
Identity = Study.Identity


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

    @property
    def asks_browser(self) -> bool:
        """Whether only the browser can show that this visitor has started: others can know a panel's id."""
        return bool(self.panel_id) or (self.study.identity == Identity.BROWSER and not self.named)

    def participant(self, browser_key: str = "", start: str = "") -> Participant | None:
        """This visitor's participation, if there is one and they can show that it is theirs."""
        if self.invitation:
            worker = self.invitation.worker
            return participant_of(self.study, worker.platform, worker.platform_id)
        if self.bot:
            return participant_of(self.study, identity.SIMULATED, identity.simulated_id(self.study, self.bot.name))
        if self.panel_id:
            candidate = participant_of(self.study, identity.PANEL, identity.panel_id(self.study.panel, self.panel_id))
            return candidate if candidate and identity.may_return(candidate, browser_key, start) else None
        return participant_of(self.study, identity.BROWSER, browser_key) if browser_key else None

    def worker(self, *, browser_key: str, start: str) -> Worker:
        """The worker who starts now. Raises BadToken if that depends on the start form's token and it is wrong."""
        if self.invitation:
            return self.invitation.worker
        if self.bot:
            return identity.simulated_worker(self.study, self.bot.name)
        if self.panel_id:
            return identity.panel_worker(self.study.panel, self.panel_id)
        key = read_start_token(start, self.study.pk)
        return identity.browser_worker(browser_key) if browser_key else identity.link_worker(key)


def visit_to(request: HttpRequest, slug: str) -> Visit:
    """The visit to a page. Raises BadToken or Invitation.DoesNotExist if the key or token in the address is wrong."""
    study = study_by_slug(slug)
    speak(study.voice())
    if "k" in request.GET:
        key = clean_text(request.GET["k"])
        return Visit(study, {"k": key}, invitation=invitation_by_key(study, key))
    if "bot" in request.GET:
        token = request.GET["bot"]
        return Visit(study, {"bot": token}, bot=read_bot_token(token, study.pk))
    if study.identity == Identity.PARAMETER:
        panel_id = request.GET.get(study.identity_parameter, "").strip()
        if identity.is_panel_id(panel_id):
            return Visit(study, {study.identity_parameter: panel_id}, panel_id=panel_id)
    return Visit(study, {})


# --- start ---


@workers_page
@require_http_methods(["GET", "HEAD", "POST"])
def study_start(request: HttpRequest, slug: str) -> HttpResponse:
    visit = visit_to(request, slug)
    study, browser_key = visit.study, request.POST.get("browser", "")
    if study.identity == Identity.NONE or not identity.is_browser_key(browser_key):
        browser_key = ""
    returning = visit.participant(browser_key, request.POST.get("start", ""))
    if study.status == Study.Status.DRAFT or (study.status != Study.Status.LIVE and not returning):
        return not_open(study, visit)
    if study.access == Study.Access.INVITED and not (visit.invitation or visit.bot):
        return not_admitted(study, "invited")
    if get_type(study.task_type).for_members and not visit.bot:
        return not_admitted(study, "members")
    if visit.lacks_id:
        return message(
            _("Your id is missing from this link"),
            _("This study needs to know your id on the site that sent you here, and the link does not contain it."),
            _("Open the study again from that site. If you see this page again, tell the researchers."),
            status=400,
            contact=study.contact,
        )
    if not visit.bot and is_posted(study):
        return not_admitted(study, "platform")
    if request.method != "POST" or ("return" in request.POST and not returning):
        room = "open" if returning else openings(study)
        if room != "open":
            return not_admitted(study, room, visit)
        return _start_page(visit, returning=returning, start=start_token(study.pk))
    if returning:
        return _to_work(returning)
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
        participant = enrol_with_hit(
            study=study,
            worker=visit.worker(browser_key=browser_key, start=start),
            consented=bool(study.consent),
            profile=visit.bot.profile if visit.bot else "",
            invitation=visit.invitation,
            returns_with=identity.return_proof(study, browser_key or start) if visit.panel_id else None,
        )
    except NotAdmitted as refusal:
        cancel_start(receipt)
        return not_admitted(study, "just_taken" if refusal.reason == "taken" else refusal.reason, visit)
    except BadToken:
        cancel_start(receipt)
        raise
    if visit.panel_id and not identity.may_return(participant, browser_key, start):
        cancel_start(receipt)
        return not_admitted(study, "other_browser")
    note_start(participant.pk, receipt)
    return _to_work(participant)


def _to_work(participant: Participant) -> HttpResponse:
    return SeeOther(reverse("work", args=[participant_token(participant.pk)]))


def _start_page(
    visit: Visit, *, returning: Participant | None = None, start: str, disagreed: bool = False
) -> HttpResponse:
    study = visit.study
    context = {
        **start_context(study, returning.arm if returning else None),
        "start": start,
        "few_places": None if returning else few_places(study),
        "asks_browser": visit.asks_browser,
        "known_by_address": bool(visit.named) and not visit.panel_id,
        "preview_url": reverse("study_preview", args=[study.slug]) + visit.query(),
        "continue_url": reverse("work", args=[participant_token(returning.pk)]) if returning else "",
        "problems": [("agree", _("Taking part:"), _(DISAGREED))] if disagreed else [],
    }
    return page("work/start.html", context, status=422 if disagreed else 200)


def start_context(
    study: Study, arm: Arm | None = None, *, platform: type[Platform] = Link, offered: Collection[Decimal] = ()
) -> dict[str, Any]:
    """What the start page shows about the study. Until the arm is known, only what all arms have in common.

    ``offered``: what a task may pay on the platform, in USD.
    """
    arms = [arm] if arm else list(study.arms.all())
    wordings = {Instrument.of(study, arm).texts["instructions"] for arm in arms}
    if len(wordings) != 1:
        wordings = {whole_texts(get_type(study.task_type), study.config, study.texts)["instructions"]}
    # The notice that typing is recorded, if an arm records it, in the study's words if arms differ in theirs.
    instruments = [Instrument.of(study, arm) for arm in arms] or [Instrument.of(study)]
    notices = {recording_notice(instrument.texts) for instrument in instruments if instrument.records_edits}
    if len(notices) > 1:
        notices = {recording_notice(study.texts)}
    return {
        "study": study,
        "instructions": wordings.pop(),
        "terms": terms_of(study, arms, platform=platform, offered=offered),
        "recording": next(iter(notices), ""),
        "part_pay": _(PART_PAY[study.part_pay]).format(amount=money(study.part_pay_amount or Decimal(0))),
        "deletion": _(DELETION[study.keep_ratings]),
    }


#: For people who have started before.
OWN_PAGE = marked(
    "Have you started already? Open the address of your own page: you can still send the task you are working on."
)


def not_open(study: Study, visit: Visit | None = None) -> HttpResponse:
    if study.status == Study.Status.DRAFT:
        return message(_("This study is not open yet"), _("Please look again later."), status=403)
    if study.status == Study.Status.PAUSED:
        heading, line, status = (
            _("This study is paused"),
            _("There are no new tasks right now. Please look again later."),
            403,
        )
        own_page = _(OWN_PAGE)
    else:
        heading, line, status = (
            _("This study is closed"),
            _("Thank you for your interest. There are no new tasks."),
            410,
        )
        own_page = f"{_(OWN_PAGE)} {_('It also shows your completion code.')}"
    return message(
        heading, line, own_page, status=status, contact=study.contact, asks_browser=_may_be_known(study, visit)
    )


def _may_be_known(study: Study, visit: Visit | None) -> bool:
    """Whether only the browser's key can show that this visitor has started. The page then asks for it."""
    return visit is not None and visit.asks_browser


REFUSALS = {
    "members": (
        marked("This study is for members of the research team"),
        marked("They start in the console: sign in there, open the study, and choose Coding."),
    ),
    "platform": (
        marked("This study is done on another site"),
        marked("Its tasks are offered on a platform for workers. Open it from there."),
    ),
    "invited": (
        marked("This study is by invitation"),
        marked("You need the personal link that was sent to you. Open that link, and check that you have all of it."),
    ),
    "took_part": (
        marked("You have already taken part in a related study"),
        marked("Each person can take part in only one of these studies. Thank you for your interest."),
    ),
    "exam": (
        marked("This study is for people who passed another one"),
        marked(
            "Take part in that one first, with the same link or in the same browser. If you have, your result was not "
            "good enough. Thank you for your interest."
        ),
    ),
    "other_browser": (
        marked("You cannot continue in this browser"),
        marked(
            "Somebody has started this study with your id, in another browser or on another device. If that was you, "
            "open "
            "the study there, or open the address of your own page: the browser's history has it."
        ),
        marked("If it was not you, or you cannot go back there, write to the researchers."),
    ),
    "full": (
        marked("This study has all the participants it needs"),
        marked("Thank you for your interest. You can look again later, in case a place becomes free."),
        OWN_PAGE,
    ),
    "just_taken": (
        marked("Others were faster: all tasks are taken right now"),
        marked(
            "You have not started, and nothing about you was saved. Look again in a few minutes, in case one becomes "
            "free."
        ),
        OWN_PAGE,
    ),
    "taken": (
        marked("All tasks are taken right now"),
        marked("Somebody is working on each of them. Look again in a few minutes, in case one becomes free."),
        OWN_PAGE,
    ),
}


def not_admitted(study: Study, reason: str, visit: Visit | None = None) -> HttpResponse:
    """The page for somebody who cannot take part. ``reason`` comes from NotAdmitted or `openings`."""
    heading, *lines = REFUSALS[reason]
    asks_browser = reason in ("full", "taken", "just_taken") and _may_be_known(study, visit)
    return message(_(heading), *map(_, lines), status=403, contact=study.contact, asks_browser=asks_browser)
