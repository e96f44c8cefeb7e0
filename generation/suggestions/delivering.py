"""One suggestion per request, whatever happens: ask for it, ask again when it is late, and otherwise use the pool.

`deliver` may be called at any time and any number of times. Each call does what is due and returns the state of every
request.

- The first call asks the suggester.
- When half of the suggester's ``wait_seconds`` has passed without a text, `deliver` asks for a second suggestion, with
  its own seed. Whichever text comes first counts, and the other request is cancelled. The same happens when the first
  attempt ends without any text.
- At the deadline of the first attempt a prepared text is used.
- If a request was cancelled and is needed after all (its writer came back), it is asked for again.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any, Literal, NamedTuple

from django.utils import timezone

from common.problems import Invalid
from generation.models import Suggester, Suggestion
from generation.suggestions.asking import ask_suggesters, cancel_suggestions, read_suggestions, reopen_suggestions

logger = logging.getLogger(__name__)
State = Suggestion.State
Source = Literal["live", "second_try", "pool", "none"]
#: The share of the waiting time after which a second suggestion is asked for.
SECOND_TRY_AFTER = 0.5
#: With less time left than this, a second attempt is pointless.
LEAST_LEFT = timedelta(seconds=0.5)
AGAIN = "/again"


@dataclass(frozen=True, slots=True)
class Request:
    """A suggestion that somebody needs. The same ``key`` always means the same request; see `ask_suggesters`.

    With a ``conversation`` it is the next answer in it. People see that grow, so there is no second try beside it.
    """

    key: str
    suggester: str
    fields: Mapping[str, str]
    round: int
    story: str
    seed: int
    conversation: Mapping[str, Any] | None = None


@dataclass(frozen=True, slots=True)
class Delivery:
    """The state of a request. ``source`` is ``none`` while it waits, and remains so if no text will come.

    ``waited``: seconds from asking to the text, or until now. ``left``: seconds until a prepared text is used.
    ``suggestion``: the row that has the text. ``growing``: what of an answer is written while it waits.
    """

    key: str
    suggester: str
    waiting: bool
    source: Source
    text: str
    asked_at: datetime
    waited: float
    left: float = 0.0
    asked_again: bool = False
    suggestion: int | None = None
    growing: str = ""


class _Row(NamedTuple):
    key: str
    pk: int
    state: str
    text: str
    from_pool: bool
    asked_at: datetime
    answered_at: datetime | None
    deadline: datetime
    growing: str


def deliver(*, requests: Sequence[Request]) -> list[Delivery]:
    """Do what is due for each request and return its state, in the order given. A failing suggester raises no error."""
    rows = _rows(requests)
    if missing := [request for request in requests if request.key not in rows]:
        names = {request.suggester for request in missing}
        suggesters = Suggester.objects.select_related("model").in_bulk(names, field_name="name")
        for request in missing:
            if request.suggester in suggesters:
                _ask(request, suggesters[request.suggester])
            else:
                logger.error("A writer needs the suggester %s, which does not exist.", request.suggester)
        rows = _rows(requests)
    now = timezone.now()  # after asking: an inactive suggester's deadline is the moment of asking
    if cancelled := [rows[request.key].pk for request in requests if _was_cancelled(request, rows)]:
        reopen_suggestions(suggestions=cancelled, now=now)
        rows = _rows(requests)
    if late := [request for request in requests if _needs_second(request, rows, now)]:
        names = {request.suggester for request in late}
        suggesters = Suggester.objects.select_related("model").in_bulk(names, field_name="name")
        for request in late:
            left = (rows[request.key].deadline - now).total_seconds()
            _ask(request, suggesters[request.suggester], again=True, wait=left)
        rows = _rows(requests)
    if _close(requests, rows, now):
        rows = _rows(requests)
    return [_delivery(request, rows, now) for request in requests]


def _rows(requests: Sequence[Request]) -> dict[str, _Row]:
    keys = [request.key for request in requests]
    names = {request.suggester for request in requests}
    suggestions = Suggestion.objects.filter(suggester__name__in=names, key__in=[*keys, *(key + AGAIN for key in keys)])
    return {row[0]: _Row(*row) for row in suggestions.order_by().values_list(*_Row._fields)}


def _ask(request: Request, suggester: Suggester, *, again: bool = False, wait: float | None = None) -> None:
    try:
        ask_suggesters(
            suggesters=[suggester],
            key=request.key + (AGAIN if again else ""),
            story_fields=request.fields,
            round=request.round,
            seed=request.seed,
            story=request.story,
            wait_seconds=wait,
            conversation=request.conversation,
        )
    except Invalid as error:
        # Writers cannot do anything about it, so they continue without this suggestion.
        logger.error("The suggester %s cannot be asked: %s", suggester.name, error)


def _was_cancelled(request: Request, rows: Mapping[str, _Row]) -> bool:
    """Whether the request was cancelled as a whole. An attempt is also cancelled when the other one has a text."""
    first, second = rows.get(request.key), rows.get(request.key + AGAIN)
    return first is not None and first.state == State.CANCELLED and (second is None or second.state != State.DONE)


def _needs_second(request: Request, rows: Mapping[str, _Row], now: datetime) -> bool:
    first = rows.get(request.key)
    if first is None or request.key + AGAIN in rows or first.deadline - now < LEAST_LEFT:
        return False
    if request.conversation:
        return False
    late = now - first.asked_at >= SECOND_TRY_AFTER * (first.deadline - first.asked_at)
    return first.state == State.FAILED or (first.state == State.WAITING and late)


def _close(requests: Iterable[Request], rows: Mapping[str, _Row], now: datetime) -> bool:
    """Cancel attempts no longer needed, and answer overdue ones from the pool. Returns whether there were any."""
    needless, overdue = [], []
    for request in requests:
        first, second = rows.get(request.key), rows.get(request.key + AGAIN)
        if first is None:
            continue
        waiting = [row for row in (first, second) if row is not None and row.state == State.WAITING]
        texts = [row for row in (first, second) if row is not None and row.state == State.DONE]
        if texts:
            needless += [row.pk for row in waiting]
        elif waiting and min(row.deadline for row in waiting) <= now:
            overdue.append(waiting[0].pk)  # one text from the pool is enough
            needless += [row.pk for row in waiting[1:]]
    if needless:
        cancel_suggestions(suggestions=needless)
    if overdue:
        read_suggestions(suggestions=overdue, now=now)
    return bool(needless or overdue)


def _delivery(request: Request, rows: Mapping[str, _Row], now: datetime) -> Delivery:
    first, second = rows.get(request.key), rows.get(request.key + AGAIN)
    if first is None:  # asking for it failed
        return Delivery(request.key, request.suggester, False, "none", "", now, 0.0)
    attempts = [row for row in (first, second) if row is not None]
    # What a model wrote comes before a text from the pool, then the earliest first.
    answered = [row for row in attempts if row.state == State.DONE]
    done = min(answered, key=lambda row: (row.from_pool, row.answered_at or row.deadline), default=None)
    asked_again = second is not None
    if done is not None:
        source: Source = "pool" if done.from_pool else "second_try" if done is second else "live"
        waited = max(0.0, ((done.answered_at or now) - first.asked_at).total_seconds())
        return Delivery(
            request.key, request.suggester, False, source, done.text, first.asked_at, round(waited, 3), 0.0,
            asked_again, done.pk,
        )  # fmt: skip
    waiting = any(row.state == State.WAITING for row in attempts)
    waited = max(0.0, (now - first.asked_at).total_seconds())
    left = max(0.0, (first.deadline - now).total_seconds()) if waiting else 0.0
    return Delivery(
        request.key, request.suggester, waiting, "none", "", first.asked_at, round(waited, 3), left, asked_again,
        None if waiting else first.pk, first.growing if waiting else "",
    )  # fmt: skip


@dataclass(frozen=True, slots=True)
class Origin:
    """What wrote a text. Empty if that is unknown, as for pool texts from a file."""

    model: str = ""
    decoder: str = ""
    seed: int | None = None


def origins(*, suggestions: Iterable[int]) -> dict[int, Origin]:
    """Model, decoder and seed behind the texts of these suggestions, by their ids."""
    rows = Suggestion.objects.filter(pk__in=suggestions).select_related("pool_text__sample__model")
    by_suggestion = {}
    for row in rows:
        sample = row.pool_text.sample if row.pool_text else None
        if row.from_pool:
            by_suggestion[row.pk] = Origin(sample.model.name, sample.decoder, sample.seed) if sample else Origin()
        elif "seed" in row.parameters:
            parameters = row.parameters
            by_suggestion[row.pk] = Origin(parameters["model"]["name"], parameters["decoder"], parameters["seed"])
    return by_suggestion
