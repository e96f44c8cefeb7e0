"""Simulated workers who answer without pages: many times as fast, with the same rows stored.

They call what the workers' pages call: to enrol, to get the next hit, to check and store each page. So arms, places,
limits, balance, flags and ratings come from the same code. Only what HTTP and templates do is left out. Studies whose
pages show live suggestions, or that ask questions around the tasks, train, or explain what was not right, need the
pages: see `annotation.work.bots`.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable, Iterator
from functools import partial
from itertools import count

from django.db import connection

from annotation import identity, sql
from annotation.instrument import Instrument, asked_around, asks_for_offers, hit_items, live_instrument, shown_to
from annotation.models import Assignment, Participant, Study
from annotation.task_types.base import Answers, Shown
from annotation.task_types.simulation import SimulatedWorker
from annotation.work.allocation import NotAdmitted, NothingLeft, accept_next, enrol_with_hit
from annotation.work.answers import submit_step
from annotation.work.bots import BotError, Mix, Tally, TurnedAway, timing
from annotation.work.standing import given_answers
from annotation.work.training_rounds import can_try


def can_answer_directly(study: Study) -> bool:
    """Whether simulated workers can do this study without pages."""
    return not asks_for_offers(study) and not asked_around(study) and not can_try(study)


def simulate_directly(
    *,
    study: Study,
    workers: int,
    mix: Mix,
    seed: int,
    first: int = 0,
    at_once: int = 8,
    hits_per_worker: int | None = None,
    progress: Callable[[], object] = lambda: None,
) -> Tally:
    """Let simulated workers do the study: the same ones as `bots.simulate_workers`, ``at_once`` of them in turns.

    A power cut can lose the newest answers, because nobody waits for the disk.
    """
    tally, started = Tally(), time.monotonic()
    waiting = iter(range(first, first + workers))
    walks: list[Iterator[None]] = []
    _relax(lasting=True)
    while True:
        while len(walks) < at_once and (number := next(waiting, None)) is not None:
            name = f"bot-{seed}-{number}"
            worker = SimulatedWorker.named(name, mix.draw(random.Random(f"{study.slug}/{name}")))  # noqa: S311 - not a secret
            walks.append(_walk(study, worker, hits_per_worker))
        if not walks:
            break
        for walk in list(walks):
            try:
                next(walk)
                tally.submissions += 1
                progress()
                continue
            except StopIteration:
                tally.workers += 1
            except TurnedAway:
                tally.turned_away += 1
            except BotError as error:
                tally.problems.append(f"{type(error).__name__}: {error}")
            walks.remove(walk)
    tally.seconds = time.monotonic() - started
    return tally


def _relax(*, lasting: bool = False) -> None:
    """From now on, commits of this process do not wait for the disk. SQLite's driver resets it: see
    `sql.quick_transaction`."""
    if connection.vendor == "sqlite":
        sql.execute("PRAGMA synchronous = NORMAL")
    elif lasting:
        sql.execute("SET synchronous_commit TO off")


def _walk(study: Study, worker: SimulatedWorker, most: int | None) -> Iterator[None]:
    """Do hits until there are no more. Yields after each. Raises TurnedAway, BotError."""
    try:
        participant = enrol_with_hit(
            study=study,
            worker=identity.simulated_worker(study, worker.name),
            consented=bool(study.consent),
            profile=worker.profile,
        )
    except NotAdmitted:
        raise TurnedAway from None
    for n_done in count():
        if most is not None and n_done >= most:
            return
        try:
            accepted = accept_next(participant_id=participant.pk)
        except NothingLeft:
            return
        _relax()
        instrument = live_instrument(participant.arm_id)
        if accepted.new is None:
            assignment = Assignment.objects.get(pk=accepted.id)
            shown, before = shown_to(assignment, instrument), list(given_answers(assignment.pk))
        else:
            shown, before = instrument.shown(hit_items(accepted.new.hit_id).items, accepted.new.order), []
        answer_hit(worker, participant, accepted.id, instrument, shown, before)
        yield


def answer_hit(
    worker: SimulatedWorker,
    participant: Participant,
    assignment_id: int,
    instrument: Instrument,
    shown: Shown,
    before: list[Answers],
) -> None:
    """Answer all pages of a hit that are left. Raises BotError."""
    walk = instrument.walk(shown)
    while page := walk.page(len(before), partial(list, before)):
        number = len(before)
        outcome = submit_step(
            assignment_id=assignment_id,
            participant_id=participant.pk,
            number=number,
            data=(typed := instrument.task.simulate(worker, shown, page, before)),
            timing=timing(page, worker),
        )
        if outcome.kind not in ("stored", "submitted"):
            raise BotError(f"Step {number + 1} of assignment {assignment_id} was “{outcome.kind}”: {outcome.errors}")
        if outcome.complete:
            return
        before = [*before, page.clean(typed)[0]]
    raise BotError(f"Assignment {assignment_id} has no more pages, but is not complete")
