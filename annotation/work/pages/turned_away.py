"""The page for somebody whose answers before the first task ended their participation."""

from __future__ import annotations

from decimal import Decimal

from django.http import HttpResponse
from django.urls import reverse

from annotation.instrument import Instrument, live_instrument
from annotation.languages import gettext as _
from annotation.languages import marked, money, speak
from annotation.models import Participant, PartPayment
from annotation.platforms.base import Finish, Platform
from annotation.work.pages.terms import payment_words
from annotation.work.pages.worker_page import Link, message

#: What people read if the study has no words of its own, by reason.
WHY = {
    "screened_out": marked(
        "The researchers are looking for people with another background. This says nothing about you or your answers."
    ),
    "not_understood": marked(
        "Not all of your answers about the instructions were right, and there are no more tries. The task needs people "
        "who are sure about them."
    ),
    "not_trained": marked(
        "Not enough of your practice answers were right, and there are no more tries. The task needs people who judge "
        "such texts as the examples explain."
    ),
}


def turned_away_page(
    token: str, participant_id: int, *, platform: type[Platform] | None = None, way_back: Finish | None = None
) -> HttpResponse:
    """Says why, what they get, and how they go back. ``way_back``: where the platform wants to know the outcome."""
    participant = Participant.objects.select_related("study").get(pk=participant_id)
    study, reason = participant.study, participant.turned_away or ""
    instrument: Instrument = live_instrument(participant.arm_id)
    speak(instrument.voice)
    owed = PartPayment.objects.filter(assignment__participant=participant).order_by("pk").first()
    lines = [instrument.asked.messages.get(reason) or _(WHY[reason])]
    if owed:
        lines.append(_("You get %(amount)s for your answers.") % {"amount": money(owed.amount)})
        lines.append(_owed_words(participant, platform, owed.amount))
    link = None
    if way_back is not None:
        lines += [way_back.note]
        lines.append(_("If you are asked for a completion code there, enter %(code)s.") % {"code": way_back.code})
        link = Link(way_back.link, _("Back to %(site)s") % {"site": platform.site if platform else ""})
    elif platform is not None:
        lines.append(_(platform.way_out))
    record_url = reverse("work_record", args=[token])
    heading = _("Thank you. You cannot take part in this study")
    return message(heading, *filter(None, lines), status=403, contact=study.contact, link=link, record_url=record_url)


def _owed_words(participant: Participant, platform: type[Platform] | None, amount: Decimal) -> str:
    """How they get what they are owed."""
    code = _("Your code is %(code)s.") % {"code": participant.completion_code}
    if platform is not None:
        separately = _("The researchers pay it separately.")
        return f"{separately} {code}"
    words = payment_words(participant.study.pay_note, participant.study.platforms, pays=amount > 0)
    return f"{code} {words}".strip()
