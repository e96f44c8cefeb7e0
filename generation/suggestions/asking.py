"""Live suggestions for the page that asks for them: ask, read until they arrive, cancel.

Nothing here loads a model: a suggestion is a row that a suggester process (``suggestions.suggester_process``) finds and
answers once. If it is read after its deadline, it gets a text from the pool, so a writer never waits longer than
``wait_seconds``, even if no process runs. A text that the model finishes later is stored in the same row.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, NamedTuple

from django.db import transaction
from django.utils import timezone

from common.problems import invalid
from generation.decoding.prompts import TemplateError, make_prompt
from generation.decoding.seeds import sample_seed
from generation.models import Suggester, Suggestion
from generation.suggestions.cleaning import bare
from generation.suggestions.definitions import MOST_ROUNDS
from generation.suggestions.pool import answer_from_pool

State = Suggestion.State
LONGEST_KEY = 120
LONGEST_FIELDS = 100_000
MOST_AT_ONCE = 100
ABANDONED_AFTER = timedelta(minutes=10)

TOO_LATE = "No suggestion came within {seconds:g} s."
ABANDONED = "No suggestion came in time, and nobody asked for it again."
WRITING = "A suggestion is being written ({waited:.0f} s)."
STILL_WRITING = "This is taking longer than usual ({waited:.0f} s). You will get a suggestion within {left:.0f} s."
NONE_CAME = "There is no suggestion this time. Please continue without one; nothing you wrote is lost."


@dataclass(frozen=True)
class SuggestionStatus:
    """A suggestion as plain data that the page can show.

    ``state``: waiting, done, failed (no text will come: the writer continues alone) or cancelled. ``waited``: seconds
    from asking to the answer, or until now. ``left``: seconds until a prepared text is used. ``notice``: a sentence for
    the writer, empty once there is a text. ``same_as``: the id of an earlier suggestion, among those read together,
    with the same words; both are shown unchanged.
    """

    id: int
    suggester: str
    state: str
    text: str
    from_pool: bool
    waited: float
    left: float
    notice: str
    same_as: int | None = None

    @property
    def waiting(self) -> bool:
        return self.state == State.WAITING


def ask_suggesters(
    *,
    suggesters: Sequence[Suggester],
    key: str,
    story_fields: Mapping[str, str],
    round: int,
    seed: int,
    story: str = "",
    wait_seconds: float | None = None,
    conversation: Mapping[str, Any] | None = None,
) -> list[Suggestion]:
    """Ask all of these suggesters about the same story at once.

    Asking again with the same ``key`` returns the same suggestions, even if everything else has changed. ``story``
    names the writer's text across rounds (default: ``key``): no pool text is used twice in it. ``story_fields`` fill
    the suggesters' templates. Each suggester's seed is made from ``seed``, ``key`` and its name. For an inactive
    suggester, the answer comes from its pool at once. ``wait_seconds`` overrides the suggesters' own. ``conversation``
    asks for the next answer in it (see `generation.decoding.conversations`), which never comes from a pool. Raises
    Invalid.
    """
    _check(suggesters, key=key, fields=story_fields, round=round, story=story)
    now = timezone.now()
    rows = []
    for suggester in suggesters:
        try:
            prompt, keep = make_prompt(suggester.template, story_fields, suggester.priming)
        except TemplateError as error:
            raise invalid(f"suggester {suggester.name}, template", str(error)) from None
        seconds = (wait_seconds or suggester.wait_seconds) if suggester.active else 0
        rows.append(
            Suggestion(
                key=key,
                suggester=suggester,
                round=round,
                story=story or key,
                prompt=prompt,
                keep=keep,
                conversation=dict(conversation or {}),
                seed=sample_seed(seed, key, suggester.name, suggester.decoder, 0),
                asked_at=now,
                deadline=now + timedelta(seconds=seconds),
            )
        )
    with transaction.atomic():
        Suggestion.objects.bulk_create(rows, ignore_conflicts=True)
        by_suggester = {row.suggester_id: row for row in Suggestion.objects.filter(suggester__in=suggesters, key=key)}
    return [by_suggester[suggester.pk] for suggester in suggesters]


def read_suggestions(*, suggestions: Sequence[int], now: datetime | None = None) -> list[SuggestionStatus]:
    """The status of these suggestions (ids), in the order given. Cheap enough to call four times a second.

    Those past their deadline get a text from the pool now. Raises Invalid for an unknown id.
    """
    now = now or timezone.now()
    by_id = _found(suggestions)
    overdue = {
        row.pk: TOO_LATE.format(seconds=row.wait_seconds)
        for row in by_id.values()
        if row.state == State.WAITING and row.deadline <= now
    }
    if overdue:
        answer_from_pool(reasons=overdue, now=now)
        by_id = _found(suggestions)
    rows = [by_id[suggestion_id] for suggestion_id in suggestions]
    statuses = []
    for position, row in enumerate(rows):
        waited = max(0.0, ((row.answered_at or now) - row.asked_at).total_seconds())
        left = max(0.0, (row.deadline - now).total_seconds()) if row.state == State.WAITING else 0.0
        same = (earlier.pk for earlier in rows[:position] if row.text and bare(earlier.text) == bare(row.text))
        notice = NONE_CAME if row.state == State.FAILED else ""
        if row.state == State.WAITING:
            notice = (WRITING if waited < left else STILL_WRITING).format(waited=waited, left=max(1.0, left))
        statuses.append(
            SuggestionStatus(
                id=row.pk,
                suggester=row.suggester,
                state=row.state,
                text=row.text,
                from_pool=row.from_pool,
                waited=round(waited, 3),
                left=round(left, 3),
                notice=notice,
                same_as=next(same, None),
            )
        )
    return statuses


@transaction.atomic
def cancel_suggestions(*, suggestions: Sequence[int]) -> int:
    """Cancel these suggestions. Returns how many. Answered suggestions do not change."""
    # Locked in the order in which everybody locks them, so that nobody waits for each other.
    waiting = Suggestion.objects.filter(pk__in=suggestions, state=State.WAITING)
    ids = list(waiting.select_for_update(no_key=True).order_by("pk").values_list("pk", flat=True))
    cancelled = {"state": State.CANCELLED, "leased_by": "", "leased_until": None, "message": "Cancelled by the asker."}
    return Suggestion.objects.filter(pk__in=ids).update(**cancelled) if ids else 0


def cancel_requests(*, beginnings: Collection[str]) -> int:
    """Cancel all suggestions still waiting whose key begins with one of these. Returns how many."""
    if not beginnings:
        return 0
    # Few wait at any time, and the index of those that do finds them.
    waiting = Suggestion.objects.filter(state=State.WAITING).values_list("pk", "key")
    ids = [pk for pk, key in waiting if key.startswith(tuple(beginnings))]
    return cancel_suggestions(suggestions=ids) if ids else 0


def reopen_suggestions(*, suggestions: Sequence[int], now: datetime) -> int:
    """Ask again for suggestions that were cancelled, with their seeds and a new deadline. Returns how many."""
    count = 0
    for row in Suggestion.objects.filter(pk__in=suggestions, state=State.CANCELLED).select_related("suggester"):
        wait = timedelta(seconds=row.suggester.wait_seconds if row.suggester.active else 0)
        again = {"state": State.WAITING, "asked_at": now, "deadline": now + wait, "started_at": None, "tries": 0}
        count += Suggestion.objects.filter(pk=row.pk, state=State.CANCELLED).update(**again, message="")
    return count


def delete_suggestions(*, writer: str) -> int:
    """Delete everything that was suggested to one writer, with what they had written. Returns how many there were.

    ``writer`` is how the stories of their requests begin.
    """
    return Suggestion.objects.filter(story__startswith=writer).delete()[0]


def close_abandoned(*, now: datetime | None = None) -> int:
    """Answer overdue, unread suggestions from the pool, because their writers may come back. Returns how many."""
    now = now or timezone.now()
    forgotten = Suggestion.objects.filter(state=State.WAITING, deadline__lt=now - ABANDONED_AFTER)
    ids = forgotten.order_by("asked_at").values_list("pk", flat=True)[:MOST_AT_ONCE]
    return len(answer_from_pool(reasons=dict.fromkeys(ids, ABANDONED), now=now))


class _Row(NamedTuple):
    """Only the columns that are needed, because every writer's page reads them four times a second."""

    pk: int
    suggester: str
    wait_seconds: float
    state: str
    text: str
    from_pool: bool
    asked_at: datetime
    answered_at: datetime | None
    deadline: datetime


_COLUMNS = ("pk", "suggester__name", "suggester__wait_seconds", *_Row._fields[3:])


def _found(suggestions: Sequence[int]) -> dict[int, _Row]:
    by_id = {
        row[0]: _Row(*row) for row in Suggestion.objects.filter(pk__in=suggestions).values_list(*_COLUMNS).order_by()
    }
    for suggestion_id in suggestions:
        if suggestion_id not in by_id:
            raise invalid("suggestions", f"There is no suggestion {suggestion_id}.")
    return by_id


def _check(suggesters: Sequence[Suggester], *, key: str, fields: Mapping[str, str], round: int, story: str) -> None:
    if not suggesters or len({suggester.pk for suggester in suggesters}) != len(suggesters):
        raise invalid(
            "suggesters", "There is no suggester, or one of them is named twice.", "Name each suggester once."
        )
    for name, value in (("key", key), ("story", story or key)):
        if not value.strip() or len(value) > LONGEST_KEY or "\x00" in value:
            raise invalid(name, f"It is {value[:140]!r}.", f"Use a text of 1 to {LONGEST_KEY} characters.")
    if not 1 <= round <= MOST_ROUNDS:
        raise invalid("round", f"It is {round!r}.", f"Use a number from 1 to {MOST_ROUNDS}.")
    for name, value in fields.items():
        if not isinstance(value, str) or "\x00" in value:
            raise invalid(f"story_fields, {name}", "It is not a text.")
    if sum(map(len, fields.values())) > LONGEST_FIELDS:
        raise invalid("story_fields", f"The story is longer than {LONGEST_FIELDS} characters.")
