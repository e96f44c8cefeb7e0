"""Runs on a real, tiny transformers model: from registration to a sample that is drawn again."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from generation.models import GenerationRun, LanguageModel
from generation.registry import open_models
from generation.registry.checking import check_model
from generation.registry.registration import register_model
from generation.runs.lifecycle import create_run
from generation.runs.reproducing_samples import reproduce_sample
from generation.runs.run_worker import work_on
from tests.generation.support.run_factories import make_file
from tests.generation.support.tiny_models import PROMPTS, tiny
from tests.support import Server

pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")

DECODERS = ["greedy", "beam=2", "ancestral", "top_p=0.8", "temperature=0.7,top_k=20"]


@pytest.fixture(autouse=True)
def nothing_held() -> Iterator[None]:
    yield
    open_models.close_all()


def real_model(name: str = "tiny", source: Path | None = None) -> LanguageModel:
    folder = source or tiny("llama")
    return register_model(name=name, backend="transformers", source=str(folder), dtype="float32", device="cpu")


def real_run(**values: object) -> GenerationRun:
    run, _ = create_run(file=make_file(**({"models": ["tiny"], "contexts": PROMPTS} | values)))  # type: ignore[arg-type]
    work_on(run_id=run.pk, worker="w")
    run.refresh_from_db()
    return run


@pytest.mark.django_db
def test_a_sweep_on_a_real_model() -> None:
    real_model()
    run = real_run(decoders=DECODERS, samples=3, chunk_size=16, limits={"exact": 8})
    assert run.state == "done", run.message
    assert run.samples.count() == run.n_wanted == 4 * (1 + 1 + 3 * 3)
    for sample in run.samples.all():
        assert (sample.n_tokens, len(sample.token_ids), sample.finish_reason) == (8, 8, "length")
        assert sample.log_p is not None
        assert sample.log_p < 0
        assert (sample.log_q is None) == (sample.decoder in ("greedy", "beam=2"))
        if sample.decoder == "ancestral":
            assert sample.log_q == pytest.approx(sample.log_p, abs=0.5)  # the end of text is barred, nothing else
    made_with = run.chunks.values_list("made_with", flat=True)[0]
    assert set(made_with) == {"worker", "device", "dtype", "sha256", "versions"}
    assert (made_with["worker"], made_with["device"], made_with["dtype"]) == ("w", "cpu", "float32")


@pytest.mark.django_db
def test_the_same_file_makes_the_same_samples_whatever_the_chunks() -> None:
    """In float32 a batch changes probabilities by 1e-6 at most, so draws of 96 tokens agree."""
    real_model()

    def texts(run: GenerationRun) -> set[tuple[str, str, int, str]]:
        return set(run.samples.values_list("context__external_id", "decoder", "number", "text"))

    first, second = real_run(name="first", chunk_size=3), real_run(name="second", chunk_size=100)
    assert texts(first) == texts(second)
    assert texts(real_run(name="other", seed=2)) != texts(first)


@pytest.mark.django_db
def test_any_sample_can_be_drawn_again_from_its_seed() -> None:
    real_model()
    run = real_run(decoders=["top_p=0.8", "greedy"])
    for sample in run.samples.all():
        reproduced = reproduce_sample(run_id=run.pk, sample_id=sample.pk)
        assert (reproduced.text, reproduced.same_tokens) == (sample.text, True)
        assert reproduced.now == reproduced.then
        assert reproduced.now.startswith("float32 on cpu, sha256 ") and ", torch " in reproduced.now


@pytest.mark.django_db
def test_over_long_prompts_are_cut_or_stop_the_run() -> None:
    real_model()
    long = [{"id": "long", "context": PROMPTS[1] * 20}, {"id": "short", "context": PROMPTS[0]}]
    cut = real_run(contexts=long, decoders=["greedy"], limits={"exact": 4})
    assert cut.state == "done"
    assert cut.samples.get(context__external_id="long").cut_tokens > 0
    assert cut.samples.get(context__external_id="short").cut_tokens == 0
    refused = real_run(contexts=long, decoders=["greedy"], limits={"exact": 4}, over_long="refuse")
    assert refused.state == "failed"
    assert "The model refused 1 prompt: context “long”:" in refused.message
    assert not refused.samples.exists()


@pytest.mark.django_db
def test_a_check_of_a_real_model() -> None:
    model = check_model(model_id=real_model().pk)
    assert model.check_state == "passed", model.check_message
    assert model.context_length == 128
    assert model.parameters is not None
    assert model.parameters > 10_000
    assert (model.gives_log_p, model.gives_log_q) == (True, True)
    assert model.tokens_per_second is not None


@pytest.mark.django_db
def test_a_corrupt_or_missing_file_is_explained_in_plain_words(tmp_path: Path) -> None:
    broken = tmp_path / "broken"
    broken.mkdir()
    for file in tiny("llama").iterdir():
        (broken / file.name).write_bytes(
            file.read_bytes()[:200] if file.suffix == ".safetensors" else file.read_bytes()
        )
    for name, source in (("broken", broken), ("nowhere", tmp_path / "nowhere")):
        model = check_model(model_id=real_model(name, source).pk)
        assert model.check_state == "failed"
        assert str(source) in model.check_message or source.name in model.check_message
        assert "Traceback" not in model.check_message


@pytest.mark.slow
def test_a_real_model_on_a_real_worker(tmp_path: Path, live_processes: Callable[..., Server]) -> None:
    """From the command line through the queue: the process that computes is forked, and loads torch afterwards."""
    path = tmp_path / "a.run.yaml"
    path.write_text(
        "name: real\nmodels: [tiny]\ndecoders: [greedy, top_p=0.9]\nsamples: 5\nlimits: {exact: 6}\nchunk_size: 8\n"
        f"contexts: [{', '.join(json.dumps(prompt) for prompt in PROMPTS)}]\n"
    )
    server = live_processes(worker=True, env={"HITSERVER_PARTS": "studies", "HITSERVER_SUGGESTER_PROCESSES": "0"})
    options = ("--backend", "transformers", "--dtype", "float32", "--device", "cpu")
    server.manage("generate", "register", "tiny", *options, "--source", str(tiny("llama")), "--no-check")
    output = server.manage("generate", "apply", str(path), "--wait")
    assert "real: done, 24 of 24 samples (100%)" in output
    assert "Traceback" not in server.said()
