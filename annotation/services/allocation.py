"""Who works on what: enrolment, giving out hits, taking abandoned ones back.

Races are settled by the database. SQLite runs writers one after the other (immediate transactions); PostgreSQL
locks the participant's row and skips hits that another transaction is giving out. The unique and check constraints
of ``Hit`` and ``Assignment`` would refuse whatever slipped through.
"""

from __future__ import annotations

import random
import secrets
from datetime import datetime, timedelta

from django.db import IntegrityError, OperationalError, connection, transaction
from django.db.models import Count, Exists, F, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.instrument import Instrument, hit_items
from annotation.models import Assignment, Hit, Participant, Study, Worker
from annotation.models.work import LIVE_STATES

State = Assignment.State
_LETTERS = "ABCDEFGHJKLMNPQRSTUVWXYZ23456789"
TRIES = 5


class NothingLeft(Exception):
    """There is no hit for this worker now. ``reason`` is one of done, limit, paused, closed, taken."""

    def __init__(self, reason: str) -> None:
        super().__init__(reason)
        self.reason = reason


def random_code(length: int) -> str:
    """Letters and digits that nobody confuses when copying them from a screen."""
    return "".join(secrets.choice(_LETTERS) for _ in range(length))


@transaction.atomic
def enrol(
    *,
    study: Study,
    platform: str,
    platform_id: str,
    consented: bool,
    synthetic: bool = False,
    profile: str = "",
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


def accept_next(*, participant: Participant) -> Assignment:
    """The hit this participant is on, or a new one: the one with fewest ratings that they have not had.

    An assignment of theirs that ran out of time is taken up again where it stands if its place is still free.
    Raises NothingLeft.
    """
    for _ in range(TRIES):
        try:
            with transaction.atomic():
                return _accept(participant)
        except IntegrityError:
            continue
        except OperationalError as error:
            if not _is_deadlock(error):
                raise
    raise NothingLeft("taken")


def _is_deadlock(error: OperationalError) -> bool:
    """PostgreSQL ended this transaction because it and another waited for each other; trying again is safe."""
    return getattr(error.__cause__, "pgcode", None) == "40P01"


def _accept(participant: Participant) -> Assignment:
    locked = (
        Participant.objects.select_for_update(of=("self",), no_key=True).select_related("study").get(pk=participant.pk)
    )
    study = locked.study
    mine = list(Assignment.objects.filter(participant=locked).values_list("hit_id", "state", "ordinal"))
    if any(state == State.ACCEPTED for _, state, _ in mine):
        return Assignment.objects.select_related("hit").get(participant=locked, state=State.ACCEPTED)
    if study.status != Study.Status.LIVE:
        raise NothingLeft("closed" if study.status == Study.Status.CLOSED else "paused")
    live = {ordinal for _, state, ordinal in mine if state in LIVE_STATES}
    if study.hits_per_worker is not None and len(live) >= study.hits_per_worker:
        raise NothingLeft("limit")
    ordinal = _lowest_free(live, start=1)
    if revived := _revive_latest(locked, study, ordinal):
        return revived
    hit = _next_hit(study, locked)
    return _give(study, locked, hit, ordinal=ordinal, attempt=1 + sum(1 for found, _, _ in mine if found == hit.pk))


def _next_hit(study: Study, participant: Participant) -> Hit:
    hit = _free_hit(study, participant, skip_locked=True)
    if hit is None and reclaim_expired(study=study):
        hit = _free_hit(study, participant, skip_locked=True)
    if hit is None and connection.features.has_select_for_update_skip_locked:
        hit = _free_hit(study, participant, skip_locked=False)
    if hit is None:
        raise NothingLeft("done")
    return hit


def _free_hit(study: Study, participant: Participant, *, skip_locked: bool) -> Hit | None:
    had = Assignment.objects.filter(hit=OuterRef("pk"), participant=participant).exclude(state=State.ABANDONED)
    skip = skip_locked and connection.features.has_select_for_update_skip_locked
    return (
        Hit.objects.select_for_update(skip_locked=skip, no_key=True)
        .filter(~Exists(had), study=study, n_live__lt=F("wanted"))
        .order_by("n_live", "position")
        .first()
    )


def _give(study: Study, participant: Participant, hit: Hit, *, ordinal: int, attempt: int) -> Assignment:
    slot = free_slot(hit)
    seed = secrets.randbits(48)
    instrument = Instrument.of(study)
    items = [data for _, data in hit_items(hit.pk)]
    now = timezone.now()
    assignment = Assignment(
        hit=hit,
        participant=participant,
        slot=slot,
        ordinal=ordinal,
        attempt=attempt,
        seed=seed,
        order=instrument.task.arrange(items, instrument.config, slot=slot, rng=random.Random(seed)),  # noqa: S311
        accepted_at=now,
        expires_at=now + timedelta(minutes=study.time_limit_minutes),
    )
    assignment.save(force_insert=True)
    Hit.objects.filter(pk=hit.pk).update(n_live=F("n_live") + 1)
    hit.n_live += 1
    return assignment


def free_slot(hit: Hit) -> int:
    """The lowest place of the hit that no live assignment holds."""
    if not hit.n_live:
        return 0
    taken = Assignment.objects.filter(hit=hit, state__in=LIVE_STATES).values_list("slot", flat=True)
    return _lowest_free(set(taken), start=0)


def _lowest_free(taken: set[int], *, start: int) -> int:
    number = start
    while number in taken:
        number += 1
    return number


def _revive_latest(participant: Participant, study: Study, ordinal: int) -> Assignment | None:
    last = Assignment.objects.filter(participant=participant, state=State.ABANDONED).order_by("-ended_at").first()
    return last if last and revive(assignment=last, study=study, ordinal=ordinal) else None


def revive(*, assignment: Assignment, study: Study, ordinal: int) -> bool:
    """Take an abandoned assignment up again if its hit has a free place. Inside the caller's transaction."""
    hit = Hit.objects.select_for_update(no_key=True).get(pk=assignment.hit_id)
    mine = Assignment.objects.filter(participant_id=assignment.participant_id)
    busy = mine.filter(Q(state=State.ACCEPTED) | Q(hit=hit, state__in=LIVE_STATES)).exists()
    if busy or hit.n_live >= hit.wanted:
        return False
    assignment.state = State.ACCEPTED
    assignment.slot = free_slot(hit)
    assignment.ordinal = ordinal
    assignment.expires_at = timezone.now() + timedelta(minutes=study.time_limit_minutes)
    assignment.ended_at = None
    assignment.save(update_fields=["state", "slot", "ordinal", "expires_at", "ended_at"])
    Hit.objects.filter(pk=hit.pk).update(n_live=F("n_live") + 1)
    return True


def next_ordinal(*, participant_id: int) -> int:
    """The lowest number that none of the participant's live assignments has."""
    live = Assignment.objects.filter(participant_id=participant_id, state__in=LIVE_STATES)
    return _lowest_free(set(live.values_list("ordinal", flat=True)), start=1)


@transaction.atomic
def return_assignment(*, assignment_id: int) -> bool:
    """Give a hit back unfinished. False if it was not in progress any more."""
    return _end(Assignment.objects.filter(pk=assignment_id), State.RETURNED, timezone.now()) == 1


@transaction.atomic
def reclaim_expired(*, study: Study | None = None, now: datetime | None = None) -> int:
    """Free the places of all assignments whose time is up; how many there were."""
    moment = now or timezone.now()
    expired = Assignment.objects.filter(expires_at__lt=moment)
    if study is not None:
        expired = expired.filter(hit__study=study)
    return _end(expired, State.ABANDONED, moment)


def _end(chosen: QuerySet[Assignment], state: str, moment: datetime) -> int:
    skip = connection.features.has_select_for_update_skip_locked
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


def recount(*, study: Study) -> int:
    """Set the hits' counters from the assignments; how many were wrong (0 unless rows were changed by hand)."""
    wrong = 0
    with transaction.atomic():
        for hit in (
            Hit.objects.filter(study=study)
            .annotate(
                true_live=Count("assignments", filter=Q(assignments__state__in=LIVE_STATES)),
                true_submitted=Count("assignments", filter=Q(assignments__state=State.SUBMITTED)),
            )
            .exclude(n_live=F("true_live"), n_submitted=F("true_submitted"))
        ):
            wrong += Hit.objects.filter(pk=hit.pk).update(
                n_live=hit.true_live,
                n_submitted=hit.true_submitted,
            )
    return wrong
