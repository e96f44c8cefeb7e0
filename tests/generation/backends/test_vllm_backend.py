"""The backend vllm, against a stand-in with the library's published interface. Real vLLM: bench/vllm_checks.py."""

from __future__ import annotations

import asyncio
import math
import sys
from collections.abc import Iterator
from types import SimpleNamespace
from typing import Any

import pytest

from generation.backends import open_backend
from generation.backends.base import BackendError, EngineDied, Generated, ModelSpec, NoMemory, NotGenerated, Request
from generation.decoding.decoders import Limits, parse_decoder
from generation.models import Sample
from generation.registry import open_models
from generation.runs.run_worker import work_on
from tests.generation.support import fake_vllm
from tests.generation.support.fake_vllm import END, LOGITS, AsyncLLM
from tests.generation.support.run_factories import make_model, make_run
from tests.services import wait_for


@pytest.fixture
def vllm(monkeypatch: pytest.MonkeyPatch) -> Iterator[type[AsyncLLM]]:
    yield fake_vllm.install(monkeypatch)
    open_models.close_all()
    for engine in AsyncLLM.started:
        assert not engine.active, "a request was left behind"


def opened(**options: Any) -> Any:
    return open_backend(ModelSpec("vllm", "toy", options=tuple(options.items())))


def request(decoder: str, seed: int = 1, prompt: str = "the old boat", **limits: Any) -> Request:
    return Request(seed, prompt, parse_decoder(decoder), Limits(**limits), seed=seed)


def written(decoder: str, **limits: Any) -> list[Generated]:
    backend = opened()
    outcomes = backend.generate([request(decoder, seed, **limits) for seed in range(20)])
    backend.close()
    texts = [outcome for outcome in outcomes if isinstance(outcome, Generated)]
    assert len(texts) == 20
    return texts


def log_softmax(scores: list[float]) -> list[float]:
    total = math.log(sum(math.exp(score) for score in scores))
    return [score - total for score in scores]


def test_log_p_is_the_models_and_log_q_the_decoders(vllm: type[AsyncLLM]) -> None:
    for text in written("temperature=0.5", max_new_tokens=6, min_new_tokens=0):
        last, log_p, log_q = 3, 0.0, 0.0
        for token in text.token_ids:
            log_p += log_softmax(LOGITS[last])[token]
            log_q += log_softmax([2 * logit for logit in LOGITS[last]])[token]
            last = token
        assert [text.log_p, text.log_q] == pytest.approx([log_p, log_q])


def test_log_q_leaves_out_an_end_that_could_not_be_drawn(vllm: type[AsyncLLM]) -> None:
    for text in written("ancestral", exact=5):
        last, log_q = 3, 0.0
        for token in text.token_ids:
            log_q += LOGITS[last][token] - math.log(sum(math.exp(logit) for logit in LOGITS[last][1:]))
            last = token
        assert len(text.token_ids) == 5
        assert END not in text.token_ids
        assert text.log_q == pytest.approx(log_q)
        assert text.log_p is not None
        assert text.log_p < log_q


def test_the_end_is_barred_until_there_are_enough_words_and_not_longer(vllm: type[AsyncLLM]) -> None:
    texts = written("ancestral", max_new_tokens=30, min_words=4)
    assert min(len(text.text.split()) for text in texts) >= 4
    ended = [text for text in texts if text.finish_reason == "end"]
    assert ended
    for text in ended:
        last, log_q = 3, 0.0
        for position, token in enumerate(text.token_ids):
            words = len("".join(fake_vllm.WORDS[before] for before in text.token_ids[:position]).split())
            allowed = LOGITS[last][1 if words < 4 else 0 :]  # the first of them is the end
            log_q += LOGITS[last][token] - math.log(sum(math.exp(logit) for logit in allowed))
            last = token
        assert text.log_q == pytest.approx(log_q)


def test_without_a_change_of_the_distribution_a_text_is_read_once(vllm: type[AsyncLLM]) -> None:
    for text in written("ancestral", max_new_tokens=6, min_new_tokens=0):
        assert text.log_p == text.log_q
    (engine,) = vllm.started
    assert len(engine.asked) == 20


def test_a_text_depends_on_its_own_seed_alone(vllm: type[AsyncLLM]) -> None:
    backend = opened()
    requests = [request("top_p=0.9", seed, max_new_tokens=8) for seed in range(12)]
    together = {outcome.token_ids for outcome in backend.generate(requests)}
    alone = {backend.generate([one])[0].token_ids for one in requests[::-1]}
    assert together == alone
    assert len(together) > 6
    backend.close()


def test_greedy_has_no_log_q_and_a_sentence_ends_the_request(vllm: type[AsyncLLM]) -> None:
    (text,) = {outcome.token_ids: outcome for outcome in written("greedy", max_new_tokens=9)}.values()
    assert text.log_q is None
    assert text.log_p is not None
    sentences = written("temperature=2", max_new_tokens=40, stop="sentence")
    assert {"sentence"} <= {text.finish_reason for text in sentences}
    assert vllm.started[-1].aborted


def test_how_the_engine_is_opened(vllm: type[AsyncLLM]) -> None:
    backend = opened(tensor_parallel=8, pipeline_parallel=2, executor="ray", quantization="awq", max_model_len=40,
                     gpu_memory_utilization=0.8, enable_prefix_caching=True, concurrency=256)  # fmt: skip
    args = vllm.started[0].args
    assert (args.tensor_parallel_size, args.pipeline_parallel_size, args.distributed_executor_backend) == (8, 2, "ray")
    assert (args.quantization, args.gpu_memory_utilization, args.max_num_seqs) == ("awq", 0.8, 256)
    assert (args.logprobs_mode, args.generation_config) == ("processed_logprobs", "vllm")
    assert backend.facts().device == "cuda x 16"
    assert backend.facts().context_length == 39  # the second pass needs room for one more token
    backend.close()
    assert vllm.started[0].closed


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"options": (("tensor_parallel", 0),)}, "tensor_parallel is 0; use a whole number above 0"),
        ({"options": (("gpu_memory_utilization", 2),)}, "gpu_memory_utilization is 2; use a number above 0"),
        ({"options": (("enforce_eager", "yes"),)}, "enforce_eager is 'yes'; use true or false"),
        ({"options": (("tensorparallel", 8),)}, "has no option 'tensorparallel'; use tensor_parallel"),
        ({"dtype": "int8"}, "vllm has no dtype int8"),
        ({"device": "cuda:1"}, "set CUDA_VISIBLE_DEVICES for the worker"),
    ],
)
def test_wrong_options_are_refused(changes: dict[str, Any], message: str, vllm: type[AsyncLLM]) -> None:
    with pytest.raises(BackendError, match=message):
        open_backend(ModelSpec("vllm", "toy", **changes))
    assert not vllm.started


def test_without_the_library(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "vllm", None)
    with pytest.raises(BackendError, match=r"cannot be imported here.*on the machine with the GPUs.*requirements-vllm"):
        opened()


def test_in_a_worker_that_may_start_no_processes(vllm: type[AsyncLLM], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("multiprocessing.current_process", lambda: SimpleNamespace(daemon=True))
    with pytest.raises(BackendError, match=r"manage.py generate work, or give Celery's worker --pool solo"):
        opened()
    assert not vllm.started


@pytest.mark.parametrize(
    ("raised", "kind", "message"),
    [
        (RuntimeError("Failed to infer device type, please set ..."), BackendError, "finds no GPU on this machine"),
        (ValueError("No available memory for the cache blocks."), NoMemory, "does not fit .* tensor_parallel"),
        (RuntimeError("Engine core initialization failed. See root cause above."), BackendError, "worker's log. If it"),
    ],
)
def test_an_engine_that_does_not_start(
    raised: Exception, kind: type[BackendError], message: str, vllm: type[AsyncLLM], monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(args: Any) -> AsyncLLM:
        raise raised

    monkeypatch.setattr(vllm, "from_engine_args", fail)
    with pytest.raises(kind, match=message):
        opened()


def test_a_request_that_the_engine_gives_up(vllm: type[AsyncLLM], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(vllm, "finish", "abort")
    backend = opened()
    with pytest.raises(BackendError, match="vLLM gave up a text of toy: abort"):
        backend.generate([request("ancestral", exact=5)])
    backend.close()


def test_a_request_that_the_engine_does_not_take(vllm: type[AsyncLLM], monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(engine: AsyncLLM, number: int) -> None:
        raise fake_vllm.VLLMClientError("this prompt is not for me")

    monkeypatch.setattr(vllm, "before", refuse)
    backend = opened()
    (outcome,) = backend.generate([request("ancestral")])
    assert isinstance(outcome, NotGenerated)
    assert outcome.reason == "vLLM refused it: this prompt is not for me"
    backend.close()


def test_a_live_request_that_nobody_needs_any_more_is_ended(vllm: type[AsyncLLM]) -> None:
    backend = opened()
    engine = backend.open_engine(most_active=2)
    engine.add([request("ancestral", exact=60, prompt="the")])
    wait_for(lambda: not engine.unbegun, "the first token")
    engine.cancel(1)
    wait_for(lambda: vllm.started[0].aborted, "the end of the request")
    assert engine.step() == []
    assert engine.n_active == 0
    backend.close()


@pytest.mark.django_db
@pytest.mark.parametrize("decoder", ["typical=0.9", "beam=4"])
def test_a_run_with_a_decoder_that_vllm_lacks_is_refused_when_it_is_made(decoder: str) -> None:
    make_model(name="large", backend="vllm")
    with pytest.raises(Exception, match=f"large cannot use {decoder}") as refused:
        make_run(models=["large"], decoders=["greedy", decoder])
    assert f"has no {decoder.partition('=')[0]}" in str(refused.value)


@pytest.mark.django_db(transaction=True)
def test_an_engine_that_dies_gives_its_chunks_back_and_another_is_opened(
    vllm: type[AsyncLLM], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("generation.runs.chunks.PAUSE_SECONDS", 0.0)
    monkeypatch.setattr("generation.runs.run_worker.runnable", lambda: ("vllm",))
    make_model(name="large", backend="vllm")
    run = make_run(models=["large"], contexts=["the old boat", "Nobody"], samples=8, chunk_size=32)

    def die_once(engine: AsyncLLM, number: int) -> None:  # 32 texts of five words, of which some have been read again
        engine.errored = engine.errored or (len(vllm.started) == 1 and number > 5 * 32 + 12)

    monkeypatch.setattr(vllm, "before", die_once)
    work_on(run_id=run.pk, worker="node-1")
    run.refresh_from_db()
    assert (run.state, Sample.objects.filter(run=run).count()) == ("done", 32)
    assert vllm.started[0].closed
    assert len(vllm.started) == 2
    finished, made_again = run.chunks.order_by("-number")
    assert (finished.attempts, made_again.attempts) == (0, 1)
    assert 0 < finished.n_samples < 32


def test_a_dead_engine_is_noticed_even_if_it_reports_nothing(vllm: type[AsyncLLM]) -> None:
    backend = opened()
    engine = backend.open_engine(most_active=2)
    engine._running["lost"] = backend.library.begin(_never())
    vllm.started[0].errored = True
    with pytest.raises(EngineDied):
        engine.step()
    engine.cancel_all()
    backend.close()


async def _never() -> None:
    await asyncio.sleep(60)
