"""Whether the backend vllm is right on this machine: real vLLM against the same model in transformers, float32.

It needs vllm and torch, a folder with a model's files, and neither Django nor a database:

    python -m bench.vllm_checks --source FOLDER --json vllm.json

On a CPU build, VLLM_CPU_KVCACHE_SPACE=1 is enough. ``wrong`` in the output is empty if all is well.
"""

from __future__ import annotations

import argparse
import json
import time
from pathlib import Path
from typing import Any

from generation.backends import open_backend
from generation.backends.base import Generated, ModelSpec, Outcome, Request
from generation.backends.tokens import ENDS
from generation.decoding.decoders import Decoder, Limits, parse_decoder

PROMPTS = ("Once upon a time", "The old bridge over the river was closed last winter, and", "He said that nobody")
DECODERS = (
    "greedy",
    "ancestral",
    "temperature=0.7",
    "top_k=40",
    "top_p=0.9",
    "min_p=0.1",
    "temperature=0.8,top_k=50,top_p=0.9",
    "temperature=0.8,repetition_penalty=1.2",
)
KINDS = (
    Limits(exact=20),
    Limits(max_new_tokens=40, stop="sentence"),
    Limits(max_new_tokens=60, stop="sentence", min_words=12),
)
#: The most that a token's log-probability may differ from the reference's, by dtype.
TOLERANCE = {"float32": 0.002, "bfloat16": 0.1, "float16": 0.02}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--source", required=True, help="a folder with a model's files")
    parser.add_argument("--dtype", default="float32", choices=sorted(TOLERANCE))
    parser.add_argument("--option", action="append", default=[], metavar="NAME=JSON", help="an option of the backend")
    parser.add_argument("--json", type=Path, help="write the figures here")
    options = parser.parse_args()
    option_values = {name: json.loads(value) for name, _, value in (text.partition("=") for text in options.option)}
    backend = open_backend(ModelSpec("vllm", options.source, dtype=options.dtype, options=tuple(option_values.items())))
    requests = [
        Request((number, kind, prompt), PROMPTS[prompt], parse_decoder(name), limits, seed=1000 * number + prompt)
        for number, name in enumerate(DECODERS)
        for kind, limits in enumerate(KINDS)
        for prompt in range(len(PROMPTS))
    ]
    begin = time.perf_counter()
    outcomes = backend.generate(requests)
    seconds = time.perf_counter() - begin
    again = backend.generate(requests[::-1])[::-1]
    facts = backend.facts()
    backend.close()
    wrong: list[str] = []
    texts = [outcome for outcome in outcomes if isinstance(outcome, Generated)]
    wrong += [
        f"{request.key}: {outcome}" for request, outcome in zip(requests, outcomes, strict=True) if outcome not in texts
    ]
    differing = [
        request.key
        for request, first, second in zip(requests, outcomes, again, strict=True)
        if tokens_of(first) != tokens_of(second)
    ]
    wrong += [f"{key}: another text in another order" for key in differing if options.dtype == "float32"]
    errors = compare(options.source, [pair for pair in zip(requests, outcomes, strict=True) if pair[1] in texts])
    worst_p, worst_q = max(error[1] for error in errors), max(error[2] for error in errors)
    allowed = TOLERANCE[options.dtype]
    wrong += [
        f"{key}: log p {off_p:.4f} off, log q {off_q:.4f} off"
        for key, off_p, off_q in errors
        if max(off_p, off_q) > allowed
    ]
    figures: dict[str, Any] = {
        "device": facts.device,
        "dtype": facts.dtype,
        "origin": dict(facts.origin),
        "texts": len(texts),
        "tokens_per_second": round(sum(text.n_tokens for text in texts) / seconds, 1),
        "differ_in_another_order": len(differing),
        "log_p_off_per_token": worst_p,
        "log_q_off_per_token": worst_q,
        "wrong": wrong,
    }
    written = json.dumps(figures, indent=2)
    print(written)
    if options.json:
        options.json.write_text(written + "\n", encoding="utf-8")


def tokens_of(outcome: Outcome) -> tuple[int, ...]:
    return outcome.token_ids if isinstance(outcome, Generated) else ()


def compare(source: str, pairs: list[tuple[Request, Any]]) -> list[tuple[Any, float, float]]:
    """By how much log p and log q are off for a token on average, of each text; 0 where nothing is drawn."""
    import torch
    from transformers import AutoModelForCausalLM, AutoTokenizer

    tokenizer = AutoTokenizer.from_pretrained(source)
    model = AutoModelForCausalLM.from_pretrained(source, dtype=torch.float32)
    ends = {tokenizer.eos_token_id, *(tokenizer.get_added_vocab().get(name) for name in ENDS)} - {None}
    errors = []
    for request, text in pairs:
        prompt = tokenizer(request.prompt).input_ids
        with torch.inference_mode():
            logits = model(torch.tensor([[*prompt, *text.token_ids]])).logits[0, len(prompt) - 1 : -1].double()
        log_p = log_q = 0.0
        for position, token in enumerate(text.token_ids):
            read = [*prompt, *text.token_ids[:position]]
            words = len(str(tokenizer.decode(text.token_ids[:position])).split())
            barred = position < request.limits.least or words < request.limits.min_words
            log_p += float(logits[position].log_softmax(-1)[token])
            log_q += float(decoded(logits[position], request.decoder, read, ends if barred else set())[token])
        off_q = abs(log_q - text.log_q) / text.n_tokens if request.decoder.samples else 0.0
        errors.append((request.key, abs(log_p - text.log_p) / text.n_tokens, off_q))
    return errors


def decoded(logits: Any, decoder: Decoder, read: list[int], barred: set[int]) -> Any:
    """The log-probabilities that a decoder draws from, written for clarity: one token, one step after the other."""
    scores = logits.clone()
    for token in barred:
        scores[token] = -float("inf")
    for token in set(read):
        penalty = decoder.repetition_penalty
        scores[token] = scores[token] / penalty if scores[token] > 0 else scores[token] * penalty
    p = (scores / decoder.temperature).softmax(-1)
    if decoder.min_p is not None:
        p[p < decoder.min_p * p.max()] = 0.0
    if decoder.top_k is not None:
        p[p < p.topk(decoder.top_k).values[-1]] = 0.0
        p /= p.sum()
    if decoder.top_p is not None:
        ordered, order = p.sort(descending=True)
        before = ordered.cumsum(-1) - ordered
        p[order[before >= decoder.top_p]] = 0.0
    return (p / p.sum()).log()


if __name__ == "__main__":
    main()
