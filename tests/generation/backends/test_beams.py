"""Beam search: what transformers' own ``generate`` finds for each prompt alone, whatever is searched beside it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")

import torch

from generation.backends import beams, open_backend
from generation.backends.base import NotGenerated, Request
from tests.generation.support.tiny_models import PROMPTS, opened, reference_model, request, spec, tiny


def reference(
    prompt: str, *, kind: str = "llama", least: int = 0, ends: Any = 0, **generation_options: Any
) -> list[int]:
    """The tokens that transformers finds for one prompt, up to the end of the text."""
    model = reference_model(kind)
    tokens = torch.tensor([opened(kind).vocabulary.encode(prompt)])
    settings = {
        "do_sample": False,
        "min_new_tokens": least,
        "eos_token_id": ends,
        "pad_token_id": 0,
        **generation_options,
    }
    with torch.no_grad():
        return list(model.generate(tokens, **settings)[0, tokens.shape[1] :].tolist())


def searched(requests: Sequence[Request]) -> list[Any]:
    """What the engine makes of the requests, in their order; a KeyError where one never comes."""
    engine = opened().open_engine(most_active=8)
    engine.add([replace(request, key=number) for number, request in enumerate(requests)])
    outcomes = dict(pair for _ in range(2 * len(requests)) for pair in engine.step())
    return [outcomes[number] for number in range(len(requests))]


def watched(monkeypatch: pytest.MonkeyPatch, fails: Callable[[int], bool] = lambda count: False) -> list[int]:
    """How many rows each search had, of which those that ``fails`` names run out of memory."""
    sizes: list[int] = []
    search = beams._search

    def watch(model: Any, rows: Any, *rest: Any) -> Any:
        sizes.append(len(rows))
        assert len(sizes) < 50, "the search does not come to an end"
        if fails(len(rows)):
            raise torch.OutOfMemoryError("out of memory")
        return search(model, rows, *rest)

    monkeypatch.setattr(beams, "_search", watch)
    return sizes


def test_beam_search_is_that_of_transformers() -> None:
    backend = opened()
    model = reference_model()
    outcomes = backend.generate([request(prompt, "beam=4", exact=8) for prompt in PROMPTS])
    for prompt, outcome in zip(PROMPTS, outcomes, strict=True):
        tokens = torch.tensor([backend.vocabulary.encode(prompt)])
        expected_tokens = torch.tensor(reference(prompt, num_beams=4, max_new_tokens=8, least=8))
        with torch.no_grad():
            logs = (
                model(torch.cat([tokens, expected_tokens[None]], 1)).logits[0, tokens.shape[1] - 1 : -1].log_softmax(-1)
            )
        assert outcome.token_ids == tuple(expected_tokens.tolist())
        assert outcome.log_p == pytest.approx(float(logs.gather(1, expected_tokens[:, None]).sum()), abs=1e-3)
        assert outcome.log_q is None


def test_more_beams_find_no_less_likely_texts_here() -> None:
    greedy, beam = opened().generate([request(decoder=name, exact=6) for name in ("greedy", "beam=8")])
    assert beam.log_p >= greedy.log_p


def test_equal_requests_are_searched_once(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = watched(monkeypatch)
    outcomes = opened().generate([request(decoder="beam=2", seed=seed) for seed in range(10)])
    assert sizes == [1] and len({outcome.token_ids for outcome in outcomes}) == 1


def test_each_request_keeps_its_own_beams_and_length() -> None:
    cases = [(prompt, n_beams, exact) for prompt in PROMPTS for n_beams, exact in ((4, 2), (4, 12), (6, 12))]
    outcomes = searched([request(prompt, f"beam={n_beams}", exact=exact) for prompt, n_beams, exact in cases])
    for (prompt, n_beams, exact), outcome in zip(cases, outcomes, strict=True):
        tokens = reference(prompt, num_beams=n_beams, max_new_tokens=exact, least=exact)
        assert outcome.token_ids == tuple(tokens) and len(tokens) == exact


@pytest.mark.parametrize("least", [0, 7])
def test_every_end_of_the_model_ends_a_text_but_none_before_the_least_tokens(least: int) -> None:
    """Models for chats have several ends. The second one here is a token that the search finds early."""
    backend: Any = open_backend(spec(tiny()))
    n_ended = 0
    for prompt in PROMPTS:
        end = next(token for token in reference(prompt, num_beams=3, max_new_tokens=12)[2:] if token)
        backend.vocabulary.ends = frozenset({0, end})
        (outcome,) = backend.generate([request(prompt, "beam=3", min_new_tokens=least)])
        tokens = reference(prompt, num_beams=3, max_new_tokens=12, least=least, ends=[0, end])
        assert outcome.token_ids == tuple(tokens)
        assert outcome.n_tokens >= least
        n_ended += outcome.finish_reason == "end"
    assert n_ended


def test_a_search_ends_where_the_context_does() -> None:
    """GPT-2 has no positions beyond its context of 128."""
    words = "the sea " * 200
    vocabulary = opened("gpt2").vocabulary
    prompt = next(words[:end] for end in range(len(words)) if len(vocabulary.encode(words[:end])) == 125)
    (outcome,) = opened("gpt2").generate([request(prompt, "beam=4", cut_left=False)])
    assert outcome.token_ids == tuple(reference(prompt, kind="gpt2", num_beams=4, max_new_tokens=3))
    assert outcome.n_tokens == 3


def test_every_beam_needs_room(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = watched(monkeypatch)
    backend = opened()
    prompts = [f"He ran {word}" for word in ("on", "up", "to", "at", "by")]
    widest = max(len(backend.vocabulary.encode(prompt)) for prompt in prompts) + 6
    monkeypatch.setattr(backend, "_room", replace(backend._room, most_tokens=8 * widest))
    backend.generate([request(prompt, "beam=4", exact=6) for prompt in prompts])
    assert sizes == [2, 2, 1]  # room for eight rows, and each text takes four


def test_out_of_memory_searches_fewer_at_once_and_finds_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    sizes = watched(monkeypatch, lambda count: count > 1)
    outcomes = searched([request(prompt, "beam=3", exact=6) for prompt in PROMPTS])
    assert sizes == [4, 2, 1, 1, 1, 1]
    for prompt, outcome in zip(PROMPTS, outcomes, strict=True):
        assert outcome.token_ids == tuple(reference(prompt, num_beams=3, max_new_tokens=6, least=6))


def test_a_request_that_does_not_fit_alone_is_refused_and_the_others_are_searched(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    search, long = beams._search, max(PROMPTS, key=len)

    def small_memory(model: Any, rows: Any, *rest: Any) -> Any:
        if any(row.request.prompt == long for row in rows):
            raise torch.OutOfMemoryError("out of memory")
        return search(model, rows, *rest)

    monkeypatch.setattr(beams, "_search", small_memory)
    outcomes = searched([request(prompt, "beam=3", exact=6) for prompt in PROMPTS])
    for prompt, outcome in zip(PROMPTS, outcomes, strict=True):
        if prompt == long:
            assert isinstance(outcome, NotGenerated) and "3 beams does not fit; use fewer" in outcome.reason
        else:
            assert outcome.token_ids == tuple(reference(prompt, num_beams=3, max_new_tokens=6, least=6))
