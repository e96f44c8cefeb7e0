"""What a worker sends: drafts and steps and, with the last step, the submission, its ratings and its outputs.

A step is stored once. Sending it again changes nothing.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import partial
from typing import Any

from django.db import IntegrityError, OperationalError, connection, transaction
from django.utils import timezone

from annotation import sql
from annotation.deadlocks import TRIES, is_deadlock
from annotation.instrument import Instrument, Walk, hit_items, live_instrument, offers_to
from annotation.languages import speaking
from annotation.models import (
    Assignment,
    Flag,
    Output,
    Rating,
    Review,
    Step,
    Submission,
    TextPrint,
    TriedPage,
    WebhookDelivery,
)
from annotation.task_types.base import Answers, Page, RatingData, Shown
from annotation.task_types.questions import Answer, clean_text
from annotation.webhook_events import messages_of_submission, wake_on_commit
from annotation.work.allocation import continue_as_extra, revive_late
from annotation.work.asking_again import Sending, TryTaken, first_tries, take_try
from annotation.work.cancelling_offers import cancel_offers
from annotation.work.drafts import keep_draft
from annotation.work.due_questionnaires import due_before
from annotation.work.offers import closing, request_offers
from annotation.work.quick_rules import Sent, Where, findings_in, flag_columns, written_texts
from annotation.work.taking_back import take_back
from annotation.work.training_rounds import training_due
from common.text_length import is_blank

State = Assignment.State
MOST_FEEDBACK = 5_000
LEFT_OUT = {"decision": Review.Decision.EXCLUDE.value, "note": "The worker was already excluded.", "user": None}


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a sent step.

    ``kind``: ``stored`` (there are more steps), ``submitted`` (it was the last), ``repeated`` (these answers were
    stored before), ``differs`` (other answers were, which count), ``invalid`` (see ``errors``), ``stale`` (not the step
    that is due), ``explained`` (the page comes back with an explanation, because an answer is not right), ``waiting``
    (its suggestions have not been shown), ``late`` (the time is up; the answers are saved as a draft), ``ended`` (the
    worker returned or stopped the hit). ``complete``: the hit's last step is stored.
    """

    kind: str
    errors: dict[str, str] = field(default_factory=dict)
    complete: bool = False


def submit_step(
    *,
    assignment_id: int,
    participant_id: int,
    number: int,
    data: Mapping[str, str],
    timing: Mapping[str, Any],
    attempt: int = 1,
) -> Outcome:
    """Check and store one step. With the last step, store the submission and all that is derived from it.

    One transaction stores everything. Reading and checking come before it, so that it holds SQLite's write lock only
    briefly. If something has changed in between, the guarded update fails and everything starts again.
    Raises Assignment.DoesNotExist if the assignment belongs to somebody else.
    """
    failure: IntegrityError | OperationalError
    for _ in range(TRIES):
        work = _open_work(assignment_id, participant_id)
        try:
            return _take(work, number, data, timing, attempt)
        except IntegrityError as error:
            failure = error  # sent twice at once, or the time has just run out: the next try finds out which
        except OperationalError as error:
            if not is_deadlock(error):
                raise
            failure = error  # another tab of the same worker is taking a hit, and each waits for the other
    raise failure


def _take(work: OpenWork, number: int, data: Mapping[str, str], timing: Mapping[str, Any], attempt: int) -> Outcome:
    if number < len(work.steps):
        # A retry, or another tab's answers to a step that is already stored.
        before = work.answers()
        page = work.walk().page(number, lambda: before[:number])
        same = page is not None and page.clean(data)[0] == before[number]
        return Outcome("repeated" if same else "differs", complete=work.state in (State.SUBMITTED, State.RELEASED))
    if work.state == State.ABANDONED:
        if (reopened := _reopened(work)) is None:
            keep_draft(assignment_id=work.id, number=number, data=data, late=True)
            return Outcome("late")
        work = reopened
    elif work.state != State.ACCEPTED:
        return Outcome("ended")
    before, walk = work.answers(), work.walk()
    page = walk.page(number, lambda: before)
    is_early = number > len(before)
    if number == 0:  # something may come before the first step; no query if the study has nothing there
        questionnaire = due_before(work.participant_id, work.instrument.asked)
        is_early = bool(questionnaire or training_due(work.participant_id, work.arm_id, work.instrument))
    if is_early or page is None:
        return Outcome("stale")
    if walk.lacks_offers(page, number):
        return Outcome("waiting")
    with speaking(work.instrument.voice):
        answers, errors = page.clean(data)
        errors = errors or dict(work.instrument.task.check(work.shown, page, answers, before))
    if errors:
        return Outcome("invalid", errors)
    sending = Sending(number, attempt, before, answers, clean_timing(timing, page))
    return _take_answers(work, walk, page, sending, feedback=data.get("feedback", ""))


def _take_answers(work: OpenWork, walk: Walk, page: Page, sending: Sending, *, feedback: str) -> Outcome:
    """Store valid answers to the step that is due, or a try at it that gets an explanation."""
    number, before, answers, now = sending.number, sending.before, sending.answers, timezone.now()
    who = {"study": work.study_id, "participant": work.participant_id}
    tried = TryTaken()
    if work.instrument.loud:
        tried = take_try(
            work.instrument, walk, sending, assignment_id=work.id, columns=who, item_ids=work.item_ids, now=now
        )
    if tried.explains:
        if tried.rows:
            sql.run(*_tried_pages(work, tried), (_DROP_DRAFT, [work.id, number]))
        return Outcome("explained")
    step = SentStep(number, page.name, answers, sending.timing)
    offered = page.asks or page.pulls
    uses = closing(work.id, number, work.instrument.task.uses(work.shown, page, answers)) if offered else []
    complete = walk.is_complete([*before, answers])
    completion = _completion(work, walk, step, now, feedback=feedback) if complete else []
    _store(work, step, now, [*_tried_pages(work, tried), *uses], completion)
    if page.pulls:
        # A page with a button can be sent while suggestions are on their way, which nobody would see any more.
        cancel_offers(assignments=[work.id], number=number)
    if complete:
        if work.announced:
            wake_on_commit()
        return Outcome("submitted", complete=True)
    if work.instrument.asks and (following := walk.page(number + 1, lambda: [*before, answers])):
        # The suggesters write while the browser loads the page. If this fails, the page requests the texts itself.
        request = partial(request_offers, assignment_id=work.id, number=number + 1, page=following)
        transaction.on_commit(request, robust=True)
    return Outcome("stored")


def _tried_pages(work: OpenWork, tried: TryTaken) -> list[sql.Statement]:
    """Stores a try. Fails if the assignment is no longer open, in the same way as `_store`."""
    if not tried.rows:
        return []
    open_work = {"assignment": sql.Found(f"({sql.locked(_IF_WORKED_ON)})", (work.id,)), "training": False}
    return [sql.insertion(TriedPage, *(open_work | row for row in tried.rows))]


def _reopened(work: OpenWork) -> OpenWork | None:
    """The work in progress again, after its time ran out. None if that is impossible.

    Where somebody else has the place, it continues without one if it would be a loss: some pages were sent before, or
    the hit has only one.
    """
    claim = {"assignment_id": work.id, "participant_id": work.participant_id}
    if take_back(**claim) or revive_late(**claim):
        return work
    has_work = bool(work.steps) or work.walk().length == 1
    return replace(work, extra=True) if has_work and continue_as_extra(**claim) else None


@dataclass(frozen=True, slots=True)
class SentStep:
    """The content of one step, stored or about to be stored."""

    number: int
    name: str
    answers: Mapping[str, Answer]
    timing: Mapping[str, Mapping[str, float]]


@dataclass(frozen=True, slots=True)
class OpenWork:
    """Everything about an assignment that its next step needs. ``announced``: the study has webhooks."""

    id: int
    state: str
    hit_id: int
    study_id: int
    participant_id: int
    arm_id: int
    accepted_at: datetime
    synthetic: bool
    excluded: bool
    extra: bool
    announced: bool
    item_ids: Sequence[int]
    shown: Shown
    instrument: Instrument
    steps: Sequence[SentStep]

    def walk(self) -> Walk:
        return self.instrument.walk(self.shown)

    def answers(self) -> list[Answers]:
        return [step.answers for step in self.steps]


_WORK = """
SELECT a.state, a.hit_id, a."order", a.accepted_at, p.arm_id, p.study_id, p.synthetic,
       p.excluded_at IS NOT NULL OR p.redacted_at IS NOT NULL, a.extra, t.number, t.name, t.answers, t.timing,
       EXISTS (SELECT 1 FROM annotation_webhook w WHERE w.study_id = p.study_id AND w.active)
FROM annotation_assignment a
JOIN annotation_participant p ON p.id = a.participant_id
LEFT JOIN annotation_step t ON t.assignment_id = a.id
WHERE a.id = %s AND a.participant_id = %s ORDER BY t.number
"""
# Extra work has no place on its hit, so it is released at once. Since it was read, another tab may have lost the place
# or found one again: then this does nothing, or the hit would count a place that nobody has.
_SUBMIT = """
UPDATE annotation_assignment SET state = CASE WHEN extra THEN 'released' ELSE 'submitted' END, ended_at = %s
WHERE id = %s AND state = 'accepted' AND extra = %s
"""
_ONE_MORE = "UPDATE annotation_hit SET n_submitted = n_submitted + 1 WHERE id = %s"
_DROP_DRAFT = "DELETE FROM annotation_draft WHERE assignment_id = %s AND number = %s"
# In any other state, this finds nothing. The column does not allow NULL, so the transaction fails.
_IF_ACCEPTED = "SELECT id FROM annotation_assignment WHERE id = %s AND state = 'accepted'"
# The same, also after the statement that ends the assignment in the same transaction.
_IF_WORKED_ON = "SELECT id FROM annotation_assignment WHERE id = %s AND state IN ('accepted', 'submitted', 'released')"
_IF_SUBMITTED = "(SELECT id FROM annotation_assignment WHERE id = %s AND state IN ('submitted', 'released'))"
_ITS_SUBMISSION = "(SELECT id FROM annotation_submission WHERE assignment_id = %s)"


def _open_work(assignment_id: int, participant_id: int) -> OpenWork:
    rows = sql.fetch_all(_WORK, assignment_id, participant_id)
    if not rows:
        raise Assignment.DoesNotExist
    state, hit_id, order, accepted_at, arm_id, study_id, synthetic, excluded, extra = rows[0][:9]
    accepted_at, order = sql.aware(accepted_at), sql.from_json(Assignment, "order", order)
    steps = [
        SentStep(number, name, sql.from_json(Step, "answers", answers), sql.from_json(Step, "timing", timing))
        for number, name, answers, timing in (row[9:13] for row in rows)
        if number is not None
    ]
    instrument, of_hit = live_instrument(arm_id), hit_items(hit_id)
    offers = offers_to(assignment_id, instrument)
    return OpenWork(
        id=assignment_id,
        state=state,
        hit_id=hit_id,
        study_id=study_id,
        participant_id=participant_id,
        arm_id=arm_id,
        accepted_at=accepted_at,
        synthetic=bool(synthetic),
        excluded=bool(excluded),
        extra=bool(extra),
        announced=bool(rows[0][13]),
        item_ids=of_hit.ids,
        shown=instrument.shown(of_hit.items, order, offers),
        instrument=instrument,
        steps=steps,
    )


def _store(
    work: OpenWork,
    sent_step: SentStep,
    now: datetime,
    uses: Sequence[sql.Statement] = (),
    completion: Sequence[sql.Statement] = (),
) -> None:
    """Write one step with what became of its offers and, with ``completion``, the submission.

    Raises IntegrityError if the assignment is no longer open.
    """
    step = {
        "assignment": work.id if completion else sql.Found(f"({sql.locked(_IF_ACCEPTED)})", (work.id,)),
        "number": sent_step.number,
        "name": sent_step.name,
        "answers": sent_step.answers,
        "timing": sent_step.timing,
        "received_at": now,
    }
    statements = [sql.insertion(Step, step), (_DROP_DRAFT, [work.id, sent_step.number])]
    if completion:
        stamp = Assignment._meta.get_field("ended_at").get_db_prep_save(now, connection)
        statements.insert(0, (_SUBMIT, [stamp, work.id, work.extra]))
    sql.run(*statements, *uses, *completion)


def _completion(
    work: OpenWork, walk: Walk, last_step: SentStep, now: datetime, *, feedback: str
) -> list[sql.Statement]:
    """The submission with its ratings, flags and outputs, and the hit's count."""
    steps = [*work.steps, last_step]
    answers = [step.answers for step in steps]
    pages = walk.answered(answers)
    feedback = clean_text(feedback)[:MOST_FEEDBACK]
    seconds = (now - work.accepted_at).total_seconds()
    submission = {
        "assignment": sql.Found(_IF_SUBMITTED, (work.id,)),
        "study": work.study_id,
        "participant": work.participant_id,
        "answers": answers,
        "feedback": "" if is_blank(feedback) else feedback,
        "seconds": seconds,
        "received_at": now,
    }
    its = sql.Found(_ITS_SUBMISSION, (work.id,))
    links = {"submission": its, "created_at": now}
    whole_work = sent_work(work, pages, steps, seconds)
    texts = written_texts(pages, whole_work.answers)
    where = None if work.synthetic else Where(work.study_id, work.participant_id)
    findings = findings_in(whole_work.as_work(), work.instrument.quality, texts, where=where)
    flags = [flag_columns(finding, links) for finding in findings]
    flagged = bool(flags) and not work.excluded
    messages = messages_of_submission(work.study_id, its, now, flagged=flagged) if work.announced else []
    derived = [
        (Submission, [submission]),
        (Rating, derive_ratings(work, whole_work.ratings, steps, submission=its, now=now)),
        (Flag, flags),
        (TextPrint, [{"study": work.study_id, "submission": its, "digest": text.digest} for text in texts]),
        (Output, derive_outputs(work, pages, steps, submission=its)),
        (Review, [links | LEFT_OUT] if work.excluded else []),
        (WebhookDelivery, messages),
    ]
    statements = [sql.insertion(model, *rows) for model, rows in derived if rows]
    return statements if work.extra else [*statements, (_ONE_MORE, [work.hit_id])]


def derive_ratings(
    work: OpenWork, rows: Sequence[RatingData], steps: Sequence[SentStep], *, submission: int | sql.Found, now: datetime
) -> list[dict[str, Any]]:
    """The ratings that all steps together give (the type's ``rows``), as columns of Rating.

    If one answer gives several ratings, only the first of them has the answer's time.
    """
    seconds = {(row.step, row.key): steps[row.step].timing.get(row.key, {}).get("seconds") for row in rows}
    return [
        {
            "study": work.study_id,
            "submission": submission,
            "participant": work.participant_id,
            "item": None if row.item is None else work.item_ids[row.item],
            "question": row.question,
            "target": row.target,
            "scale": row.scale,
            "value": row.value,
            "text": row.text,
            "seconds": seconds.pop((row.step, row.key), None),
            "created_at": now,
        }
        for row in rows
    ]


def sent_work(work: OpenWork, pages: Sequence[Page], steps: Sequence[SentStep], seconds: float) -> Sent:
    """All steps of a hit, as quality control reads them."""
    answers, task = [step.answers for step in steps], work.instrument.task
    return Sent(
        task=task,
        shown=work.shown,
        pages=pages,
        answers=answers,
        timings=[step.timing for step in steps],
        ratings=task.ratings(work.shown, pages, answers),
        seconds=None if work.synthetic else seconds,
        first=first_tries(work.id) if work.instrument.loud else {},
    )


def stored_work(*, submission: Submission) -> Sent:
    """A submission read back from its steps."""
    work = _open_work(submission.assignment_id, submission.participant_id)
    pages = work.walk().answered(work.answers())
    return sent_work(work, pages, work.steps, submission.seconds)


def derive_outputs(
    work: OpenWork, pages: Sequence[Page], steps: Sequence[SentStep], *, submission: int | sql.Found
) -> list[dict[str, Any]]:
    """The texts that another study can judge, as columns of Output. Their author is the submission's worker."""
    outputs = work.instrument.task.outputs(work.shown, pages, [step.answers for step in steps])
    return [
        {
            "study": work.study_id,
            "submission": submission,
            "number": number,
            "item": None if output.item is None else work.item_ids[output.item],
            "kind": output.kind,
            "context": output.context,
            "texts": list(output.texts),
            "label_name": output.label[0] if output.label else "",
            "label_value": output.label[1] if output.label else None,
        }
        for number, output in enumerate(outputs)
    ]


def clean_timing(timing: Mapping[str, Any], page: Page) -> dict[str, dict[str, float]]:
    """``seconds`` (time spent), ``at`` (from the page's start) and ``pastes``, per question of the page.

    The browser measures these, so they are not trusted: only numbers between 0 and a day are accepted.
    """
    cleaned: dict[str, dict[str, float]] = {}
    for question in page.questions:
        measured = timing.get(question.key)
        if isinstance(measured, Mapping):
            numbers = {name: measured.get(name) for name in ("seconds", "at", "pastes")}
            plausible = {
                name: round(float(number), 3)
                for name, number in numbers.items()
                if isinstance(number, int | float) and not isinstance(number, bool) and 0 <= number <= 86_400
            }
            if plausible:
                cleaned[question.key] = plausible
    return cleaned


def rebuild_ratings(*, submission: Submission) -> tuple[int, int]:
    """Derive the ratings again from the stored steps. Returns (ratings removed or added, ratings now).

    Use it after fixing a mistake in a type's ``ratings`` hook. If nothing changes, nothing is written.
    """
    work = _open_work(submission.assignment_id, submission.participant_id)
    pages = work.walk().answered(work.answers())
    rows = work.instrument.task.ratings(work.shown, pages, work.answers())
    derived = derive_ratings(work, rows, work.steps, submission=submission.pk, now=submission.received_at)
    columns = ("item", "question", "target", "scale", "value", "text", "seconds")
    stored = set(submission.ratings.values_list(*columns))
    changed = stored ^ {tuple(row[name] for name in columns) for row in derived}
    if changed:
        with transaction.atomic():
            submission.ratings.all().delete()
            sql.insert_many(Rating, derived)
    return len(changed), len(derived)
