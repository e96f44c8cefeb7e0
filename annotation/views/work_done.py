"""The page after a hit, and whenever there is no hit: what is saved, the completion code, and what to do next."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse
from django.urls import reverse
from django.views.decorators.http import require_http_methods

from annotation.models import Study
from annotation.queries.gold_feedback import last_feedback
from annotation.queries.work import Summary, summary
from annotation.tokens import read_seat
from annotation.views.platform_pages import hand_in_page
from annotation.views.work_pages import ALREADY_SENT, Notice, page, workers_page
from common.words import counted

GIVEN_BACK = Notice(
    "", "You have given the task back", "What you wrote in it is not used. Somebody else can do it now."
)

WHY = {
    "limit": "You have done all the tasks that one person can do in this study.",
    "done": "There are no tasks for you right now: each one is done, or somebody is working on it. Look again in a few "
    "minutes, in case one becomes free.",
    "full": "This study has all the participants it needs right now. Look again in a few minutes, in case a place "
    "becomes free.",
    "paused": "This study is paused, so there are no new tasks right now. Save the address of this page and look again "
    "later.",
    "closed": "This study is closed, so there are no new tasks.",
    "taken": "Many people are starting right now, and somebody else was faster. Please look again.",
    "took_part": "You have already taken part in a related study, so you cannot take part in this one.",
    "excluded": "There are no more tasks for you in this study.",
}
LOOK_AGAIN = ("done", "full", "paused", "taken")
#: By the query in the address.
NOTICES = {"returned": GIVEN_BACK, "already": ALREADY_SENT}


@workers_page
@require_http_methods(["GET", "HEAD"])
def work_done(request: HttpRequest, token: str) -> HttpResponse:
    notice = next((notice for name, notice in NOTICES.items() if name in request.GET), None)
    seat = read_seat(token)
    if seat.assignment is not None:
        return hand_in_page(request, token, seat)
    return done_page(token, seat.participant, notice=notice)


def done_page(token: str, participant_id: int, *, reason: str = "", notice: Notice | None = None) -> HttpResponse:
    """Completion code, what was done, and the next task if there is one. ``reason`` comes from NothingLeft."""
    found = summary(participant_id)
    reason = reason or _why_not(found)
    context = {
        "heading": "Thank you" if found.n_submitted else ("No tasks right now" if reason else "No task done yet"),
        "lines": [line for line in (_so_far(found), WHY.get(reason, "")) if line],
        "summary": found,
        "notice": notice,
        "gold": last_feedback(participant_id, found.arm_id) if found.n_submitted else [],
        "work_url": reverse("work", args=[token]),
        "more": found.may_go_on and reason not in ("full", "took_part"),
        "again": reason in LOOK_AGAIN,
        "finished": reason in ("limit", "closed") and not found.in_progress,
        "ask": reason == "excluded",
    }
    return page("annotation/done.html", context)


def _why_not(found: Summary) -> str:
    """Why there is no next task; empty if there is one."""
    if found.status in (Study.Status.PAUSED, Study.Status.CLOSED):
        return found.status
    if found.may_go_on:
        return ""
    if found.excluded:
        return "excluded"
    return "done" if found.within_limit else "limit"


def _so_far(found: Summary) -> str:
    if not found.n_submitted:
        return "Your completion code appears here when you have done a task."
    return f"Your answers are saved. You have done {counted(found.n_submitted, 'task')} in this study."
