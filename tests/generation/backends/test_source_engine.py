"""Encoder–decoder models: what transformers' own ``generate`` and loss give for each source alone."""

from __future__ import annotations

import json
import math
import re
import shutil
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")

import torch

from generation.backends import llama_cpp_backend, open_backend
from generation.backends.base import BackendError, Generated, NotGenerated
from generation.backends.scoring import TextScore, score_texts
from tests.generation.support.tiny_models import mixed, opened, request, spec, texts_of
from tests.generation.support.tiny_sources import (
    END,
    KINDS,
    SOURCES,
    opened_source_model,
    reference_source_model,
    tiny_source_model,
)


def generated_alone(kind: str, source: str) -> list[list[int]]:
    """The tokens that transformers generates for one source, without the one that the decoder starts with."""
    model = reference_source_model(kind)
    tokens = torch.tensor([opened_source_model(kind).vocabulary.encode(source)])
    settings = {"max_new_tokens": 12, "min_new_tokens": 1, "do_sample": False, "eos_token_id": END, "pad_token_id": 1}
    with torch.no_grad():
        found = model.generate(tokens, **settings)[:, 1:].tolist()
    return [row[: row.index(END) + 1] if END in row else row for row in found]


def log_softmax(kind: str, source: str, text: list[int]) -> torch.Tensor:
    """The model's log-probabilities before each token of the text, in float64."""
    model, start = reference_source_model(kind), reference_source_model(kind).config.decoder_start_token_id
    tokens = torch.tensor([opened_source_model(kind).vocabulary.encode(source)])
    with torch.no_grad():
        logits = model(input_ids=tokens, decoder_input_ids=torch.tensor([[start, *text]])).logits
    log_p: torch.Tensor = logits[0, : len(text)].double().log_softmax(-1)
    return log_p


@pytest.mark.parametrize("kind", KINDS)
def test_greedy_texts_are_those_of_transformers(kind: str) -> None:
    outcomes = texts_of(opened_source_model(kind).generate([request(source, "greedy") for source in SOURCES]))
    for source, outcome in zip(SOURCES, outcomes, strict=True):
        (expected,) = generated_alone(kind, source)
        assert list(outcome.token_ids) == expected
        by_hand = log_softmax(kind, source, expected).gather(-1, torch.tensor(expected)[:, None]).sum()
        assert outcome.log_p == pytest.approx(float(by_hand), abs=1e-4) and outcome.log_q is None
    assert len({outcome.token_ids for outcome in outcomes}) > 1, "the source makes no difference"


@pytest.mark.parametrize("kind", KINDS)
def test_every_decoder_draws_with_exact_log_p_and_log_q_whatever_is_beside_it(kind: str) -> None:
    backend = opened_source_model(kind)
    requests = mixed(SOURCES)
    for asked, outcome in zip(requests, texts_of(backend.generate(requests)), strict=True):
        tokens = list(outcome.token_ids)
        places = torch.tensor(tokens)[:, None]
        log_p = log_softmax(kind, asked.prompt, tokens)
        assert outcome.log_p == pytest.approx(float(log_p.gather(-1, places).sum()), abs=2e-4)
        if asked.decoder.name == "temperature=0.7":
            # The end is barred before the first token: at least one is asked for.
            barred = log_p.clone()
            barred[0, END] = -math.inf
            log_q = (barred / 0.7).log_softmax(-1)
            assert outcome.log_q == pytest.approx(float(log_q.gather(-1, places).sum()), abs=2e-4)
    alone = [backend.generate([asked])[0] for asked in requests[::9]]
    together = backend.generate(requests)[::9]
    assert [a.token_ids for a in alone] == [b.token_ids for b in together]


def test_rows_may_join_and_leave_at_any_time() -> None:
    engine = opened_source_model().open_engine(most_active=3)
    requests = [replace(each, key=number) for number, each in enumerate(mixed(SOURCES, samples=1))]
    expected = [outcome.token_ids for outcome in opened_source_model().generate(requests)]
    found: dict[int, Any] = {}
    for each in requests:
        engine.add([each])
        found |= dict(engine.step())
    engine.cancel(len(requests) - 1)
    while engine.n_active or engine.n_waiting:
        found |= dict(engine.step())
    assert len(requests) - 1 <= len(found) <= len(requests)
    assert all(outcome.token_ids == expected[number] for number, outcome in found.items())
    assert engine.held_bytes == 0


def test_a_text_stops_at_a_string_and_keeps_to_its_limits() -> None:
    backend = opened_source_model("bart")
    whole = texts_of(backend.generate([request(SOURCES[0], "ancestral", seed=5, exact=20)]))[0]
    assert whole.n_tokens == 20
    string = whole.text[6:8]
    cut = texts_of(backend.generate([request(SOURCES[0], "ancestral", seed=5, max_new_tokens=20, stop_strings=[string],
                                             min_new_tokens=20)]))[0]  # fmt: skip
    assert cut.finish_reason == "stop" and cut.text == whole.text[: whole.text.index(string)]
    (long,) = backend.generate([request(SOURCES[0], max_new_tokens=100, exact=80)])
    assert isinstance(long, NotGenerated) and "the model writes 63 at most" in long.reason


def test_a_long_source_loses_its_beginning_or_is_refused() -> None:
    backend = opened_source_model()
    long = "the sea " * 200 + SOURCES[1]
    (cut,) = texts_of(backend.generate([request(long, "greedy")]))
    n_tokens = len(backend.vocabulary.encode(long))
    assert (cut.prompt_tokens, cut.cut_tokens) == (64, n_tokens - 64)
    refused, empty = backend.generate([request(long, "greedy", cut_left=False), request("  ")])
    assert isinstance(refused, NotGenerated) and "the model reads 64 at most" in refused.reason
    assert isinstance(empty, NotGenerated) and "The prompt is empty" in empty.reason
    (primed,) = backend.generate([request(long, "greedy", keep=len(long) - 1)])
    assert isinstance(primed, NotGenerated) and "The priming text alone has" in primed.reason


@pytest.mark.parametrize("kind", KINDS)
def test_scores_of_given_texts_are_the_loss_of_transformers(kind: str) -> None:
    backend, model = opened_source_model(kind), reference_source_model(kind)
    pairs = [(source, text) for source in SOURCES for text in ("and then it rained.", "so")]
    scores = dict(score_texts(backend, [*pairs, (" ", "so"), (SOURCES[0], " "), (SOURCES[0], "the sea " * 99)]))
    for number, (source, text) in enumerate(pairs):
        labels = torch.tensor([backend.vocabulary.encode(text)])
        with torch.no_grad():
            loss = model(input_ids=torch.tensor([backend.vocabulary.encode(source)]), labels=labels).loss
        score = scores[number]
        assert isinstance(score, TextScore) and len(score.token_log_ps) == labels.shape[1]
        assert -score.log_p / labels.shape[1] == pytest.approx(float(loss), abs=1e-5)
    reasons = [scores[len(pairs) + number] for number in range(3)]
    empty, no_text, long = (getattr(reason, "reason", "") for reason in reasons)
    assert empty.startswith("The source is empty: ") and no_text == "The text is empty."
    assert re.fullmatch(r"The text has \d+ tokens and the model takes 63; shorten it\.", long)


def test_a_tokenizer_of_bart_puts_its_signs_around_the_source_and_before_the_text(tmp_path: Path) -> None:
    """<s> and </s> around a source; a text begins with the token that the decoder starts with, then <s>."""
    from tokenizers.processors import TemplateProcessing

    shutil.copytree(tiny_source_model("bart"), tmp_path / "bart")
    from transformers import AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(tmp_path / "bart", trust_remote_code=False)
    tokenizer.backend_tokenizer.post_processor = TemplateProcessing(
        single="the $A <|endoftext|>", special_tokens=[("the", 7), ("<|endoftext|>", END)]
    )
    tokenizer.bos_token = tokenizer.convert_ids_to_tokens(7)
    tokenizer.save_pretrained(tmp_path / "bart")
    vocabulary: Any = open_backend(spec(tmp_path / "bart")).vocabulary  # type: ignore[attr-defined]
    assert (vocabulary.head, vocabulary.tail, vocabulary.starts) == ((7,), (END,), (2, 7))


def test_what_does_not_apply_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BackendError, match="no beginning of one can be kept"):
        open_backend(spec(tiny_source_model(), options={"kept_prompt_tokens": 100}))
    with pytest.raises(BackendError, match="which dtype int8 is not for"):
        open_backend(spec(tiny_source_model(), dtype="int8"))
    shutil.copytree(tiny_source_model(), tmp_path / "t5")
    for name in ("config.json", "generation_config.json"):
        path = tmp_path / "t5" / name
        config = json.loads(path.read_text())
        config.pop("decoder_start_token_id", None)
        path.write_text(json.dumps(config))
    with pytest.raises(BackendError, match="add decoder_start_token_id to its config"):
        open_backend(spec(tmp_path / "t5"))


def test_llama_cpp_refuses_a_model_with_an_encoder() -> None:
    class Library:
        def llama_model_has_encoder(self, model: object) -> bool:
            return model == "t5"

    assert "register its folder or hub name" in llama_cpp_backend.encoder_refusal(Library(), "t5")
    assert llama_cpp_backend.encoder_refusal(Library(), "llama") == ""


# --- n-best ---


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize(("n_best", "penalty"), [(3, 1.0), (4, 0.0), (4, 2.5)])
def test_n_best_texts_of_a_source_are_those_of_transformers(kind: str, n_best: int, penalty: float) -> None:
    backend = opened_source_model(kind)
    name = f"beam=4,n_best={n_best},length_penalty={penalty}"
    asked = [replace(request(source, name), rank=rank) for source in SOURCES for rank in range(n_best)]
    outcomes = texts_of(backend.generate(asked))
    model = reference_source_model(kind)
    for number, source in enumerate(SOURCES):
        tokens = torch.tensor([backend.vocabulary.encode(source)])
        with torch.no_grad():
            found = model.generate(
                tokens, num_beams=4, num_return_sequences=n_best, length_penalty=penalty, max_new_tokens=12,
                min_new_tokens=1, eos_token_id=END, pad_token_id=1, return_dict_in_generate=True, output_scores=True,
            )  # fmt: skip
        mine = outcomes[number * n_best : (number + 1) * n_best]
        for outcome, row, score in zip(mine, found.sequences[:, 1:].tolist(), found.sequences_scores, strict=True):
            assert list(outcome.token_ids) == (row[: row.index(END) + 1] if END in row else row)
            assert outcome.score == pytest.approx(float(score), abs=1e-4)
        assert [outcome.score for outcome in mine] == sorted([outcome.score or 0.0 for outcome in mine], reverse=True)
        assert len({outcome.token_ids for outcome in mine}) == n_best


def test_n_best_texts_of_a_prompt_are_those_of_transformers() -> None:
    from tests.generation.support.tiny_models import PROMPTS, reference_model

    backend = opened()
    asked = [replace(request(prompt, "beam=5,n_best=5,length_penalty=0.5"), rank=rank) for prompt in PROMPTS
             for rank in (3, 0, 4, 1, 2)]  # fmt: skip
    outcomes = backend.generate(asked)
    for number, prompt in enumerate(PROMPTS):
        tokens = torch.tensor([backend.vocabulary.encode(prompt)])
        with torch.no_grad():
            found = reference_model().generate(
                tokens, num_beams=5, num_return_sequences=5, length_penalty=0.5, max_new_tokens=12, min_new_tokens=1,
                do_sample=False, eos_token_id=0, pad_token_id=0, return_dict_in_generate=True, output_scores=True,
            )  # fmt: skip
        texts = [
            row[: row.index(END) + 1] if END in row else row for row in found.sequences[:, tokens.shape[1] :].tolist()
        ]
        for each, outcome in list(zip(asked, outcomes, strict=True))[number * 5 : number * 5 + 5]:
            assert isinstance(outcome, Generated)
            assert list(outcome.token_ids) == texts[each.rank]
            assert outcome.score == pytest.approx(float(found.sequences_scores[each.rank]), abs=1e-4)
