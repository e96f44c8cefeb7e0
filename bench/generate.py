"""Tokens per second of a sweep, measured four ways in one process: ``python bench/generate.py [--model FILE] …``.

On a small model (the embedded one, or ``--model``), 9 decoders x 20 contexts x 10 samples x 30 tokens:
(a) the plain loop: ``model.generate``, one prompt at a time, for a limited time;
(b) ``model.generate`` with one padded batch per call, in several sizes; the best one that fits counts;
(c) our engine, in this process; (d) with ``--celery``, end to end: run file, database, folder broker, worker process.

``--random gpt2-large`` instead builds a model of that shape with random weights and compares batch sizes, (b) beside
(c), by default in bfloat16 on CUDA. (a) to (c) need only torch and transformers: no Django and no network.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import sys
import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))
os.environ.setdefault("GOMP_SPINCOUNT", "10000")

from generation.backends import embedded_source, open_backend
from generation.backends.base import BackendError, Generated, ModelSpec, Request
from generation.decoding.decoders import Decoder, Limits, parse_decoder

DECODERS = (
    "ancestral",
    "temperature=0.5",
    "temperature=0.8",
    "top_k=5",
    "top_k=40",
    "top_p=0.5",
    "top_p=0.9",
    "typical=0.5",
    "typical=0.9",
)
N_TOKENS = 30
SHAPES: dict[str, dict[str, Any]] = {
    "gpt2": {"n_embd": 768, "n_layer": 12, "n_head": 12},
    "gpt2-medium": {"n_embd": 1024, "n_layer": 24, "n_head": 16},
    "gpt2-large": {"n_embd": 1280, "n_layer": 36, "n_head": 20},
    "gpt2-tiny": {"n_embd": 64, "n_layer": 2, "n_head": 4},
}
OPENINGS = (
    "The ferry between the two islands will stop running for three weeks in March while its engines",
    "A small town in the north of the country has turned its empty swimming pool into a public",
    "When the last train left the station, the old clockmaker took out his keys and",
    "Researchers who counted the birds along the river this spring found that the number of",
    "My grandmother kept a box of letters under the bed, and on rainy days she",
)


def main() -> None:
    given = arguments()
    import torch

    print_machine(torch, given)
    if given.random:
        sizes(torch, given)
    else:
        sweep(torch, given)


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="", help="a GGUF file, a folder or a hub name (default: the embedded model)")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--contexts", type=int, default=20)
    parser.add_argument("--samples", type=int, default=10)
    parser.add_argument("--batches", type=int, nargs="*", default=[], help="batch sizes to try")
    parser.add_argument("--batch", type=int, default=0, help="rows of the engine's batch (default: the engine decides)")
    parser.add_argument("--loop-seconds", type=float, default=20.0, help="time limit of (a)")
    parser.add_argument("--without", nargs="*", default=[], choices=["a", "b", "c"])
    parser.add_argument("--celery", action="store_true", help="also measure (d)")
    parser.add_argument("--random", choices=sorted(SHAPES), help="use random weights of this shape")
    parser.add_argument("--prompt", type=int, default=32, help="tokens per prompt, with --random")
    parser.add_argument("--tokens", type=int, default=128, help="new tokens, with --random")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


# --- The machine ---


def print_machine(torch: Any, given: argparse.Namespace) -> None:
    import transformers

    processor = platform.processor() or platform.machine()
    if Path("/proc/cpuinfo").is_file():
        names = [
            line.split(":")[1].strip()
            for line in Path("/proc/cpuinfo").read_text().splitlines()
            if "model name" in line
        ]
        processor = f"{len(names)} x {names[0]}" if names else processor
    print(f"{processor}; {torch.get_num_threads()} threads; load {os.getloadavg()[0]:.1f}")
    if torch.cuda.is_available():
        print(f"{torch.cuda.get_device_name()}, {torch.cuda.mem_get_info()[1] / 1e9:.0f} GB")
    print(f"Python {platform.python_version()}, torch {torch.__version__}, transformers {transformers.__version__}")


def bandwidth(torch: Any, device: Any) -> float:
    """Bytes per second that a copy reads and writes, the best of several."""
    n_bytes = 2 * 1024**3 if device.type == "cuda" else 256 * 1024**2
    source = torch.ones(n_bytes, dtype=torch.uint8, device=device)
    target = torch.empty_like(source)
    best = min(timed(torch, device, lambda: target.copy_(source)) for _ in range(6))
    return float(2 * n_bytes / best)


def product_rate(torch: Any, device: Any, dtype: Any) -> float:
    """Floating-point operations per second of a square product, the best of several."""
    side = 8192 if device.type == "cuda" else 1024
    one = torch.randn(side, side, device=device).to(dtype)
    best = min(timed(torch, device, lambda: one @ one) for _ in range(6))
    return float(2 * side**3 / best)


def timed(torch: Any, device: Any, work: Callable[[], object]) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize()
    started = time.perf_counter()
    work()
    if device.type == "cuda":
        torch.cuda.synchronize()
    return time.perf_counter() - started


# --- A sweep with a real model ---


def prompts_of(count: int) -> list[str]:
    """Different contexts of different lengths."""
    return [" ".join([OPENINGS[n % len(OPENINGS)], *OPENINGS[n // 5 % 5].split()[: n // 5 * 4]]) for n in range(count)]


def requests_of(given: argparse.Namespace) -> list[Request]:
    return [
        Request(
            (context, name, sample), prompt, parse_decoder(name), Limits(exact=N_TOKENS), seed=10_000 * context + sample
        )
        for context, prompt in enumerate(prompts_of(given.contexts))
        for name in DECODERS
        for sample in range(given.samples)
    ]


def sweep(torch: Any, given: argparse.Namespace) -> None:
    source = given.model or embedded_source()
    options = (("batch", given.batch),) if given.batch else ()
    started = time.perf_counter()
    backend: Any = open_backend(
        ModelSpec("transformers", source, dtype=given.dtype, device=given.device, options=options)
    )
    facts = backend.facts()
    print(f"{source}: {facts.parameters / 1e6:.0f} M parameters, {facts.dtype} on {facts.device}, "
          f"loaded in {time.perf_counter() - started:.1f} s")  # fmt: skip
    requests = requests_of(given)
    print(f"{len(DECODERS)} decoders x {given.contexts} contexts x {given.samples} samples x {N_TOKENS} tokens = "
          f"{len(requests) * N_TOKENS} tokens")  # fmt: skip
    figures: dict[str, float] = {}
    backend.generate(requests[:8])
    if "a" not in given.without:
        figures["a"] = plain_loop(torch, backend, requests, given.loop_seconds)
    best = 64
    if "b" not in given.without:
        best, figures["b"] = padded(torch, backend, requests, given.batches or [16, 32, 64, 128, 200])
    if "c" not in given.without:
        figures["c"] = in_engine(backend, requests)
    if given.celery:
        backend.close()
        figures["d"] = end_to_end(given, source)
    report(figures)
    print_bounds(torch, backend, facts, best)
    if given.json:
        given.json.write_text(json.dumps(figures))


def settings_of(decoder: Decoder, vocabulary: Any) -> Any:
    from transformers import GenerationConfig

    return GenerationConfig(  # type: ignore[no-untyped-call]
        do_sample=decoder.samples,
        temperature=decoder.temperature,
        top_k=decoder.top_k or 0,
        top_p=decoder.top_p or 1.0,
        typical_p=decoder.typical or 1.0,
        max_new_tokens=N_TOKENS,
        min_new_tokens=N_TOKENS,
        eos_token_id=sorted(vocabulary.ends) or None,
        pad_token_id=0,
    )


def generate(torch: Any, backend: Any, requests: Sequence[Request]) -> int:
    """Call ``model.generate`` once for requests with the same decoder. Returns the number of tokens made."""
    encoded = [backend.vocabulary.encode(request.prompt) for request in requests]
    width = max(map(len, encoded))
    tokens = torch.tensor([[0] * (width - len(each)) + each for each in encoded], device=backend.model.device)
    mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in encoded], device=tokens.device)
    with torch.inference_mode():
        made = backend.model.generate(
            input_ids=tokens,
            attention_mask=mask,
            generation_config=settings_of(requests[0].decoder, backend.vocabulary),
        )
    return int((made.shape[1] - width) * len(requests))


def plain_loop(torch: Any, backend: Any, requests: Sequence[Request], seconds: float) -> float:
    """(a) for a number of seconds, over texts from the whole sweep; the rest would continue at the same rate."""
    step = max(1, len(requests) // 97)
    started, made, texts = time.perf_counter(), 0, 0
    for request in requests[::step]:
        made += generate(torch, backend, [request])
        texts += 1
        if time.perf_counter() - started > seconds:
            break
    took = time.perf_counter() - started
    print(f"(a) plain loop: {made / took:8.1f} tokens/s over {texts} of {len(requests)} texts; the whole sweep "
          f"would take {len(requests) * N_TOKENS * took / made:.0f} s")  # fmt: skip
    return made / took


def padded(torch: Any, backend: Any, requests: Sequence[Request], sizes: Sequence[int]) -> tuple[int, float]:
    """(b): two decoders to find the best size, then every decoder at that size."""
    by_decoder = {name: [each for each in requests if each.decoder.name == name] for name in DECODERS}
    rates: dict[int, float] = {}
    for size in sizes:
        if size > len(by_decoder[DECODERS[0]]):
            continue
        started, made = time.perf_counter(), 0
        try:
            for name in ("ancestral", "top_p=0.9"):
                made += generate(torch, backend, spread(by_decoder[name], size))
        except (RuntimeError, MemoryError) as error:
            print(f"(b) batch {size}: does not fit ({str(error).splitlines()[0][:60]})")
            break
        rates[size] = made / (time.perf_counter() - started)
        print(f"(b) padded batch of {size:4d}: {rates[size]:8.1f} tokens/s")
    best = max(rates, key=lambda size: rates[size])
    started, made = time.perf_counter(), 0
    for texts in by_decoder.values():
        made += generate(torch, backend, spread(texts, best))
    rate = made / (time.perf_counter() - started)
    print(f"(b) padded batch of {best:4d}: {rate:8.1f} tokens/s over all decoders")
    return best, max(rate, rates[best])


def spread(texts: Sequence[Request], size: int) -> list[Request]:
    """A number of texts from all contexts, as a user would batch them: similar lengths together."""
    ordered = sorted(texts, key=lambda each: len(each.prompt))
    return ordered[:size] if size >= len(ordered) else ordered[(len(ordered) - size) // 2 :][:size]


def in_engine(backend: Any, requests: Sequence[Request]) -> float:
    started = time.perf_counter()
    made = sum(each.n_tokens for each in backend.generate(requests) if isinstance(each, Generated))
    rate = made / (time.perf_counter() - started)
    print(f"(c) our engine, in process: {rate:8.1f} tokens/s ({made} tokens)")
    return float(rate)


def report(figures: dict[str, float]) -> None:
    if "b" in figures:
        for name, rate in figures.items():
            print(f"({name}) {rate:8.1f} tokens/s = {rate / figures['b']:.2f} of the best padded batch")


def print_bounds(torch: Any, backend: Any, facts: Any, batch: int) -> None:
    device = torch.device(facts.device)
    dtype = {"bfloat16": torch.bfloat16, "float16": torch.float16}.get(facts.dtype, torch.float32)
    read = bandwidth(torch, device)
    steps = read / facts.memory_bytes
    flops = product_rate(torch, device, dtype)
    print(f"Bounds: {read / 1e9:.1f} GB/s copied, {facts.memory_bytes / 1e6:.0f} MB of weights: {steps:.1f} steps/s, "
          f"{steps * batch:.0f} tokens/s at batch {batch}; {flops / 1e9:.0f} GFLOP/s of products: "
          f"{flops / (2 * facts.parameters):.0f} tokens/s at any batch")  # fmt: skip


# --- End to end ---


def end_to_end(given: argparse.Namespace, source: str) -> float:
    """(d): a run file, the folder broker, one worker process for the queue gpu. A small run loads the model before the
    timed run."""
    from bench.generate_runs import timed_run

    body = {
        "models": ["bench"],
        "decoders": list(DECODERS),
        "template": "{context}",
        "limits": {"exact": N_TOKENS},
        "seed": 1,
    }
    contexts = [{"id": str(number), "context": text} for number, text in enumerate(prompts_of(given.contexts))]
    seconds, made = timed_run(
        source=source, dtype=given.dtype, device=given.device, body=body, contexts=contexts, samples=given.samples
    )
    print(f"(d) through Celery: {made / seconds:8.1f} tokens/s ({made} tokens in {seconds:.1f} s)")
    return made / seconds


# --- Batch sizes with random weights ---


class Numbers:
    """A vocabulary without words: a prompt is numbers separated by spaces."""

    head: tuple[int, ...] = ()
    tail: tuple[int, ...] = ()
    ends: frozenset[int] = frozenset({0})
    starts: tuple[int, ...] = ()

    def __init__(self, context: int) -> None:
        self.context_length = self.text_length = context

    def encode(self, text: str) -> list[int]:
        return [int(each) for each in text.split()]

    def conversation(self, messages: Sequence[tuple[str, str]]) -> list[int] | None:
        return None

    def decode(self, tokens: Sequence[int]) -> str:
        return " ".join(map(str, tokens))


def sizes(torch: Any, given: argparse.Namespace) -> None:
    from transformers import GPT2Config, GPT2LMHeadModel

    from generation.backends.memory import PASSES, Room, token_bytes
    from generation.backends.prompt_cache import PromptCache
    from generation.backends.torch_engine import Pace, TorchEngine

    device = torch.device(
        "cuda" if given.device == "auto" and torch.cuda.is_available() else given.device.replace("auto", "cpu")
    )
    name = given.dtype if given.dtype != "auto" else ("bfloat16" if device.type == "cuda" else "float32")
    dtype = getattr(torch, name)
    torch.manual_seed(1)
    model: Any = GPT2LMHeadModel(GPT2Config(n_positions=1024, **SHAPES[given.random])).to(device, dtype).eval()
    weights = sum(each.numel() * each.element_size() for each in model.parameters())
    per_token = token_bytes(model.config, dtype.itemsize)
    read = bandwidth(torch, device)
    n_parameters = sum(each.numel() for each in model.parameters())
    print(f"{given.random}: {n_parameters / 1e6:.0f} M parameters, {name} on {device}; "
          f"{read / 1e9:.0f} GB/s copied; prompts of {given.prompt} tokens, {given.tokens} new ones")  # fmt: skip
    print(f"{'batch':>6}{'engine':>12}{'of bound':>10}{'generate':>12}{'ratio':>8}   tokens/s")
    room = Room(device, per_token, 4 * PASSES * model.config.vocab_size)
    vocabulary = Numbers(1024)
    for batch in given.batches or [1, 2, 4, 8, 16, 32, 64, 128, 256, 512]:
        requests = [
            Request(row, " ".join(str(1 + (row * 7919 + n * 104729) % 50000) for n in range(given.prompt)),
                    Decoder(top_p=0.9), Limits(exact=given.tokens), seed=row)
            for row in range(batch)
        ]  # fmt: skip
        pace = Pace(batch, prefill_tokens=32768 if device.type == "cuda" else 2048)
        for timed_one in (False, True):
            engine = TorchEngine(model, vocabulary, room=room, pace=pace, prompts=PromptCache(0))
            engine.add(requests)
            ours = timed(torch, device, partial(_run, engine))
            if not timed_one and ours > 20:
                break
        theirs = timed(torch, device, partial(_generate, torch, model, vocabulary, requests, given.tokens))
        keys = batch * per_token * (given.prompt + given.tokens / 2)
        bound = read / (weights + keys) * batch
        made = batch * given.tokens
        print(f"{batch:>6}{made / ours:>12.0f}{made / ours / bound:>10.2f}{made / theirs:>12.0f}{theirs / ours:>8.2f}",
              flush=True)  # fmt: skip


def _run(engine: Any) -> None:
    while engine.n_active or engine.n_waiting:
        for _, outcome in engine.step():
            if not isinstance(outcome, Generated):
                raise BackendError(outcome.reason)


def _generate(torch: Any, model: Any, vocabulary: Numbers, requests: Sequence[Request], count: int) -> None:
    from transformers import GenerationConfig

    tokens = torch.tensor([vocabulary.encode(each.prompt) for each in requests], device=model.device)
    config = GenerationConfig(  # type: ignore[no-untyped-call]
        do_sample=True, top_k=0, top_p=0.9, max_new_tokens=count, min_new_tokens=count, eos_token_id=0, pad_token_id=0
    )
    with torch.inference_mode():
        model.generate(input_ids=tokens, attention_mask=torch.ones_like(tokens), generation_config=config)


if __name__ == "__main__":
    main()
