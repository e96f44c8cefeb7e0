"""Prevents one person from taking all places of an open study by starting again and again without working.

For each address and study, it counts the people who used the open link and have not sent anything yet. Each has at
most one hit at a time, so this also limits the hits in progress. Personal links and simulated workers do not count.
"""

from __future__ import annotations

from django.conf import settings
from django.core.cache import cache
from django.http import HttpRequest, HttpResponse

from annotation.languages import gettext as _
from annotation.languages import ngettext, number
from annotation.models import Study
from annotation.work.pages.worker_page import message
from common import brake

WINDOW_SECONDS = 3600


def take_start(request: HttpRequest, study: Study) -> str | None:
    """A receipt for one more start; None if there are too many from this address. Empty if there is no limit."""
    most = settings.UNSENT_PER_ADDRESS
    if not most:
        return ""
    return brake.take(request, f"start {study.pk}", most=most, seconds=WINDOW_SECONDS) or None


def note_start(participant_id: int, receipt: str) -> None:
    """Links the start to the participant that it created. After their first submission, it no longer counts."""
    if receipt and not cache.add(_key(participant_id), receipt, WINDOW_SECONDS):
        brake.give_back(receipt)  # the button was pressed twice


def note_submission(participant_id: int) -> None:
    """Stops counting the participant's start."""
    key = _key(participant_id)
    receipt = cache.get(key) if settings.UNSENT_PER_ADDRESS else None
    if receipt:
        cache.delete(key)
        brake.give_back(receipt)


def cancel_start(receipt: str) -> None:
    if receipt:
        brake.give_back(receipt)


def too_many_starts(study: Study) -> HttpResponse:
    most = settings.UNSENT_PER_ADDRESS
    people = ngettext(
        "In the last hour, one person started this study from your network without finishing a task.",
        "In the last hour, %(count)s people started this study from your network without finishing a task.",
        most,
    ) % {"count": number(most)}
    response = message(
        _("Too many people have started from your network"),
        f"{people} {_('This limit keeps places free for everybody.')}",
        _(
            "If you share your connection with others, for example in a class, wait until some of them have finished a "
            "task, then try again. Or ask the researchers for a personal link: those always work."
        ),
        status=429,
        contact=study.contact,
    )
    response.headers["Retry-After"] = str(WINDOW_SECONDS // 6)
    return response


def _key(participant_id: int) -> str:
    return f"unsent-start-{participant_id}"
