"""The decode loop: a text must not depend on the others in its batch, nor on how it got into the batch."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")

import numpy as np
import torch

from common.text_length import count_words
from generation.backends import open_backend
from generation.backends.base import Generated, NotGenerated
from generation.backends.batch_rows import begin
from generation.backends.memory import token_bytes
from generation.backends.prompt_cache import PromptCache, ReadPrompt
from generation.backends.torch_engine import Pace, TorchEngine
from generation.backends.transformers_backend import KEPT_PROMPT_TOKENS
from tests.generation.support.tiny_models import PROMPTS, mixed, opened, reference_model, request, spec, texts_of, tiny


def run_engine(engine: TorchEngine) -> dict[Any, Any]:
    done: dict[Any, Any] = {}
    for _ in range(2000):
        done.update(engine.step())
        if not engine.n_active and not engine.n_waiting:
            return done
    raise AssertionError("the engine does not come to an end")


def engine_of(backend: Any, most: int = 64, *, kept_tokens: int = 0, prefill_tokens: int = 64) -> TorchEngine:
    return TorchEngine(
        backend.model,
        backend.vocabulary,
        room=backend._room,
        pace=Pace(most, prefill_tokens),
        prompts=PromptCache(kept_tokens, beginnings=True),
    )


def same(first: Generated, second: Generated) -> bool:
    logs = [(first.log_p, second.log_p), (first.log_q, second.log_q)]
    return (first.token_ids, first.text, first.finish_reason) == (
        second.token_ids,
        second.text,
        second.finish_reason,
    ) and all(one == other or one == pytest.approx(other, abs=2e-4) for one, other in logs)


@pytest.mark.parametrize("kind", ["llama", "gpt2", "mistral"])
def test_a_text_alone_is_the_same_as_in_a_mixed_batch(kind: str) -> None:
    backend = opened(kind, **({"sliding_window": 8} if kind == "mistral" else {}))
    requests = mixed()
    together = backend.generate(requests)
    for number in range(0, len(requests), 5):
        assert same(backend.generate([requests[number]])[0], together[number]), requests[number].key


def test_greedy_tokens_are_those_of_a_forward_pass_without_cache() -> None:
    """Reference: argmax over the logits of the whole text, computed anew for each token."""
    backend = opened()
    model = reference_model()
    outcomes = backend.generate([request(prompt, "greedy", exact=10) for prompt in PROMPTS])
    for prompt, outcome in zip(PROMPTS, outcomes, strict=True):
        tokens = backend.vocabulary.encode(prompt)
        log_p = 0.0
        for token in outcome.token_ids:
            with torch.no_grad():
                logits = model(torch.tensor([tokens])).logits[0, -1]
            barred = logits.clone()
            barred[0] = -torch.inf
            assert token == int(barred.argmax())
            log_p += float(logits.log_softmax(-1)[token])
            tokens.append(token)
        assert outcome.log_p == pytest.approx(log_p, abs=1e-4)
        assert outcome.log_q is None


def test_rows_that_join_late_are_not_changed_by_it() -> None:
    backend = opened()
    requests = mixed(samples=1)
    alone = {queued.key: backend.generate([queued])[0] for queued in requests[::3]}
    engine = engine_of(backend, kept_tokens=500)
    done: dict[Any, Any] = {}
    for queued in requests:
        engine.add([queued])
        done.update(engine.step())
    done.update(run_engine(engine))
    assert set(done) == {queued.key for queued in requests}
    assert all(same(done[key], outcome) for key, outcome in alone.items())


@pytest.mark.parametrize("most", [1, 3, 7])
def test_few_places_make_the_same_texts_as_many(most: int) -> None:
    backend = opened()
    requests = mixed(samples=1)
    engine = engine_of(backend, most)
    engine.add(requests)
    active = 0
    done: dict[Any, Any] = {}
    while engine.n_active or engine.n_waiting:
        done.update(engine.step())
        active = max(active, engine.n_active)
    assert active <= most
    together = backend.generate(requests)
    assert all(same(done[queued.key], outcome) for queued, outcome in zip(requests, together, strict=True))


def test_equal_prompts_are_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = opened()
    read = []
    forward = TorchEngine._forward

    def counted(self: TorchEngine, tokens: torch.Tensor, cache: Any) -> torch.Tensor:
        read.append(tuple(tokens.shape))
        return forward(self, tokens, cache)

    monkeypatch.setattr(TorchEngine, "_forward", counted)
    backend.generate([request(PROMPTS[1], seed=seed, exact=3) for seed in range(40)])
    length = len(backend.vocabulary.encode(PROMPTS[1]))
    assert read == [(1, length), (40, 1), (40, 1)]


def test_a_prompt_that_continues_another_is_read_from_there(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = opened()
    story = PROMPTS[3]
    longer = [f"{story} {more}" for more in ("the people ran to the sea.", "he liked to run to the sea.")]
    expected = [backend.generate([request(prompt, seed=7)])[0] for prompt in longer]
    engine = engine_of(backend, kept_tokens=1000)
    engine.add([request(story, key="first")])
    run_engine(engine)
    new = []
    forward = TorchEngine._forward

    def counted(self: TorchEngine, tokens: torch.Tensor, cache: Any) -> torch.Tensor:
        new.append(tokens.shape[1])
        return forward(self, tokens, cache)

    monkeypatch.setattr(TorchEngine, "_forward", counted)
    engine.add([request(prompt, key=number, seed=7) for number, prompt in enumerate(longer)])
    done = run_engine(engine)
    assert max(new) < len(backend.vocabulary.encode(longer[1])) / 2
    assert all(same(done[number], outcome) for number, outcome in enumerate(expected))


def test_a_longer_story_replaces_the_earlier_one() -> None:
    cache = PromptCache(100, beginnings=True)
    for prompt in ((1, 2, 3), (1, 2, 3, 4, 5), (1, 2, 4), (7,), (7, 8), (7,)):
        cache.save(prompt, ReadPrompt([], torch.zeros(1)))
    assert list(cache._prompts) == [(1, 2, 3, 4, 5), (1, 2, 4), (7, 8), (7,)]


def test_what_is_kept_for_writers_is_bounded_by_memory_for_keys_and_values_alone(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    backend = opened()
    of_a_token = token_bytes(backend.model.config, 4)
    for free, kept_tokens in ((1_000 * of_a_token, int(1_000 * 0.7 / 8)), (10**12, KEPT_PROMPT_TOKENS)):
        monkeypatch.setattr("generation.backends.memory.available_bytes", lambda device, free=free: free)
        assert backend.open_engine(most_active=1)._prompts.most_tokens == kept_tokens


def test_a_cancelled_request_leaves_nothing_and_disturbs_nobody() -> None:
    backend = opened()
    requests = mixed(samples=1, exact=12)
    expected = dict(zip((queued.key for queued in requests), backend.generate(requests), strict=True))
    engine = engine_of(backend, 9)
    engine.add(requests)
    for _ in range(4):
        engine.step()
    gone = [requests[0].key, requests[3].key, requests[-1].key]
    for key in gone:
        engine.cancel(key)
    done = run_engine(engine)
    assert set(done) == set(expected) - set(gone)
    assert all(same(outcome, expected[key]) for key, outcome in done.items())


def test_when_one_of_many_greedy_requests_is_cancelled_the_others_come() -> None:
    engine = engine_of(opened())
    engine.add([request(decoder="greedy", key=number) for number in range(3)])
    engine.step()
    engine.cancel(0)
    done = run_engine(engine)
    assert set(done) == {1, 2} and done[1] == done[2]


@pytest.mark.parametrize("most_that_fit", [1, 5])
def test_out_of_memory_makes_smaller_batches_and_the_same_texts(
    monkeypatch: pytest.MonkeyPatch, most_that_fit: int
) -> None:
    backend = opened()
    requests = mixed(samples=1)
    expected = backend.generate(requests)
    forward = TorchEngine._forward

    def small(self: TorchEngine, tokens: torch.Tensor, cache: Any) -> torch.Tensor:
        if tokens.shape[0] > most_that_fit:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB")
        return forward(self, tokens, cache)

    monkeypatch.setattr(TorchEngine, "_forward", small)
    outcomes = backend.generate(requests)
    assert all(same(one, other) for one, other in zip(outcomes, expected, strict=True))


def test_out_of_memory_for_a_single_text_is_reported_plainly(monkeypatch: pytest.MonkeyPatch) -> None:
    def none(self: TorchEngine, tokens: torch.Tensor, cache: Any) -> torch.Tensor:
        raise RuntimeError("[enforce fail at alloc_cpu.cpp] DefaultCPUAllocator: can't allocate memory: you tried")

    monkeypatch.setattr(TorchEngine, "_forward", none)
    outcomes = opened().generate([request(seed=seed) for seed in range(3)])
    assert all(isinstance(outcome, NotGenerated) and "Out of memory" in outcome.reason for outcome in outcomes)


def test_a_text_alone_is_tried_again_without_what_earlier_ones_left(monkeypatch: pytest.MonkeyPatch) -> None:
    backend = opened()
    expected = backend.generate([request(exact=5)])[0]
    engine = engine_of(backend, kept_tokens=500)
    engine.add([request(PROMPTS[1], key=number, seed=number) for number in range(4)])
    run_engine(engine)
    forward = TorchEngine._forward

    def beside_nothing(self: TorchEngine, tokens: torch.Tensor, cache: Any) -> torch.Tensor:
        if self._prompts._prompts:
            raise torch.OutOfMemoryError("CUDA out of memory. Tried to allocate 1 GiB")
        return forward(self, tokens, cache)

    with monkeypatch.context() as patch:
        patch.setattr(TorchEngine, "_forward", beside_nothing)
        patch.setattr(engine._prompts, "save", lambda prompt, read: None)
        engine.add([request(key="alone", exact=5)])
        assert same(run_engine(engine)["alone"], expected)
    engine.add([request(PROMPTS[2], key=number, seed=number) for number in range(4)])
    engine.step()
    assert engine.n_active == 4  # with memory for them, as many at once as before


def test_memory_limits_how_many_rows_are_active() -> None:
    backend: Any = open_backend(spec(tiny(), options={"max_batch_tokens": 60}))
    engine = backend.open_engine(most_active=50)
    engine.add([request("He ran", seed=seed, key=seed, exact=8) for seed in range(20)])
    columns = len(backend.vocabulary.encode("He ran")) + 8
    seen = []
    while engine.n_active or engine.n_waiting:
        engine.step()
        seen.append(engine.n_active)
    assert max(seen) == 60 // columns


def test_the_same_seed_gives_the_same_text_and_another_another() -> None:
    backend = opened()
    first, again, other = backend.generate([request(seed=seed, exact=12) for seed in (5, 5, 6)])
    assert first.token_ids == again.token_ids != other.token_ids
    assert backend.generate([request(seed=5, exact=12)])[0].token_ids == first.token_ids


def test_every_step_has_the_next_number_of_the_seed() -> None:
    """Reference: NumPy's own Philox generator."""
    row: Any = begin(request(seed=77, exact=6), opened().vocabulary)
    used = []
    for token in (5, 6, 7, 8, 9):
        used.append(row.uniform)
        row.take(token, -1.0, -1.0)
    assert used == np.random.Generator(np.random.Philox(key=77)).random(6)[:5].tolist()


def test_a_longer_limit_begins_with_the_shorter_text() -> None:
    """Each step has its own random number, so the number of tokens asked for changes none of the first."""
    short, long = opened().generate([request(seed=9, exact=5), request(seed=9, exact=15)])
    assert long.token_ids[:5] == short.token_ids


class TestLimits:
    def test_exact_length_never_ends_early(self) -> None:
        outcomes = opened().generate([request(decoder="temperature=3", seed=seed, exact=30) for seed in range(60)])
        assert {(outcome.n_tokens, outcome.finish_reason) for outcome in outcomes} == {(30, "length")}
        assert all(0 not in outcome.token_ids for outcome in outcomes)

    def test_texts_end_with_the_end_of_text_token_where_they_may(self) -> None:
        outcomes = opened().generate([request(decoder="temperature=3", seed=s, max_new_tokens=400) for s in range(40)])
        ended = [outcome for outcome in outcomes if outcome.finish_reason == "end"]
        assert ended and all(outcome.token_ids[-1] == 0 and 0 not in outcome.token_ids[:-1] for outcome in ended)
        assert all("<|endoftext|>" not in outcome.text for outcome in ended)

    def test_least_tokens_bar_the_end(self) -> None:
        free = opened().generate([request(decoder="temperature=3", seed=s, max_new_tokens=60) for s in range(60)])
        barred = opened().generate(
            [request(decoder="temperature=3", seed=s, max_new_tokens=60, min_new_tokens=20) for s in range(60)]
        )
        assert min(outcome.n_tokens for outcome in free) < 20
        assert min(outcome.n_tokens for outcome in barred) > 20  # twenty, and then at least the end

    def test_a_text_ends_before_the_first_of_the_texts_that_stop_it(self) -> None:
        (free,) = texts_of(opened().generate([request(seed=4, max_new_tokens=40)]))
        late, early = free.text[25:28], free.text[9:12]
        strings = (late, early, "not in it")
        (stopped,) = texts_of(opened().generate([request(seed=4, max_new_tokens=40, stop_strings=strings)]))
        assert stopped.text == free.text[: min(free.text.find(late), free.text.find(early))]
        assert stopped.finish_reason == "stop"
        # The tokens kept are the first of the free text; the others, and their log-probabilities, are dropped.
        assert stopped.token_ids == free.token_ids[: stopped.n_tokens]
        assert free.log_p is not None and stopped.log_p is not None and stopped.log_p > free.log_p
        (unstopped,) = texts_of(opened().generate([request(seed=4, max_new_tokens=40, stop_strings=("not in it",))]))
        assert (unstopped.text, unstopped.finish_reason) == (free.text, free.finish_reason)

    def test_a_text_stops_with_its_sentence(self) -> None:
        outcomes = opened().generate(
            [request(decoder="temperature=2", seed=s, max_new_tokens=100, stop="sentence") for s in range(80)]
        )
        stopped = [outcome for outcome in outcomes if outcome.finish_reason == "sentence"]
        assert stopped
        assert all(outcome.text.rstrip("\"'”’»)]")[-1] in ".!?…" or "\n" not in outcome.text for outcome in stopped)
        drawn = opened().generate([request(decoder="temperature=2", seed=s, max_new_tokens=100) for s in range(80)])
        for short, long in zip(outcomes, drawn, strict=True):
            if short.finish_reason == "sentence":
                assert long.text.startswith(short.text)
                assert long.token_ids[: short.n_tokens] == short.token_ids

    def test_log_probabilities_are_those_of_the_tokens_kept(self) -> None:
        short = next(
            case
            for case in (
                opened().generate([request(seed=s, max_new_tokens=100, stop="sentence", decoder="temperature=2")])[0]
                for s in range(80)
            )
            if case.finish_reason == "sentence"
        )
        model = reference_model()
        prompt = opened().vocabulary.encode(PROMPTS[0])
        with torch.no_grad():
            logs = model(torch.tensor([[*prompt, *short.token_ids]])).logits[0, len(prompt) - 1 : -1].log_softmax(-1)
        assert short.log_p == pytest.approx(sum(float(logs[i, t]) for i, t in enumerate(short.token_ids)), abs=1e-3)

    def test_no_end_before_the_least_words(self) -> None:
        outcomes = opened().generate(
            [
                request(PROMPTS[2], "temperature=2", seed=s, max_new_tokens=110, stop="sentence", min_words=12)
                for s in range(40)
            ]
        )
        assert any(outcome.finish_reason == "sentence" for outcome in outcomes)
        assert all(count_words(outcome.text) >= 12 for outcome in outcomes if outcome.finish_reason != "length")


class TestContext:
    """The tiny model's context is 128 tokens."""

    LONG = " ".join([PROMPTS[1]] * 30)

    def test_a_long_prompt_is_cut_from_the_left(self) -> None:
        backend = opened()
        tokens = backend.vocabulary.encode(self.LONG)
        (outcome,) = backend.generate([request(self.LONG, exact=28)])
        assert (outcome.prompt_tokens, outcome.n_tokens) == (100, 28)
        assert outcome.cut_tokens == len(tokens) - 100
        last = backend.vocabulary.decode(tokens[-100:])
        assert backend.generate([request(last, exact=28)])[0].token_ids == outcome.token_ids

    def test_the_priming_text_stays(self) -> None:
        backend, priming = opened(), "Nobody knew what happened."
        prompt = priming + self.LONG
        (outcome,) = backend.generate([request(prompt, exact=28, keep=len(priming))])
        priming_tokens, rest = backend.vocabulary.encode(priming), backend.vocabulary.encode(self.LONG)
        by_hand = backend.vocabulary.decode(priming_tokens + rest[-(100 - len(priming_tokens)) :])
        assert outcome.prompt_tokens == 100
        assert backend.generate([request(by_hand, exact=28)])[0].token_ids == outcome.token_ids

    def test_a_priming_text_that_fills_the_context_is_refused(self) -> None:
        (outcome,) = opened().generate([request(self.LONG, exact=28, keep=len(self.LONG))])
        assert isinstance(outcome, NotGenerated) and "priming text alone" in outcome.reason

    def test_a_long_prompt_is_refused_where_it_must_not_be_cut(self) -> None:
        good, refused = opened().generate([request(), request(self.LONG, cut_left=False)])
        assert isinstance(good, Generated)
        assert isinstance(refused, NotGenerated) and "context is 128" in refused.reason

    def test_a_prompt_that_is_not_cut_leaves_room_for_one_token_at_least(self) -> None:
        vocabulary = opened().vocabulary
        words = "he ran " * 100
        fills, leaves_one = (
            next(words[:end] for end in range(len(words)) if len(vocabulary.encode(words[:end])) == count)
            for count in (128, 127)
        )
        refused, one = opened().generate([request(prompt, cut_left=False) for prompt in (fills, leaves_one)])
        assert isinstance(refused, NotGenerated) and "has 128 tokens and the model's context is 128" in refused.reason
        assert isinstance(one, Generated) and (one.prompt_tokens, one.n_tokens) == (127, 1)

    def test_a_text_ends_where_the_context_does(self) -> None:
        prompt = opened().vocabulary.decode(opened().vocabulary.encode(self.LONG)[:120])
        (outcome,) = opened().generate([request(prompt, "top_k=5", cut_left=False, max_new_tokens=50)])
        assert outcome.finish_reason in ("context", "end")
        assert outcome.prompt_tokens + outcome.n_tokens <= 128

    def test_an_empty_prompt_is_refused(self) -> None:
        outcomes = opened().generate([request(""), request("  \n")])
        assert all(isinstance(outcome, NotGenerated) and "empty" in outcome.reason for outcome in outcomes)


def test_progress_is_reported_as_texts_end() -> None:
    requests = [replace(queued, key=number) for number, queued in enumerate(mixed(samples=1))]
    reported: list[Any] = []
    outcomes = opened().generate(requests, lambda key, outcome: reported.append((key, outcome)))
    assert sorted(key for key, _ in reported) == list(range(len(requests)))
    assert all(outcomes[key] is outcome for key, outcome in reported)


def test_it_names_the_requests_that_nothing_was_computed_for() -> None:
    engine = engine_of(opened(), most=1)
    engine.add([request(key=number, decoder=decoder) for number, decoder in enumerate(("ancestral", "top_k=5"))])
    assert engine.unbegun == {0, 1}
    engine.step()
    assert engine.unbegun == {1}
    run_engine(engine)
    assert engine.unbegun == set()
