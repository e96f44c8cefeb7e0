"""Workers who come from a platform, with a posting and one of their assignments on it.

What a browser sends is only a claim until the platform confirms it (``recruiting.syncing``). The platform gives out
places and ends assignments. If it gives out a place while all are taken here, one of the assignments here has ended
there.
"""

from __future__ import annotations

import random
import secrets
from datetime import datetime

from django.db import transaction
from django.db.models import F, Max, Q, QuerySet
from django.utils import timezone

from annotation.deadlocks import again_after_deadlock
from annotation.instrument import live_instrument, shown_items
from annotation.models import (
    Arm,
    Assignment,
    Hit,
    HitItem,
    Item,
    ItemAuthor,
    Participant,
    Posting,
    Study,
    TakenItem,
    Worker,
)
from annotation.models.work import LIVE_STATES
from annotation.platforms import platform_class
from annotation.platforms.base import Claim
from annotation.recruiting.matching import reported_claim
from annotation.work.allocation import (
    NotAdmitted,
    free_slot,
    random_code,
    take_least_filled_arm,
    took_part_in_excluded,
)
from annotation.work.exams import has_passed
from annotation.work.posted_hits import HELD, SENT, end_work, free_hit_of, hits_of, posted_hit

State = Assignment.State


@again_after_deadlock
@transaction.atomic
def accept_hit(*, posting: Posting, claim: Claim, expires_at: datetime, consented: bool) -> Assignment:
    """The assignment that the claim is about. The first call creates it; later calls find it. Raises NotAdmitted.

    It is on the hit that was posted, or on the next free one if the posting offers several. Reasons besides those of
    enrolment: ``ended`` (the posting was withdrawn, or the study is not live), ``other_arm`` (the worker is in another
    arm of the study), ``own_text`` (they wrote what is judged here), ``had_text`` (they have had one of its texts in
    another hit), ``had_text_open`` (the same in a hit in progress), ``done`` (they have already sent this hit),
    ``done_elsewhere`` (the same in another posting), ``open_elsewhere`` (they are doing it in another posting),
    ``limit`` (they have done as many hits as one person can), ``limit_open`` (the same with those that they are working
    on), ``excluded`` (the researchers excluded them, or their data were deleted),
    ``turned_away`` (by their answers before the first task), ``taken`` (no hit is free for them).
    """
    if posting.withdrawn_at is not None:
        raise NotAdmitted("ended")
    Worker.objects.get_or_create(platform=claim.platform, platform_id=claim.worker_id)
    worker = Worker.objects.select_for_update(no_key=True).get(platform=claim.platform, platform_id=claim.worker_id)
    assignment = assignment_of_claim(posting=posting, claim=claim)
    if assignment is not None:
        return assignment
    if posting.study.status != Study.Status.LIVE:
        raise NotAdmitted("ended")
    participant = _participant(posting, worker, consented=consented)
    if participant.excluded_at is not None or participant.redacted_at is not None:
        raise NotAdmitted("excluded")
    if participant.turned_away:
        raise NotAdmitted("turned_away")
    hit = _any_hit(participant, posting) if posting.gives_any_hit else _own_hit(participant, posting)
    return _take_place(hit, posting, participant, claim, expires_at)


def _any_hit(participant: Participant, posting: Posting) -> Hit:
    """The next free hit of a posting that offers several."""
    open_ones = Assignment.objects.filter(participant=participant, posting=posting, state=State.ACCEPTED)
    for assignment in open_ones.select_for_update(of=("self",), no_key=True).order_by("pk"):
        end_work(assignment, State.RETURNED)  # the platform lets them hold only one at a time
    if posting.hit_id is None:
        limit = posting.study.hits_per_worker
        if limit is not None and participant.assignments.filter(state__in=HELD).count() >= limit:
            raise NotAdmitted("limit")
    else:
        if participant.assignments.filter(posting=posting, state__in=SENT).exists():
            raise NotAdmitted("done")  # the platform gives nobody a second assignment of one HIT that they have sent
        _refuse_at_limit_of_hits(participant, posting)
        _end_longest_if_full(posting)
    return free_hit_of(participant, posting)


def _own_hit(participant: Participant, posting: Posting) -> Hit:
    """The hit that was posted, for a worker who has seen none of its texts."""
    assert posting.hit_id is not None  # noqa: S101 - otherwise, it gives any hit
    if ItemAuthor.objects.filter(worker=participant.worker_id, item__places__hit=posting.hit_id).exists():
        raise NotAdmitted("own_text")
    # A worker who comes to the same posting with a new assignment has returned the earlier one. A hit may be offered in
    # several postings. The platform lets a worker hold one assignment of each, so work that is in progress in another
    # posting has not been returned and must not be lost.
    assignments = Assignment.objects.select_for_update(of=("self",), no_key=True)
    for assignment in assignments.filter(participant=participant, hit=posting.hit_id, state__in=HELD).order_by("pk"):
        is_elsewhere = assignment.posting_id != posting.pk
        if assignment.state != State.ACCEPTED:
            raise NotAdmitted("done_elsewhere" if is_elsewhere else "done")
        if is_elsewhere and assignment.expires_at > timezone.now():
            raise NotAdmitted("open_elsewhere")
        end_work(assignment, State.RETURNED)
    _refuse_at_limit_of_hits(participant, posting)
    with_same_text = _with_same_text(participant, posting)
    # An open hit whose time is up has ended on the platform, too, so it must not keep its texts.
    overdue = with_same_text.filter(state=State.ACCEPTED, expires_at__lte=timezone.now())
    for assignment in overdue.select_for_update(of=("self",), no_key=True).order_by("pk"):
        end_work(assignment, State.ABANDONED)
    # Nobody rates the same text twice, in whichever hits it lies.
    if with_same_text.exclude(state=State.ACCEPTED).exists():
        raise NotAdmitted("had_text")
    if with_same_text.filter(expires_at__gt=timezone.now()).exists():
        raise NotAdmitted("had_text_open")
    return posted_hit(posting.hit_id, posting)


def assignment_of_claim(*, posting: Posting, claim: Claim) -> Assignment | None:
    """The assignment that this claim created earlier, even if it was submitted. None if there is none, or if it was
    returned."""
    of_worker = Assignment.objects.filter(
        participant__worker__platform=claim.platform, participant__worker__platform_id=claim.worker_id
    )
    held = of_worker.filter(posting=posting, platform_assignment_id=claim.assignment_id, state__in=HELD)
    return held.order_by("-pk").first()


def end_returned(*, posting: Posting, worker_id: str, assignment_id: str) -> None:
    """End an assignment here that its worker returned on the platform: its place is free again."""
    assignments = Assignment.objects.select_for_update(of=("self",), no_key=True).filter(
        posting=posting, platform_assignment_id=assignment_id, participant__worker__platform_id=worker_id
    )
    for assignment in assignments.filter(state=State.ACCEPTED).order_by("pk"):
        end_work(assignment, State.RETURNED)


def _participant(posting: Posting, worker: Worker, *, consented: bool) -> Participant:
    """The worker's participation, in the arm of the posted hit or in the least filled arm that the posting offers."""
    participant = Participant.objects.filter(study=posting.study_id, worker=worker).first()
    if participant is not None:
        if posting.hit is not None and not posting.gives_any_hit:
            is_offered = posting.hit.arm_id == participant.arm_id
        else:
            is_offered = hits_of(posting).filter(arm=participant.arm_id).exists()
        if not is_offered:
            raise NotAdmitted("other_arm")
        return participant
    if took_part_in_excluded(study_id=posting.study_id, worker_id=worker.pk):
        raise NotAdmitted("took_part")
    if not has_passed(posting.study, worker.pk):
        raise NotAdmitted("exam")
    if posting.hit is None:
        # A platform that confirms its workers has a free place if it sends somebody, whatever arrived here.
        confirms = platform_class(posting.platform).confirms
        reward = None if posting.one_listing else posting.reward
        arm_id = take_least_filled_arm(posting.study, reward, also_done=confirms).pk
    elif posting.one_listing:
        _end_longest_if_full(posting)
        try:
            arm_id = take_least_filled_arm(posting.study, also_done=True).pk
        except NotAdmitted:  # all arms have their participants, but the platform gave out a place nevertheless
            arm_id = posting.hit.arm_id
            Arm.objects.filter(pk=arm_id).update(n_enrolled=F("n_enrolled") + 1)
    else:
        arm_id = posting.hit.arm_id
        Arm.objects.filter(pk=arm_id).update(n_enrolled=F("n_enrolled") + 1)
    return Participant.objects.create(
        study=posting.study,
        worker=worker,
        arm_id=arm_id,
        pseudonym=f"w-{random_code(8).lower()}",
        consented_at=timezone.now() if consented else None,
        completion_code=random_code(10),
        synthetic=worker.synthetic,
    )


def _end_longest_if_full(posting: Posting) -> None:
    """If all places of this HIT are taken here and the platform gives one out, the longest of them ended there.

    That is a guess: see `take_back`. Others of the listing may have free places, but this worker has none of those.
    """
    used = (State.ACCEPTED, State.SUBMITTED, State.RELEASED)
    holding = Assignment.objects.filter(posting=posting, state__in=used)
    if posting.wanted is None or holding.count() < posting.wanted:
        return
    open_ones = holding.filter(state=State.ACCEPTED).select_for_update(of=("self",), no_key=True)
    if oldest := open_ones.order_by("accepted_at", "pk").first():
        end_work(oldest, State.ABANDONED)


def _refuse_at_limit_of_hits(participant: Participant, posting: Posting) -> None:
    """Refuse who has done all that one person can do, where each hit has its own posting: several may be open at once.

    An open one whose time is up has ended on the platform, too. One that they returned there looks open here: see
    `note_returned`.
    """
    limit = posting.study.hits_per_worker
    if limit is None:
        return
    n_sent = participant.assignments.filter(state__in=SENT).count()
    if n_sent >= limit:
        raise NotAdmitted("limit")
    if n_sent + len(_in_progress(participant, posting)) >= limit:
        raise NotAdmitted("limit_open")


def _with_same_text(participant: Participant, posting: Posting) -> QuerySet[Assignment]:
    """The worker's assignments of other hits that have a main item of the posted hit."""
    main_items = HitItem.objects.filter(hit=posting.hit_id, item__role=Item.Role.MAIN).values("item")
    assignment_ids = TakenItem.objects.filter(participant=participant, item__in=main_items).values("assignment")
    return Assignment.objects.filter(pk__in=assignment_ids).exclude(hit=posting.hit_id)


def _in_progress(participant: Participant, posting: Posting) -> list[Assignment]:
    """Their open assignments of other hits, oldest first."""
    open_ones = participant.assignments.filter(state=State.ACCEPTED, expires_at__gt=timezone.now())
    return list(open_ones.exclude(_same_hit(posting)).order_by("accepted_at", "pk"))


def _same_hit(posting: Posting) -> Q:
    """Assignments of what this posting offers."""
    return Q(posting=posting) if posting.gives_any_hit else Q(hit=posting.hit_id)


def why_barred(*, posting: Posting, claim: Claim) -> str:
    """Why `accept_hit` would refuse this worker now, or empty. For the page before the start: nothing is taken."""
    try:
        with transaction.atomic():
            accept_hit(posting=posting, claim=claim, expires_at=timezone.now(), consented=False)
            transaction.set_rollback(True)
    except NotAdmitted as refused:
        return refused.reason
    return ""


def starts_at_once(*, posting: Posting, claim: Claim) -> bool:
    """Whether the worker has started this study before, so that they know it and have agreed to take part."""
    participant = _participant_of(posting, claim)
    return participant is not None and (not posting.study.consent or participant.consented_at is not None)


def in_progress_elsewhere(*, posting: Posting, claim: Claim, same_text: bool = False) -> list[Assignment]:
    """The worker's open assignments of other hits of the study, oldest first. ``same_text``: only of hits that have a
    text of this one."""
    participant = _participant_of(posting, claim)
    if participant is None:
        return []
    with_text = set(_with_same_text(participant, posting).values_list("pk", flat=True)) if same_text else set()
    return [
        assignment for assignment in _in_progress(participant, posting) if not same_text or assignment.pk in with_text
    ]


def _participant_of(posting: Posting, claim: Claim) -> Participant | None:
    worker = {"worker__platform": claim.platform, "worker__platform_id": claim.worker_id}
    return Participant.objects.filter(study=posting.study_id, **worker).first()


@again_after_deadlock
@transaction.atomic
def note_returned(*, posting: Posting, claim: Claim, assignment_id: int) -> bool:
    """Free the place of an open assignment that its worker returned on the platform, as they say.

    It is abandoned, and not returned: if somebody else said so in their name, `take_back` gives it back to them.
    """
    open_ones = Assignment.objects.select_for_update(of=("self",), no_key=True).filter(
        pk=assignment_id,
        hit__study=posting.study_id,
        participant__worker__platform=claim.platform,
        participant__worker__platform_id=claim.worker_id,
        state=State.ACCEPTED,
    )
    assignment = open_ones.exclude(_same_hit(posting)).first()
    if assignment is not None:
        end_work(assignment, State.ABANDONED)
    return assignment is not None


def _take_place(hit: Hit, posting: Posting, participant: Participant, claim: Claim, expires_at: datetime) -> Assignment:
    assignments = Assignment.objects.filter(participant=participant)
    highest = assignments.filter(state__in=LIVE_STATES).aggregate(most=Max("ordinal"))["most"] or 0
    slot = free_slot(hit.pk, hit.n_live)
    seed = secrets.randbits(48)
    instrument = live_instrument(participant.arm_id)
    rng = random.Random(seed)  # noqa: S311 - the order shown must be reproducible, not unpredictable
    assignment = Assignment.objects.create(
        hit=hit,
        participant=participant,
        posting=posting,
        platform_assignment_id=claim.assignment_id,
        outside=reported_claim(posting, claim),
        submit_to=claim.submit_to,
        slot=slot,
        ordinal=highest + 1,
        attempt=1 + assignments.filter(hit=hit).count(),
        seed=seed,
        order=instrument.task.arrange(shown_items(hit.pk), instrument.config, slot=slot, rng=rng),
        accepted_at=timezone.now(),
        expires_at=expires_at,
    )
    Hit.objects.filter(pk=hit.pk).update(n_live=F("n_live") + 1)
    return assignment
