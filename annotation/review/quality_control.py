"""Checks all submissions of a study with every rule: on demand, and every night for studies with new work.

A check can be repeated, and can run twice at once: the database refuses the same flag twice. It never removes a flag,
excludes a submission or decides about pay.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field

from django.db import transaction
from django.db.models import Count
from django.utils import timezone

from analysis.quality_control.answers import changed_answers
from analysis.quality_control.crowd import Crowd, far_from_others
from analysis.quality_control.rules import Settings, by_rule, find_in_words
from analysis.quality_control.work import Answered, Finding
from annotation.many_ids import among
from annotation.models import Flag, QualityCheck, Study, Submission, Webhook
from annotation.task_types.registry import UnknownTaskType
from annotation.webhook_events import announce
from annotation.work.answers import stored_work
from annotation.work.quick_rules import Where, findings_in, flag_columns, written_texts

log = logging.getLogger(__name__)
CHUNK = 200
NIGHTLY = "nightly check"


@dataclass(slots=True)
class _Seen:
    """What the rules about several submissions remember while they read one after another. People are compared only
    with people, and simulated workers only with simulated workers."""

    crowds: dict[bool, Crowd] = field(default_factory=lambda: {True: Crowd(), False: Crowd()})
    first: dict[tuple[int, str, str, str], tuple[int, Answered]] = field(default_factory=dict)
    of_worker: dict[str, list[int]] = field(default_factory=dict)


def check_quality(*, study: Study, actor: str, progress: Callable[[int], None] | None = None) -> QualityCheck:
    """Flag everything that the rules find. Returns the check with its number of new flags by rule."""
    settings, seen = Settings.of(study.quality_control), _Seen()
    new: list[str] = []
    count = 0
    submissions = Submission.objects.filter(study=study).select_related("participant").order_by("pk")
    last = 0
    while batch := list(submissions.filter(pk__gt=last)[:CHUNK]):
        rows: list[Flag] = []
        for submission in batch:
            links = {"submission_id": submission.pk, "created_at": timezone.now()}
            rows += [_flag(finding, links) for finding in _findings(submission, settings, seen)]
            if progress:
                progress(1)
        new += _store(rows)
        count += len(batch)
        last = batch[-1].pk
    if (threshold := settings.at("far_from_others")) is not None:
        # A flag on every submission of a worker who is far from the others.
        rows, now = [], timezone.now()
        for crowd in seen.crowds.values():
            for worker, finding in far_from_others(crowd.distances(), threshold).items():
                rows += [_flag(finding, {"submission_id": pk, "created_at": now}) for pk in seen.of_worker[worker]]
        new += _store(rows)
    if new:
        announce(study=study, event=Webhook.Event.REVIEW_NEEDED, new_flags=len(new))
    return QualityCheck.objects.create(study=study, submissions=count, flags=by_rule(new), actor=actor)


def _findings(submission: Submission, settings: Settings, seen: _Seen) -> Iterator[Finding]:
    """What is found in one submission, alone and compared with its worker's earlier ones."""
    stored = stored_work(submission=submission)
    work = stored.as_work()
    participant = submission.participant
    where = None if participant.synthetic else Where(submission.study_id, participant.pk, before=submission.pk)
    yield from findings_in(work, settings, written_texts(stored.pages, stored.answers), where=where)
    yield from find_in_words(work, settings)
    if (threshold := settings.at("contradictory")) is not None:
        # Answers that differ from the worker's earlier answer to the same question about the same item.
        for answer in work.answers:
            if not answer.item or answer.share is None:
                continue
            key = submission.participant_id, answer.item, answer.question, answer.target
            other, before = seen.first.setdefault(key, (submission.pk, answer))
            if other != submission.pk:
                yield from changed_answers(before, answer, threshold, other=other)
    if settings.at("far_from_others") is not None and not stored.task.own_work:
        worker = str(participant.pk)
        seen.crowds[participant.synthetic].add(worker, work.answers)
        seen.of_worker.setdefault(worker, []).append(submission.pk)


def _flag(finding: Finding, links: dict[str, object]) -> Flag:
    columns = flag_columns(finding, links)
    return Flag(**{("other_id" if name == "other" else name): value for name, value in columns.items()})


@transaction.atomic
def _store(rows: Sequence[Flag]) -> list[str]:
    """Store the flags that are missing. Returns the reasons of the new ones.

    Another check may store the same ones in between: the database then keeps the first.
    """
    stored = set(
        Flag.objects.filter(submission__in=among({row.submission_id for row in rows})).values_list(
            "submission_id", "reason", "place"
        )
    )
    new = {(row.submission_id, row.reason, row.place): row for row in rows}
    missing = [row for key, row in new.items() if key not in stored]
    Flag.objects.bulk_create(missing, ignore_conflicts=True)
    return [row.reason for row in missing]


# --- every night ---


def due_studies() -> list[Study]:
    """Studies with submissions that no check has seen."""
    counted = Study.objects.exclude(status=Study.Status.DRAFT).annotate(n=Count("submissions"))
    due: list[Study] = []
    for study in counted.filter(n__gt=0).order_by("pk"):
        last = QualityCheck.objects.filter(study=study).first()
        if last is None or last.submissions < study.n:
            due.append(study)
    return due


def check_due() -> int:
    """Check every study that has new submissions. Returns how many studies."""
    studies = due_studies()
    for study in studies:
        try:
            check_quality(study=study, actor=NIGHTLY)
        except (UnknownTaskType, ValueError, KeyError) as error:
            log.warning("The quality of %s could not be checked: %s", study.slug, error)
    return len(studies)
