"""More ratings for each item of a study on a platform, and what they cost."""

from __future__ import annotations

from django.db import transaction

from annotation.models import Posting, Study
from annotation.platforms import changes_class
from annotation.platforms.base import Platform
from annotation.platforms.costs import Cost, Offered
from annotation.platforms.link import PLATFORM as LINK
from annotation.recruiting.publishing import offered_hits, settings_of
from annotation.studies.item_places import places_for
from annotation.studies.storing import change_study
from common.problems import invalid
from common.words import counted


def cost_of_more(study: Study, platform: Platform, ratings: int) -> Cost:
    """What it costs to raise the ratings per item to ``ratings``: only the new submissions, offered as new postings."""
    n_more = max(0, ratings - study.ratings_per_item)
    places = places_for(study, n_more)
    new_hits = [Offered(offered.hits, offered.reward, places) for offered in offered_hits(study)] if n_more else []
    return platform.cost(new_hits, settings_of(study, platform))


@transaction.atomic
def add_ratings(*, study: Study, ratings: int, actor: str) -> Study:
    """Raise the ratings per item; the next sync or ``lost_places`` offers the places. Raises Invalid, also if nobody
    could take them, because everything has ended.

    Where more places open a posting again that has ended, it counts as offered from now on.
    """
    if ratings <= study.ratings_per_item:
        what = f"Items already get {counted(study.ratings_per_item, 'rating')}."
        raise invalid("ratings_per_item", what, f"Enter a number above {study.ratings_per_item}.")
    posted = Posting.objects.filter(study=study).exclude(platform=LINK)
    ended = posted.filter(state=Posting.State.EXPIRED)
    last_ended = ended.order_by("pk").first()
    reopens = last_ended is not None and changes_class(last_ended.platform).reopens
    going_on = posted.exclude(state__in=[Posting.State.EXPIRED, Posting.State.DELETED])
    if last_ended is not None and not reopens and not going_on.exists():
        what = "The offer on the platform has ended, so nobody could take the new places."
        raise invalid("postings", what, "Offer it longer first, then add ratings.")
    changed = change_study(study=study, values={"ratings_per_item": str(ratings)}, actor=actor)
    if reopens:
        ended.update(state=Posting.State.OPEN, expires_at=None)
    return changed
