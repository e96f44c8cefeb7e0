"""What workers read while suggestions are being written, and the poll that decides when their page reloads."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods, require_safe

from annotation.instrument import live_instrument
from annotation.languages import gettext as _
from annotation.languages import marked, ngettext, number, speak
from annotation.task_types.offers import OfferData
from annotation.tokens import read_form_token, read_seat
from annotation.work import offers as service
from annotation.work.offers import OpenPage, Waiting
from annotation.work.pages.worker_page import Notice, SeeOther, workers_page
from annotation.work.requested_offers import Pulled, pull_offers
from annotation.work.standing import standing

#: Seconds between reloads of a waiting page in a browser without JavaScript.
RELOAD_SECONDS = 3
NONE_CAME = Notice(
    "warn",
    marked("There is no suggestion this time"),
    marked("Please write this part yourself. Everything you wrote before is saved."),
)
#: What to do with what is there, by whether it is only one.
USE_WHAT_CAME = {
    True: marked("Choose it, then change as much of it as you like. You can also replace it with a text of your own."),
    False: marked("Choose one of them, then change as much of it as you like."),
}
#: Why a press of the button got no suggestions, by the parameter of the address that the button leads to.
NOT_PULLED: dict[str, Notice] = {
    "empty": Notice(
        "warn",
        marked("There is nothing to start from yet"),
        marked("Write a few words first. Suggestions are made from what is in the boxes."),
    ),
    "spent": Notice(
        "warn", marked("There are no more suggestions for this text"), marked("You can still use those on the page.")
    ),
}


@workers_page
@require_safe
def work_offers(request: HttpRequest, token: str) -> HttpResponse:
    """Whether page ``?step=`` still waits for its suggestions. ``reload`` is true once the page has changed."""
    seat = read_seat(token)
    position = standing(seat.participant, seat.assignment)
    instrument = live_instrument(position.arm_id)
    speak(instrument.voice)
    due, step = position.open, request.GET.get("step", "")
    if due is None or step != str(due.number):
        return JsonResponse({"reload": True})
    waiting = service.progress(
        instrument=instrument,
        assignment_id=due.assignment_id,
        hit_id=due.hit_id,
        order=due.order,
        number=due.number,
    )
    if waiting is None:
        return JsonResponse({"reload": True})
    return JsonResponse({"reload": False, **in_words(waiting)})


def in_words(waiting: Waiting) -> dict[str, Any]:
    """What is happening at the moment, in words for workers."""
    if waiting.title:
        title, text = waiting.title, _("This usually takes a few seconds.")
    elif waiting.asked_again:
        left = max(1, round(waiting.left))
        title = _("This is taking longer than usual")
        text = ngettext(
            "We have asked again. You can continue in %(count)s second at the latest.",
            "We have asked again. You can continue in %(count)s seconds at the latest.",
            left,
        ) % {"count": number(left)}
    else:
        title = ngettext(
            "The suggestion is being written", "%(count)s suggestions are being written", waiting.count
        ) % {"count": number(waiting.count)}
        text = _("This usually takes a few seconds.")
    words = {"title": title, "text": f"{text} {_('Your text is saved.')}", "waited": round(waiting.waited)}
    return words | ({"growing": dict(waiting.growing)} if waiting.growing else {})


def offers_notice(shown: Iterable[OfferData]) -> Notice | None:
    """A notice if the page has fewer suggestions than it promises, without their sides.

    Where a text came from is recorded, and never shown: in an experiment, it would be a reason to choose another one.
    """
    sources = [offer.source for offer in shown]
    missing = sources.count("none")
    if not missing:
        return None
    left = len(sources) - missing
    if not left:
        return NONE_CAME
    title = ngettext("One suggestion is missing", "%(count)s suggestions are missing", missing)
    came = ngettext("The other one did not come in time.", "The others did not come in time.", missing)
    there = ngettext("There is only one this time.", "There are only %(count)s this time.", left)
    text = f"{there % {'count': number(left)}} {came} {_(USE_WHAT_CAME[left == 1])}"
    return Notice("", title % {"count": number(missing)}, text)


@workers_page
@require_http_methods(["GET", "HEAD", "POST"])
def work_suggest(request: HttpRequest, token: str) -> HttpResponse:
    """The button for suggestions: saves what is typed, requests them, and redirects to the page, which then waits."""
    work_address = reverse("work", args=[token])
    if request.method != "POST":
        return SeeOther(work_address)
    form = read_form_token(request.POST.get("form", ""))
    pulled: Pulled = pull_offers(
        assignment_id=form.assignment,
        participant_id=read_seat(token).participant,
        number=form.step,
        data={name: str(text) for name, text in request.POST.items() if name != "form"},
    )
    # A notice is at the top of the page; the suggestions, and what is missing for them, are further down.
    notices = {"closed": "?already", "empty": "?suggest=empty", "spent": "?suggest=spent"}
    where = {**notices, "lacks": "?suggest=lacks#pull"}.get(pulled, "#pull")
    return SeeOther(work_address + where)


def suggestion_context(
    opened: OpenPage, number: int, work_address: str, *, typed: Mapping[str, str], refused: bool
) -> dict[str, Any]:
    """What a page needs while it waits for its suggestions, and to show a button for suggestions, their progress, and
    what is missing for them.

    ``refused``: the button was pressed although something was missing.
    """
    context: dict[str, Any] = {}
    if opened.waiting is not None:
        context = {
            "waiting": in_words(opened.waiting),
            "page_number": number,
            "offers_url": f"{work_address}offers",
            "reload_seconds": RELOAD_SECONDS,
        }
    if opened.page is not None and opened.page.pulls:
        lacks = opened.page.pull_lacks(typed)
        context["pull"] = {
            "url": f"{work_address}suggest",
            "progress_url": f"{work_address}offers",
            "step": number,
            "waiting": in_words(opened.pulling) if opened.pulling else None,
            "lacks": lacks,
            "refused": refused and bool(lacks),
        }
    return context
