"""Work on platforms: what both sides have, and what only one side has.

A submission of a posted hit is confirmed when the platform has the same assignment, with the same worker and the same
posting. Until then, it is left out of analysis and payment.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from django.db.models import F, Model, OuterRef, Q, QuerySet, Subquery

from annotation.models import Assignment, OutsideAssignment, Posting, Study, Submission
from annotation.platforms import known
from annotation.platforms.link import PLATFORM as LINK
from annotation.platforms.parts import is_bounded
from annotation.queries.among import among

OutsideState = OutsideAssignment.State
Row = TypeVar("Row", bound=Model)
#: Rows in memory while a long list is written.
AT_ONCE = 500
#: The states in which a platform reports work that was done there, decided or not.
CONFIRMING = (OutsideState.SUBMITTED, OutsideState.APPROVED, OutsideState.PARTIAL, OutsideState.REJECTED)


def platforms_of(study: Study) -> list[str]:
    """The platforms on which the study is or was offered, not counting the plain link."""
    postings = Posting.objects.filter(study=study).exclude(platform=LINK)
    return list(postings.order_by("platform").values_list("platform", flat=True).distinct())


def is_posted(study: Study) -> bool:
    """Whether the study is or was offered on a platform, so that nobody joins by its link."""
    return Posting.objects.filter(study=study).exclude(platform=LINK).exists()


def bounded_on(study: Study) -> str:
    """The platform that offers more of the study's hits, each on its own, than one worker can do; or empty."""
    if study.hits_per_worker is None:
        return ""
    return next((name for name in platforms_of(study) if is_bounded(study, name)), "")


def _claimed() -> Q:
    """Joins an assignment here with the platform's: same id, worker and posting, and not returned there."""
    return Q(
        posting__outside__external_id=F("platform_assignment_id"),
        posting__outside__worker_id=F("participant__worker__platform_id"),
        posting__outside__state__in=CONFIRMING,
    )


def confirmed(study: Study) -> QuerySet[Assignment]:
    """Assignments of posted hits that the platform confirms as this worker's."""
    return Assignment.objects.filter(_claimed(), hit__study=study).distinct()


def submission_of(outside: OutsideAssignment) -> Submission | None:
    """What this worker sent here for this assignment; None if nothing arrived, or it came from somebody else."""
    return Submission.objects.filter(
        assignment__posting=outside.posting_id,
        assignment__platform_assignment_id=outside.external_id,
        participant__worker__platform_id=outside.worker_id,
    ).first()


def reported_of(study: Study, submissions: Sequence[int]) -> dict[int, int]:
    """By submission (of these ids): the id of what the platform reports of it, from the same worker."""
    reported = OutsideAssignment.objects.filter(
        posting=OuterRef("assignment__posting"),
        external_id=OuterRef("assignment__platform_assignment_id"),
        worker_id=OuterRef("participant__worker__platform_id"),
    )
    found = Submission.objects.filter(study=study, pk__in=among(submissions)).order_by()
    newest = found.annotate(reported=Subquery(reported.order_by("-pk").values("pk")[:1]))
    return {pk: there for pk, there in newest.values_list("pk", "reported") if there is not None}


def unconfirmed_submissions(study: Study) -> QuerySet[Submission]:
    """Submissions here that the platform has not (yet) confirmed as this worker's.

    Work from a platform that cannot confirm anything is not among them: see `claimed_submissions`.
    """
    posted = Submission.objects.filter(study=study, assignment__posting__isnull=False)
    posted = posted.exclude(assignment__posting__platform__in=_without_confirmation())
    return posted.exclude(assignment__in=confirmed(study).values("pk"))


def claimed_submissions(study: Study) -> QuerySet[Submission]:
    """Submissions that count although only the worker's browser names the sender: the platform cannot confirm it."""
    return Submission.objects.filter(study=study, assignment__posting__platform__in=_without_confirmation())


def _without_confirmation() -> list[str]:
    return [name for name, platform in known().items() if not platform.confirms]


class ByNumber(Sequence[Row]):
    """Rows by their numbers, in that order, read from the database only when somebody looks at them, some at a time."""

    def __init__(self, rows: QuerySet[Row], numbers: Sequence[int]) -> None:
        self._rows, self._numbers = rows, numbers

    def __len__(self) -> int:
        return len(self._numbers)

    def __iter__(self) -> Iterator[Row]:
        for start in range(0, len(self), AT_ONCE):
            yield from self[start : start + AT_ONCE]

    @overload
    def __getitem__(self, at: int) -> Row: ...
    @overload
    def __getitem__(self, at: slice) -> list[Row]: ...
    def __getitem__(self, at: int | slice) -> Row | list[Row]:
        if isinstance(at, int):
            return self._rows.get(pk=self._numbers[at])
        numbers = self._numbers[at]
        found = {row.pk: row for row in self._rows.filter(pk__in=numbers)}
        return [found[number] for number in numbers if number in found]


@dataclass(frozen=True, slots=True)
class Differences:
    """What only one side has. The ids are the platform's, so that a person can look them up."""

    here_only: Sequence[Assignment]
    there_only: Sequence[OutsideAssignment]
    other_worker: list[tuple[Assignment, OutsideAssignment]]


def differences(study: Study) -> Differences:
    """Work submitted here but unknown there, work submitted there but not here, and assignments with different workers.

    Returned work counts as unknown there.
    """
    sent = Assignment.objects.filter(
        hit__study=study, posting__isnull=False, state__in=[Assignment.State.SUBMITTED, Assignment.State.RELEASED]
    ).exclude(posting__platform__in=_without_confirmation())
    outside = OutsideAssignment.objects.filter(posting__study=study, state__in=CONFIRMING)
    worker = "participant__worker__platform_id"
    here = _by_name(sent.values_list("posting", "platform_assignment_id", "pk", worker))
    there = _by_name(outside.values_list("posting", "external_id", "pk", "worker_id"))
    both = here.keys() & there.keys()
    mixed = [(here[key][0], there[key][0]) for key in sorted(both) if here[key][1] != there[key][1]]
    sent = sent.select_related("participant__worker", "posting")
    outside = outside.defer("answer")  # which may be long, and nobody compares it
    return Differences(
        here_only=ByNumber(sent, [here[key][0] for key in sorted(here.keys() - both)]),
        there_only=ByNumber(outside, [there[key][0] for key in sorted(there.keys() - both)]),
        other_worker=[(sent.get(pk=ours), outside.get(pk=theirs)) for ours, theirs in mixed],
    )


def partly_paid(study: Study) -> QuerySet[OutsideAssignment]:
    """Work that the platform paid in part. It does not report how much, so no payment is recorded here."""
    return OutsideAssignment.objects.filter(posting__study=study, state=OutsideState.PARTIAL).order_by("pk")


def _by_name(rows: QuerySet[Any, Any]) -> dict[tuple[int, str], tuple[int, str]]:
    """The number and the worker's id of each row, by its posting and the platform's name for the assignment."""
    return {(posting, name): (pk, worker) for posting, name, pk, worker in rows.order_by("pk").iterator(2_000)}
