"""One listing of all arms at the lowest reward; what an arm pays above it is a bonus."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal
from typing import Any

from django import forms
from django.db.models import Max, Min

from annotation.models import Study
from annotation.platforms.costs import Offered
from common.words import money

Json = dict[str, Any]
#: The setting with which all arms share one listing; see `one_listing_field`.
ONE_LISTING = "one_listing"


def one_listing_field() -> forms.BooleanField:
    """The setting `ONE_LISTING`, for platforms that list hits with their price and pay bonuses."""
    return forms.BooleanField(
        label="One listing for all arms",
        required=False,
        initial=False,
        help_text="Offers all hits at the lowest reward of any arm, and pays what an arm pays more as a bonus with the "
        "approval. So workers cannot choose an arm by its price. They read about the bonus before they start.",
    )


def lowest_reward(study: Study) -> Decimal | None:
    """The lowest reward of the study's hits; None without hits."""
    return study.hits.order_by("reward").values_list("reward", flat=True).first()


def bonus_note(study: Study) -> str:
    """A sentence for the one listing. Workers read about the bonus before they accept, and nothing about arms."""
    prices = study.hits.aggregate(least=Min("reward"), most=Max("reward"))
    more = (prices["most"] or Decimal(0)) - (prices["least"] or Decimal(0))
    return f" Some versions of this task pay up to {money(more)} more, as a bonus with the approval." if more else ""


def listed_at(offered: Sequence[Offered], settings: Json) -> Decimal | None:
    """The price of the one listing of all hits; None if each reward has its own."""
    return min(each.reward for each in offered) if offered and settings.get(ONE_LISTING) else None
