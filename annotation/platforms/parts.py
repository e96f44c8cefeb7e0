"""Which hits of a study are offered to workers each on its own, or in several parts."""

from __future__ import annotations

from django.db.models import Count, Q, QuerySet

from annotation.models import Hit, Study


def shares_listing(study: Study, platform: str) -> bool:
    """Whether all hits are one listing there at the lowest reward, so that each worker gets the next free one."""
    return bool(study.platforms.get(platform, {}).get("one_listing"))


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
