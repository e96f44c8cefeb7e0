"""Suggestions for previews. No suggester is asked, and nothing is stored."""

from __future__ import annotations

from collections.abc import Collection, Sequence

from annotation.task_types.offers import Ask, OfferData
from generation.models import PoolText
from generation.suggestions.pool import EVERY_ROUND

PLACEHOLDER = "Here workers see a suggestion that a model has written for their text."
ANSWER = "Here workers read what a model answers to their message."


def example_offers(asks: Sequence[Ask], step: int, number: int = 1, *, used: Collection[str] = ()) -> list[OfferData]:
    """One offer for each ask of page ``step``, with a text from the suggester's pool if it has one that is not yet
    ``used``. ``number`` counts the presses of a button."""
    offers: list[OfferData] = []
    shown = set(used)
    for ask in asks:
        if ask.conversation:
            offers.append(OfferData(step, ask.side, ask.suggester, ANSWER, number=number))
            continue
        texts = PoolText.objects.filter(suggester__name=ask.suggester, round__in=(ask.round, EVERY_ROUND))
        unused = texts.exclude(text__in=shown).order_by("-round", "pk").first()
        text = unused.text if unused else PLACEHOLDER
        shown.add(text)
        offers.append(OfferData(step, ask.side, ask.suggester, text, number=number))
    return offers
