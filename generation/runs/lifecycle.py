"""The life of a run: created from a run file, started, cancelled, resumed, ended.

The database shows what is left to do. Messages on the task queue only wake workers; ``wake_workers`` sends them again
if they were lost.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator, Sequence
from itertools import islice
from typing import Any

from django.conf import settings
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts.log import Kind, record
from common.problems import Problem, invalid, refuse_if_any, unknown
from generation import queueing
from generation.models import Chunk, GenerationRun, LanguageModel, RunContext
from generation.registry import presence
from generation.registry.registration import EMBEDDED_NAMES, ensure_embedded_model
from generation.runs.budgets import budget_problems, shown_budget, stop_if_used_up
from generation.runs.chunks import ACTIVE, claimable, database_now, give_up_lost
from generation.runs.planned_samples import plan_chunks
from generation.runs.run_files import Prompted, RunFile
from generation.runs.suitability import too_long, unusable_decoders

INSERT_AT_ONCE = 1000
State = GenerationRun.State


def create_run(*, file: RunFile, actor: str = "") -> tuple[GenerationRun, bool]:
    """The run of a file, and whether it is new: the same file again returns the existing run, with the file's budget.
    Raises Invalid.

    This plans its chunks; ``start_run`` wakes the workers.
    """
    models = usable_models(file, actor)
    spec = file.spec()
    values = {
        "spec": spec,
        "spec_hash": spec_hash(spec, file.contexts),
        "seed": file.seed,
        "budget": dict(file.budget),
        "n_wanted": file.n_wanted,
        "created_by": actor[:150],
    }
    try:
        with transaction.atomic():
            run = GenerationRun.objects.create(name=file.name, **values)
            contexts = (
                RunContext(
                    run=run,
                    number=number,
                    external_id=context.external_id,
                    fields=dict(context.fields),
                    prompt=context.prompt,
                    keep=context.keep,
                )
                for number, context in enumerate(file.contexts)
            )
            _insert(RunContext, contexts)
            planned = ((model, places) for model in models for places in plan_chunks(file, model.name))
            chunks = (
                Chunk(run=run, number=number, model=model, places=places, n_samples=sum(count for *_, count in places))
                for number, (model, places) in enumerate(planned)
            )
            _insert(Chunk, chunks)
            record(kind=Kind.RUNS, actor=actor, action="run created", about=run.name, samples=file.n_wanted)
            return run, True
    except IntegrityError:
        existing = GenerationRun.objects.filter(name=file.name).first()
        if existing is None:
            raise
    if existing.spec_hash != values["spec_hash"]:
        what = f"There is already a run “{file.name}” with other contents."
        raise invalid("name", what, "A run never changes once it is made: give this one another name.")
    if existing.budget != values["budget"]:
        existing.budget = dict(file.budget)
        existing.save(update_fields=["budget"])
        amount = shown_budget(existing.budget) or "none"
        record(kind=Kind.RUNS, actor=actor, action="budget changed", about=existing.name, budget=amount)
    return existing, False


def spec_hash(spec: dict[str, Any], contexts: Sequence[Prompted]) -> str:
    """SHA-256 over everything that decides what is generated."""
    digest = hashlib.sha256(json.dumps(spec, sort_keys=True).encode())
    for context in contexts:
        line = [context.external_id, dict(sorted(context.fields.items())), context.prompt, context.keep]
        digest.update(json.dumps(line).encode() + b"\n")
    return digest.hexdigest()


def start_run(*, run_id: int) -> None:
    """Wake a worker for the run once the transaction is committed."""
    transaction.on_commit(lambda: queueing.send_work(run_id))


@transaction.atomic
def cancel_run(*, run_id: int, actor: str = "") -> GenerationRun:
    """Stop a run. Stored samples stay; unfinished ones are discarded. Raises Invalid if it has ended."""
    run = GenerationRun.objects.select_for_update(no_key=True).get(pk=run_id)
    if run.state == State.CANCELLED:
        return run
    if run.state not in ACTIVE:
        raise invalid(
            run.name, f"The run has ended ({run.get_state_display().lower()}).", "There is nothing to cancel."
        )
    run.state, run.ended_at, run.message = State.CANCELLED, timezone.now(), ""
    run.save(update_fields=["state", "ended_at", "message"])
    record(kind=Kind.RUNS, actor=actor, action="run cancelled", about=run.name)
    run.chunks.filter(state=Chunk.State.WAITING).update(leased_by="", leased_until=None)
    return run


@transaction.atomic
def resume_run(*, run_id: int, wake_workers: bool = True, actor: str = "") -> GenerationRun:
    """Continue a failed or cancelled run; chunks that failed are tried again. Raises Invalid if it is done.

    If the run is active, this only wakes a worker, which does no harm.
    """
    run = GenerationRun.objects.select_for_update(no_key=True).get(pk=run_id)
    if run.state == State.DONE:
        raise invalid(run.name, "The run is done.", "There is nothing to resume.")
    if run.state not in ACTIVE:
        run.state, run.ended_at, run.message = State.RUNNING, None, ""
        run.started_at = run.started_at or timezone.now()
        run.save(update_fields=["state", "ended_at", "message", "started_at"])
        record(kind=Kind.RUNS, actor=actor, action="run resumed", about=run.name)
        run.chunks.exclude(state=Chunk.State.DONE).update(
            state=Chunk.State.WAITING, attempts=0, losses=0, leased_by="", leased_until=None, ended_at=None
        )
    if wake_workers:
        start_run(run_id=run.pk)
    return run


def end_run_if_over(*, run_id: int) -> None:
    """End a run that has nothing left to do: done when all its chunks are, failed when one is lost for good."""
    give_up_lost(run_id)
    with transaction.atomic():
        run = GenerationRun.objects.select_for_update(no_key=True).get(pk=run_id)
        if run.state in ACTIVE and run.budget:
            now = database_now()
            if stop_if_used_up(run, claimable(now).filter(run=run).order_by("number").first(), now):
                return
        if run.state not in ACTIVE or run.chunks.exclude(state=Chunk.State.DONE).exists():
            return
        run.state, run.ended_at = State.DONE, timezone.now()
        run.started_at = run.started_at or run.created_at
        run.save(update_fields=["state", "ended_at", "started_at"])


def wake_workers() -> int:
    """Send work to idle workers for runs with chunks to claim, and end runs that are over. Returns how many messages
    were sent.

    The scheduler calls this every few seconds. Idle workers are counted in the database, so nothing piles up on the
    queue while all are busy or none is running.
    """
    n_sent = 0
    presence.delete_old_rows()
    idle = presence.alive().filter(state=presence.IDLE).count()
    for run_id in GenerationRun.objects.filter(state__in=ACTIVE).order_by("created_at").values_list("pk", flat=True):
        end_run_if_over(run_id=run_id)
        waiting = claimable(database_now()).filter(run_id=run_id).count() if n_sent < idle else 0
        for _ in range(min(waiting, idle - n_sent)):
            n_sent += queueing.send_work(run_id)
    return n_sent


def usable_models(file: RunFile, actor: str) -> list[LanguageModel]:
    """The models that a file names, in its order. Raises Invalid that lists every unusable one."""
    models = {model.name: model for model in LanguageModel.objects.filter(name__in=file.models)}
    for backend, name in EMBEDDED_NAMES.items():
        if name in file.models and name not in models:
            models[name] = ensure_embedded_model(backend=backend, actor=actor)
    names = [*LanguageModel.objects.order_by("name").values_list("name", flat=True), *EMBEDDED_NAMES.values()]
    problems: list[Problem] = []
    for name in file.models:
        model = models.get(name)
        if model is None:
            problems.append(unknown("models", name, dict.fromkeys(names)))
        elif model.retired:
            problems.append(Problem("models", f"“{name}” is retired.", "Choose another model."))
        elif model.check_state == LanguageModel.Check.FAILED:
            fix = f"Fix that, then run: manage.py generate check {name}"
            problems.append(Problem("models", f"“{name}” does not work: {model.check_message}", fix))
    problems += _without_scorer(file)
    problems += unusable_decoders(file, (models[name] for name in file.models if name in models))
    problems += budget_problems(file, (models[name] for name in file.models if name in models))
    problems += too_long(file, (models[name] for name in file.models if name in models))
    refuse_if_any(problems)
    return [models[name] for name in file.models]


def _without_scorer(file: RunFile) -> list[Problem]:
    """What is wrong with the scorer that a file reranks with."""
    rerank = file.rerank or {}
    if "function" in rerank and rerank["function"] not in settings.SCORERS:
        fix = "Name it in HITSERVER_SCORERS as name=dotted.path, here and on every worker."
        return [Problem("rerank.function", f"There is no scorer “{rerank['function']}”.", fix)]
    scorer = LanguageModel.objects.filter(name=rerank.get("model", "")).first()
    if "model" in rerank and scorer is None:
        return [unknown("rerank.model", rerank["model"], LanguageModel.objects.values_list("name", flat=True))]
    if scorer is not None and scorer.backend != "transformers":
        fix = "Register the model with it, or use another."
        return [Problem("rerank.model", "Only models of the backend transformers can score texts.", fix)]
    return []


def _insert(model: type[RunContext] | type[Chunk], rows: Iterator[Any]) -> None:
    """Insert rows while they are made, because all rows of a large run at once would fill the memory."""
    while batch := list(islice(rows, INSERT_AT_ONCE)):
        model.objects.bulk_create(batch)
