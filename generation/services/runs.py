"""Runs from run files: planned in chunks, started, cancelled, resumed, ended.

The database is the truth about what is to be done. Messages on the task queue only wake workers; ``wake`` sends them
again when they were lost.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from typing import Any

from django.db import IntegrityError, transaction
from django.utils import timezone

from generation.models import Chunk, GenerationRun, LanguageModel, RunContext
from generation.problems import Problem, invalid, refuse_if_any, unknown
from generation.run_files import Prompted, RunFile
from generation.services import presence
from generation.services.chunks import ACTIVE, claimable, database_now, give_up_lost
from generation.services.models import EMBEDDED_NAMES, ensure_embedded_model

INSERT_AT_ONCE = 1000
State = GenerationRun.State


def create_run(*, file: RunFile, actor: str = "") -> tuple[GenerationRun, bool]:
    """The run of a file and whether it is new: the same file again gives the run there is. Raises Invalid.

    Its chunks are planned here; ``start_run`` wakes the workers.
    """
    models = _models(file)
    spec = file.spec()
    values = {
        "spec": spec,
        "spec_hash": spec_hash(spec, file.contexts),
        "seed": file.seed,
        "n_wanted": file.n_wanted,
        "created_by": actor[:150],
    }
    try:
        with transaction.atomic():
            run = GenerationRun.objects.create(name=file.name, **values)
            _write_contexts(run, file.contexts)
            _write_chunks(run, file, models)
            return run, True
    except IntegrityError:
        there = GenerationRun.objects.filter(name=file.name).first()
        if there is None:
            raise
    if there.spec_hash != values["spec_hash"]:
        what = f"There is a run “{file.name}” already, with other contents."
        raise invalid("name", what, "A run does not change once it is made: give this one another name.")
    return there, False


def spec_hash(spec: dict[str, Any], contexts: Sequence[Prompted]) -> str:
    """SHA-256 over all that decides what is generated."""
    found = hashlib.sha256(json.dumps(spec, sort_keys=True).encode())
    for each in contexts:
        line = [each.external_id, dict(sorted(each.fields.items())), each.prompt, each.keep]
        found.update(json.dumps(line).encode() + b"\n")
    return found.hexdigest()


def start_run(*, run_id: int) -> None:
    """Wake a worker for the run once the transaction is committed."""
    from generation.tasks import send_work

    transaction.on_commit(lambda: send_work(run_id))


@transaction.atomic
def cancel_run(*, run_id: int) -> GenerationRun:
    """Stop a run; what it has made stays, and what is being made is thrown away. Raises Invalid if it has ended."""
    run = GenerationRun.objects.select_for_update(no_key=True).get(pk=run_id)
    if run.state == State.CANCELLED:
        return run
    if run.state not in ACTIVE:
        raise invalid(
            run.name, f"The run has ended ({run.get_state_display().lower()}).", "There is nothing to cancel."
        )
    run.state, run.ended_at, run.message = State.CANCELLED, timezone.now(), ""
    run.save(update_fields=["state", "ended_at", "message"])
    run.chunks.filter(state=Chunk.State.WAITING).update(leased_by="", leased_until=None)
    return run


@transaction.atomic
def resume_run(*, run_id: int, wake_workers: bool = True) -> GenerationRun:
    """Go on with a failed or cancelled run; chunks that failed are tried anew. Raises Invalid if it is done.

    For a run that is going on it only wakes a worker, which does no harm.
    """
    run = GenerationRun.objects.select_for_update(no_key=True).get(pk=run_id)
    if run.state == State.DONE:
        raise invalid(run.name, "The run is done.", "There is nothing to resume.")
    if run.state not in ACTIVE:
        run.state, run.ended_at, run.message = State.RUNNING, None, ""
        run.started_at = run.started_at or timezone.now()
        run.save(update_fields=["state", "ended_at", "message", "started_at"])
        run.chunks.exclude(state=Chunk.State.DONE).update(
            state=Chunk.State.WAITING, attempts=0, losses=0, leased_by="", leased_until=None, ended_at=None
        )
    if wake_workers:
        start_run(run_id=run.pk)
    return run


def settle(*, run_id: int) -> None:
    """End a run that has nothing left to do: done when all chunks are, failed when one is lost for good."""
    give_up_lost(run_id)
    with transaction.atomic():
        run = GenerationRun.objects.select_for_update(no_key=True).get(pk=run_id)
        if run.state not in ACTIVE or run.chunks.exclude(state=Chunk.State.DONE).exists():
            return
        run.state, run.ended_at = State.DONE, timezone.now()
        run.started_at = run.started_at or run.created_at
        run.save(update_fields=["state", "ended_at", "started_at"])


def wake() -> int:
    """Send work to idle workers for runs with chunks to take, and end runs that are over; how many messages went out.

    Called every few seconds by the scheduler. A worker is idle by what it says of itself in the database, so nothing
    piles up on the queue while all are busy or none is there.
    """
    from generation.tasks import send_work

    sent = 0
    presence.forget_old()
    idle = presence.alive().filter(state=presence.IDLE).count()
    for run_id in GenerationRun.objects.filter(state__in=ACTIVE).order_by("created_at").values_list("pk", flat=True):
        settle(run_id=run_id)
        waiting = claimable(database_now()).filter(run_id=run_id).count() if sent < idle else 0
        for _ in range(min(waiting, idle - sent)):
            sent += send_work(run_id)
    return sent


def _models(file: RunFile) -> list[LanguageModel]:
    """The models a file names, in its order. Raises Invalid with every one that cannot be used."""
    there = {model.name: model for model in LanguageModel.objects.filter(name__in=file.models)}
    for backend, name in EMBEDDED_NAMES.items():
        if name in file.models and name not in there:
            there[name] = ensure_embedded_model(backend=backend)
    known = [*LanguageModel.objects.order_by("name").values_list("name", flat=True), *EMBEDDED_NAMES.values()]
    problems: list[Problem] = []
    for name in file.models:
        model = there.get(name)
        if model is None:
            problems.append(unknown("models", name, dict.fromkeys(known)))
        elif model.retired:
            problems.append(Problem("models", f"“{name}” is retired.", "Choose another model."))
        elif model.check_state == LanguageModel.Check.FAILED:
            mend = f"Mend that, then: manage.py generate check {name}"
            problems.append(Problem("models", f"“{name}” does not work: {model.check_message}", mend))
    refuse_if_any(problems)
    return [there[name] for name in file.models]


def _write_contexts(run: GenerationRun, contexts: Sequence[Prompted]) -> None:
    RunContext.objects.bulk_create(
        (
            RunContext(
                run=run,
                number=number,
                external_id=each.external_id,
                fields=dict(each.fields),
                prompt=each.prompt,
                keep=each.keep,
            )
            for number, each in enumerate(contexts)
        ),
        batch_size=INSERT_AT_ONCE,
    )


def _write_chunks(run: GenerationRun, file: RunFile, models: Sequence[LanguageModel]) -> None:
    places = list(plan_chunks(file))
    planned = ((model, each) for model in models for each in places)
    Chunk.objects.bulk_create(
        (
            Chunk(run=run, number=number, model=model, places=each, n_samples=sum(place[3] for place in each))
            for number, (model, each) in enumerate(planned)
        ),
        batch_size=INSERT_AT_ONCE,
    )


def plan_chunks(file: RunFile) -> Iterator[list[list[Any]]]:
    """Chunks of at most ``chunk_size`` samples for one model, as lists of [context, decoder, first sample, samples].

    Prompts of about the same length come together, so that a batch has little padding, and all decoders of a context
    come together, so that its prompt is read once. The longest are first: what does not fit shows at once.
    """
    order = sorted(range(len(file.contexts)), key=lambda number: (-len(file.contexts[number].prompt), number))
    chunk: list[list[Any]] = []
    room = file.chunk_size
    for number in order:
        for decoder in file.decoders:
            first, left = 0, file.n_of(decoder)
            while left:
                count = min(left, room)
                chunk.append([number, decoder.name, first, count])
                first, left, room = first + count, left - count, room - count
                if not room:
                    yield chunk
                    chunk, room = [], file.chunk_size
    if chunk:
        yield chunk
