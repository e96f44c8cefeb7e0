"""Draws arms at arrival on a platform where each hit has a posting and all arms share one listing.

The platform decides which posting a worker gets, and each posting offers a hit of one arm. But all postings of one
listing look the same there. So a posting that nobody has started can exchange its hit with another such posting, and
nobody notices.
"""

from __future__ import annotations

from django.db import connection
from django.db.models import Exists, F, OuterRef, QuerySet

from annotation.models import Arm, Assignment, OutsideAssignment, Participant, Posting
from annotation.platforms.parts import has_own_group
from annotation.services.allocation import NotAdmitted, take_least_filled_arm

State = Posting.State


def draw_arm(posting: Posting) -> int:
    """The arm (its id) for a new participant who comes to this posting, already counted in it.

    It is the arm with the fewest people, or that of the posted hit if no exchange is possible because somebody has
    started this posting, or all postings of the other arm. The caller has a transaction.
    """
    lock_hit(posting)
    assert posting.hit is not None  # noqa: S101 - a posting of one hit
    own = posting.hit.arm_id
    try:
        drawn = take_least_filled_arm(posting.study, also_done=True).pk
        if offer_hit_of(posting, drawn):
            return drawn
        Arm.objects.filter(pk=drawn).update(n_enrolled=F("n_enrolled") - 1)
    except NotAdmitted:
        pass  # all arms have their participants, but the platform gave out a place
    Arm.objects.filter(pk=own).update(n_enrolled=F("n_enrolled") + 1)
    return own


def lock_hit(posting: Posting) -> None:
    """Lock the posting, and read which hit it offers now: another arrival may have exchanged it."""
    locked = Posting.objects.select_for_update(no_key=True, of=("self",)).select_related("hit").get(pk=posting.pk)
    posting.hit = locked.hit


def offer_hit_of(posting: Posting, arm_id: int, *, participant: Participant | None = None) -> bool:
    """Make the posting, which `lock_hit` locked, offer a hit of this arm that the participant has not had.

    False if that is not possible. Only postings with as many places are exchanged, so that every hit keeps its places.
    """
    if posting.hit is not None and posting.hit.arm_id == arm_id:
        return True
    if posting.hit is not None and has_own_group(posting.hit, posting.platform):
        return False  # its parts are listed separately
    untouched = _untouched(posting)
    if not untouched.filter(pk=posting.pk).exists():
        return False
    had = Assignment.objects.filter(hit=OuterRef("hit"), participant=participant)
    skip = connection.features.has_select_for_update_skip_locked
    there = untouched.filter(~Exists(had), hit__arm=arm_id).order_by("hit__position", "pk")
    other = there.select_for_update(skip_locked=skip, of=("self",), no_key=True).first()
    # Somebody may have started it between the search and the lock.
    if other is None or not untouched.filter(pk=other.pk, hit=other.hit_id).exists():
        return False
    mine, theirs = posting.hit_id, other.hit_id
    Posting.objects.filter(pk=other.pk).update(hit=None)  # a hit has one posting of each part at any time
    Posting.objects.filter(pk=posting.pk).update(hit=theirs)
    Posting.objects.filter(pk=other.pk).update(hit=mine)
    posting.hit = other.hit
    return True


def _untouched(posting: Posting) -> QuerySet[Posting]:
    """Postings of the same size and part that nobody has started, here or on the platform as far as is known."""
    started = Assignment.objects.filter(posting=OuterRef("pk"))
    reported = OutsideAssignment.objects.filter(posting=OuterRef("pk"))
    alike = Posting.objects.filter(
        study=posting.study_id, platform=posting.platform, part=posting.part, wanted=posting.wanted
    )
    offered = alike.filter(state__in=(State.PLANNED, State.OPEN, State.PAUSED), withdrawn_at=None)
    return offered.filter(~Exists(started), ~Exists(reported))
