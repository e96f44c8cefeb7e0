"""A worker who returned a hit by mistake, or was taken to have, gets it back."""

from __future__ import annotations

from datetime import timedelta

from django.db import transaction
from django.db.models import F, Max, Q
from django.utils import timezone

from annotation.deadlocks import again_after_deadlock
from annotation.models import (
    Assignment,
    Hit,
    Participant,
)
from annotation.models.work import LIVE_STATES
from annotation.work.allocation import (
    free_slot,
)
from annotation.work.free_hits import has_had_item_of
from annotation.work.posted_hits import SENT, make_room

State = Assignment.State
#: How much time a worker gets to finish work that was taken from them by mistake.
MOMENT = timedelta(minutes=10)


@again_after_deadlock
@transaction.atomic
def take_back(*, assignment_id: int, participant_id: int) -> bool:
    """Reopen work from a platform whose place was given away here, because its worker sends a step now.

    It was a guess which of the open assignments had ended (`make_room`). A wrong guess, or somebody with a made-up
    claim, must not cost a worker the work that the platform still counts. False for other work, and if the worker has
    sent as many hits as one person can.
    """
    participant = Participant.objects.select_for_update(no_key=True).get(pk=participant_id)
    lost = Assignment.objects.select_related("posting__study").get(pk=assignment_id, participant=participant)
    posting, mine = lost.posting, Assignment.objects.filter(participant=participant)
    same_claim = Q(posting=lost.posting_id, platform_assignment_id=lost.platform_assignment_id)
    again = mine.filter(Q(hit=lost.hit_id) | same_claim, state__in=LIVE_STATES).exists()
    if posting is None or again or participant.excluded_at or participant.redacted_at:
        return False
    if has_had_item_of(participant_id=participant_id, hit_id=lost.hit_id):
        return False  # they have had one of its texts in another hit since
    most = posting.study.hits_per_worker
    if most is not None and mine.filter(state__in=SENT).count() >= most:
        return False
    hit = Hit.objects.select_for_update(no_key=True).get(pk=lost.hit_id)
    if hit.n_live >= hit.wanted:
        make_room(hit, posting)
        hit.refresh_from_db()
    highest = mine.filter(state__in=LIVE_STATES).aggregate(most=Max("ordinal"))["most"] or 0
    reopened = Assignment.objects.filter(pk=lost.pk, state=State.ABANDONED).update(
        state=State.ACCEPTED,
        slot=free_slot(hit.pk, hit.n_live, preferred=lost.slot),
        ordinal=highest + 1,
        expires_at=max(lost.expires_at, timezone.now() + MOMENT),
        ended_at=None,
    )
    Hit.objects.filter(pk=hit.pk).update(n_live=F("n_live") + reopened)
    return bool(reopened)
