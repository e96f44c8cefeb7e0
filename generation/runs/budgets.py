"""What a run costs on hosted models: a forecast, what it has spent, and a budget that stops it.

A budget is kept before it is spent: a worker claims a chunk only if the run can pay for the longest texts that this
chunk and all chunks in hand could have. Prices are those of the moment, in US dollars for a million tokens.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from datetime import datetime
from decimal import Decimal
from typing import Any

from django.db.models import Max, Sum
from django.db.models.functions import Length
from django.utils import timezone

from common.problems import Problem
from common.words import counted, money
from generation.decoding.decoders import Limits
from generation.models import Chunk, GenerationRun, LanguageModel, RunContext
from generation.runs.run_files import RunFile

MILLION = Decimal(1_000_000)
#: Of a hosted model's prompt, before it has been asked. Afterwards, what it counted, and this much more.
CHARACTERS_A_TOKEN, CAUTIOUS_CHARACTERS, SPARE = 4, 3, 1.1


@dataclass(frozen=True)
class Tokens:
    """Tokens read and written, and their price if it is known."""

    read: int = 0
    written: int = 0
    usd: Decimal | None = Decimal(0)

    def __add__(self, other: Tokens) -> Tokens:
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return Tokens(self.read + other.read, self.written + other.written, usd)

    @property
    def count(self) -> int:
        return self.read + self.written

    def within(self, budget: Mapping[str, Any]) -> bool:
        if "tokens" in budget and self.count > budget["tokens"]:
            return False
        return "usd" not in budget or (self.usd is not None and self.usd <= Decimal(budget["usd"]))


def price_of(model: LanguageModel, read: int, written: int) -> Tokens:
    """These tokens with their price. A model without one is not hosted; what it costs is unknown."""
    if model.price_read is None or model.price_written is None:
        return Tokens(read, written, None)
    return Tokens(read, written, (read * model.price_read + written * model.price_written) / MILLION)


def shown_budget(budget: Mapping[str, Any]) -> str:
    parts = [money(Decimal(budget["usd"]))] if "usd" in budget else []
    parts += [counted(budget["tokens"], "token")] if "tokens" in budget else []
    return " and ".join(parts)


def budget_problems(file: RunFile, models: Iterable[LanguageModel]) -> list[Problem]:
    """Models whose price nobody has entered, if the budget is in money."""
    if "usd" not in file.budget:
        return []
    return [
        Problem(
            "budget.usd",
            f"No price is known for {model.name}.",
            "Enter it, in US dollars for a million tokens: "
            f"manage.py generate price {model.name} --read 0.15 --written 0.6",
        )
        for model in models
        if price_of(model, 0, 0).usd is None
    ]


# --- Before a run ---


@dataclass(frozen=True)
class Forecast:
    """What a run needs of one model: its samples, and tokens at most. ``likely``: if texts are as long as this model's
    have been so far; None if it has none."""

    model: LanguageModel
    samples: int
    most: Tokens
    likely: Tokens | None


def forecast(file: RunFile, models: Sequence[LanguageModel]) -> list[Forecast]:
    """A forecast for each model. Tokens of prompts are estimated from their characters."""
    candidates = int((file.rerank or {}).get("candidates", 1))
    forecasts = []
    for model in models:
        samples = read = 0
        for number, context in enumerate(file.contexts):
            count = sum(file.n_of(decoder) for decoder in file.decoders_for(number, model.name))
            samples += count
            read += count * candidates * -(-len(context.prompt) // CHARACTERS_A_TOKEN)
        written = samples * candidates * file.limits.most
        before = Chunk.objects.filter(model=model, state=Chunk.State.DONE, tokens_written__isnull=False).aggregate(
            samples=Sum("n_samples"), written=Sum("tokens_written")
        )
        likely = None
        if before["samples"]:
            mean = min(before["written"] / before["samples"], file.limits.most * candidates)
            likely = price_of(model, read, round(samples * mean))
        forecasts.append(Forecast(model, samples, price_of(model, read, written), likely))
    return forecasts


# --- While it works ---


def spent(run: GenerationRun) -> Tokens:
    """What the run's stored chunks have cost, as far as the models counted it."""
    done = run.chunks.filter(state=Chunk.State.DONE).order_by().values("model")
    rows = done.annotate(read=Sum("tokens_read", default=0), written=Sum("tokens_written", default=0))
    models = LanguageModel.objects.in_bulk([row["model"] for row in rows])
    total = Tokens()
    for row in rows:
        total += price_of(models[row["model"]], row["read"], row["written"])
    return total


def affordable(run: GenerationRun, claimed: Sequence[Chunk], now: datetime) -> list[Chunk]:
    """The first of these chunks that the run can pay for, whatever becomes of those in hand. Its row is locked."""
    held = run.chunks.filter(state=Chunk.State.WAITING, leased_until__gte=now).exclude(leased_by="")
    cost = _Cost(run)
    total = spent(run)
    for model_id, n_samples in held.values_list("model", "n_samples"):
        total += cost.of(model_id, n_samples)
    payable: list[Chunk] = []
    for chunk in claimed:
        total += cost.of(chunk.model_id, chunk.n_samples)
        if not total.within(run.budget):
            break
        payable.append(chunk)
    return payable


def stop_if_used_up(run: GenerationRun, next_chunk: Chunk | None, now: datetime) -> bool:
    """End an active run that cannot pay for its next chunk, once no chunk is in hand. Its row is locked."""
    if not run.budget or next_chunk is None or affordable(run, [next_chunk], now):
        return False
    if run.chunks.filter(state=Chunk.State.WAITING, leased_until__gte=now).exclude(leased_by="").exists():
        return False
    figures = spent(run)
    stored = run.chunks.filter(state=Chunk.State.DONE).aggregate(n=Sum("n_samples", default=0))["n"]
    paid = f"{money(figures.usd)} and " if figures.usd is not None else ""
    run.state, run.ended_at = GenerationRun.State.CANCELLED, timezone.now()
    run.message = (
        f"The budget of {shown_budget(run.budget)} does not pay for more: {stored:,} of "
        f"{counted(run.n_wanted, 'sample')} are stored, for {paid}{counted(figures.count, 'token')}. They stay. To "
        f"continue, raise “budget” in the run file, apply the file again, then: manage.py generate resume {run.name}"
    )
    run.save(update_fields=["state", "ended_at", "message"])
    return True


class _Cost:
    """What a chunk of a run costs at most."""

    def __init__(self, run: GenerationRun) -> None:
        candidates = int((run.spec.get("rerank") or {}).get("candidates", 1))
        self._written = Limits(**run.spec["limits"]).most * candidates
        counted_so_far = run.chunks.filter(state=Chunk.State.DONE, tokens_read__isnull=False).aggregate(
            samples=Sum("n_samples"), read=Sum("tokens_read")
        )
        if counted_so_far["samples"]:  # the longest prompts come first
            self._read = SPARE * counted_so_far["read"] / counted_so_far["samples"]
        else:
            longest = RunContext.objects.filter(run=run).aggregate(most=Max(Length("prompt")))["most"] or 0
            self._read = candidates * longest / CAUTIOUS_CHARACTERS
        self._models = {model.pk: model for model in LanguageModel.objects.filter(name__in=run.spec["models"])}

    def of(self, model_id: int, samples: int) -> Tokens:
        return price_of(self._models[model_id], round(samples * self._read), samples * self._written)
