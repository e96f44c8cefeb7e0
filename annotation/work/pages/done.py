"""The page after a hit, or when there is no hit: what is saved, the completion code, and what to do next."""

from __future__ import annotations

from decimal import Decimal

from django.http import HttpResponse
from django.urls import reverse

from annotation.instrument import Instrument, live_instrument
from annotation.languages import gettext as _
from annotation.languages import marked, money, ngettext, number, speak
from annotation.models import Study
from annotation.work.due_questionnaires import due_after
from annotation.work.gold_feedback import last_feedback
from annotation.work.pages.terms import payment_words
from annotation.work.pages.turned_away import turned_away_page
from annotation.work.pages.worker_page import ALREADY_SENT, Notice, SeeOther, page
from annotation.work.standing import Earned, Summary, summary

GIVEN_BACK = Notice(
    "",
    marked("You have given the task back"),
    marked("What you wrote in it is not used. Somebody else can do it now."),
)
STOPPED = Notice(
    "good",
    marked("You have stopped the task"),
    marked("The researchers can see what you are owed. Somebody else can do the task now."),
)

WHY = {
    "limit": marked("You have done all the tasks that one person can do here."),
    "done": marked(
        "There are no tasks for you right now: each one is done, or somebody is working on it. Look again in a few "
        "minutes, in case one becomes free."
    ),
    "full": marked(
        "This study has all the participants it needs right now. Look again in a few minutes, in case a place "
        "becomes free."
    ),
    "paused": marked(
        "This study is paused, so there are no new tasks right now. Save the address of this page and look again later."
    ),
    "closed": marked("This study is closed, so there are no new tasks."),
    "taken": marked("Many people are starting right now, and somebody else was faster. Please look again."),
    "took_part": marked("You have already taken part in a related study, so you cannot take part in this one."),
    "redacted": marked("Your data in this study are deleted, so there are no more tasks for you in it."),
    "excluded": marked("There are no more tasks for you in this study."),
}
#: For members of the study, who work in the console.
NOTHING_LEFT = marked("There is nothing left for you to do right now. What comes next is in the console.")
LOOK_AGAIN = ("done", "full", "paused", "taken")
#: By the query in the address.
NOTICES = {"returned": GIVEN_BACK, "already": ALREADY_SENT, "stopped": STOPPED}


def done_page(token: str, participant_id: int, *, reason: str = "", notice: Notice | None = None) -> HttpResponse:
    """The completion code, what was done, and the next task if there is one. ``reason`` comes from NothingLeft."""
    progress = summary(participant_id)
    instrument = live_instrument(progress.arm_id)
    speak(instrument.voice)
    if progress.turned_away and not progress.redacted:
        return turned_away_page(token, participant_id)
    reason = "redacted" if progress.redacted else reason or _why_not(progress)
    asks_last = asks_after(participant_id, instrument, progress)
    may_go_on = progress.may_go_on and reason not in ("full", "took_part")
    if asks_last and not may_go_on:
        return SeeOther(reverse("work_questions", args=[token]))
    why = NOTHING_LEFT if progress.member_of and reason == "done" else WHY.get(reason, "")
    has_done = bool(progress.n_submitted or progress.completion_code)
    unpaid = progress.n_submitted - progress.earned.n_tasks
    not_approved = ngettext(
        "%(count)s task was not approved and will not be paid.",
        "%(count)s tasks were not approved and will not be paid.",
        unpaid,
    ) % {"count": number(unpaid)}
    context = {
        "heading": _("Thank you") if has_done else _("No tasks right now") if reason else _("No task done yet"),
        "lines": [line for line in (_so_far(progress), why and _(why)) if line],
        "summary": progress,
        "sums": _sums(progress.earned),
        "not_approved": not_approved if unpaid else "",
        "payment": payment_words(progress.pay_note, progress.platforms, pays=progress.earned.in_all > 0),
        "notice": notice,
        "gold": last_feedback(participant_id, progress.arm_id) if progress.n_submitted else [],
        "work_url": reverse("work", args=[token]),
        "more": may_go_on,
        "last_url": reverse("work_questions", args=[token]) if asks_last and not progress.in_progress else "",
        "again": reason in LOOK_AGAIN,
        "finished": reason in ("limit", "closed") and not progress.in_progress,
        "ask": reason == "excluded",
        "record_url": reverse("work_record", args=[token]),
    }
    return page("work/done.html", context)


def asks_after(participant_id: int, instrument: Instrument, progress: Summary) -> bool:
    """Whether the participant has sent work, and the questionnaire at the end is still to be answered."""
    has_sent = bool(instrument.asked.after and progress.n_submitted) and not progress.redacted
    return has_sent and due_after(participant_id, instrument.asked) is not None


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
    tasks = ngettext("Your task", "All %(count)s tasks", earned.n_tasks) % {"count": number(earned.n_tasks)}
    parts = [(tasks, earned.tasks), (_("Stopped tasks"), earned.parts), (_("Bonuses"), earned.bonuses)]
    sums = [(what, amount) for what, amount in parts if amount]
    if earned.n_tasks > 1 and earned.last:
        sums.insert(0, (_("Your last task"), earned.last))
    return sums if earned.in_all == earned.tasks else [*sums, (_("In all"), earned.in_all)]


def _so_far(progress: Summary) -> str:
    parts = progress.earned.parts
    stopped = _("You get %(amount)s for what you did before you stopped.") % {"amount": money(parts)} if parts else ""
    if progress.redacted:
        return stopped
    if not progress.n_submitted and progress.member_of:
        return ""
    if not progress.n_submitted:
        return stopped or _("Your completion code appears here when you have done a task.")
    done = ngettext(
        "Your answers are saved. You have done %(count)s task in this study.",
        "Your answers are saved. You have done %(count)s tasks in this study.",
        progress.n_submitted,
    ) % {"count": number(progress.n_submitted)}
    return f"{done} {stopped}".strip()
