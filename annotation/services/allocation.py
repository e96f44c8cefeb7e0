"""Who works on what: enrolment, giving out hits, taking abandoned ones back.

Races are settled by the database. SQLite runs writers one after the other (immediate transactions); PostgreSQL
skips hits that another transaction is giving out. Two tabs of one participant meet in the unique constraints of
``Assignment``: the later one fails, tries again, and finds what the first was given.

Locks are taken in one order everywhere: participant, assignment, hit.
"""

from __future__ import annotations

import random
import secrets
from dataclasses import dataclass
from datetime import datetime, timedelta

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import F, Q, QuerySet
from django.utils import timezone

from annotation.instrument import live_instrument, shown_items
from annotation.models import Assignment, Hit, Participant, Study, Worker
from annotation.models.work import LIVE_STATES
from annotation.services import sql
from annotation.task_types.base import Json

State = Assignment.State
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
TRIES = 5

_TERMS = """
SELECT s.id, s.status, s.hits_per_worker, s.time_limit_minutes, m.n_live, m.accepted, m.n_ended
FROM annotation_participant p JOIN annotation_study s ON s.id = p.study_id
LEFT JOIN (
    SELECT participant_id,
           COUNT(*) FILTER (WHERE state IN ('accepted', 'submitted')) AS n_live,
           MAX(id) FILTER (WHERE state = 'accepted') AS accepted,
           COUNT(*) FILTER (WHERE state IN ('returned', 'abandoned')) AS n_ended
    FROM annotation_assignment WHERE participant_id = %s GROUP BY participant_id
) m ON m.participant_id = p.id
WHERE p.id = %s
"""
_FREE_HIT = """
SELECT h.id, h.n_live, (
    SELECT MAX(a.slot) FROM annotation_assignment a WHERE a.hit_id = h.id AND a.state IN ('accepted', 'submitted'))
FROM annotation_hit h
WHERE h.study_id = %s AND h.n_live < h.wanted AND NOT EXISTS (
    SELECT 1 FROM annotation_assignment a
    WHERE a.hit_id = h.id AND a.participant_id = %s AND a.state IN ('accepted', 'submitted', 'returned'))
ORDER BY h.n_live, h.position LIMIT 1
"""
_SLOTS = "SELECT slot FROM annotation_assignment WHERE hit_id = %s AND state IN ('accepted', 'submitted')"
_TAKE = "UPDATE annotation_hit SET n_live = n_live + 1 WHERE id = %s"


class NothingLeft(Exception):
    """There is no hit for this worker now. ``reason`` is one of done, limit, paused, closed, taken."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


@dataclass(frozen=True, slots=True)
class Terms:
    """What a study grants a participant at the moment of asking, and what they have had of it.

    ``n_live`` counts their live assignments, ``accepted`` is the one in progress, ``n_ended`` counts those given back
    or timed out.
    """

    study_id: int
    status: str
    hits_per_worker: int | None
    time_limit: timedelta
    n_live: int
    accepted: int | None
    n_ended: int


@dataclass(frozen=True, slots=True)
class Accepted:
    """An assignment in progress. ``new`` is there when it was just made: what its first page needs."""

    id: int
    new: NewAssignment | None = None


@dataclass(frozen=True, slots=True)
class NewAssignment:
    hit_id: int
    order: Json
    ordinal: int
    expires_at: datetime


def random_code(length: int) -> str:
    """Letters and digits that nobody confuses when copying them from a screen."""
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


@transaction.atomic
def enrol(
    *, study: Study, platform: str, platform_id: str, consented: bool, synthetic: bool = False, profile: str = ""
) -> Participant:
    """The worker's participation in this study, made on the first call and found on later ones."""
    worker, _ = Worker.objects.get_or_create(
        platform=platform, platform_id=platform_id, defaults={"synthetic": synthetic}
    )
    participant, _ = Participant.objects.get_or_create(
        study=study,
        worker=worker,
        defaults={
            "pseudonym": f"w-{random_code(8).lower()}",
            "synthetic": synthetic,
            "profile": profile,
            "consented_at": timezone.now() if consented else None,
            "completion_code": random_code(10),
        },
    )
    return participant


def accept_next(*, participant_id: int) -> Accepted:
    """The assignment this participant is on, or a new one: of the hit with fewest ratings that they have not had.

    An assignment of theirs that ran out of time is taken up again where it stands if its place is still free.
    Raises NothingLeft.
    """
    for _ in range(TRIES):
        try:
            with sql.quick_transaction(announced=False):
                return _accept(participant_id)
        except IntegrityError:
            continue  # what was read had changed before it was written: a constraint noticed
        except OperationalError as error:
            if not is_deadlock(error):
                raise
    raise NothingLeft("taken")


def is_deadlock(error: OperationalError) -> bool:
    """PostgreSQL ended this transaction because it and another waited for each other; trying again is safe."""
    return getattr(error.__cause__, "pgcode", None) == "40P01"


def _accept(participant_id: int) -> Accepted:
    terms = _terms(participant_id)
    if terms.accepted is not None:
        return Accepted(terms.accepted)
    if terms.status != Study.Status.LIVE:
        raise NothingLeft("closed" if terms.status == Study.Status.CLOSED else "paused")
    if terms.hits_per_worker is not None and terms.n_live >= terms.hits_per_worker:
        raise NothingLeft("limit")
    # One is open at a time, so only the newest can end without being submitted: the numbers of the rest have no gap.
    ordinal = terms.n_live + 1
    if terms.n_ended and (revived := _revive_latest(participant_id, terms, ordinal)):
        return Accepted(revived)
    hit_id, slot = _next_place(terms, participant_id)
    attempt = 1
    if terms.n_ended:
        attempt += Assignment.objects.filter(participant_id=participant_id, hit_id=hit_id).count()
    return _give(terms, participant_id, hit_id, slot=slot, ordinal=ordinal, attempt=attempt)


def _terms(participant_id: int) -> Terms:
    row = sql.fetch_first(_TERMS, participant_id, participant_id)
    if row is None:
        raise Participant.DoesNotExist
    study_id, status, hits_per_worker, minutes, n_live, accepted, n_ended = row
    limit = timedelta(minutes=minutes)
    return Terms(study_id, status, hits_per_worker, limit, n_live or 0, accepted, n_ended or 0)


def _next_place(terms: Terms, participant_id: int) -> tuple[int, int]:
    """The hit to give out and the place on it."""
    asked = (terms.study_id, participant_id)
    found = sql.fetch_one(sql.locked(_FREE_HIT, of="h", skip=True), *asked)
    if found is None and reclaim_expired(study_id=terms.study_id):
        found = sql.fetch_one(sql.locked(_FREE_HIT, of="h", skip=True), *asked)
    if found is None and connection.features.has_select_for_update_skip_locked:
        # Others may hold the last free ones only for a moment: wait for them before saying that none is left.
        found = sql.fetch_one(sql.locked(_FREE_HIT, of="h"), *asked)
    if found is None:
        raise NothingLeft("done")
    hit_id, n_live, highest = found
    filled_in_order = n_live == 0 or highest == n_live - 1
    return hit_id, n_live if filled_in_order else free_slot(hit_id, n_live)


def _give(terms: Terms, participant_id: int, hit_id: int, *, slot: int, ordinal: int, attempt: int) -> Accepted:
    seed = secrets.randbits(48)
    instrument = live_instrument(terms.study_id)
    rng = random.Random(seed)  # noqa: S311 - the order shown must be reproducible, not unpredictable
    order = instrument.task.arrange(shown_items(hit_id), instrument.config, slot=slot, rng=rng)
    now = timezone.now()
    row = {
        "hit": hit_id,
        "participant": participant_id,
        "platform_assignment_id": "",
        "state": State.ACCEPTED.value,
        "slot": slot,
        "ordinal": ordinal,
        "attempt": attempt,
        "seed": seed,
        "order": order,
        "accepted_at": now,
        "expires_at": now + terms.time_limit,
        "ended_at": None,
    }
    made = sql.insertion(Assignment, row, returning=True)
    assignment_id = sql.run((_TAKE, [hit_id]), made, returning=True, savepoint=False)
    return Accepted(assignment_id, NewAssignment(hit_id, order, ordinal, now + terms.time_limit))


def free_slot(hit_id: int, n_live: int, *, rather: int = 0) -> int:
    """The place ``rather`` if no live assignment holds it, else the lowest free one of a hit with ``n_live``."""
    if not n_live:
        return rather
    taken = {slot for (slot,) in sql.fetch_all(_SLOTS, hit_id)}
    return rather if rather not in taken else min(set(range(len(taken) + 1)) - taken)


def _revive_latest(participant_id: int, terms: Terms, ordinal: int) -> int | None:
    ended = Assignment.objects.filter(participant_id=participant_id, state=State.ABANDONED)
    last = ended.order_by("-ended_at", "-pk").first()
    if last and revive(assignment=last, time_limit=terms.time_limit, ordinal=ordinal):
        return last.pk
    return None


def revive(*, assignment: Assignment, time_limit: timedelta, ordinal: int) -> bool:
    """Take an abandoned assignment up again if its hit has a free place. Inside the caller's transaction."""
    hit = Hit.objects.select_for_update(no_key=True).get(pk=assignment.hit_id)
    mine = Assignment.objects.filter(participant_id=assignment.participant_id)
    busy = mine.filter(Q(state=State.ACCEPTED) | Q(hit=hit, state__in=LIVE_STATES)).exists()
    if busy or hit.n_live >= hit.wanted:
        return False
    now = timezone.now()
    revived = Assignment.objects.filter(pk=assignment.pk, state=State.ABANDONED).update(
        state=State.ACCEPTED,
        # Its sides were drawn for the place it had: with another one the hit's sides may come out unbalanced.
        slot=free_slot(hit.pk, hit.n_live, rather=assignment.slot),
        ordinal=ordinal,
        expires_at=now + time_limit,
        ended_at=None,
    )
    if revived:
        sql.execute(_TAKE, hit.pk)
    return bool(revived)


@transaction.atomic
def return_assignment(*, assignment_id: int, participant_id: int) -> bool:
    """Give a hit back unfinished. False if it was not in progress any more."""
    chosen = Assignment.objects.filter(pk=assignment_id, participant_id=participant_id)
    return _end(chosen, State.RETURNED, timezone.now(), skip_locked=False) == 1


@transaction.atomic
def reclaim_expired(*, study_id: int | None = None, now: datetime | None = None) -> int:
    """Free the places of all assignments whose time is up; how many there were."""
    moment = now or timezone.now()
    expired = Assignment.objects.filter(expires_at__lt=moment)
    if study_id is not None:
        expired = expired.filter(hit__study_id=study_id)
    return _end(expired, State.ABANDONED, moment, skip_locked=True)


def _end(chosen: QuerySet[Assignment], state: str, moment: datetime, *, skip_locked: bool) -> int:
    skip = skip_locked and connection.features.has_select_for_update_skip_locked
    rows = list(
        chosen.filter(state=State.ACCEPTED)
        .select_for_update(skip_locked=skip, of=("self",), no_key=True)
        .order_by("pk")
        .values_list("pk", "hit_id")
    )
    ended = Assignment.objects.filter(pk__in=[pk for pk, _ in rows], state=State.ACCEPTED)
    count = ended.update(state=state, ended_at=moment)
    for hit_id in sorted(hit_id for _, hit_id in rows):
        Hit.objects.filter(pk=hit_id).update(n_live=F("n_live") - 1)
    return count
