"""Everything recorded about one participant, which they can read and download."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Q

from annotation.languages import gettext as _
from annotation.languages import marked, speak
from annotation.models import (
    Assignment,
    DeletionRequest,
    Draft,
    EventBatch,
    Invitation,
    Offer,
    Participant,
    PartPayment,
    Payment,
    Pull,
    QuestionnaireDraft,
    QuestionnaireReply,
    Step,
    Submission,
    TriedPage,
)
from annotation.recruiting.pay_states import with_pay_state


@dataclass(frozen=True, slots=True)
class Entry:
    """One fact: its subject, which part of that, when it was recorded, and its content (any JSON value)."""

    about: str
    what: str
    at: datetime | None
    value: Any


@dataclass(frozen=True, slots=True)
class OwnRecord:
    """For the page: the participant, their request for deletion if they made one, and how many records of each kind."""

    participant: Participant
    asked: DeletionRequest | None
    counts: list[tuple[str, int]]
    earned: list[Earning]
    pays: bool


@dataclass(frozen=True, slots=True)
class Earning:
    """One amount in USD (None: not known here): what for, when that was sent or paid, and what has become of it, in
    words for the worker."""

    what: str
    at: datetime
    amount: Decimal | None
    state: str


#: What becomes of a reward, by the key in PAY_STATES.
STATES = {
    "to_pay": marked("to be paid"),
    "to_approve": marked("being checked"),
    "waiting": marked("being checked"),
    "approved": marked("approved"),
    "paid": marked("paid"),
    "partly_paid": marked("paid in part; see the amount on the site where you took the task"),
    "rejected": marked("not approved"),
    "excluded": marked("being checked"),
    "unconfirmed": marked("not confirmed by the site yet"),
}


def own_record(participant_id: int) -> OwnRecord:
    """What the page about a participant's data shows. Raises Participant.DoesNotExist."""
    participant = Participant.objects.select_related("study", "worker", "arm").get(pk=participant_id)
    speak(participant.study.voice())
    mine = Assignment.objects.filter(participant=participant)
    counts = [
        (_("Tasks started"), mine.count()),
        (_("Tasks sent"), Submission.objects.filter(participant=participant).count()),
        (_("Questionnaires answered"), QuestionnaireReply.objects.filter(participant=participant).count()),
        (_("Practice pages and tries"), TriedPage.objects.filter(participant=participant).count()),
        (_("Pages sent"), Step.objects.filter(assignment__in=mine).count()),
        (_("Drafts of pages"), Draft.objects.filter(assignment__in=mine).count()),
        (_("Suggestions shown to you"), Offer.objects.filter(assignment__in=mine).count()),
        (_("Groups of recorded changes while you typed"), EventBatch.objects.filter(assignment__in=mine).count()),
    ]
    deletion_request = DeletionRequest.objects.filter(participant=participant).first()
    earned = []
    tasks = with_pay_state(participant.study).filter(participant=participant).order_by("received_at")
    rows = tasks.values_list("assignment__ordinal", "received_at", "assignment__hit__reward", "pay")
    for ordinal, earned_at, reward, state in rows:
        if state in STATES:
            amount = None if state == "partly_paid" else reward
            earned.append(Earning(_("Task %(ordinal)s") % {"ordinal": ordinal}, earned_at, amount, STATES[state]))
    is_paid = Q(payments__isnull=False) | Q(assignment__compensation__paid_at__isnull=False)
    parts = PartPayment.objects.filter(assignment__participant=participant).order_by("pk").annotate(paid=is_paid)
    for ordinal, earned_at, amount, paid in parts.values_list("assignment__ordinal", "created_at", "amount", "paid"):
        earned.append(
            Earning(
                _("Your answers before the first task")
                if participant.turned_away
                else _("Task %(ordinal)s, stopped") % {"ordinal": ordinal},
                earned_at,
                amount,
                STATES["paid" if paid else "to_pay"],
            )
        )
    extra = Payment.objects.filter(submission__participant=participant, kind=Payment.Kind.BONUS)
    earned += [Earning(_("Bonus"), bonus.created_at, bonus.amount, STATES["paid"]) for bonus in extra.order_by("pk")]
    arm, study = participant.arm, participant.study
    pays = bool(earned or (study.reward if arm.reward is None else arm.reward))
    return OwnRecord(participant, deletion_request, counts, earned, pays)


def entries(participant: Participant) -> Iterator[Entry]:
    """Everything that the participant sent or that was recorded about them, in the order of the tables."""
    worker = participant.worker
    yield Entry("you", "study", participant.created_at, participant.study.title)
    yield Entry("you", "name in the data", participant.created_at, participant.pseudonym)
    yield Entry("you", f"id ({worker.platform})", worker.created_at, worker.platform_id)
    for invitation in Invitation.objects.filter(study=participant.study_id, worker=worker):
        yield Entry("you", "name on your personal link", invitation.created_at, invitation.name)
    yield Entry("you", "completion code", participant.created_at, participant.completion_code)
    if participant.consented_at:
        yield Entry("you", "agreed to take part", participant.consented_at, True)
    if participant.arm.name:
        yield Entry("you", "group", participant.created_at, participant.arm.position + 1)
    yield from _questionnaires(participant)
    yield from _tries(participant)
    for work in Assignment.objects.filter(participant=participant).order_by("pk"):
        yield from _work(work)
    for submission in Submission.objects.filter(participant=participant).order_by("pk"):
        task_label = f"task {submission.assignment_id}"
        yield Entry(task_label, "sent, seconds since the start", submission.received_at, submission.seconds)
        if submission.feedback:
            yield Entry(task_label, "feedback", submission.received_at, submission.feedback)
        for flag in submission.flags.order_by("pk"):
            yield Entry(task_label, "marked for a person to look at", flag.created_at, flag.reason)
    for owed in PartPayment.objects.filter(assignment__participant=participant).order_by("pk"):
        yield Entry(f"task {owed.assignment_id}", "owed after stopping, USD", owed.created_at, str(owed.amount))
    paid = Payment.objects.filter(submission__participant=participant) | Payment.objects.filter(
        part__assignment__participant=participant
    )
    for payment in paid.order_by("pk"):
        yield Entry("pay", f"{payment.get_kind_display()}, USD", payment.created_at, str(payment.amount))


def _questionnaires(participant: Participant) -> Iterator[Entry]:
    for reply in QuestionnaireReply.objects.filter(participant=participant).order_by("pk"):
        label = f"questionnaire ({reply.get_questionnaire_display().lower()})"
        number = f", try {reply.attempt}" if reply.questionnaire == "comprehension" else ""
        yield Entry(label, f"answers{number}", reply.received_at, reply.answers)
        if reply.timing:
            yield Entry(label, f"times and pasting{number}", reply.received_at, reply.timing)
        if reply.passed is not None:
            yield Entry(label, f"passed{number}", reply.received_at, reply.passed)
    for draft in QuestionnaireDraft.objects.filter(participant=participant).order_by("pk"):
        label = f"questionnaire ({draft.get_questionnaire_display().lower()})"
        yield Entry(label, "not sent", draft.saved_at, draft.answers)
    if participant.turned_away:
        yield Entry("you", "taking part ended", None, participant.get_turned_away_display())


def _tries(participant: Participant) -> Iterator[Entry]:
    """Pages of the training, and answers before an explanation and after it."""
    for tried in TriedPage.objects.filter(participant=participant).order_by("pk"):
        label = "practice" if tried.training else f"task {tried.assignment_id}"
        page = f"page {tried.place + 1}, try {tried.attempt}"
        yield Entry(label, f"{page}: answers", tried.received_at, tried.answers)
        yield Entry(label, f"{page}: which are right", tried.received_at, tried.verdicts)
        if tried.timing:
            yield Entry(label, f"{page}: times and pasting", tried.received_at, tried.timing)
        if tried.passed is not None:
            yield Entry(label, f"try {tried.attempt}: passed", tried.received_at, tried.passed)


def _work(work: Assignment) -> Iterator[Entry]:
    task_label = f"task {work.pk}"
    state = "Finished late" if work.extra else work.get_state_display()
    yield Entry(task_label, "started", work.accepted_at, state)
    for step in Step.objects.filter(assignment=work).order_by("number"):
        page = f"page {step.number + 1} ({step.name})"
        yield Entry(task_label, f"{page}: answers", step.received_at, step.answers)
        if step.timing:
            yield Entry(task_label, f"{page}: times and pasting", step.received_at, step.timing)
    for draft in Draft.objects.filter(assignment=work).order_by("number"):
        yield Entry(task_label, f"page {draft.number + 1}: not sent", draft.saved_at, draft.answers)
    for pull in Pull.objects.filter(assignment=work):
        yield Entry(
            task_label, f"page {pull.step + 1}: typed when you asked for suggestions", pull.asked_at, pull.typed
        )
    for offer in Offer.objects.filter(assignment=work):
        yield Entry(task_label, f"page {offer.step + 1}: suggestion {offer.side}", offer.shown_at, offer.text)
    for batch in EventBatch.objects.filter(assignment=work).order_by("step", "view", "number"):
        yield Entry(task_label, f"page {batch.step + 1}: changes while you typed", batch.received_at, batch.edits)
