"""The page after a hit, or when there is no hit: what is saved, the completion code, and what to do next."""

from __future__ import annotations

from decimal import Decimal

from django.http import HttpResponse
from django.urls import reverse

from annotation.models import Study
from annotation.work.gold_feedback import last_feedback
from annotation.work.pages.terms import payment_words
from annotation.work.pages.worker_page import ALREADY_SENT, Notice, page
from annotation.work.standing import Earned, Summary, summary
from common.words import counted, money

GIVEN_BACK = Notice(
    "", "You have given the task back", "What you wrote in it is not used. Somebody else can do it now."
)
STOPPED = Notice(
    "good", "You have stopped the task", "The researchers can see what you are owed. Somebody else can do the task now."
)

WHY = {
    "limit": "You have done all the tasks that one person can do here.",
    "done": "There are no tasks for you right now: each one is done, or somebody is working on it. Look again in a few "
    "minutes, in case one becomes free.",
    "full": "This study has all the participants it needs right now. Look again in a few minutes, in case a place "
    "becomes free.",
    "paused": "This study is paused, so there are no new tasks right now. Save the address of this page and look again "
    "later.",
    "closed": "This study is closed, so there are no new tasks.",
    "taken": "Many people are starting right now, and somebody else was faster. Please look again.",
    "took_part": "You have already taken part in a related study, so you cannot take part in this one.",
    "redacted": "Your data in this study are deleted, so there are no more tasks for you in it.",
    "excluded": "There are no more tasks for you in this study.",
}
#: For members of the study, who work in the console.
NOTHING_LEFT = "There is nothing left for you to do right now. What comes next is in the console."
LOOK_AGAIN = ("done", "full", "paused", "taken")
#: By the query in the address.
NOTICES = {"returned": GIVEN_BACK, "already": ALREADY_SENT, "stopped": STOPPED}


def done_page(token: str, participant_id: int, *, reason: str = "", notice: Notice | None = None) -> HttpResponse:
    """The completion code, what was done, and the next task if there is one. ``reason`` comes from NothingLeft."""
    progress = summary(participant_id)
    reason = "redacted" if progress.redacted else reason or _why_not(progress)
    why = NOTHING_LEFT if progress.member_of and reason == "done" else WHY.get(reason, "")
    has_done = bool(progress.n_submitted or progress.completion_code)
    unpaid = progress.n_submitted - progress.earned.n_tasks
    not_approved = f"{counted(unpaid, 'task was', 'tasks were')} not approved and will not be paid." if unpaid else ""
    context = {
        "heading": "Thank you" if has_done else ("No tasks right now" if reason else "No task done yet"),
        "lines": [line for line in (_so_far(progress), why) if line],
        "summary": progress,
        "sums": _sums(progress.earned),
        "not_approved": not_approved,
        "payment": payment_words(progress.pay_note, progress.platforms, pays=progress.earned.in_all > 0),
        "notice": notice,
        "gold": last_feedback(participant_id, progress.arm_id) if progress.n_submitted else [],
        "work_url": reverse("work", args=[token]),
        "more": progress.may_go_on and reason not in ("full", "took_part"),
        "again": reason in LOOK_AGAIN,
        "finished": reason in ("limit", "closed") and not progress.in_progress,
        "ask": reason == "excluded",
        "record_url": reverse("work_record", args=[token]),
    }
    return page("work/done.html", context)


def _why_not(progress: Summary) -> str:
    """Why there is no next task; empty if there is one."""
    if progress.status in (Study.Status.PAUSED, Study.Status.CLOSED):
        return progress.status
    if progress.may_go_on:
        return ""
    if progress.redacted:
        return "redacted"
    if progress.excluded:
        return "excluded"
    return "done" if progress.within_limit else "limit"


def _sums(earned: Earned) -> list[tuple[str, Decimal]]:
    """What was earned, by task and in sum, in USD; empty if nothing was."""
    tasks = "Your task" if earned.n_tasks == 1 else f"All {counted(earned.n_tasks, 'task')}"
    parts = [(tasks, earned.tasks), ("Stopped tasks", earned.parts), ("Bonuses", earned.bonuses)]
    sums = [(what, amount) for what, amount in parts if amount]
    if earned.n_tasks > 1 and earned.last:
        sums.insert(0, ("Your last task", earned.last))
    return sums if earned.in_all == earned.tasks else [*sums, ("In all", earned.in_all)]


def _so_far(progress: Summary) -> str:
    parts = progress.earned.parts
    stopped = f"You get {money(parts)} for what you did before you stopped." if parts else ""
    if progress.redacted:
        return stopped
    if not progress.n_submitted and progress.member_of:
        return ""
    if not progress.n_submitted:
        return stopped or "Your completion code appears here when you have done a task."
    done = f"Your answers are saved. You have done {counted(progress.n_submitted, 'task')} in this study."
    return f"{done} {stopped}".strip()
