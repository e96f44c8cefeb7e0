"""Work on platforms: what both sides have, and what only one side has.

A submission of a posted hit is confirmed when the platform has the same assignment, with the same worker and the same
posting. Until then, it is left out of analysis and payment.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeVar, overload

from django.db.models import Model, QuerySet

from annotation.models import Assignment, OutsideAssignment, Study
from annotation.work.confirmation import CONFIRMING, OutsideState, _without_confirmation

Row = TypeVar("Row", bound=Model)
#: Rows in memory while a long list is written.
AT_ONCE = 500


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
    def __getitem__(self, index: int) -> Row: ...
    @overload
    def __getitem__(self, index: slice) -> list[Row]: ...
    def __getitem__(self, index: int | slice) -> Row | list[Row]:
        if isinstance(index, int):
            return self._rows.get(pk=self._numbers[index])
        numbers = self._numbers[index]
        by_number = self._rows.in_bulk(numbers)
        return [by_number[number] for number in numbers if number in by_number]


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
    submitted = Assignment.objects.filter(
        hit__study=study, posting__isnull=False, state__in=[Assignment.State.SUBMITTED, Assignment.State.RELEASED]
    ).exclude(posting__platform__in=_without_confirmation())
    outside = OutsideAssignment.objects.filter(posting__study=study, state__in=CONFIRMING)
    worker = "participant__worker__platform_id"
    on_server = _by_name(submitted.values_list("posting", "platform_assignment_id", "pk", worker))
    on_platform = _by_name(outside.values_list("posting", "external_id", "pk", "worker_id"))
    on_both = on_server.keys() & on_platform.keys()
    with_other_worker = [
        (on_server[key][0], on_platform[key][0]) for key in sorted(on_both) if on_server[key][1] != on_platform[key][1]
    ]
    submitted = submitted.select_related("participant__worker", "posting")
    outside = outside.defer("answer")  # which may be long, and nobody compares it
    return Differences(
        here_only=ByNumber(submitted, [on_server[key][0] for key in sorted(on_server.keys() - on_both)]),
        there_only=ByNumber(outside, [on_platform[key][0] for key in sorted(on_platform.keys() - on_both)]),
        other_worker=[
            (submitted.get(pk=assignment_id), outside.get(pk=outside_id))
            for assignment_id, outside_id in with_other_worker
        ],
    )


def partly_paid(study: Study) -> QuerySet[OutsideAssignment]:
    """Work that the platform paid in part. It does not report how much, so no payment is recorded here."""
    return OutsideAssignment.objects.filter(posting__study=study, state=OutsideState.PARTIAL).order_by("pk")


def _by_name(rows: QuerySet[Any, Any]) -> dict[tuple[int, str], tuple[int, str]]:
    """The number and the worker's id of each row, by its posting and the platform's name for the assignment."""
    return {(posting, name): (pk, worker) for posting, name, pk, worker in rows.order_by("pk").iterator(2_000)}


def by_platform_id(study: Study) -> Mapping[tuple[int, str], list[Assignment]]:
    """The study's assignments on platforms by posting and the platform's id, newest first, whatever their state."""
    by_id: defaultdict[tuple[int, str], list[Assignment]] = defaultdict(list)
    rows = Assignment.objects.filter(posting__study=study).exclude(platform_assignment_id="")
    for assignment in rows.select_related("participant__worker", "hit", "posting").order_by("-pk"):
        by_id[assignment.posting_id or 0, assignment.platform_assignment_id].append(assignment)
    return by_id
