"""Workers who come from a platform, with a posting and one of their assignments on it.

What a browser sends is only a claim until the platform confirms it (``services.syncing``). The platform gives out the
places and ends the assignments. If it gives out a place while all are taken here, then one of these has ended there.
"""

from __future__ import annotations

import random
import secrets
from datetime import datetime

from django.db import transaction
from django.db.models import F, Max
from django.utils import timezone

from annotation.instrument import live_instrument, shown_items
from annotation.models import Arm, Assignment, Hit, ItemAuthor, Participant, Posting, Study, Worker
from annotation.models.work import LIVE_STATES
from annotation.platforms.base import Claim
from annotation.queries.exams import has_passed
from annotation.services.allocation import (
    NotAdmitted,
    again_after_deadlock,
    free_slot,
    random_code,
    took_part_in_excluded,
)

State = Assignment.State
HELD = (State.ACCEPTED, State.SUBMITTED, State.RELEASED)


@again_after_deadlock
@transaction.atomic
def accept_hit(*, posting: Posting, claim: Claim, expires_at: datetime, consented: bool) -> Assignment:
    """The assignment that the claim is about. The first call creates it; later calls find it. Raises NotAdmitted.

    Reasons besides those of enrolment: ``ended`` (the posting was withdrawn), ``other_arm`` (the worker is in another
    arm of the study), ``own_text`` (they wrote what is judged here), ``done`` (they have already sent this hit).
    """
    hit_id = posting.hit_id
    if hit_id is None or posting.withdrawn_at is not None:
        raise NotAdmitted("ended")
    Worker.objects.get_or_create(platform=claim.platform, platform_id=claim.worker_id)
    worker = Worker.objects.select_for_update(no_key=True).get(platform=claim.platform, platform_id=claim.worker_id)
    known = known_assignment(posting=posting, claim=claim)
    if known is not None:
        return known
    if posting.study.status != Study.Status.LIVE:
        raise NotAdmitted("ended")
    participant = _participant(posting, worker, consented=consented)
    if ItemAuthor.objects.filter(worker=worker, item__places__hit=hit_id).exists():
        raise NotAdmitted("own_text")
    _end_earlier_try(participant, hit_id)
    return _take_place(posting, participant, claim, expires_at)


def known_assignment(*, posting: Posting, claim: Claim) -> Assignment | None:
    """The assignment that this claim created earlier, even if submitted, but not if the same worker returned it."""
    mine = Assignment.objects.filter(
        participant__worker__platform=claim.platform, participant__worker__platform_id=claim.worker_id
    )
    found = mine.filter(posting=posting, platform_assignment_id=claim.assignment_id, state__in=HELD)
    return found.order_by("-pk").first()


def end_returned(*, posting: Posting, worker_id: str, assignment_id: str) -> None:
    """The platform says that the worker gave this assignment back, so its place is free again."""
    theirs = Assignment.objects.select_for_update(of=("self",), no_key=True).filter(
        posting=posting, platform_assignment_id=assignment_id, participant__worker__platform_id=worker_id
    )
    for each in theirs.filter(state=State.ACCEPTED).order_by("pk"):
        _end(each, State.RETURNED)


def _participant(posting: Posting, worker: Worker, *, consented: bool) -> Participant:
    """The worker's participation in the arm of the posted hit."""
    assert posting.hit is not None  # noqa: S101 - the caller looked
    arm_id = posting.hit.arm_id
    known = Participant.objects.filter(study=posting.study_id, worker=worker).first()
    if known is not None:
        if known.arm_id != arm_id:
            raise NotAdmitted("other_arm")
        return known
    if took_part_in_excluded(study_id=posting.study_id, worker_id=worker.pk):
        raise NotAdmitted("took_part")
    if not has_passed(posting.study, worker.pk):
        raise NotAdmitted("exam")
    Arm.objects.filter(pk=arm_id).update(n_enrolled=F("n_enrolled") + 1)
    return Participant.objects.create(
        study=posting.study,
        worker=worker,
        arm_id=arm_id,
        pseudonym=f"w-{random_code(8).lower()}",
        consented_at=timezone.now() if consented else None,
        completion_code=random_code(10),
    )


def _end_earlier_try(participant: Participant, hit_id: int) -> None:
    """End the earlier assignment: a worker who comes with a new one has returned it."""
    mine = Assignment.objects.select_for_update(of=("self",), no_key=True).filter(participant=participant, hit=hit_id)
    for earlier in mine.filter(state__in=LIVE_STATES).order_by("pk"):
        if earlier.state == State.SUBMITTED:
            raise NotAdmitted("done")
        _end(earlier, State.RETURNED)


def _end(assignment: Assignment, state: str) -> None:
    ended = Assignment.objects.filter(pk=assignment.pk, state=State.ACCEPTED)
    if ended.update(state=state, ended_at=timezone.now()):
        Hit.objects.filter(pk=assignment.hit_id).update(n_live=F("n_live") - 1)


def _take_place(posting: Posting, participant: Participant, claim: Claim, expires_at: datetime) -> Assignment:
    assert posting.hit_id is not None  # noqa: S101 - the caller looked
    hit = Hit.objects.select_for_update(no_key=True).get(pk=posting.hit_id)
    if hit.n_live >= hit.wanted:
        _make_room(hit, posting)
        hit.refresh_from_db()
    mine = Assignment.objects.filter(participant=participant)
    highest = mine.filter(state__in=LIVE_STATES).aggregate(most=Max("ordinal"))["most"] or 0
    slot = free_slot(hit.pk, hit.n_live)
    seed = secrets.randbits(48)
    instrument = live_instrument(participant.arm_id)
    rng = random.Random(seed)  # noqa: S311 - the order shown must be reproducible, not unpredictable
    made = Assignment.objects.create(
        hit=hit,
        participant=participant,
        posting=posting,
        platform_assignment_id=claim.assignment_id,
        submit_to=claim.submit_to,
        slot=slot,
        ordinal=highest + 1,
        attempt=1 + mine.filter(hit=hit).count(),
        seed=seed,
        order=instrument.task.arrange(shown_items(hit.pk), instrument.config, slot=slot, rng=rng),
        accepted_at=timezone.now(),
        expires_at=expires_at,
    )
    Hit.objects.filter(pk=hit.pk).update(n_live=F("n_live") + 1)
    return made


def _make_room(hit: Hit, posting: Posting) -> None:
    """The platform gave out a place that is taken here, so the assignment in progress longest has ended there.

    If all were sent, one of them never reached the platform, and there will be one submission more than wanted.
    """
    working = Assignment.objects.filter(hit=hit, posting=posting, state=State.ACCEPTED)
    oldest = working.select_for_update(of=("self",), no_key=True).order_by("accepted_at", "pk").first()
    if oldest is not None:
        _end(oldest, State.ABANDONED)
    else:
        Hit.objects.filter(pk=hit.pk).update(wanted=F("wanted") + 1)
