"""Runs that give each context one model and one decoder, as the decTest sets were made."""

from __future__ import annotations

from collections import Counter
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
from django.core.management import call_command

from common.problems import Invalid
from generation.decoding.decoders import Decoder, expand_decoders
from generation.models import GenerationRun
from generation.runs import lifecycle
from generation.runs.assigning import Assigned, assign_one
from generation.runs.run_files import read_run
from generation.runs.run_worker import work_on
from tests.generation.support.run_factories import make_file, make_run
from tests.generation.support.toy_runs import Toy

TEMPERATURES = expand_decoders([{"temperature": {"from": 0.2, "to": 1.2, "steps": 100}}])


def assigned(
    n_contexts: int, *, models: tuple[str, ...] = ("m",), decoders: list[Decoder] = TEMPERATURES, seed: int = 1
) -> list[Assigned]:
    ids = [f"c{number}" for number in range(n_contexts)]
    return assign_one(context_ids=ids, models=models, decoders=decoders, seed=seed)


def spread(counts: Counter[Any], kinds: int) -> int:
    """The largest count less the smallest, which is 0 where one of ``kinds`` never occurs."""
    return max(counts.values()) - (min(counts.values()) if len(counts) == kinds else 0)


def test_each_of_a_hundred_temperatures_gets_ten_of_a_thousand_contexts() -> None:
    """Tevet & Berant 2021, decTest: 1,000 contexts, each with one of 100 temperatures."""
    counts = Counter(decoder.name for _, decoder in assigned(1000))
    assert set(counts.values()) == {10}
    assert len(counts) == 100


@pytest.mark.parametrize("n_contexts", [1, 5, 8, 23, 25])
def test_decoders_models_and_their_combinations_differ_by_one_context_at_most(n_contexts: int) -> None:
    decoders = TEMPERATURES[:4]
    combinations = assigned(n_contexts, models=("a", "b"), decoders=decoders)
    assert len(combinations) == n_contexts
    assert spread(Counter(decoder for _, decoder in combinations), 4) <= 1
    assert spread(Counter(model for model, _ in combinations), 2) <= 1
    assert spread(Counter(combinations), 8) <= 1


def test_every_combination_of_models_and_decoders_is_used() -> None:
    """Also where the number of models divides that of the decoders, so that walking both lists would repeat pairs."""
    combinations = assigned(24, models=("a", "b"), decoders=TEMPERATURES[:6])
    assert Counter(combinations) == {(model, decoder): 2 for model in "ab" for decoder in TEMPERATURES[:6]}


def test_the_seed_decides_and_the_order_in_the_file_does_not() -> None:
    first = assigned(200)
    assert assigned(200) == first != assigned(200, seed=2)
    ids = [f"c{number}" for number in range(200)]
    backwards = assign_one(context_ids=ids[::-1], models=["m"], decoders=TEMPERATURES[::-1], seed=1)
    assert backwards[::-1] == first
    # Two runs with one model each can be compared: their contexts have the same decoders.
    assert [decoder for _, decoder in assigned(200, models=("other",))] == [decoder for _, decoder in first]
    # Contexts in the file's order do not simply take the decoders in theirs.
    places = [TEMPERATURES.index(decoder) for _, decoder in first]
    assert sum(later > earlier for earlier, later in pairwise(places)) < 150


def one_each(**values: Any) -> dict[str, Any]:
    contexts = [{"id": f"c{number}", "context": f"Text {number}"} for number in range(7)]
    return {"contexts": contexts, "assign": "one_per_context", "decoders": ["greedy", "top_p=0.9", "top_k=5"]} | values


def test_a_run_file_counts_the_samples_it_will_have() -> None:
    file = make_file(**one_each(models=["a"], samples=3))
    greedy = sum(decoder.name == "greedy" for _, decoder in file.assigned)
    assert file.n_wanted == greedy + 3 * (7 - greedy)
    assert greedy in (2, 3)
    assert file.spec()["assign"] == "one_per_context"
    assert make_file().spec()["assign"] == "crossed"


def test_an_unknown_assignment_is_refused() -> None:
    document = {"name": "r", "models": ["m"], "decoders": ["greedy"], "contexts": ["a"], "assign": ["random"]}
    with pytest.raises(Invalid, match="assign: This is a list of 1"):
        read_run(document, folder=Path())


@pytest.mark.django_db
def test_each_context_is_made_with_its_model_and_decoder_also_when_resumed(everything_installed: None) -> None:
    values = one_each(models=["toy", "other"], samples=2, name="assigned", chunk_size=3)
    run = make_run(**values)
    work_on(run_id=run.pk, worker="w", backend_of=Toy().backend_of, seconds=0)
    assert 0 < run.samples.count() < run.n_wanted
    lifecycle.cancel_run(run_id=run.pk)
    lifecycle.resume_run(run_id=run.pk, wake_workers=False)
    work_on(run_id=run.pk, worker="w", backend_of=Toy().backend_of)
    run.refresh_from_db()
    assert (run.state, run.samples.count()) == (GenerationRun.State.DONE, run.n_wanted)
    rows = run.samples.order_by("context__number").values_list("context__external_id", "model__name", "decoder")
    expected = zip((f"c{number}" for number in range(7)), make_file(**values).assigned, strict=True)
    assert list(rows.distinct()) == [(context, model, decoder.name) for context, (model, decoder) in expected]
    assert lifecycle.create_run(file=make_file(**values)) == (run, False)


@pytest.mark.django_db
def test_the_command_says_what_each_context_gets(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    file = tmp_path / "few.yaml"
    file.write_text(
        "name: few\nmodels: [smollm2-135m]\nassign: one_per_context\ncontexts: [a, b]\n"
        "decoders: [greedy, top_p=0.9, top_p=0.5]\n"
    )
    call_command("generate", "apply", file)
    output = capsys.readouterr().out
    assert "few: 2 samples in 1 chunk (2 contexts, 1 model, 3 decoders)." in output
    assert "Each context has one model and one decoder." in output
    assert "Only 2 of 3 combinations are used, because there are no more contexts." in output
