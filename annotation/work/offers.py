"""Live suggestions on workers' pages: requested early, stored when first shown, completed when the page is sent.

Everything here may run twice, or in two tabs at once. Each request has a key made of the assignment, the page and the
side, and there is only one offer for each key.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from typing import Any

from django.utils import timezone

from annotation import sql
from annotation.instrument import Instrument, Walk, hit_items, offers_to, shown_items
from annotation.models import Assignment, Offer
from annotation.task_types.base import Page
from annotation.task_types.items import Json
from annotation.task_types.offers import Ask, OfferData, OfferUse
from annotation.work.cancelling_offers import requests_of
from annotation.work.standing import given_answers
from generation.decoding.conversations import stored
from generation.suggestions.delivering import Delivery, Origin, Request, deliver, origins


@dataclass(frozen=True, slots=True)
class Waiting:
    """Why a page cannot be used yet: ``count`` suggestions have not arrived. ``left``: seconds until a text from the
    pool is used instead. ``title``: how the page itself says it; ``growing``: what is written so far, by side."""

    count: int
    waited: float
    left: float
    asked_again: bool
    title: str = ""
    growing: Mapping[str, str] = field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class OpenPage:
    """The page that is due, its offers by side, and what it is waiting for, if anything.

    ``pulling``: the suggestions that its button has asked for are on their way. The page can be used meanwhile.
    """

    walk: Walk
    page: Page | None
    waiting: Waiting | None = None
    offers: Mapping[str, OfferData] = field(default_factory=dict)
    pulling: Waiting | None = None


def open_page(instrument: Instrument, assignment_id: int, *, hit_id: int, order: Json, number: int) -> OpenPage:
    """The page as the worker gets it now. Stores the suggestions that it shows for the first time."""
    answers = cache(lambda: given_answers(assignment_id))

    def drawn() -> tuple[Walk, Page | None]:
        offers = offers_to(assignment_id, instrument)
        walk = instrument.walk(instrument.shown(shown_items(hit_id), order, offers))
        return walk, walk.page(number, answers)

    walk, page = drawn()
    needed = None if page is None else _needed(walk, page, number)
    if page is None or needed is None:
        return OpenPage(walk, page, offers={} if page is None or page.pulls else walk.shown.offers.at(number))
    deliveries = deliver(requests=_requests(assignment_id, number, needed))
    waiting = _waiting(deliveries, page, needed)
    if waiting is None:
        _store_offers(assignment_id, hit_id, number, page, deliveries, needed)
        walk, page = drawn()
    if needed.pull:
        return OpenPage(walk, page, pulling=waiting)
    return OpenPage(walk, page, waiting, walk.shown.offers.at(number))


@dataclass(frozen=True, slots=True)
class Needed:
    """The suggestions that a page needs now. ``pull`` is the number of the press of its button; 0 without a press."""

    asks: Sequence[Ask]
    pull: int = 0


def _needed(walk: Walk, page: Page, number: int) -> Needed | None:
    if walk.lacks_offers(page, number):
        return Needed(page.asks)
    pull = walk.shown.offers.open_pull(number) if page.pulls else None
    return Needed(walk.task.pull(walk.shown, page, pull.typed), pull.number) if pull else None


def request_offers(*, assignment_id: int, number: int, page: Page) -> None:
    """Request the page's suggestions before anybody looks at it."""
    if page.asks:
        deliver(requests=requests_for(assignment_id, number, page))


def request_pulled(*, assignment_id: int, number: int, asks: Sequence[Ask], pull: int) -> None:
    """Request what a press of the page's button asks for."""
    deliver(requests=_requests(assignment_id, number, Needed(asks, pull)))


def progress(*, instrument: Instrument, assignment_id: int, hit_id: int, order: Json, number: int) -> Waiting | None:
    """What the page is waiting for; None if it can be loaded. Shows nothing, so it stores no offer."""
    walk = instrument.walk(instrument.shown(shown_items(hit_id), order, offers_to(assignment_id, instrument)))
    page = walk.page(number, lambda: given_answers(assignment_id))
    needed = None if page is None else _needed(walk, page, number)
    if page is None or needed is None:
        return None
    return _waiting(deliver(requests=_requests(assignment_id, number, needed)), page, needed)


def requests_for(assignment_id: int, number: int, page: Page) -> list[Request]:
    """What to ask the suggesters for before the page can be used."""
    return _requests(assignment_id, number, Needed(page.asks))


def _requests(assignment_id: int, number: int, needed: Needed) -> list[Request]:
    """What to ask the suggesters for. The seed is the assignment's. With its key, each request gets its own seed."""
    seed = Assignment.objects.values_list("seed", flat=True).get(pk=assignment_id)
    page_prefix = requests_of(assignment_id, number) + (f"{needed.pull}/" if needed.pull else "")
    return [
        Request(
            key=f"{page_prefix}{ask.side}",
            suggester=ask.suggester,
            fields=ask.fields,
            round=ask.round,
            story=f"{requests_of(assignment_id)}{ask.story}",
            seed=seed,
            conversation=stored(ask.conversation.messages, ask.conversation.most_tokens) if ask.conversation else None,
        )
        for ask in needed.asks
    ]


def _waiting(deliveries: Sequence[Delivery], page: Page, needed: Needed) -> Waiting | None:
    waiting = [delivery for delivery in deliveries if delivery.waiting]
    if not waiting:
        return None
    return Waiting(
        count=len(waiting),
        waited=max(delivery.waited for delivery in waiting),
        left=max(delivery.left for delivery in waiting),
        asked_again=any(delivery.asked_again for delivery in waiting),
        title=page.waiting,
        growing={
            ask.side: delivery.text or delivery.growing
            for ask, delivery in zip(needed.asks, deliveries, strict=True)
            if page.waiting
        },
    )


_ONCE = " ON CONFLICT (assignment_id, step, number, side) DO NOTHING"


def _store_offers(
    assignment_id: int,
    hit_id: int,
    number: int,
    page: Page,
    deliveries: Sequence[Delivery],
    needed: Needed | None = None,
) -> None:
    """Store the page's offers as it shows them now. What another tab has already stored stays."""
    needed = needed or Needed(page.asks)
    made_by = origins(
        suggestions=[
            delivery.suggestion for delivery in deliveries if delivery.suggestion is not None and delivery.text
        ]
    )
    now = timezone.now()
    rows = []
    for ask, delivery in zip(needed.asks, deliveries, strict=True):
        origin = made_by.get(delivery.suggestion or 0, Origin())
        rows.append(
            {
                "study": sql.Found("(SELECT study_id FROM annotation_hit WHERE id = %s)", (hit_id,)),
                "assignment": assignment_id,
                "item": None if page.item is None else hit_items(hit_id).ids[page.item],
                "step": number,
                "side": ask.side,
                "number": needed.pull or 1,
                "round": ask.round,
                "suggester": ask.suggester,
                "model": origin.model,
                "decoder": origin.decoder,
                "seed": origin.seed,
                "source": delivery.source,
                "text": delivery.text,
                "suggestion": delivery.suggestion,
                "asked_at": delivery.asked_at,
                "latency": delivery.waited if delivery.text else None,
                "shown_at": now,
                "chosen": None,
                "switches": None,
            }
        )
    statement, params = sql.insertion(Offer, *rows)
    sql.run((statement + _ONCE, params))


_USED = """
UPDATE annotation_offer SET chosen = %s, switches = %s
WHERE assignment_id = %s AND step = %s AND side = %s AND number = %s
"""
_UNUSED = """
UPDATE annotation_offer SET chosen = %s, switches = 0 WHERE assignment_id = %s AND step = %s AND chosen IS NULL
"""


def closing(assignment_id: int, number: int, uses: Sequence[OfferUse]) -> list[sql.Statement]:
    """Statements that store what became of a page's offers. Run them with the ones that store its step."""
    used: list[sql.Statement] = [
        (_USED, [use.chosen, use.switches, assignment_id, number, use.side, use.number]) for use in uses
    ]
    unused: list[Any] = [False, assignment_id, number]
    return [*used, (_UNUSED, unused)]
