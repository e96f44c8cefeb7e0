"""Suggestions for previews. No suggester is asked, and nothing is stored."""

from __future__ import annotations

from annotation.task_types.base import Page
from annotation.task_types.offers import OfferData
from generation.models import PoolText
from generation.suggestions.pool import EVERY_ROUND

PLACEHOLDER = "Here workers see a suggestion that a model has written for their text."


def example_offers(page: Page, step: int) -> list[OfferData]:
    """One offer for each ask of the page, with a text from the suggester's pool if there is one."""
    offers: list[OfferData] = []
    used: set[int] = set()
    for ask in page.asks:
        texts = PoolText.objects.filter(suggester__name=ask.suggester, round__in=(ask.round, EVERY_ROUND))
        found = texts.exclude(pk__in=used).order_by("-round", "pk").first()
        if found:
            used.add(found.pk)
        offers.append(OfferData(step, ask.side, ask.suggester, found.text if found else PLACEHOLDER))
    return offers
