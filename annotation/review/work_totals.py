"""What every participant did and is owed, as running totals: counted again when a trigger has marked them.

A page about a study reads `WorkTotal`, and counts the few itself that are marked at this moment, so it is exact. The
scheduler counts the marked ones every few seconds, and compares all of them with the truth once a night.
"""

from __future__ import annotations

import logging
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import Any

from django.db import connection, transaction
from django.db.models import Count, Min, Q, QuerySet, Sum
from django.utils import timezone

from annotation.models import Assignment, Flag, Participant, Payment, Rating, Recount, Study, Submission, WorkTotal
from annotation.recruiting.pay_states import delay_of, with_pay_state
from annotation.review.payments_due import payable, payment_rows
from annotation.work.hourly_pay import exact_sum
from annotation.work.left_out import excluded_submissions, paid_work, read_left_out

log = logging.getLogger(__name__)
State = Assignment.State
#: Participants whose work is counted in one transaction.
AT_ONCE = 100
#: So many participants who are marked does a page count itself. The others it shows as they were.
MOST_COUNTED_NOW = 25
#: From so many submissions on, pages read totals.
LARGE = 5_000
#: The number of PostgreSQL's lock under which totals are written: one process at a time.
LOCK = 7_421_001
COUNTED = [field.attname for field in WorkTotal._meta.concrete_fields if field.name not in ("participant", "study")]


def count_work(study: Study, participants: Collection[int]) -> list[WorkTotal]:
    """The totals of these participants of the study, counted from what is stored. They are not saved.

    The number of queries does not depend on how many they are: at most a few hundred.
    """
    of = list(participants)
    totals = {pk: WorkTotal(participant_id=pk, study_id=study.pk) for pk in of}
    _count_submissions(study, of, totals)
    _count_what_is_left_out(study, of, totals)
    of_them = Flag.objects.filter(submission__participant__in=of).order_by()
    for pk, n in of_them.values_list("submission__participant").annotate(n=Count("submission", distinct=True)):
        totals[pk].flagged = n
    by_reason = of_them.values_list("submission__participant", "reason")
    for pk, reason, n in by_reason.annotate(n=Count("submission", distinct=True)).order_by("reason"):
        totals[pk].flags[reason] = n
    work = paid_work(study, of).order_by().values_list("participant")
    for pk, n, usd, seconds in work.annotate(n=Count("pk"), usd=Sum("assignment__hit__reward"), spent=Sum("seconds")):
        totals[pk].work, totals[pk].work_usd, totals[pk].work_seconds = n, exact_sum(usd), round(seconds, 3)
    _count_pay(study, of, totals)
    return list(totals.values())


def _count_submissions(study: Study, of: list[int], totals: dict[int, WorkTotal]) -> None:
    ended = Assignment.objects.filter(participant__in=of).exclude(state=State.ACCEPTED).order_by()
    for pk, state, n in ended.values_list("participant", "state").annotate(n=Count("pk")):
        if state in (State.RETURNED, State.ABANDONED, State.STOPPED):
            setattr(totals[pk], state, n)
    submissions = Submission.objects.filter(participant__in=of).order_by().values_list("participant")
    for pk, *counts in submissions.annotate(
        received=Count("pk"),
        submitted=Count("pk", filter=Q(assignment__state=State.SUBMITTED)),
        released=Count("pk", filter=Q(assignment__state=State.RELEASED, assignment__extra=False)),
        extra=Count("pk", filter=Q(assignment__extra=True)),
        comments=Count("pk", filter=~Q(feedback="")),
    ):
        total = totals[pk]
        total.received, total.submitted, total.released, total.extra, total.comments = counts


def _count_what_is_left_out(study: Study, of: list[int], totals: dict[int, WorkTotal]) -> None:
    left_out = read_left_out(study, of=of)
    reason_of = {pk: reason for reason, ids in left_out.by_reason.items() for pk in ids}
    by_person = set(excluded_submissions(study, of))
    counts: dict[int, Counter[str]] = defaultdict(Counter)
    for pk, participant in _participants_of({*reason_of, *by_person}):
        totals[participant].excluded += pk in by_person
        if pk in reason_of:
            counts[participant][reason_of[pk]] += 1
    ratings = Rating.objects.filter(submission__participant__in=of, value__isnull=False).order_by()
    is_out = Q(submission__in=left_out.submissions) | Q(pk__in=left_out.repeated)
    by_participant = ratings.values_list("submission__participant")
    for pk, n, out in by_participant.annotate(n=Count("pk"), out=Count("pk", filter=is_out)):
        totals[pk].ratings, totals[pk].ratings_out = n, out
    repeated = Rating.objects.filter(pk__in=left_out.repeated).order_by().values_list("submission__participant")
    for pk, n in repeated.annotate(n=Count("pk")):
        counts[pk]["repeated_ratings"] = n
    for pk, reasons in counts.items():
        totals[pk].left_out = dict(sorted(reasons.items()))


def _participants_of(submissions: Collection[int]) -> Iterator[tuple[int, int]]:
    ids = sorted(submissions)
    for part in (ids[start : start + 10_000] for start in range(0, len(ids), 10_000)):
        yield from Submission.objects.filter(pk__in=part).values_list("pk", "participant_id")


def _count_pay(study: Study, of: list[int], totals: dict[int, WorkTotal]) -> None:
    listed = list(payable(study).filter(pk__in=of))
    for participant, row in zip(listed, payment_rows(study, listed), strict=True):
        total = totals[participant.pk]
        total.state, total.hits_due, total.due = row.state, row.hits_due, row.due
        total.hits_open, total.open = row.hits_open, row.open
    reward = Q(kind=Payment.Kind.REWARD)
    for whose in ("submission__participant", "part__assignment__participant"):
        paid = Payment.objects.filter(study=study, **{f"{whose}__in": of}).order_by().values_list(whose)
        for pk, n, usd, extra in paid.annotate(
            n=Count("pk", filter=reward), usd=Sum("amount"), extra=Sum("amount", filter=~reward)
        ):
            totals[pk].hits_rewarded += n
            totals[pk].paid += exact_sum(usd)
            totals[pk].paid_extra += exact_sum(extra)
    if delay := delay_of(study):
        waiting = with_pay_state(study, of=of).filter(pay="waiting").order_by().values_list("participant")
        for pk, received_at in waiting.annotate(first=Min("received_at")):
            totals[pk].until = received_at + delay


# --- reading ---


@dataclass(frozen=True, slots=True)
class Totals:
    """The totals of a study: those stored that are right, those counted just now, and how many participants did
    something since they were counted that these do not include."""

    stored: QuerySet[WorkTotal]
    counted: list[WorkTotal]
    behind: int

    def rows(self, *columns: str) -> Iterator[tuple[Any, ...]]:
        """These columns of all of them."""
        yield from self.stored.values_list(*columns)
        for total in self.counted:
            yield tuple(_value(total, column) for column in columns)

    def sums(self, **columns: str) -> dict[str, Any]:
        """The sums of columns of numbers."""
        sums = self.stored.order_by().aggregate(**{name: Sum(column) for name, column in columns.items()})
        return {
            name: (sums[name] or 0) + sum(_value(total, column) for total in self.counted)
            for name, column in columns.items()
        }


def _value(total: WorkTotal, column: str) -> Any:
    value: Any = total
    for name in column.split("__"):
        value = getattr(value, name)
    return value


def totals_of(study: Study) -> Totals | None:
    """The study's totals. None if most have never been counted, as directly after an upgrade."""
    marked = _stale(study)
    behind = marked.count()
    if behind > MOST_COUNTED_NOW and marked.filter(total=None).count() > max(MOST_COUNTED_NOW, behind / 2):
        return None
    now = list(marked.order_by("pk").values_list("pk", flat=True)[:MOST_COUNTED_NOW])
    counted = count_work(study, now) if now else []
    people = Participant.objects.select_related("arm").in_bulk(now)
    for total in counted:
        total.participant = people[total.participant_id]
    stored = WorkTotal.objects.filter(study=study).exclude(participant__in=now).order_by("participant")
    return Totals(stored, counted, behind - len(now))


def totals_if_large(study: Study) -> Totals | None:
    """`totals_of` a study whose counted work is `LARGE`. None if it is less: then counting it all takes no time."""
    received = WorkTotal.objects.filter(study=study).aggregate(n=Sum("received"))["n"] or 0
    return totals_of(study) if received >= LARGE else None


def _stale(study: Study | None = None) -> QuerySet[Participant]:
    """Participants whose total is not right any more.

    One list, not two conditions with OR: PostgreSQL would go through all marks for each participant, and half a million
    of them, as an import of ratings leaves, took minutes for every hundred people.
    """
    overdue = WorkTotal.objects.filter(until__lte=timezone.now()).values("participant")
    participants = Participant.objects.filter(pk__in=Recount.objects.values("participant").union(overdue))
    return participants if study is None else participants.filter(study=study)


# --- writing ---


def count_marked(*, most: int = 20_000) -> int:
    """Count the totals that are not right any more, and save them. Returns how many.

    A mark that appears meanwhile stays. One process at a time.
    """
    n_counted = 0
    while n_counted < most:
        with transaction.atomic():
            if connection.vendor == "postgresql":
                with connection.cursor() as cursor:
                    cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
            last = Recount.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
            by_study: dict[int, list[int]] = defaultdict(list)
            for study_id, participant_id in _stale().order_by("study", "pk").values_list("study", "pk")[:AT_ONCE]:
                by_study[study_id].append(participant_id)
            for study_id, of in by_study.items():
                _save(count_work(Study.objects.get(pk=study_id), of))
                Recount.objects.filter(participant__in=of, pk__lte=last).delete()
            n = sum(len(of) for of in by_study.values())
        n_counted += n
        if n < AT_ONCE:
            break
    return n_counted


def _save(totals: Sequence[WorkTotal]) -> None:
    WorkTotal.objects.bulk_create(
        totals, update_conflicts=True, unique_fields=["participant"], update_fields=["study", *COUNTED]
    )


@dataclass(frozen=True, slots=True)
class Difference:
    """A total that was wrong: whose, and what was stored and what is true, by column."""

    study: str
    worker: str
    stored: dict[str, Any]
    true: dict[str, Any]

    def __str__(self) -> str:
        changes = (f"{name} {self.stored.get(name)} instead of {self.true[name]}" for name in self.true)
        return f"{self.study}, worker {self.worker}: {', '.join(changes)}"


def check_totals(
    studies: Iterable[Study], *, repair: bool = True, progress: Callable[[int], object] = lambda n: None
) -> list[Difference]:
    """Count everything again, and compare. What is wrong although no mark says so is returned, logged and, with
    ``repair``, put right."""
    differences = []
    for study in studies:
        last = 0
        while part := list(
            Participant.objects.filter(study=study, pk__gt=last).order_by("pk").values_list("pk", "pseudonym")[:AT_ONCE]
        ):
            last = part[-1][0]
            differences += _check(study, dict(part), repair=repair)
            progress(len(part))
    return differences


@transaction.atomic
def _check(study: Study, names: dict[int, str], *, repair: bool) -> list[Difference]:
    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            # What this transaction counts and what it reads are of the same moment.
            cursor.execute("SELECT pg_advisory_xact_lock(%s)", [LOCK])
    stored = WorkTotal.objects.in_bulk(names)
    true = count_work(study, names)
    # Marked after the rows were read, or before: then nobody has claimed that the total is right.
    marked = set(_stale(study).filter(pk__in=list(names)).values_list("pk", flat=True))
    differences, wrong = [], []
    for total in true:
        before = stored.get(total.participant_id) or WorkTotal(participant_id=total.participant_id, study=study)
        changes = [name for name in COUNTED if getattr(before, name) != getattr(total, name)]
        if changes and total.participant_id not in marked:
            wrong.append(total)
            values = ({name: getattr(each, name) for name in changes} for each in (before, total))
            difference = Difference(study.slug, names[total.participant_id], *values)
            differences.append(difference)
            log.error("A running total was wrong%s. %s", " and is repaired" if repair else "", difference)
    if repair:
        _save(wrong)
    return differences
