"""What ``manage.py generate`` prints about tokens and money."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from decimal import Decimal

from common.words import counted, money
from generation.models import GenerationRun
from generation.runs.budgets import Forecast, Tokens, shown_budget
from generation.runs.run_files import RunFile


def forecast_lines(file: RunFile, forecasts: Sequence[Forecast]) -> Iterator[str]:
    """What a run would need, at most and by what its models have written so far."""
    yield f"{file.name}: {counted(file.n_wanted, 'sample')}. Nothing was made; this is a forecast."
    for model_forecast in forecasts:
        samples = counted(model_forecast.samples, "sample")
        yield f"  {model_forecast.model.name}: {samples}, at most {_tokens(model_forecast.most)}"
        if model_forecast.likely is not None and model_forecast.likely.written < model_forecast.most.written:
            yield f"    with texts as long as its texts so far: {_tokens(model_forecast.likely)}"
        if model_forecast.most.usd is None and model_forecast.model.backend == "openai":
            command = f"manage.py generate price {model_forecast.model.name} --read USD --written USD"
            yield f"    If it charges, enter its price: {command}"
    if len(forecasts) > 1:
        yield f"  together at most {_tokens(sum((model_forecast.most for model_forecast in forecasts), Tokens()))}"
    yield "  Tokens of prompts are estimated at 4 characters each; other scripts than Latin need more."
    if not file.budget:
        return
    total = sum((model_forecast.most for model_forecast in forecasts), Tokens())
    enough = "is enough" if total.within(file.budget) else "may stop the run before its end"
    yield f"  The budget of {shown_budget(file.budget)} {enough}."


def spent_lines(run: GenerationRun, spent: Tokens) -> Iterator[str]:
    """What a run has cost so far, if anybody wants to know: its models have prices, or it has a budget."""
    if run.budget or spent.usd:
        budget = f", budget {shown_budget(run.budget)}" if run.budget else ""
        yield f"  {'spent':<10}{_tokens(spent)}{budget}"


def _tokens(tokens: Tokens) -> str:
    price, usd = "", tokens.usd
    if usd is not None:  # to the cent, or as many digits as a smaller amount needs
        price = f", {money(usd)}" if usd >= Decimal("0.01") or not usd else f", ${usd:.6f}"
    return f"{tokens.read:,} tokens read and {tokens.written:,} written{price}"
