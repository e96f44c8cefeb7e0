"""What workers read while suggestions are being written, and the poll that decides when their page reloads."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from django.http import HttpRequest, HttpResponse, JsonResponse
from django.views.decorators.http import require_safe

from annotation.instrument import live_instrument
from annotation.queries.work import standing
from annotation.services import offers as service
from annotation.services.offers import Waiting
from annotation.task_types.offers import OfferData
from annotation.tokens import read_seat
from annotation.views.work_pages import Notice, workers_page
from common.words import counted

#: Seconds between reloads of a waiting page in a browser without JavaScript.
RELOAD_SECONDS = 3
FROM_POOL = Notice(
    "",
    "Not every suggestion came in time",
    "At least one of those below was prepared earlier. You can use it like any other.",
)
NONE_CAME = Notice(
    "warn",
    "There is no suggestion this time",
    "Please write this part yourself. Everything you wrote before is saved.",
)
SOME_CAME = Notice("", "One suggestion is missing", "It did not come in time. Please use what is here.")


@workers_page
@require_safe
def work_offers(request: HttpRequest, token: str) -> HttpResponse:
    """Whether page ``?step=`` still waits for its suggestions. ``reload`` is true as soon as there is another page."""
    seat = read_seat(token)
    found = standing(seat.participant, seat.assignment)
    due, step = found.open, request.GET.get("step", "")
    if due is None or step != str(due.number):
        return JsonResponse({"reload": True})
    waiting = service.progress(
        instrument=live_instrument(found.arm_id),
        assignment_id=due.assignment_id,
        hit_id=due.hit_id,
        order=due.order,
        number=due.number,
    )
    if waiting is None:
        return JsonResponse({"reload": True})
    return JsonResponse({"reload": False, **told(waiting)})


def told(waiting: Waiting) -> dict[str, Any]:
    """What is happening at the moment, in words for workers."""
    what = "The suggestion is" if waiting.count == 1 else f"{counted(waiting.count, 'suggestion').capitalize()} are"
    if waiting.asked_again:
        left = counted(max(1, round(waiting.left)), "second")
        title = "This is taking longer than usual"
        text = (
            f"We have asked again. If nothing comes within {left}, you will get a suggestion that was prepared earlier."
        )
    else:
        title = f"{what} being written"
        text = "This usually takes a few seconds."
    return {"title": title, "text": f"{text} Your text is saved.", "waited": round(waiting.waited)}


def offers_notice(shown: Iterable[OfferData]) -> Notice | None:
    """A notice about suggestions that did not arrive, without naming their side."""
    sources = [each.source for each in shown]
    if not sources:
        return None
    if set(sources) == {"none"}:
        return NONE_CAME
    if "none" in sources:
        return SOME_CAME
    return FROM_POOL if "pool" in sources else None
