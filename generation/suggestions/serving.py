"""Live suggestions for the processes that write them: claim them under a lease, then store or release them.

A lease names the process that works on a waiting suggestion, and ends at a set time. After that, any process may claim
the suggestion, so another one picks up the requests of a process that died. Two processes never claim the same row:
PostgreSQL skips rows that another is claiming, SQLite has one writer at a time.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import connection, transaction
from django.db.models import F, Q
from django.db.models.functions import Coalesce, Greatest

from generation.models import Suggestion
from generation.suggestions.pool import answer_from_pool

State = Suggestion.State
EXHAUSTED = "No usable suggestion in {tries} tries: the processes that worked on it ended or failed."
MOST_AT_ONCE = 1000
_ANY = f"SELECT 1 FROM {Suggestion._meta.db_table} WHERE state = 'waiting' LIMIT 1"  # noqa: S608 - names of models


@dataclass(frozen=True)
class Result:
    """The result of one suggestion: a text to show, or why there is none. ``parameters``: everything needed to generate
    it again."""

    suggestion: int
    text: str
    why: str
    tries: int
    raw_text: str = ""
    n_tokens: int = 0
    log_p: float | None = None
    log_q: float | None = None
    parameters: Mapping[str, Any] | None = None


def anything_waits() -> bool:
    """Whether any suggestion is waiting. Called many times a second, so it is plain SQL that reads one entry of the
    index of waiting suggestions."""
    with connection.cursor() as cursor:
        cursor.execute(_ANY)
        return cursor.fetchone() is not None


def claim(
    *, name: str, room: Mapping[int, int], lease: timedelta, now: datetime, besides: Collection[int] = ()
) -> list[Suggestion]:
    """Lease and return those that waited longest, at most ``room`` for each model (by id), with suggester and model.

    Skips those that nobody would see any more, because their deadline has passed or their tries are used up. Also skips
    ``besides``: those that the process already works on, although it could not extend the lease in time.
    """
    chosen: list[int] = []
    free = dict(room)
    for row in _free(now):
        if free.get(row.model, 0) > 0 and row.tries < row.most_tries and row.pk not in besides:
            free[row.model] -= 1
            chosen.append(row.pk)
    if not chosen:
        return []
    with transaction.atomic():
        rows = Suggestion.objects.filter(_unleased(now), pk__in=chosen, state=State.WAITING)
        rows = rows.select_for_update(skip_locked=True, of=("self",), no_key=True)
        claimed = list(rows.select_related("suggester__model").order_by("asked_at", "pk"))
        Suggestion.objects.filter(pk__in=[suggestion.pk for suggestion in claimed]).update(
            leased_by=name, leased_until=now + lease, tries=F("tries") + 1, started_at=Coalesce("started_at", now)
        )
    for suggestion in claimed:
        suggestion.tries += 1
    return claimed


@transaction.atomic
def extend(*, name: str, lease: timedelta, now: datetime) -> int:
    """Extend all leases of a process. Returns how many there are."""
    # Locked rows are being answered at this moment: skipping them means never waiting.
    held = Suggestion.objects.filter(state=State.WAITING, leased_by=name)
    ids = list(held.select_for_update(skip_locked=True, no_key=True).values_list("pk", flat=True))
    return Suggestion.objects.filter(pk__in=ids).update(leased_until=now + lease) if ids else 0


def needless(*, suggestions: Iterable[int], unbegun: Collection[int], now: datetime) -> list[int]:
    """Which of these no writer needs any more: all that were cancelled and, of those that are ``unbegun``, also those
    that were answered or are past their deadline. A text in progress is finished, although it is late."""
    rows = Suggestion.objects.filter(pk__in=suggestions).exclude(state=State.WAITING, deadline__gt=now)
    ended = rows.order_by().values_list("pk", "state")
    return [pk for pk, state in ended if state == State.CANCELLED or pk in unbegun]


@transaction.atomic
def release(*, name: str, suggestions: Iterable[int] | None = None, counted: bool = False) -> int:
    """End the leases of a process, on these suggestions or on all. ``counted``: this try counts as used."""
    rows = Suggestion.objects.filter(state=State.WAITING, leased_by=name)
    if suggestions is not None:
        rows = rows.filter(pk__in=suggestions)
    ids = list(rows.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    tries = F("tries") if counted else Greatest(F("tries") - 1, 0)
    return Suggestion.objects.filter(pk__in=ids).update(leased_by="", leased_until=None, tries=tries)


def store(*, name: str, results: Sequence[Result], now: datetime) -> int:
    """Store what a process has made. Returns how many were in time.

    Each suggestion is answered once: a text that arrives after the pool's is saved as ``late_text``, and what another
    process stored stays. Suggestions without a usable text get one from the pool.
    """
    by_id = {result.suggestion: result for result in results}
    changed, hopeless, in_time = [], {}, 0
    with transaction.atomic():
        for row in Suggestion.objects.select_for_update(no_key=True).filter(pk__in=by_id).order_by("pk"):
            result = by_id[row.pk]
            if row.state == State.WAITING and result.text:
                row.state, row.text = State.DONE, result.text
                row.answered_at = max(now, row.asked_at)  # the asker's clock may be ahead of this machine's
                row.leased_by, row.leased_until = "", None
                row.growing = ""
                in_time += 1
            elif row.state == State.WAITING and row.leased_by == name:
                row.leased_by, row.leased_until = "", None
                hopeless[row.pk] = result.why
            elif result.text and not row.raw_text:
                row.late_text = result.text
            else:
                continue
            row.tries = max(row.tries, result.tries)
            row.raw_text, row.n_tokens = result.raw_text, result.n_tokens
            row.log_p, row.log_q = result.log_p, result.log_q
            row.parameters = dict(result.parameters or {})
            changed.append(row)
        # Plain SQL: an engine waits for it between two tokens, and ``bulk_update`` needs 2 ms per row to build its own.
        values = [
            [*(field.get_db_prep_save(getattr(row, field.attname), connection) for field in _CHANGED), row.pk]
            for row in changed
        ]
        with connection.cursor() as cursor:
            cursor.executemany(_SAVE, values)
    if hopeless:
        answer_from_pool(reasons=hopeless, now=now)
    return in_time


def store_growing(*, name: str, texts: Mapping[int, str]) -> None:
    """Store how far answers are written, by suggestion. Those that this process no longer works on stay as they are."""
    with transaction.atomic():
        held = Suggestion.objects.filter(pk__in=texts, state=State.WAITING, leased_by=name)
        for pk in list(held.select_for_update(skip_locked=True, no_key=True).values_list("pk", flat=True)):
            Suggestion.objects.filter(pk=pk).update(growing=texts[pk])


def answer_exhausted_from_pool(*, now: datetime) -> int:
    """Answer suggestions from the pool if their processes died so often that no tries are left. Returns how many."""
    exhausted = {row.pk: EXHAUSTED.format(tries=row.tries) for row in _free(now) if row.tries >= row.most_tries}
    return len(answer_from_pool(reasons=exhausted, now=now)) if exhausted else 0


class _Free(NamedTuple):
    pk: int
    model: int
    tries: int
    most_tries: int


def _unleased(now: datetime) -> Q:
    return Q(leased_until=None) | Q(leased_until__lte=now)


def _free(now: datetime) -> list[_Free]:
    """Waiting suggestions without a lease that would still be seen, the longest waiting first.

    Suggester and model are compared here and not in SQL: SQLite would begin with the suggester, and read all the
    suggestions that it ever gave.
    """
    rows = Suggestion.objects.filter(_unleased(now), state=State.WAITING, deadline__gt=now).order_by("asked_at", "pk")
    values = rows.values_list("pk", "suggester__model_id", "tries", "suggester__tries")[:MOST_AT_ONCE]
    return [_Free(*row) for row in values]


_FIELDS = {field.name: field for field in Suggestion._meta.concrete_fields}
_CHANGED = [
    _FIELDS[name]
    for name in (
        *("state", "text", "raw_text", "late_text", "parameters", "log_p", "log_q", "n_tokens", "tries"),
        *("leased_by", "leased_until", "answered_at", "growing"),
    )
]
_SAVE = (
    f"UPDATE {Suggestion._meta.db_table} SET {', '.join(f'{field.column} = %s' for field in _CHANGED)} "  # noqa: S608
    "WHERE id = %s"
)
