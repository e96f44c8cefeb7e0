"""In how many hits the items of a study lie, and what more places for the hits mean for each item."""

from __future__ import annotations

from django.db.models import Count

from annotation.models import HitItem, Item, Study
from common.problems import invalid
from common.words import counted


def places_for(study: Study, ratings: int) -> int:
    """How many places each hit of a launched study needs so that each item gets so many more ratings in each arm.

    Every rating is by another worker, because nobody gets an item twice. Gold and attention items do not count. Raises
    Invalid if no number of places gives each item the same.
    """
    main = HitItem.objects.filter(hit__study=study, item__role=Item.Role.MAIN)
    by_item = main.order_by().values("item", "hit__arm").annotate(n=Count("hit"))
    counts = sorted(set(by_item.values_list("n", flat=True)))
    if len(counts) > 1:
        what = (
            f"Some items are in {counted(counts[0], 'hit')} and others in up to {counts[-1]:,}, so more places for the "
            "hits would give them different numbers of ratings."
        )
        raise invalid("ratings_per_item", what, "Duplicate the study, and collect the further ratings in the copy.")
    hits = counts[0] if counts else 1
    if ratings % hits:
        what = f"Each item is in {counted(hits, 'hit')}: one more place for each hit means {hits:,} more ratings of it."
        low = study.ratings_per_item + ratings // hits * hits
        choices = [choice for choice in (low, low + hits) if choice > study.ratings_per_item]
        raise invalid("ratings_per_item", what, f"Enter {' or '.join(f'{choice:,}' for choice in choices)}.")
    return ratings // hits


def in_words(study: Study, ratings: int) -> str:
    """What so many more ratings of each item mean, as a sentence. Raises Invalid like `places_for`."""
    places = counted(places_for(study, ratings), "more place")
    return f"Each hit gets {places}, and each item {counted(ratings, 'more rating')} by different workers."
