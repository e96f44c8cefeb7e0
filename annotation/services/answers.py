"""What a worker sends: drafts, steps, and with the last step the submission and its ratings.

A step is stored once. Sending it again, from the same page, from a second tab or by a retry of the network, changes
nothing and is answered as the first time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta
from typing import Any

from django.db import IntegrityError, OperationalError, connection, transaction
from django.utils import timezone

from annotation.instrument import Instrument, hit_items, live_instrument, shown_items
from annotation.models import Assignment, Draft, Flag, Participant, Rating, Step, Study, Submission
from annotation.models.work import LIVE_STATES
from annotation.services import sql
from annotation.services.allocation import TRIES, is_deadlock, revive
from annotation.task_types.base import FlagData, RatingData, Shown, StepSpec
from annotation.task_types.questions import Answer, clean_text

State = Assignment.State
MOST_FEEDBACK = 5_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a sent step.

    ``kind``: ``stored`` (there are more steps), ``submitted`` (it was the last), ``repeated`` (was stored before),
    ``invalid`` (see ``errors``), ``stale`` (not the step that is due), ``late`` (the hit went to someone else; the
    answers are kept aside), ``ended`` (returned). ``more``: the study lets the participant take another hit.
    """

    kind: str
    errors: dict[str, str] = field(default_factory=dict)
    more: bool = True


def submit_step(
    *, assignment_id: int, participant_id: int, number: int, data: Mapping[str, str], timing: Mapping[str, Any]
) -> Outcome:
    """Check and store one step; with the last one, the submission, its ratings and flags, in one transaction.

    Everything is read and checked before the transaction, which then only writes: it holds SQLite's one writing lock
    as briefly as can be. What has changed in between is noticed by the guarded update, and the whole starts again.
    Raises Assignment.DoesNotExist when the assignment is not this participant's.
    """
    failure: IntegrityError | OperationalError
    for _ in range(TRIES):
        work = _open_work(assignment_id, participant_id)
        try:
            return _take(work, number, data, timing)
        except IntegrityError as error:
            failure = error  # it came in twice at once, or its time was up just now: the next round sees which
        except OperationalError as error:
            if not is_deadlock(error):
                raise
            failure = error  # with another tab of theirs that takes a hit: each waited for what the other had locked
    raise failure


def _take(work: OpenWork, number: int, data: Mapping[str, str], timing: Mapping[str, Any]) -> Outcome:
    if number < len(work.steps):
        return Outcome("repeated")
    if work.state == State.ABANDONED:
        if not _revived(work):
            keep_draft(assignment_id=work.id, number=number, data=data, late=True)
            return Outcome("late")
    elif work.state != State.ACCEPTED:
        return Outcome("ended")
    if number > len(work.steps):
        return Outcome("stale")
    specs = work.specs()
    answers, errors = specs[number].clean(data)
    if errors:
        return Outcome("invalid", errors)
    sent = SentStep(number, specs[number].name, answers, clean_timing(timing, specs[number]))
    _store(work, specs, sent, feedback=clean_text(data.get("feedback", ""))[:MOST_FEEDBACK])
    return Outcome("submitted", more=work.more) if number + 1 == len(specs) else Outcome("stored")


@dataclass(frozen=True, slots=True)
class SentStep:
    """One step's content: stored, or about to be."""

    number: int
    name: str
    answers: Mapping[str, Answer]
    timing: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class OpenWork:
    """An assignment as needed to take its next step."""

    id: int
    state: str
    hit_id: int
    study_id: int
    participant_id: int
    accepted_at: datetime
    more: bool
    shown: Shown
    instrument: Instrument
    steps: Sequence[SentStep]

    def specs(self) -> list[StepSpec]:
        return self.instrument.steps(self.shown)


_WORK = """
SELECT a.state, a.hit_id, a."order", a.accepted_at, a.ordinal, s.id, s.hits_per_worker,
       t.number, t.name, t.answers, t.timing
FROM annotation_assignment a
JOIN annotation_participant p ON p.id = a.participant_id
JOIN annotation_study s ON s.id = p.study_id
LEFT JOIN annotation_step t ON t.assignment_id = a.id
WHERE a.id = %s AND a.participant_id = %s ORDER BY t.number
"""
_SUBMIT = "UPDATE annotation_assignment SET state = 'submitted', ended_at = %s WHERE id = %s AND state = 'accepted'"
_ONE_MORE = "UPDATE annotation_hit SET n_submitted = n_submitted + 1 WHERE id = %s"
_DROP_DRAFT = "DELETE FROM annotation_draft WHERE assignment_id = %s AND number = %s"
# Nothing is found when the assignment is in another state; the column takes no NULL, and the transaction fails.
_IF_ACCEPTED = "SELECT id FROM annotation_assignment WHERE id = %s AND state = 'accepted'"
_IF_SUBMITTED = "(SELECT id FROM annotation_assignment WHERE id = %s AND state = 'submitted')"
_ITS_SUBMISSION = "(SELECT id FROM annotation_submission WHERE assignment_id = %s)"


def _open_work(assignment_id: int, participant_id: int) -> OpenWork:
    rows = sql.fetch_all(_WORK, assignment_id, participant_id)
    if not rows:
        raise Assignment.DoesNotExist
    state, hit_id, order, accepted_at, ordinal, study_id, most = rows[0][:7]
    instrument = live_instrument(study_id)
    return OpenWork(
        id=assignment_id,
        state=state,
        hit_id=hit_id,
        study_id=study_id,
        participant_id=participant_id,
        accepted_at=sql.aware(accepted_at),
        more=most is None or ordinal < most,
        shown=instrument.shown(shown_items(hit_id), sql.from_json(Assignment, "order", order)),
        instrument=instrument,
        steps=[
            SentStep(number, name, sql.from_json(Step, "answers", answers), sql.from_json(Step, "timing", timing))
            for number, name, answers, timing in (row[7:] for row in rows)
            if number is not None
        ],
    )


def _revived(work: OpenWork) -> bool:
    with transaction.atomic():
        participant = Participant.objects.select_for_update(no_key=True).get(pk=work.participant_id)
        study = Study.objects.get(pk=work.study_id)
        ordinal = participant.assignments.filter(state__in=LIVE_STATES).count() + 1
        if study.hits_per_worker is not None and ordinal > study.hits_per_worker:
            return False
        limit = timedelta(minutes=study.time_limit_minutes)
        return revive(assignment=Assignment.objects.get(pk=work.id), time_limit=limit, ordinal=ordinal)


def _store(work: OpenWork, specs: Sequence[StepSpec], sent: SentStep, feedback: str) -> None:
    """Write one step, and the submission if it is the last. IntegrityError if the assignment is not open any more."""
    now = timezone.now()
    last = sent.number + 1 == len(specs)
    step = {
        "assignment": work.id if last else sql.Found(f"({sql.locked(_IF_ACCEPTED)})", (work.id,)),
        "number": sent.number,
        "name": sent.name,
        "answers": sent.answers,
        "timing": sent.timing,
        "received_at": now,
    }
    statements = [sql.insertion(Step, step), (_DROP_DRAFT, [work.id, sent.number])]
    if last:
        stamp = Assignment._meta.get_field("ended_at").get_db_prep_save(now, connection)
        statements.insert(0, (_SUBMIT, [stamp, work.id]))
        statements += _completion(work, specs, [*work.steps, sent], feedback, now)
    sql.run(*statements)


def _completion(
    work: OpenWork, specs: Sequence[StepSpec], steps: Sequence[SentStep], feedback: str, now: datetime
) -> list[sql.Statement]:
    """The submission with its ratings and flags, and the hit's count."""
    submission = {
        "assignment": sql.Found(_IF_SUBMITTED, (work.id,)),
        "study": work.study_id,
        "participant": work.participant_id,
        "answers": [step.answers for step in steps],
        "feedback": feedback,
        "seconds": (now - work.accepted_at).total_seconds(),
        "received_at": now,
    }
    its = sql.Found(_ITS_SUBMISSION, (work.id,))
    ratings = derive_ratings(work, specs, steps, submission=its, now=now)
    flags = [
        {"submission": its, "reason": flag.reason, "detail": flag.detail[:500], "created_at": now}
        for flag in derive_flags(work, specs, steps)
    ]
    statements = [sql.insertion(Submission, submission)]
    statements += [sql.insertion(Rating, *ratings)] if ratings else []
    statements += [sql.insertion(Flag, *flags)] if flags else []
    return [*statements, (_ONE_MORE, [work.hit_id])]


def derive_ratings(
    work: OpenWork, specs: Sequence[StepSpec], steps: Sequence[SentStep], *, submission: int | sql.Found, now: datetime
) -> list[dict[str, Any]]:
    """The rows of the data set that a whole set of steps means, as columns of Rating."""
    given: list[Mapping[str, Answer]] = [step.answers for step in steps]
    ids = [pk for pk, _ in hit_items(work.hit_id)]
    return [
        {
            "study": work.study_id,
            "submission": submission,
            "participant": work.participant_id,
            "item": ids[row.item],
            "question": row.question,
            "target": row.target,
            "scale": row.scale,
            "value": row.value,
            "text": row.text,
            "seconds": _seconds(steps[row.step], row),
            "created_at": now,
        }
        for row in work.instrument.task.ratings(work.shown, specs, given)
    ]


def derive_flags(work: OpenWork, specs: Sequence[StepSpec], steps: Sequence[SentStep]) -> list[FlagData]:
    """Reasons for a person to look at a submission."""
    pastes = sum(int(about.get("pastes", 0)) for step in steps for about in step.timing.values())
    return list(work.instrument.task.flags(work.shown, specs, [step.answers for step in steps], pastes=pastes))


def _seconds(step: SentStep, row: RatingData) -> float | None:
    seconds = step.timing.get(row.key, {}).get("seconds")
    return float(seconds) if seconds is not None else None


def clean_timing(timing: Mapping[str, Any], spec: StepSpec) -> dict[str, dict[str, float]]:
    """Per question of the step ``seconds`` (time spent) and ``at`` (from the page's start) and ``pastes``.

    The browser measures these; what is no finite number between 0 and a day is dropped, never trusted.
    """
    known: dict[str, dict[str, float]] = {}
    for question in spec.questions:
        sent = timing.get(question.key)
        if isinstance(sent, Mapping):
            numbers = {name: sent.get(name) for name in ("seconds", "at", "pastes")}
            kept = {
                name: round(float(number), 3)
                for name, number in numbers.items()
                if isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= 86_400
            }
            if kept:
                known[question.key] = kept
    return known


def save_draft(*, assignment_id: int, participant_id: int, number: int, data: Mapping[str, str]) -> bool:
    """Keep what is typed so far. False when the step is not open any more."""
    with sql.quick_transaction():
        assignment = Assignment.objects.filter(
            pk=assignment_id, participant_id=participant_id, state__in=[State.ACCEPTED, State.ABANDONED]
        ).first()
        if assignment is None or Step.objects.filter(assignment=assignment, number__gte=number).exists():
            return False
        return keep_draft(assignment_id=assignment.pk, number=number, data=data)


_OR_OVERWRITE = """
ON CONFLICT (assignment_id, number) DO UPDATE
SET answers = excluded.answers, late = excluded.late, saved_at = excluded.saved_at
"""
_WHILE_OPEN = """WHERE NOT annotation_draft.late OR EXISTS (
    SELECT 1 FROM annotation_assignment a WHERE a.id = excluded.assignment_id AND a.state = 'accepted')
"""


def keep_draft(*, assignment_id: int, number: int, data: Mapping[str, str], late: bool = False) -> bool:
    """Write or overwrite the draft of one step; control characters, which no database stores, are dropped.

    What was sent too late is the worker's last word: a tab left open does not overwrite it. False where it tried.
    """
    cleaned = {clean_text(key)[:100]: clean_text(text)[:100_000] for key, text in data.items()}
    row = {
        "assignment": assignment_id,
        "number": number,
        "answers": cleaned,
        "late": late,
        "saved_at": timezone.now(),
    }
    text, params = sql.insertion(Draft, row)
    return sql.execute(text + _OR_OVERWRITE + ("" if late else _WHILE_OPEN), *params) == 1


def rebuild_ratings(*, submission: Submission) -> tuple[int, int]:
    """Derive the ratings anew from the stored steps: (rows that changed, rows there are now).

    For a mistake found in a type's ``ratings`` hook. Nothing is written when nothing changes.
    """
    work = _open_work(submission.assignment_id, submission.participant_id)
    wanted = derive_ratings(work, work.specs(), work.steps, submission=submission.pk, now=submission.received_at)
    columns = ("item", "question", "target", "scale", "value", "text", "seconds")
    there = set(submission.ratings.values_list(*columns))
    changed = there ^ {tuple(row[name] for name in columns) for row in wanted}
    if changed:
        with transaction.atomic():
            submission.ratings.all().delete()
            sql.insert_many(Rating, wanted)
    return len(changed), len(wanted)
