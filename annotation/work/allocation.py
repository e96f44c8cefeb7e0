"""Who works on what: enrolling workers, giving out hits, taking back abandoned ones.

The database settles races. SQLite runs writers one after the other (immediate transactions). PostgreSQL skips hits that
another transaction is giving out. If two tabs of one participant ask at once, the unique constraints of ``Assignment``
make the later one fail. It tries again and finds what the first one got.

All code takes locks in the same order: worker, participant and arm, assignment, hit.
"""

from __future__ import annotations

import random
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal
from typing import Any

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import F, Q
from django.utils import timezone

from annotation import sql
from annotation.deadlocks import TRIES, is_deadlock
from annotation.instrument import live_instrument, shown_items
from annotation.models import Arm, Assignment, Hit, Invitation, Participant, Study, Worker
from annotation.models.work import LIVE_STATES
from annotation.task_types.items import Json
from annotation.work.ending import reclaim_expired
from annotation.work.exams import has_passed
from annotation.work.free_hits import Seeker, free_hit, has_had_item_of

State = Assignment.State
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"

_TERMS = """
SELECT s.id, s.status, s.hits_per_worker, s.time_limit_minutes, s.has_authors, p.worker_id, r.id, r.wanted,
       r.shares_items,
       EXISTS (SELECT 1 FROM annotation_study_exclude_studies e WHERE e.from_study_id = s.id),
       p.excluded_at IS NOT NULL OR p.redacted_at IS NOT NULL OR p.turned_away IS NOT NULL,
       m.n_kept, m.accepted, m.n_ended
FROM annotation_participant p
JOIN annotation_study s ON s.id = p.study_id
JOIN annotation_arm r ON r.id = p.arm_id
LEFT JOIN (
    SELECT participant_id,
           COUNT(*) FILTER (WHERE state IN ('accepted', 'submitted', 'released', 'stopped')) AS n_kept,
           MAX(id) FILTER (WHERE state = 'accepted') AS accepted,
           COUNT(*) FILTER (WHERE state IN ('returned', 'abandoned')) AS n_ended
    FROM annotation_assignment WHERE participant_id = %s GROUP BY participant_id
) m ON m.participant_id = p.id
WHERE p.id = %s
"""
_SLOTS = "SELECT slot FROM annotation_assignment WHERE hit_id = %s AND state IN ('accepted', 'submitted')"
_TAKE = "UPDATE annotation_hit SET n_live = n_live + 1 WHERE id = %s"


class NothingLeft(Exception):
    """There is no hit for this worker right now.

    ``reason`` is one of done (no hit is free for them), limit (they have done as many hits as one person can), paused,
    closed, taken (by others, just now), took_part (in a study that this one excludes), full (the arm has all its
    participants), excluded (the researchers excluded them).
    """

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


class NotAdmitted(Exception):
    """This worker cannot take part. ``reason`` is one of took_part (see NothingLeft), full (no arm needs anybody),
    invited (only people with a personal link may take part), exam (they have not passed the exam that this study asks
    for)."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Terms:
    """What a study allows a participant right now, and what they have had so far.

    ``n_kept`` counts the hits that they are working on, have sent or have stopped for part pay, whatever became of
    those later. ``accepted`` is the assignment in progress. ``n_ended`` counts those that were returned or timed out.
    """

    study_id: int
    status: str
    hits_per_worker: int | None
    time_limit: timedelta
    has_authors: bool
    worker_id: int
    arm_id: int
    arm_wanted: int | None
    shares_items: bool
    excludes: bool
    excluded: bool
    n_kept: int
    accepted: int | None
    n_ended: int

    @property
    def at_limit(self) -> bool:
        return self.hits_per_worker is not None and self.n_kept >= self.hits_per_worker

    @property
    def next_ordinal(self) -> int:
        """The number of the participant's next hit. Only one hit is open at a time, so only the newest can end without
        being sent, and the numbers of the others have no gaps."""
        return self.n_kept + 1


@dataclass(frozen=True, slots=True)
class Accepted:
    """An assignment in progress. If it was just created, ``new`` has what its first page needs."""

    id: int
    new: NewAssignment | None = None


@dataclass(frozen=True, slots=True)
class NewAssignment:
    """``replaces_lost``: the worker's time ran out on another hit, and somebody else has that hit now."""

    hit_id: int
    order: Json
    ordinal: int
    expires_at: datetime
    replaces_lost: bool = False


def random_code(length: int) -> str:
    """A code of letters and digits that nobody confuses when copying them from a screen."""
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


@transaction.atomic
def enrol(
    *,
    study: Study,
    worker: Worker,
    consented: bool,
    profile: str = "",
    invitation: Invitation | None = None,
    returns_with: str | None = None,
) -> Participant:
    """The worker's participation in this study. The first call creates it in the arm with the fewest participants;
    later calls find it. Raises NotAdmitted.

    ``profile`` is how a simulated worker answers. ``invitation`` is the worker's own invitation to this study.
    ``returns_with`` is from `people.return_proof`.
    """
    Worker.objects.select_for_update(no_key=True).get(pk=worker.pk)
    participant = Participant.objects.filter(study=study, worker=worker).first()
    if participant:
        return participant
    if study.access == Study.Access.INVITED and invitation is None and not worker.synthetic:
        raise NotAdmitted("invited")
    if took_part_in_excluded(study_id=study.pk, worker_id=worker.pk):
        raise NotAdmitted("took_part")
    if not (worker.synthetic or has_passed(study, worker.pk)):
        raise NotAdmitted("exam")
    return Participant.objects.create(
        study=study,
        worker=worker,
        arm=take_least_filled_arm(study),
        pseudonym=f"w-{random_code(8).lower()}",
        synthetic=worker.synthetic,
        profile=profile,
        consented_at=timezone.now() if consented else None,
        completion_code=random_code(10),
        returns_with=returns_with,
    )


def enrol_with_hit(*, study: Study, worker: Worker, **details: Any) -> Participant:
    """Enrol the worker and give them their first hit: both, or neither if there is none. Raises NotAdmitted.

    Whoever starts has a place. If the last one goes to somebody else in the same moment, nothing is stored, not even
    the consent. Somebody who took part before is found as in `enrol`, which has the ``details``.
    """
    for _ in range(TRIES):
        try:
            with transaction.atomic():
                has_enrolled = Participant.objects.filter(study=study, worker=worker).exists()
                participant = enrol(study=study, worker=worker, **details)
                if not has_enrolled:
                    _accept(participant.pk, lasting=True)
                return participant
        except NothingLeft as nothing:
            raise NotAdmitted(nothing.reason if nothing.reason in ("full", "took_part") else "taken") from None
        except IntegrityError:
            continue  # another transaction took the place
        except OperationalError as error:
            if not is_deadlock(error):
                raise
    raise NotAdmitted("taken")


def took_part_in_excluded(*, study_id: int, worker_id: int) -> bool:
    """Whether the worker got a hit of a study whose participants are excluded from this one."""
    hits_had = Assignment.objects.filter(participant__worker_id=worker_id)
    return hits_had.filter(participant__study__excluded_by=study_id).exists()


def take_least_filled_arm(study: Study, reward: Decimal | None = None, *, also_done: bool = False) -> Arm:
    """The arm for the next participant, who is already counted in it. Its lock makes others wait for the enrolment.

    With ``reward``, only arms with hits that pay it. Arms with a free place come first: in another one, somebody new
    would have to wait. Arms whose hits need no more submissions are chosen only with ``also_done``. Raises NotAdmitted.
    """
    arms = Arm.objects.select_for_update(no_key=True).filter(study=study).order_by("pk")
    ordered = sorted(arms, key=lambda arm: (arm.n_enrolled, arm.position))
    paying = Q() if reward is None else Q(reward=reward)
    free = paying & Q(n_live__lt=F("wanted"), held=False)
    needed = paying & Q(n_submitted__lt=F("wanted"), held=False)
    for hits in (free, needed, paying) if also_done else (free, needed):
        for arm in ordered:
            if not arm_is_full(arm.pk, arm.wanted) and arm.hits.filter(hits).exists():
                arm.n_enrolled += 1
                arm.save(update_fields=["n_enrolled"])
                return arm
    raise NotAdmitted("full")


def arm_is_full(arm_id: int, n_wanted: int | None) -> bool:
    """Whether the arm has all its participants: ``wanted`` of them are working on hits or have sent some."""
    if n_wanted is None:
        return False
    working = Participant.objects.filter(arm_id=arm_id, assignments__state__in=LIVE_STATES)
    return working.distinct().count() >= n_wanted


def accept_next(*, participant_id: int) -> Accepted:
    """The participant's assignment in progress, or a new one on the hit with the fewest ratings that they have not had.

    If an assignment of theirs ran out of time and its place is still free, it continues at the step where it stopped.
    Raises NothingLeft.
    """
    for _ in range(TRIES):
        try:
            with sql.quick_transaction(announced=False):
                return _accept(participant_id)
        except IntegrityError:
            continue  # another transaction changed what this one had read, so a constraint failed
        except OperationalError as error:
            if not is_deadlock(error):
                raise
    raise NothingLeft("taken")


def _accept(participant_id: int, *, lasting: bool = False) -> Accepted:
    """``lasting``: the caller's transaction also stores what a power cut must not lose."""
    terms = _terms(participant_id, lasting=lasting)
    if terms.accepted is not None:
        return Accepted(terms.accepted)
    if terms.status != Study.Status.LIVE:
        raise NothingLeft("closed" if terms.status == Study.Status.CLOSED else "paused")
    if terms.excluded:
        raise NothingLeft("excluded")
    if terms.at_limit:
        raise NothingLeft("limit")
    _check_first(terms)
    if terms.n_ended:
        ended = Assignment.objects.filter(participant_id=participant_id, state=State.ABANDONED)
        last = ended.order_by("-ended_at", "-pk").first()
        if last and _revive(last, terms):
            return Accepted(last.pk)
    hit_id, slot = _next_place(terms, participant_id)
    if not terms.n_ended:
        return _give(terms, participant_id, hit_id, slot=slot)
    mine = Assignment.objects.filter(participant_id=participant_id)
    attempt = 1 + mine.filter(hit_id=hit_id).count()
    latest = mine.exclude(ended_at=None).order_by("-ended_at", "-pk").values_list("state", flat=True).first()
    lost = latest == State.ABANDONED
    return _give(terms, participant_id, hit_id, slot=slot, attempt=attempt, replaces_lost=lost)


def _terms(participant_id: int, *, lasting: bool = False) -> Terms:
    row = (sql.fetch_one if lasting else sql.fetch_first)(_TERMS, participant_id, participant_id)
    if row is None:
        raise Participant.DoesNotExist
    study_id, status, most, minutes, has_authors, worker_id, arm_id, arm_wanted, shares, *rest = row
    excludes, excluded, *counts = rest
    n_kept, accepted, n_ended = counts
    return Terms(
        study_id=study_id,
        status=status,
        hits_per_worker=most,
        time_limit=timedelta(minutes=minutes),
        has_authors=bool(has_authors),
        worker_id=worker_id,
        arm_id=arm_id,
        arm_wanted=arm_wanted,
        shares_items=bool(shares),
        excludes=bool(excludes),
        excluded=bool(excluded),
        n_kept=n_kept or 0,
        accepted=accepted,
        n_ended=n_ended or 0,
    )


def _check_first(terms: Terms) -> None:
    """Check what may have changed between enrolment and the first hit, under locks that prevent further changes."""
    if terms.n_kept:
        return
    if terms.excludes:
        Worker.objects.select_for_update(no_key=True).get(pk=terms.worker_id)
        if took_part_in_excluded(study_id=terms.study_id, worker_id=terms.worker_id):
            raise NothingLeft("took_part")
    if terms.arm_wanted is not None:
        Arm.objects.select_for_update(no_key=True).get(pk=terms.arm_id)
        if arm_is_full(terms.arm_id, terms.arm_wanted):
            raise NothingLeft("full")


def _next_place(terms: Terms, participant_id: int) -> tuple[int, int]:
    """The hit to give out and the place on it."""
    seeker = Seeker(
        participant_id,
        terms.arm_id,
        author_id=terms.worker_id if terms.has_authors else None,
        shares_items=terms.shares_items,
        has_returned=terms.n_ended > 0,
    )
    hit = free_hit(seeker, lock="skip")
    if hit is None and reclaim_expired(study_id=terms.study_id):
        hit = free_hit(seeker, lock="skip")
    if hit is None and connection.features.has_select_for_update_skip_locked:
        # Others may hold the last free hits only for a moment. Wait for them before deciding that none is left.
        hit = free_hit(seeker, lock="wait")
    if hit is None:
        raise NothingLeft("done")
    hit_id, n_live, highest = hit
    filled_in_order = n_live == 0 or highest == n_live - 1
    return hit_id, n_live if filled_in_order else free_slot(hit_id, n_live)


def _give(
    terms: Terms, participant_id: int, hit_id: int, *, slot: int, attempt: int = 1, replaces_lost: bool = False
) -> Accepted:
    seed = secrets.randbits(48)
    instrument = live_instrument(terms.arm_id)
    rng = random.Random(seed)  # noqa: S311 - the order shown must be reproducible, not unpredictable
    order = instrument.task.arrange(shown_items(hit_id), instrument.config, slot=slot, rng=rng)
    now = timezone.now()
    row = {
        "hit": hit_id,
        "participant": participant_id,
        "posting": None,
        "platform_assignment_id": "",
        "submit_to": "",
        "state": State.ACCEPTED.value,
        "slot": slot,
        "ordinal": terms.next_ordinal,
        "attempt": attempt,
        "seed": seed,
        "order": order,
        "accepted_at": now,
        "expires_at": now + terms.time_limit,
        "ended_at": None,
    }
    insertion = sql.insertion(Assignment, row, returning=True)
    assignment_id = sql.run((_TAKE, [hit_id]), insertion, returning=True, savepoint=False)
    new = NewAssignment(hit_id, order, terms.next_ordinal, now + terms.time_limit, replaces_lost)
    return Accepted(assignment_id, new)


def free_slot(hit_id: int, n_live: int, *, preferred: int = 0) -> int:
    """The place ``preferred`` if no live assignment has it, else the lowest free place of a hit with ``n_live``."""
    if not n_live:
        return preferred
    used_slots = {slot for (slot,) in sql.fetch_all(_SLOTS, hit_id)}
    return preferred if preferred not in used_slots else min(set(range(len(used_slots) + 1)) - used_slots)


@transaction.atomic
def revive_late(*, assignment_id: int, participant_id: int) -> bool:
    """Reopen an assignment that ran out of time, because its worker sends a step now. False if that is impossible."""
    Participant.objects.select_for_update(no_key=True).get(pk=participant_id)
    terms = _terms(participant_id)
    return not (terms.excluded or terms.at_limit) and _revive(Assignment.objects.get(pk=assignment_id), terms)


def _revive(assignment: Assignment, terms: Terms) -> bool:
    """Reopen an abandoned assignment if its hit has a free place. Runs in the caller's transaction."""
    Assignment.objects.select_for_update(no_key=True).get(pk=assignment.pk)
    hit = Hit.objects.select_for_update(no_key=True).get(pk=assignment.hit_id)
    mine = Assignment.objects.filter(participant_id=assignment.participant_id)
    busy = mine.filter(Q(state=State.ACCEPTED) | Q(hit=hit, state__in=LIVE_STATES)).exists()
    if busy or hit.n_live >= hit.wanted:
        return False
    if has_had_item_of(participant_id=assignment.participant_id, hit_id=hit.pk):
        return False  # they have had one of its items in another hit since
    now = timezone.now()
    revived = Assignment.objects.filter(pk=assignment.pk, state=State.ABANDONED).update(
        state=State.ACCEPTED,
        # Its sides were drawn for its old place. With another place, the hit's sides may end up unbalanced.
        slot=free_slot(hit.pk, hit.n_live, preferred=assignment.slot),
        ordinal=terms.next_ordinal,
        expires_at=now + terms.time_limit,
        ended_at=None,
    )
    if revived:
        sql.execute(_TAKE, hit.pk)
    return bool(revived)


@transaction.atomic
def continue_as_extra(*, assignment_id: int, participant_id: int) -> bool:
    """Reopen an assignment whose place somebody else has, without a place: its worker has done work and must not lose
    it. What they send is paid, and left out of the analysis unless a person includes it.

    False if they are on another hit, have done all that one person can do, have had its items in another hit since, or
    were excluded. Work from a platform keeps its place there: see `arrivals.take_back`.
    """
    Participant.objects.select_for_update(no_key=True).get(pk=participant_id)
    terms = _terms(participant_id)
    work = Assignment.objects.select_for_update(no_key=True).get(pk=assignment_id, participant_id=participant_id)
    if work.posting_id is not None or terms.accepted is not None or terms.at_limit or terms.excluded:
        return False
    if has_had_item_of(participant_id=participant_id, hit_id=work.hit_id):
        return False
    hit = Hit.objects.select_for_update(no_key=True).get(pk=work.hit_id)
    reopened = Assignment.objects.filter(pk=work.pk, state=State.ABANDONED).update(
        state=State.ACCEPTED,
        extra=True,
        slot=free_slot(hit.pk, hit.wanted, preferred=work.slot),
        ordinal=terms.next_ordinal,
        expires_at=timezone.now() + terms.time_limit,
        ended_at=None,
    )
    return bool(reopened)
