"""The backend ``openai`` against real servers on this machine: ``transformers serve`` with a tiny model, llama.cpp's
server and llama-cpp-python's with SmolLM2. Those whose packages are not installed are skipped."""

from __future__ import annotations

import io
from collections.abc import Iterable, Iterator
from typing import Any

import pytest
from django.core.management import call_command

pytest.importorskip("openai", reason="openai is not installed (script/setup --models)")
pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")

from generation.backends import open_backend
from generation.backends.base import BackendError, Generated, ModelSpec, NotGenerated
from generation.models import LanguageModel
from generation.registry import open_models
from generation.runs.lifecycle import create_run
from generation.runs.run_worker import work_on
from generation.suggestions.asking import ask_suggesters
from generation.suggestions.suggester_process import SuggesterProcess
from tests.generation.support.model_servers import ModelServer, llama_cpp, llama_cpp_python, transformers_serve
from tests.generation.support.run_factories import make_file
from tests.generation.support.tiny_models import PROMPTS, embedded, request, smollm2, spec
from tests.generation.support.toy_suggestions import make_suggester
from tests.services import wait_for

pytestmark = pytest.mark.slow
STORY = "Once upon a time there was a lighthouse keeper who"


@pytest.fixture(scope="module")
def served(tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    server = transformers_serve(tmp_path_factory.mktemp("served"))
    server.start()
    yield server
    server.stop()


@pytest.fixture(scope="module", params=[llama_cpp, llama_cpp_python], ids=lambda start: start.__name__)
def llama(request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ModelServer]:
    server = request.param(tmp_path_factory.mktemp("llama"), embedded())
    server.start()
    yield server
    server.stop()


def opened(server: ModelServer, *, model: str = "", chat: bool = False, **options: Any) -> Any:
    settings = {"retries": 1, "timeout": 20} | options
    return open_backend(
        ModelSpec("openai", model or server.model, base_url=server.url, chat=chat, options=tuple(settings.items()))
    )


def texts(backend: Any, *requests: Any) -> list[str]:
    outcomes = backend.generate(requests)
    assert all(isinstance(outcome, Generated) for outcome in outcomes), outcomes
    return [outcome.text for outcome in outcomes]


# --- transformers serve ---


def test_what_the_server_finds_likeliest_is_what_this_program_finds(served: ModelServer) -> None:
    """Greedy and beam search draw nothing, so the same model in the same dtype writes the same texts."""
    for chat in (False, True):
        served_backend, local_backend = opened(served, chat=chat), open_backend(spec(served.model, chat=chat))
        assert served_backend.server.name == "transformers"
        requests = [request(prompt, decoder) for prompt in PROMPTS for decoder in ("greedy", "beam=3")]
        assert texts(served_backend, *requests) == texts(local_backend, *requests)
    assert not served_backend.facts().gives_log_p
    (outcome,) = served_backend.generate([request(max_new_tokens=5)])
    assert (outcome.log_p, outcome.log_q, outcome.finish_reason, outcome.n_tokens) == (None, None, "length", 5)


def test_each_decoder_draws_as_it_says(served: ModelServer) -> None:
    """A decoder that keeps one token writes the likeliest one; a flat distribution reaches far beyond the 50 likeliest
    tokens that the server would keep by itself."""
    backend = opened(served)
    (likeliest,) = texts(backend, request(decoder="greedy"))
    for decoder in ("top_k=1", "top_p=0.0001", "temperature=0.01", "temperature=0.01,top_p=0.9"):
        assert texts(backend, request(decoder=decoder, seed=3)) == [likeliest], decoder
    first = [request(decoder="temperature=10", seed=seed, exact=1) for seed in range(150)]
    assert len(set(texts(backend, *first))) > 70
    for decoder in ("top_k=3,temperature=10", "typical=0.05"):
        few = [request(decoder=decoder, seed=seed, exact=1) for seed in range(30)]
        assert len(set(texts(backend, *few))) <= 6, decoder


def test_a_seed_gives_the_same_text_again(served: ModelServer) -> None:
    backend = opened(served)
    requests = [request(seed=seed, max_new_tokens=12) for seed in (1, 2, 3, 1, 2, 3)]
    outcomes = texts(backend, *requests)
    assert outcomes[:3] == outcomes[3:]
    assert len(set(outcomes)) == 3
    with pytest.raises(BackendError, match="writes one text at a time"):
        opened(served, concurrency=4)


def test_lengths_and_sentences(served: ModelServer) -> None:
    backend = opened(served)

    def made(seeds: Iterable[int], **limits: Any) -> list[Any]:
        flat = [request(decoder="temperature=10", seed=seed, **({"max_new_tokens": 60} | limits)) for seed in seeds]
        return list(backend.generate(flat))

    ended = [
        seed for seed, outcome in enumerate(made(range(16))) if outcome.finish_reason == "end" and outcome.n_tokens < 50
    ]
    assert ended  # and they would, if nothing prevented it
    assert {(outcome.n_tokens, outcome.finish_reason) for outcome in made(ended, exact=60)} == {(60, "length")}
    assert min(outcome.n_tokens for outcome in made(ended, min_new_tokens=50)) >= 50
    sentences = made(ended, stop="sentence", min_words=8)
    assert all(len(outcome.text.split()) >= 8 or outcome.finish_reason == "length" for outcome in sentences)


def test_a_context_that_is_too_long(served: ModelServer) -> None:
    """The server itself takes any length and writes nonsense beyond what its model was made for."""
    prompt = "Keep this. " + "He liked to run. " * 40
    cut, refused = opened(served, context=128).generate(
        [request(prompt, keep=11, max_new_tokens=20), request(prompt, cut_left=False)]
    )
    assert isinstance(cut, Generated) and 60 < cut.prompt_tokens <= 108 and cut.cut_tokens > 100
    assert isinstance(refused, NotGenerated) and "the model's context is 128" in refused.reason


def test_unsupported_slow_and_lost_requests_are_reported(served: ModelServer) -> None:
    (refused,) = opened(served, model="gpt-9").generate([request()])
    assert isinstance(refused, NotGenerated) and "pinned to" in refused.reason and "{" not in refused.reason
    (empty,) = opened(served).generate([request(" ")])
    assert isinstance(empty, NotGenerated) and "The prompt is empty" in empty.reason

    backend = opened(served, timeout=1)
    (before,) = texts(backend, request(seed=5))
    served.hold_up()
    with pytest.raises(BackendError, match="did not respond within 1 s, 2 times"):
        backend.generate([request(seed=5)])
    served.go_on()
    wait_for(lambda: texts(opened(served), request(seed=5)) == [before], "the server to catch up")

    served.stop()
    with pytest.raises(BackendError, match="cannot be reached"):
        backend.generate([request()])
    with pytest.raises(BackendError, match="cannot be reached"):
        opened(served)
    served.start()
    assert texts(backend, request(seed=5)) == [before]


@pytest.mark.django_db(transaction=True)
def test_from_registration_to_samples_and_suggestions(served: ModelServer) -> None:
    out = io.StringIO()
    address = ("--backend", "openai", "--source", served.model, "--base-url", served.url)
    call_command("generate", "register", "served", *address, stdout=out)
    assert "served works (as served on 127.0.0.1:" in out.getvalue()
    assert LanguageModel.objects.get().gives_log_p is False

    decoders = ["greedy", "ancestral", "temperature=0.7,top_p=0.9", "typical=0.5", "beam=2"]
    run, _ = create_run(file=make_file(models=["served"], contexts=PROMPTS[:2], decoders=decoders, samples=2))
    work_on(run_id=run.pk, worker="w")
    run.refresh_from_db()
    assert (run.state, run.samples.count()) == ("done", run.n_wanted), run.message
    assert set(run.samples.values_list("n_tokens", "finish_reason")) == {(5, "length")}

    suggester = make_suggester("a", model="served", decoder="top_p=0.9", least_characters=1, wait_seconds=60)
    (suggestion,) = ask_suggesters(suggesters=[suggester], key="w/1", story_fields={"story": STORY}, round=1, seed=1)
    process = SuggesterProcess(open_backend=open_backend, poll=0)
    wait_for(lambda: process.turn() is not None and _state(suggestion) != "waiting", "the suggestion")
    assert _state(suggestion) == "done"
    open_models.close_all()


# --- llama.cpp ---

SUM = "Question: What is 1+1?\nAnswer:"  # texts after it end soon


def test_log_p_is_what_transformers_makes_of_the_same_text(llama: ModelServer) -> None:
    """llama.cpp rounds what goes into a matrix of four bits to eight, so each token differs by a tenth or so."""
    for chat, decoder in ((False, "greedy"), (False, "ancestral"), (True, "greedy")):
        backend = opened(llama, chat=chat)
        (outcome,) = backend.generate([request(STORY, decoder, seed=3, exact=None if chat else 20, max_new_tokens=8)])
        assert outcome.log_p is not None
        if not chat:
            local_log_p = log_p_of(STORY, outcome.text)
            assert outcome.n_tokens == len(local_log_p) == 20
            assert outcome.log_p == pytest.approx(sum(local_log_p), rel=0.05, abs=0.5)


def log_p_of(prompt: str, text: str) -> list[float]:
    import torch

    model, vocabulary = smollm2().model, smollm2().vocabulary
    before, tokens = [*vocabulary.head, *vocabulary.encode(prompt)], vocabulary.encode(text)
    with torch.no_grad():
        logits = model(torch.tensor([[*before, *tokens]])).logits[0, len(before) - 1 : -1].float()
    log_ps: list[float] = logits.log_softmax(-1).gather(-1, torch.tensor(tokens)[:, None])[:, 0].tolist()
    return log_ps


def test_llama_draws_as_requested(llama: ModelServer) -> None:
    backend = opened(llama)
    (likeliest,) = texts(backend, request(STORY, "greedy"))
    for decoder in ("top_k=1", "top_p=0.0001", "temperature=0.01"):
        assert texts(backend, request(STORY, decoder, seed=3)) == [likeliest], decoder
    outcomes = texts(backend, *[request(STORY, seed=seed) for seed in (1, 2, 1, 2)])
    assert outcomes[:2] == outcomes[2:] and outcomes[0] != outcomes[1]
    first = texts(backend, *[request(STORY, "temperature=10", seed=seed, exact=1) for seed in range(40)])
    assert len(set(first)) > 35  # far more than its own top_k, top_p and min_p would leave


def test_llama_ends_texts_or_does_not(llama: ModelServer) -> None:
    backend = opened(llama)
    ended, exact = backend.generate(
        [request(SUM, "temperature=0.5", seed=2, max_new_tokens=60), request(SUM, "temperature=0.5", seed=2, exact=60)]
    )
    assert (ended.finish_reason, exact.finish_reason, exact.n_tokens) == ("end", "length", 60)
    assert (ended.log_p is not None) == backend.server.lists_end
    (long,) = backend.generate(
        [request(SUM, "temperature=0.5", seed=2, max_new_tokens=80, stop="sentence", min_words=20)]
    )
    assert len(long.text.split()) >= 20 and long.finish_reason in ("sentence", "length")
    assert long.log_p is not None


def test_llama_accepts_prompts_that_fit_its_context(llama: ModelServer) -> None:
    prompt = "Keep this. " + "The sea is wide. " * 120
    cut, refused = opened(llama).generate(
        [request(prompt, keep=11, max_new_tokens=20), request(prompt, cut_left=False)]
    )
    assert isinstance(cut, Generated) and cut.n_tokens == 20 and 100 < cut.prompt_tokens <= 236
    assert isinstance(refused, NotGenerated) and "256" in refused.reason
    with pytest.raises(BackendError, match="has no model 'gpt-9'; it has smollm2"):
        opened(llama, model="gpt-9")


def _state(suggestion: Any) -> str:
    suggestion.refresh_from_db()
    return str(suggestion.state)
