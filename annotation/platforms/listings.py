"""How a study's hits are listed on a platform: all at one price, each on its own, or one hit in several parts.

In one listing of all arms, every hit is offered at the lowest reward; what an arm pays above it is a bonus.
"""

from __future__ import annotations

from collections.abc import Sequence
from decimal import Decimal

from django import forms
from django.db.models import Count, Max, Min, Q, QuerySet

from annotation.models import Hit, Study
from annotation.platforms.calls import Json
from annotation.platforms.costs import Offered
from common.words import money

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
    return min(hits.reward for hits in offered) if offered and settings.get(ONE_LISTING) else None


def shares_listing(study: Study, platform: str) -> bool:
    """Whether all hits are one listing there at the lowest reward, so that each worker gets the next free one."""
    return bool(study.platforms.get(platform, {}).get(ONE_LISTING))


def is_bounded(study: Study, platform: str) -> bool:
    """Whether the study offers more there, each on its own, than one worker can do."""
    most = study.hits_per_worker
    return most is not None and study.postings.filter(platform=platform, hit__isnull=False).count() > most


def has_own_group(hit: Hit, platform: str) -> bool:
    """Whether the hit is offered there in several parts to workers who may do several hits.

    Nobody does the same hit twice, so those who took one part must not be offered the others. Where workers can do only
    one hit, the qualification for that (`is_bounded`) is enough. In one listing of all arms, nobody needs it: whoever
    takes another part gets another hit.
    """
    if hit.study.hits_per_worker == 1 or shares_listing(hit.study, platform):
        return False
    return hit.postings.filter(platform=platform).count() > 1


def hits_in_parts(study: Study, platform: str) -> QuerySet[Hit]:
    """The study's hits for which `has_own_group` is true, in order."""
    if study.hits_per_worker == 1 or shares_listing(study, platform):
        return study.hits.none()
    parts = Count("postings", filter=Q(postings__platform=platform))
    return study.hits.annotate(parts=parts).filter(parts__gt=1).order_by("position")
