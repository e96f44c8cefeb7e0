"""Log-probabilities of given texts, against full passes of transformers, one text at a time."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command

pytest.importorskip("torch", reason="torch is not installed (script/setup --models)")

import torch

from generation.backends.alternatives import Alternatives, score_alternatives
from generation.backends.base import BackendError, NotGenerated
from generation.backends.scoring import TextScore, score_texts
from generation.registry.registration import register_model
from tests.generation.support.tiny_models import PROMPTS, opened, reference_model, tiny

PAIRS = [(PROMPTS[0], "and then it rained."), ("", "Nobody knew why."), (PROMPTS[1], " A dog"), (PROMPTS[0], "so")]


def log_ps_by_hand(model: Any, tokens: list[int], first: int) -> list[float]:
    with torch.inference_mode():
        logits = model(torch.tensor([tokens]), use_cache=False).logits[0].double().log_softmax(-1)
    return [float(logits[place - 1, tokens[place]]) for place in range(first, len(tokens))]


def test_scores_are_those_of_one_pass_for_each_text() -> None:
    vocabulary, model = opened().vocabulary, reference_model()
    scores = dict(score_texts(opened(), PAIRS))
    for number, (prompt, text) in enumerate(PAIRS):
        joined = prompt + (" " if prompt and not text.startswith(" ") else "") + text
        tokens = vocabulary.encode(joined)
        first = len(vocabulary.encode(prompt)) or 1  # byte pairs never join a letter and the space after it here
        assert tokens[:first] == (vocabulary.encode(prompt) or tokens[:1])
        score = scores[number]
        assert isinstance(score, TextScore)
        assert list(score.token_log_ps) == pytest.approx(log_ps_by_hand(model, tokens, first), abs=1e-4)
        assert score.log_p == pytest.approx(sum(score.token_log_ps))


def test_a_text_that_cannot_be_scored_says_why() -> None:
    scores = dict(score_texts(opened(), [("The", "  "), ("a " * 400, "b"), ("", "a")]))
    reasons = [score.reason for _, score in sorted(scores.items()) if isinstance(score, NotGenerated)]
    assert len(reasons) == 3
    assert reasons[0] == "The text is empty."
    assert "the model's context is 128; shorten them" in reasons[1]
    assert "give a prompt" in reasons[2]
    with pytest.raises(BackendError, match="Only models of the backend transformers"):
        list(score_texts(object(), [("a", "b")]))  # type: ignore[arg-type]


def test_alternatives_have_the_scores_of_passes_of_their_own() -> None:
    texts = [' {"q1": 1}', ' {"q1": 2}', ' {"q1": 10}', ' {"q1": "a longer one"}']
    alternatives = score_alternatives(opened(), PROMPTS[0], texts)
    assert isinstance(alternatives, Alternatives)
    vocabulary, model = opened().vocabulary, reference_model()
    first = len(vocabulary.encode(PROMPTS[0]))
    by_hand = [sum(log_ps_by_hand(model, vocabulary.encode(PROMPTS[0] + text), first)) for text in texts]
    assert list(alternatives.log_ps) == pytest.approx(by_hand, abs=1e-3)
    assert alternatives.tokens < sum(len(vocabulary.encode(PROMPTS[0] + text)) for text in texts)
    too_long = score_alternatives(opened(), "a " * 400, texts)
    assert isinstance(too_long, NotGenerated)
    assert "the model's context is 128" in too_long.reason


@pytest.mark.django_db
def test_the_command_adds_columns(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    register_model(name="small", backend="transformers", source=str(tiny()), dtype="float32", device="cpu")
    path, out = tmp_path / "texts.csv", tmp_path / "out.csv"
    path.write_text(f'context,reply\n"{PROMPTS[0]}",and then it rained.\nThe,\n')
    arguments = ("generate", "score", "small", str(path), "--text", "reply", "--prompt", "context")
    call_command(*arguments, "--tokens", "--out", str(out))
    assert "1 text scored." in (errors := capsys.readouterr().err) and "row 2: The text is empty." in errors
    with out.open(newline="") as file:
        first, second = csv.DictReader(file)
    (_, score), *_ = score_texts(opened(), PAIRS[:1])
    assert isinstance(score, TextScore)
    assert float(first["log_p"]) == pytest.approx(score.log_p, abs=1e-4)
    assert int(first["n_tokens"]) == len(json.loads(first["token_log_ps"])) == len(score.token_log_ps)
    assert float(first["log_p_per_token"]) == pytest.approx(score.log_p / len(score.token_log_ps), abs=1e-4)
    assert second["log_p"] == ""
    with pytest.raises(CommandError, match='column "answer"'):
        call_command("generate", "score", "small", str(path), "--text", "answer")
