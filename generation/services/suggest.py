"""Live suggestions, seen from the page that asks for them: ask, read until they are there, cancel.

Nothing here loads a model: a suggestion is a row that a suggester process (``generation.suggester``) finds and
answers. A row is answered once. Whoever reads it after its deadline takes a text from the pool instead, so a writer
waits no longer than ``wait_seconds`` even when no process runs; what the model sends later is kept beside it.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import NamedTuple

from django.db import transaction
from django.utils import timezone

from generation.cleaning import bare
from generation.models import ModelWorker, Suggester, Suggestion
from generation.problems import invalid
from generation.prompts import TemplateError, make_prompt
from generation.seeds import sample_seed
from generation.services.pool import MOST_ROUNDS, settle

State = Suggestion.State
LONGEST_KEY = 120
LONGEST_FIELDS = 100_000
MOST_AT_ONCE = 100
FORGOTTEN_AFTER = timedelta(minutes=10)
GONE_AFTER = timedelta(days=1)

TOO_LATE = "No suggestion came within {seconds:g} s."
FORGOTTEN = "No suggestion came in time, and nobody asked for it again."
WRITING = "A suggestion is being written ({waited:.0f} s)."
STILL_WRITING = "This takes longer than usual ({waited:.0f} s). You get a suggestion in {left:.0f} s at the latest."
NONE_CAME = "No suggestion could be made this time. Please go on without one; nothing you wrote is lost."


@dataclass(frozen=True)
class Answer:
    """A suggestion as its asker may show it: plain data.

    ``state``: waiting, done, failed (there is no text and there will be none: the writer goes on alone) or cancelled.
    ``waited``: seconds from asking to the answer, or up to now. ``left``: seconds after which the pool steps in.
    ``notice``: a sentence for the writer, empty once there is a text. ``same_as``: the id of an earlier one among
    those read together whose text reads the same; both are shown as they came.
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


def ask(
    *, suggester: Suggester, key: str, story_fields: Mapping[str, str], round: int, seed: int, story: str = ""
) -> Suggestion:
    """Ask one suggester; see ``ask_several``."""
    return ask_several(suggesters=[suggester], key=key, story_fields=story_fields, round=round, seed=seed, story=story)[
        0
    ]


def ask_several(
    *,
    suggesters: Sequence[Suggester],
    key: str,
    story_fields: Mapping[str, str],
    round: int,
    seed: int,
    story: str = "",
    wait_seconds: float | None = None,
) -> list[Suggestion]:
    """Ask all of them at once about the same story; what they share of the work is done once.

    Asking again with the same ``key`` gives the same suggestions, whatever else is given then. ``story`` names the
    writer's text over its rounds (``key`` when empty): within it no pool text comes twice. ``story_fields`` fill the
    suggesters' templates. Each suggester draws from a seed of its own, made of ``seed``, ``key`` and its name. One
    that is not active is answered from its pool at once. ``wait_seconds`` overrules that of the suggesters. Raises
    Invalid when something cannot be.
    """
    _check(suggesters, key=key, fields=story_fields, round=round, story=story)
    now = timezone.now()
    rows = [
        _new(each, key=key, fields=story_fields, round=round, seed=seed, story=story or key, wait=wait_seconds, now=now)
        for each in suggesters
    ]
    with transaction.atomic():
        Suggestion.objects.bulk_create(rows, ignore_conflicts=True)
        found = {row.suggester_id: row for row in Suggestion.objects.filter(suggester__in=suggesters, key=key)}
    return [found[each.pk] for each in suggesters]


def read(*, suggestions: Sequence[int], now: datetime | None = None) -> list[Answer]:
    """What has become of these suggestions (ids), in the order given. Cheap enough to be asked four times a second.

    Those past their deadline are given a text from the pool now. Raises Invalid for an id that is none.
    """
    now = now or timezone.now()
    found = _found(suggestions)
    overdue = {
        row.pk: TOO_LATE.format(seconds=row.wait_seconds)
        for row in found.values()
        if row.state == State.WAITING and row.deadline <= now
    }
    if overdue:
        settle(reasons=overdue, now=now)
        found = _found(suggestions)
    rows = [found[each] for each in suggestions]
    return [_answer(row, rows[:place], now) for place, row in enumerate(rows)]


def cancel(*, suggestions: Sequence[int]) -> int:
    """Nobody waits for these any more. Those that were answered stay as they are. How many were cancelled."""
    waiting = Suggestion.objects.filter(pk__in=suggestions, state=State.WAITING)
    return waiting.update(state=State.CANCELLED, leased_by="", leased_until=None, message="Cancelled by the asker.")


def prune(*, now: datetime | None = None) -> int:
    """Settle what nobody has come back for since its deadline, and forget processes that are long gone.

    A writer who comes back later finds the pool's text. How many suggestions were settled.
    """
    now = now or timezone.now()
    ModelWorker.objects.filter(seen_at__lt=now - GONE_AFTER).delete()
    forgotten = Suggestion.objects.filter(state=State.WAITING, deadline__lt=now - FORGOTTEN_AFTER)
    ids = forgotten.order_by("asked_at").values_list("pk", flat=True)[:MOST_AT_ONCE]
    return len(settle(reasons=dict.fromkeys(ids, FORGOTTEN), now=now))


class _Row(NamedTuple):
    """What is read of a suggestion: few columns, because it is read four times a second by every writer's page."""

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
    found = {
        row[0]: _Row(*row) for row in Suggestion.objects.filter(pk__in=suggestions).values_list(*_COLUMNS).order_by()
    }
    for each in suggestions:
        if each not in found:
            raise invalid("suggestions", f"There is no suggestion {each}.")
    return found


def _answer(row: _Row, before: Sequence[_Row], now: datetime) -> Answer:
    waited = max(0.0, ((row.answered_at or now) - row.asked_at).total_seconds())
    left = max(0.0, (row.deadline - now).total_seconds()) if row.state == State.WAITING else 0.0
    same = (other.pk for other in before if row.text and bare(other.text) == bare(row.text))
    return Answer(
        id=row.pk,
        suggester=row.suggester,
        state=row.state,
        text=row.text,
        from_pool=row.from_pool,
        waited=round(waited, 3),
        left=round(left, 3),
        notice=_notice(row.state, waited, left),
        same_as=next(same, None),
    )


def _notice(state: str, waited: float, left: float) -> str:
    if state == State.FAILED:
        return NONE_CAME
    if state != State.WAITING:
        return ""
    return (WRITING if waited < left else STILL_WRITING).format(waited=waited, left=max(1.0, left))


def _new(
    suggester: Suggester,
    *,
    key: str,
    fields: Mapping[str, str],
    round: int,
    seed: int,
    story: str,
    wait: float | None,
    now: datetime,
) -> Suggestion:
    try:
        prompt, keep = make_prompt(suggester.template, fields, suggester.priming)
    except TemplateError as error:
        raise invalid(f"suggester {suggester.name}, template", str(error)) from None
    seconds = (wait or suggester.wait_seconds) if suggester.active else 0
    return Suggestion(
        key=key,
        suggester=suggester,
        round=round,
        fields=dict(fields),
        story=story,
        prompt=prompt,
        keep=keep,
        seed=sample_seed(seed, key, suggester.name, suggester.decoder, 0),
        asked_at=now,
        deadline=now + timedelta(seconds=seconds),
    )


def _check(suggesters: Sequence[Suggester], *, key: str, fields: Mapping[str, str], round: int, story: str) -> None:
    if not suggesters or len({each.pk for each in suggesters}) != len(suggesters):
        raise invalid("suggesters", "There is none, or one comes twice.", "Ask one, or several different ones.")
    for name, value in (("key", key), ("story", story or key)):
        if not value.strip() or len(value) > LONGEST_KEY or "\x00" in value:
            raise invalid(name, f"It is {value[:140]!r}.", f"It takes a text of 1 to {LONGEST_KEY} characters.")
    if not 1 <= round <= MOST_ROUNDS:
        raise invalid("round", f"It is {round!r}.", f"The first one of a story is 1, the last {MOST_ROUNDS}.")
    for name, value in fields.items():
        if not isinstance(value, str) or "\x00" in value:
            raise invalid(f"story_fields, {name}", "It is no text.")
    if sum(map(len, fields.values())) > LONGEST_FIELDS:
        raise invalid("story_fields", f"The story is longer than {LONGEST_FIELDS} characters.")
