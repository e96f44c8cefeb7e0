"""What a worker sends: drafts, steps, and with the last step the submission and its ratings.

A step is stored once. Sending it again, from the same page, from a second tab or by a retry of the network, changes
nothing and is answered as the first time.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from typing import Any

from django.db import IntegrityError, transaction
from django.db.models import F
from django.utils import timezone

from annotation.instrument import Instrument, hit_items, shown_to
from annotation.models import Assignment, Draft, Flag, Hit, Rating, Step, Submission
from annotation.services.allocation import next_ordinal, revive
from annotation.task_types.base import FlagData, RatingData, Shown, StepSpec
from annotation.task_types.questions import Answer, clean_text

State = Assignment.State
MOST_FEEDBACK = 5_000


@dataclass(frozen=True, slots=True)
class Outcome:
    """What became of a sent step.

    ``kind``: ``stored`` (there are more steps), ``submitted`` (it was the last), ``repeated`` (was stored before),
    ``invalid`` (see ``errors``), ``stale`` (not the step that is due), ``late`` (the hit went to someone else; the
    answers are kept aside), ``ended`` (returned).
    """

    kind: str
    errors: dict[str, str] = field(default_factory=dict)


def submit_step(
    *,
    assignment_id: int,
    participant_id: int,
    number: int,
    data: Mapping[str, str],
    timing: Mapping[str, Any],
) -> Outcome:
    """Check and store one step; with the last one, the submission, its ratings and flags, in one transaction."""
    try:
        with transaction.atomic():
            return _submit(assignment_id, participant_id, number, data, timing)
    except IntegrityError:
        if Step.objects.filter(assignment_id=assignment_id, number=number).exists():
            return Outcome("repeated")
        raise


def _submit(
    assignment_id: int, participant_id: int, number: int, data: Mapping[str, str], timing: Mapping[str, Any]
) -> Outcome:
    assignment = (
        Assignment.objects.select_for_update(of=("self", "participant"), no_key=True)
        .select_related("hit__study", "participant")
        .get(pk=assignment_id, participant_id=participant_id)
    )
    before = list(Step.objects.filter(assignment=assignment).order_by("number"))
    if number < len(before):
        return Outcome("repeated")
    if assignment.state == State.ABANDONED and not _revived(assignment):
        keep_draft(assignment_id=assignment.pk, number=number, data=data, late=True)
        return Outcome("late")
    if assignment.state != State.ACCEPTED:
        return Outcome("ended")
    if number > len(before):
        return Outcome("stale")
    instrument = Instrument.of(assignment.hit.study)
    shown = shown_to(assignment, instrument)
    specs = instrument.steps(shown)
    answers, errors = specs[number].clean(data)
    if errors:
        return Outcome("invalid", errors)
    now = timezone.now()
    step = Step(
        assignment=assignment,
        number=number,
        name=specs[number].name,
        answers=answers,
        timing=clean_timing(timing, specs[number]),
        received_at=now,
    )
    step.save(force_insert=True)
    Draft.objects.filter(assignment=assignment, number=number).delete()
    if number + 1 < len(specs):
        return Outcome("stored")
    feedback = clean_text(data.get("feedback", ""))[:MOST_FEEDBACK]
    _complete(assignment, instrument, shown, specs, [*before, step], feedback, now)
    return Outcome("submitted")


def _revived(assignment: Assignment) -> bool:
    study = assignment.hit.study
    ordinal = next_ordinal(participant_id=assignment.participant_id)
    if study.hits_per_worker is not None and ordinal > study.hits_per_worker:
        return False
    return revive(assignment=assignment, study=study, ordinal=ordinal)


def _complete(
    assignment: Assignment,
    instrument: Instrument,
    shown: Shown,
    specs: Sequence[StepSpec],
    steps: Sequence[Step],
    feedback: str,
    now: datetime,
) -> None:
    answers = [step.answers for step in steps]
    submission = Submission(
        assignment=assignment,
        study_id=assignment.hit.study_id,
        participant_id=assignment.participant_id,
        answers=answers,
        feedback=feedback,
        seconds=(now - assignment.accepted_at).total_seconds(),
        received_at=now,
    )
    submission.save(force_insert=True)
    Rating.objects.bulk_create(derive_ratings(submission, instrument, shown, specs, steps))
    flags = derive_flags(instrument, shown, specs, steps)
    if flags:
        Flag.objects.bulk_create(Flag(submission=submission, reason=f.reason, detail=f.detail[:500]) for f in flags)
    Assignment.objects.filter(pk=assignment.pk).update(state=State.SUBMITTED, ended_at=now)
    Hit.objects.filter(pk=assignment.hit_id).update(n_submitted=F("n_submitted") + 1)


def derive_ratings(
    submission: Submission,
    instrument: Instrument,
    shown: Shown,
    specs: Sequence[StepSpec],
    steps: Sequence[Step],
) -> list[Rating]:
    """The rows of the data set that a submission means, not yet stored."""
    given: list[Mapping[str, Answer]] = [step.answers for step in steps]
    ids = [pk for pk, _ in hit_items(submission.assignment.hit_id)]
    return [
        Rating(
            study_id=submission.study_id,
            submission=submission,
            participant_id=submission.participant_id,
            item_id=ids[row.item],
            question=row.question,
            target=row.target,
            scale=row.scale,
            value=row.value,
            text=row.text,
            seconds=_seconds(steps[row.step], row),
            created_at=submission.received_at,
        )
        for row in instrument.task.ratings(shown, specs, given)
    ]


def derive_flags(
    instrument: Instrument, shown: Shown, specs: Sequence[StepSpec], steps: Sequence[Step]
) -> list[FlagData]:
    """Reasons for a person to look at a submission."""
    pastes = sum(int(about.get("pastes", 0)) for step in steps for about in step.timing.values())
    return list(instrument.task.flags(shown, specs, [step.answers for step in steps], pastes=pastes))


def _seconds(step: Step, row: RatingData) -> float | None:
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


@transaction.atomic
def save_draft(*, assignment_id: int, participant_id: int, number: int, data: Mapping[str, str]) -> bool:
    """Keep what is typed so far. False when the step is not open any more."""
    assignment = Assignment.objects.filter(
        pk=assignment_id, participant_id=participant_id, state__in=[State.ACCEPTED, State.ABANDONED]
    ).first()
    if assignment is None or Step.objects.filter(assignment=assignment, number__gte=number).exists():
        return False
    keep_draft(assignment_id=assignment.pk, number=number, data=data)
    return True


def keep_draft(*, assignment_id: int, number: int, data: Mapping[str, str], late: bool = False) -> None:
    """Write or overwrite the draft of one step; control characters, which no database stores, are dropped."""
    cleaned = {clean_text(key)[:100]: clean_text(text)[:100_000] for key, text in data.items()}
    Draft.objects.update_or_create(
        assignment_id=assignment_id,
        number=number,
        defaults={"answers": cleaned, "late": late, "saved_at": timezone.now()},
    )


def rebuild_ratings(*, submission: Submission) -> tuple[int, int]:
    """Derive the ratings anew from the stored steps: (rows that changed, rows there are now).

    For a mistake found in a type's ``ratings`` hook. Nothing is written when nothing changes.
    """
    instrument = Instrument.of(submission.study)
    shown = shown_to(submission.assignment, instrument)
    steps = list(submission.assignment.steps.order_by("number"))
    wanted = derive_ratings(submission, instrument, shown, instrument.steps(shown), steps)
    there = {_key(row) for row in submission.ratings.all()}
    changed = there ^ {_key(row) for row in wanted}
    if changed:
        with transaction.atomic():
            submission.ratings.all().delete()
            Rating.objects.bulk_create(wanted)
    return len(changed), len(wanted)


def _key(row: Rating) -> tuple[Any, ...]:
    return (row.item_id, row.question, row.target, row.scale, row.value, row.text, row.seconds)
