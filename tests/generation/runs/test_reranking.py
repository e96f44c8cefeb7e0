"""Runs whose samples are the best of several candidates, by a Python function or a model's log p."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import pytest

from common.problems import Invalid
from generation.backends.base import BackendError, Generated
from generation.decoding.seeds import draw_seed
from generation.registry.registration import register_model
from generation.runs.reproducing_samples import reproduce_sample
from generation.runs.reranking import generate_reranked
from generation.runs.run_worker import work_on
from tests.generation.support.run_factories import make_file, make_model, make_run
from tests.generation.support.toy_runs import Toy, toy_text

HERE = "tests.generation.runs.test_reranking"


def boats(prompt: str, texts: Sequence[str]) -> list[float]:
    return [text.count("boat") for text in texts]


def too_few(prompt: str, texts: Sequence[str]) -> list[float]:
    return [1.0]


def no_number(prompt: str, texts: Sequence[str]) -> list[float]:
    return [math.nan] * len(texts)


@pytest.fixture
def scorers(settings: Any) -> None:
    settings.SCORERS = {name: f"{HERE}.{name}" for name in ("boats", "too_few", "no_number", "gone")}


@pytest.mark.django_db
def test_the_best_candidate_is_stored_with_its_score_and_reproduced(everything_installed: None, scorers: None) -> None:
    run = make_run(decoders=["top_p=0.9"], rerank={"candidates": 6, "function": "boats"})
    toy = Toy()
    work_on(run_id=run.pk, worker="w", backend_of=toy.backend_of)
    run.refresh_from_db()
    assert run.state == "done", run.message
    assert len(toy.seen) == 6 * run.n_wanted
    for sample in run.samples.select_related("context"):
        texts = [toy_text(sample.context.prompt, "top_p=0.9", draw_seed(sample.seed, draw)) for draw in range(6)]
        counts = [text.count("boat") for text in texts]
        assert (sample.text, sample.score) == (texts[counts.index(max(counts))], max(counts))
    assert run.samples.filter(score__gt=0).exists()
    stored = run.samples.earliest("pk")
    again = reproduce_sample(run_id=run.pk, sample_id=stored.pk, backend_of=toy.backend_of)
    assert again.same_tokens and again.text == stored.text


@pytest.mark.django_db
def test_a_model_scores_by_its_mean_log_p() -> None:
    pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")
    from generation.backends.scoring import score_texts
    from tests.generation.support.tiny_models import PROMPTS, opened, request, tiny

    register_model(name="judge", backend="transformers", source=str(tiny()), dtype="float32", device="cpu")
    asked = request(PROMPTS[0], seed=7)
    (best,) = generate_reranked(opened(), [asked], {"candidates": 5, "model": "judge"})
    (plain,) = generate_reranked(opened(), [asked], None)
    candidates = opened().generate([request(PROMPTS[0], seed=draw_seed(7, draw)) for draw in range(5)])
    scores = dict(score_texts(opened(), [(PROMPTS[0], each.text) for each in candidates]))
    means = [scores[place].log_p / len(scores[place].token_log_ps) for place in range(5)]  # type: ignore[union-attr,operator]
    assert isinstance(best, Generated) and isinstance(plain, Generated) and plain.text == candidates[0].text
    assert best.score == pytest.approx(max(means), abs=1e-5)
    assert best.text == candidates[means.index(max(means))].text


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("too_few", "it takes one number for each"),
        ("no_number", "it takes one number for each"),
        ("gone", "cannot be imported"),
        ("other", "This worker has no scorer other; HITSERVER_SCORERS names boats, too_few"),
    ],
)
def test_a_scorer_that_cannot_be_used(scorers: None, name: str, why: str) -> None:
    from tests.generation.support.tiny_models import request

    with pytest.raises(BackendError, match=why):
        generate_reranked(Toy(), [request()], {"candidates": 3, "function": name})


@pytest.mark.parametrize(
    ("rerank", "why"),
    [
        ({"candidates": 1, "model": "m"}, "Write a number from 2 to 100"),
        ({"candidates": 10}, "Write {candidates: 10, model: NAME}"),
        ({"candidates": 10, "judge": "m"}, "“judge” with the text “m” is no scorer"),
        ("m", "Write {candidates: 10, model: NAME}"),
    ],
)
def test_a_file_that_cannot_be_read(rerank: Any, why: str) -> None:
    with pytest.raises(Invalid) as error:
        make_file(rerank=rerank)
    assert why in str(error.value)


@pytest.mark.django_db
def test_what_a_run_cannot_rerank_with(scorers: None) -> None:
    make_model(name="served", backend="openai", base_url="http://127.0.0.1:1/v1")
    for rerank, why in (
        ({"candidates": 3, "function": "boat"}, "There is no scorer “boat”"),
        ({"candidates": 3, "model": "serve"}, "serve"),
        ({"candidates": 3, "model": "served"}, "Only models of the backend transformers can score"),
    ):
        with pytest.raises(Invalid) as error:
            make_run(rerank=rerank)
        assert why in str(error.value)
    with pytest.raises(Invalid) as error:
        make_file(decoders=["greedy", "beam=4,n_best=2"], rerank={"candidates": 3, "function": "boats"})
    assert "nothing is drawn, so all candidates would be the same" in str(error.value)
