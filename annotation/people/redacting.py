"""Deletes a worker's data at their request: the one exception to the rule that what was sent is never changed.

It removes what the worker wrote, how they wrote it, and who they are, from every table and saved report. Payments keep
their amounts and keys, so that accounts stay right and nothing is paid twice. Ratings stay only if the study's setting
``keep_ratings`` allows it, which workers are told before they start. docs/redaction.md has the whole list.

All rows of one worker change in one transaction, so a redaction happens completely or not at all. Running it again
removes what has arrived since, and repeats what comes after the transaction: files and the database's free space.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from django.db import ProgrammingError, transaction
from django.utils import timezone

from annotation.audit import record
from annotation.deadlocks import again_after_deadlock
from annotation.models import (
    Assignment,
    Compensation,
    DeletionRequest,
    Draft,
    EventBatch,
    Offer,
    Output,
    Participant,
    PlatformCall,
    QuestionnaireReply,
    Rating,
    RedactionGate,
    Step,
    Study,
    Submission,
    TriedPage,
)
from annotation.people.redacting_files import (
    copies_on_disk,
    note_in_journal,
    overwrite_deleted,
    remove_reports,
)
from annotation.people.redacting_rows import affected_studies, redact_participant
from annotation.people.redacting_traces import Place, find_traces, traces_of
from annotation.recruiting.pay_states import in_state
from annotation.redaction_journal import journal_entries
from annotation.review.payments_due import due
from common.problems import Problem, invalid, refuse_if_any
from common.words import counted

#: What PostgreSQL calls it (SQLSTATE) when a user may not change a table.
INSUFFICIENT_PRIVILEGE = "42501"


@dataclass(frozen=True, slots=True)
class Redacted:
    """What was done. ``left``: where the database still contains one of the worker's longer texts or names.

    ``copies``: older copies of the database on this server, which still contain everything. ``overwritten`` is False if
    old content may remain in the free space of the database's files.
    """

    removed: dict[str, int]
    studies: list[str]
    left: list[Place]
    copies: list[Path]
    overwritten: bool


@dataclass(frozen=True, slots=True)
class Preview:
    """What a redaction of one participant would remove, and what prevents it now."""

    removed: dict[str, int]
    ratings_stay: int
    owed: int
    problems: list[Problem]


@contextmanager
def _gate() -> Iterator[None]:
    """Let this transaction change what is otherwise written once. Other transactions never see the gate's row.

    Raises Invalid if the server's database user may not open it; see docs/security.md.
    """
    try:
        gate = RedactionGate.objects.create(opened_at=timezone.now())
    except ProgrammingError as error:
        if getattr(error.__cause__, "pgcode", None) != INSUFFICIENT_PRIVILEGE:
            raise
        what = "The server's database user may not delete workers' data."
        raise invalid(
            "worker", what, "Run manage.py study redact with the DATABASE_URL of the tables' owner."
        ) from None
    yield
    gate.delete()


def redact(*, participants: Sequence[Participant], actor: str) -> Redacted:
    """Delete the data of one worker: their participations in one study or in several. Raises Invalid.

    After the transaction, it deletes saved reports, makes the database overwrite old content, and searches all tables.
    """
    ids = [participant.pk for participant in participants]
    traces = traces_of(_load(ids))
    removed, affected = _redact_rows(ids, actor)
    now = _load(ids)
    note_in_journal(now)
    remove_reports(affected)
    return Redacted(
        removed=removed,
        studies=[participant.study.slug for participant in now],
        overwritten=overwrite_deleted(),
        left=find_traces(traces.all),
        copies=copies_on_disk(),
    )


def _load(ids: Sequence[int]) -> list[Participant]:
    return list(Participant.objects.filter(pk__in=ids).select_related("study", "worker", "arm").order_by("pk"))


@again_after_deadlock
@transaction.atomic
def _redact_rows(ids: Sequence[int], actor: str) -> tuple[dict[str, int], set[int]]:
    """The transaction: all rows of these participants, and an entry in each study's log."""
    list(Participant.objects.select_for_update(no_key=True).filter(pk__in=ids).order_by("pk"))
    participants = _load(ids)
    refuse_if_any([problem for participant in participants for problem in obstacles(participant)])
    traces = traces_of(participants)
    affected = {study for participant in participants for study in affected_studies(participant)}
    total: Counter[str] = Counter()
    with _gate():
        for participant in participants:
            counts = redact_participant(participant, traces, actor=actor)
            total.update(counts)
            participant.refresh_from_db()
            record(
                study=participant.study,
                actor=actor,
                action="delete worker data",
                worker=participant.pseudonym,
                ratings_kept=participant.study.keep_ratings,
                removed=counts,
            )
    return dict(total), affected


def obstacles(participant: Participant) -> list[Problem]:
    """What must be settled first, because nobody could do so later: open decisions about pay, calls in progress."""
    study, problems = participant.study, []
    submissions = Submission.objects.filter(participant=participant)
    undecided = submissions.filter(pk__in=in_state(study, "to_approve", "unconfirmed")).count()
    if undecided:
        wait = "waits" if undecided == 1 else "wait"
        what = f"{counted(undecided, 'submission')} of this worker {wait} for a decision on the platform."
        problems.append(Problem("pay", what, "Sync, then approve or reject: afterwards nobody can tell what they did."))
    if Compensation.objects.filter(assignment__participant=participant, paid_at=None).exists():
        what = "A compensation for this worker is not paid yet."
        problems.append(Problem("pay", what, "Wait until they have accepted it, then sync."))
    mine = Assignment.objects.filter(participant=participant, posting__isnull=False).values("posting")
    if PlatformCall.objects.filter(posting__in=mine, state=PlatformCall.State.PENDING).exists():
        what = "A call to the platform about this worker's work is not finished."
        problems.append(Problem("calls", what, "Run it again, or wait a few minutes."))
    return problems


def preview(participant: Participant) -> Preview:
    """What `redact` would remove. Changes nothing."""
    study = participant.study
    mine, submissions = participant.assignments.all(), participant.submissions.all()
    ratings = Rating.objects.filter(submission__in=submissions)
    stay = ratings.exclude(value=None).count() if study.keep_ratings else 0
    counts = {
        "submissions": submissions.count(),
        "questionnaires": QuestionnaireReply.objects.filter(participant=participant).count(),
        "practice answers and tries": TriedPage.objects.filter(participant=participant).count(),
        "pages sent": Step.objects.filter(assignment__in=mine).count(),
        "drafts": Draft.objects.filter(assignment__in=mine).count(),
        "batches of edits": EventBatch.objects.filter(assignment__in=mine).count(),
        "ratings": ratings.count() - stay,
        "texts for other studies": Output.objects.filter(submission__in=submissions).count(),
        "suggestions shown": Offer.objects.filter(assignment__in=mine).count(),
    }
    owed = due(study, pseudonym=participant.pseudonym).hits
    return Preview({what: n for what, n in counts.items() if n}, stay, owed, obstacles(participant))


def participations(participant: Participant, studies: Sequence[int]) -> list[Participant]:
    """The same worker's participations in the studies with these numbers, ``participant`` itself first."""
    others = Participant.objects.filter(worker=participant.worker, study__in=studies).exclude(pk=participant.pk)
    return [participant, *others.select_related("study", "worker").order_by("pk")]


@transaction.atomic
def ask_for_deletion(*, participant_id: int) -> DeletionRequest:
    """The worker asks for the deletion of their data. Asking again changes nothing."""
    participant = Participant.objects.select_for_update(no_key=True).select_related("study").get(pk=participant_id)
    deletion_request, new = DeletionRequest.objects.get_or_create(
        participant=participant,
        defaults={"asked_at": timezone.now(), "done_at": participant.redacted_at},
    )
    if new:
        record(study=participant.study, actor="worker", action="ask for deletion", worker=participant.pseudonym)
    return deletion_request


def undone_redactions() -> list[Participant]:
    """Who was redacted according to the journal but not according to the database: a backup was restored since."""
    study_by_participant = {entry.participant: entry.study for entry in journal_entries()}
    unredacted = Participant.objects.filter(pk__in=study_by_participant, redacted_at=None).select_related(
        "study", "worker"
    )
    return [
        participant
        for participant in unredacted.order_by("pk")
        if study_by_participant[participant.pk] == participant.study_id
    ]


def open_requests(study: Study) -> int:
    """How many workers wait for the deletion of their data."""
    return DeletionRequest.objects.filter(participant__study=study, done_at=None).count()
