"""What a run costs: a forecast, what it has spent, and a budget that stops it before it is exceeded."""

from __future__ import annotations

from collections.abc import Mapping
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

from common.problems import Invalid
from generation.amounts import read_budget
from generation.backends.base import Generated
from generation.models import Chunk, GenerationRun, LanguageModel, Sample
from generation.runs import chunks
from generation.runs.budgets import spent
from generation.runs.lifecycle import create_run, end_run_if_over, resume_run
from generation.runs.run_worker import work_on
from tests.generation.support.run_factories import make_file, make_model, make_run
from tests.generation.support.toy_runs import Toy

pytestmark = pytest.mark.django_db(transaction=True)

PROMPTS = ["x" * 90, "y" * 90, "z" * 90]  # 90 tokens for the toy, which counts characters
#: 18 samples of 5 tokens with a prompt of 90, at 10 and 100 dollars for a million tokens.
READ, WRITTEN = 18 * 90, 18 * 5
USD = (READ * Decimal(10) + WRITTEN * Decimal(100)) / 1_000_000


@pytest.fixture
def priced() -> LanguageModel:
    return make_model(price_read=Decimal(10), price_written=Decimal(100))


def work(run: GenerationRun) -> GenerationRun:
    work_on(run_id=run.pk, worker="w", backend_of=Toy().backend_of)
    run.refresh_from_db()
    return run


def test_a_run_within_its_budget_is_made_and_counted(priced: LanguageModel) -> None:
    run = work(make_run(contexts=PROMPTS, budget={"usd": 0.05, "tokens": 5000}))
    assert run.state == "done"
    figures = spent(run)
    assert (figures.read, figures.written, figures.usd) == (READ, WRITTEN, USD)


@pytest.mark.parametrize("budget", [{"tokens": 1000}, {"usd": 0.015}])
def test_a_budget_stops_a_run_before_it_is_exceeded(priced: LanguageModel, budget: Mapping[str, Any]) -> None:
    run = work(make_run(contexts=PROMPTS, budget=budget))
    stored = Sample.objects.filter(run=run).count()
    figures = spent(run)
    assert run.state == "cancelled"
    assert stored == 8  # two chunks of four samples: a third could cost more than is left
    assert figures.within(run.budget)
    assert f"{stored} of 18 samples are stored" in run.message
    assert f"manage.py generate resume {run.name}" in run.message
    assert not Chunk.objects.filter(run=run, attempts__gt=0).exists()


def test_a_raised_budget_continues_the_run_with_what_is_missing(priced: LanguageModel) -> None:
    low = make_file(contexts=PROMPTS, name="b", budget={"tokens": 1000})
    run = work(create_run(file=low)[0])
    high = make_file(contexts=PROMPTS, name="b", budget={"tokens": 9000})
    same, created = create_run(file=high)
    assert (same.pk, created, same.budget) == (run.pk, False, {"tokens": 9000})
    resume_run(run_id=run.pk, wake_workers=False)
    assert work(run).state == "done"
    assert Sample.objects.filter(run=run).count() == 18


def test_what_other_workers_have_in_hand_is_counted_at_its_most(priced: LanguageModel) -> None:
    run = make_run(contexts=PROMPTS, budget={"tokens": 300})
    held = chunks.claim(run_id=run.pk, worker="a", backends=("transformers",), most=64)
    assert len(held) == 2  # four texts each, of 5 tokens after a prompt of perhaps 30
    assert chunks.claim(run_id=run.pk, worker="b", backends=("transformers",), most=64) == []
    end_run_if_over(run_id=run.pk)
    run.refresh_from_db()
    assert run.state == "running"  # those in hand may cost less than they could


def test_a_text_that_was_asked_for_twice_counts_twice() -> None:
    text = Generated("a", (), 3, None, None, "end", 0.1, prompt_tokens=10)
    assert text.cost == (10, 3)
    assert Generated("a", (), 3, None, None, "end", 0.1, prompt_tokens=10, billed=(20, 60)).cost == (20, 60)


def test_money_needs_a_price() -> None:
    make_model()
    with pytest.raises(Invalid) as refused:
        make_run(budget={"usd": 5})
    assert "No price is known for toy" in str(refused.value)
    assert "manage.py generate price toy --read 0.15 --written 0.6" in str(refused.value)


@pytest.mark.parametrize(
    "budget",
    [{}, 20, {"eur": 5}, {"usd": 0}, {"usd": "many"}, {"usd": True}, {"usd": 0.00001}, {"tokens": 1.5}, {"tokens": 0}],
)
def test_budgets_that_are_refused(budget: Any) -> None:
    with pytest.raises(ValueError, match="Write"):
        read_budget(budget)
    with pytest.raises(Invalid, match="budget"):
        make_file(budget=budget)


def test_prices_from_the_command_line(capsys: pytest.CaptureFixture[str]) -> None:
    model = make_model()
    call_command("generate", "price", "toy", read="0.15", written="0.6")
    model.refresh_from_db()
    assert (model.price_read, model.price_written) == (Decimal("0.15"), Decimal("0.6"))
    with pytest.raises(CommandError):
        call_command("generate", "price", "toy", read="free", written="-1")
    assert "The price is 'free'" in capsys.readouterr().err


def test_a_dry_run_shows_tokens_and_money_and_makes_nothing(
    priced: LanguageModel, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    file = tmp_path / "run.yaml"
    file.write_text(
        "name: dry\nmodels: [toy]\ndecoders: [top_p=0.9]\nsamples: 10\nlimits: {max_new_tokens: 50}\n"
        f"budget: {{usd: 0.01}}\ncontexts: [{'a' * 400}, {'b' * 400}]\n"
    )
    call_command("generate", "apply", str(file), dry_run=True)
    shown = capsys.readouterr().out
    # 20 samples: a prompt of 400 characters is about 100 tokens; 2,000 x $10 and 1,000 x $100 for a million
    assert "toy: 20 samples, at most 2,000 tokens read and 1,000 written, $0.12" in shown
    assert "The budget of $0.01 may stop the run before its end." in shown
    assert not GenerationRun.objects.exists()


def test_a_dry_run_knows_how_long_texts_have_been(priced: LanguageModel, tmp_path: Path, capsys: Any) -> None:
    work(make_run())
    file = tmp_path / "run.yaml"
    file.write_text(
        "name: dry\nmodels: [toy]\ndecoders: [top_p=0.9]\nsamples: 10\nlimits: {max_new_tokens: 50}\ncontexts: [One]\n"
    )
    call_command("generate", "apply", str(file), dry_run=True)
    assert "as long as its texts so far: 10 tokens read and 50 written" in capsys.readouterr().out
