"""How fast the batching engine is, compared with transformers' own continuous batching: ``python -m bench.batching``.

Does the same work in several ways in one process: seven decoders x contexts x samples x exactly 30 tokens. Both
programs support these seven decoders for single requests. Typical sampling and beam search are left out, because
transformers' continuous batching does not support them. Then it measures the engine with one part after another
switched off, and how long one text alone takes in each dtype.

On a CPU, the figures are CPU seconds of this process (``resource.getrusage``) on one thread, because other programs on
the machine change the elapsed time far more than the work done. On a GPU, they are elapsed seconds. The ways take turns
and are repeated; the lowest repeat of each counts.

On a GPU machine without model files: ``python -m bench.batching --device cuda --random 7b --contexts 40 --samples 10``.
This needs only torch and transformers, installs nothing, and starts no new measurement after ``--minutes`` (4).
"""

from __future__ import annotations

import argparse
import json
import resource
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

from bench.generate import print_machine, prompts_of
from generation.backends import embedded_source, open_backend
from generation.backends.base import Generated, ModelSpec, Request
from generation.decoding.decoders import Decoder, Limits, parse_decoder

DECODERS = ("ancestral", "temperature=0.5", "temperature=0.8", "top_k=5", "top_k=40", "top_p=0.5", "top_p=0.9")
N_TOKENS = 30
PAGE = 64
STORY = "The ferry had left an hour early, and nobody on the pier knew why. "


def main() -> None:
    import torch
    import transformers

    given = arguments()
    transformers.logging.set_verbosity_error()  # type: ignore[no-untyped-call]
    device = given.device if given.device != "auto" else "cuda" if torch.cuda.is_available() else "cpu"
    if device == "cpu":
        torch.set_num_threads(given.threads)
    bench = Bench(torch, device, ends_at=time.monotonic() + 60 * given.minutes)
    print_machine(torch, given)
    print(f"Measured: {'CPU seconds of one process' if device == 'cpu' else 'seconds on the wall'}, "
          f"least of {given.repeats}")  # fmt: skip
    backend = open_random(given, device) if given.random else open_model(given, device, given.dtype)
    requests = requests_of(given.contexts, given.samples)
    print(f"{len(DECODERS)} decoders x {given.contexts} contexts x {given.samples} samples x {N_TOKENS} tokens = "
          f"{len(requests) * N_TOKENS:,} tokens, {backend.facts().dtype}")  # fmt: skip
    compare(bench, backend, requests, given.repeats)
    compare_alone(bench, backend, given.repeats)
    backend.close()
    if device == "cpu" and not given.random:
        compare_dtypes(bench, given, requests)
    if given.json:
        given.json.write_text(json.dumps(bench.figures, indent=1))


def arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", default="", help="a GGUF file, a folder or a hub name (default: the embedded model)")
    parser.add_argument("--random", default="", help="use random weights of this shape instead: tiny, 135m, 1b, 7b")
    parser.add_argument("--device", default="auto", help="auto, cpu or cuda")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--contexts", type=int, default=6)
    parser.add_argument("--samples", type=int, default=6)
    parser.add_argument("--repeats", type=int, default=2)
    parser.add_argument("--threads", type=int, default=1, help="number of CPU threads")
    parser.add_argument("--minutes", type=float, default=4.0, help="start no new measurement after this time")
    parser.add_argument("--json", type=Path, help="also write the figures to this file")
    return parser.parse_args()


class Bench:
    """Times pieces of work and records the best time of each."""

    def __init__(self, torch: Any, device: str, *, ends_at: float) -> None:
        self.torch, self.device, self.ends_at = torch, device, ends_at
        self.figures: dict[str, float] = {}

    def seconds(self, work: Callable[[], object]) -> float:
        cuda = self.device.startswith("cuda")
        if cuda:
            self.torch.cuda.synchronize()
        began = time.perf_counter() if cuda else cpu_seconds()
        work()
        if cuda:
            self.torch.cuda.synchronize()
        return (time.perf_counter() if cuda else cpu_seconds()) - began

    def compare(self, title: str, ways: Mapping[str, Callable[[], object]], tokens: int, repeats: int) -> None:
        """Each way in turn, ``repeats`` times, with one line for each. The first is the baseline for the others."""
        best: dict[str, float] = {}
        for _ in range(repeats):
            for name, work in ways.items():
                if time.monotonic() > self.ends_at and name in best:
                    continue
                try:
                    best[name] = min(best.get(name, float("inf")), self.seconds(work))
                except Exception as error:  # an error in one way must not hide the others
                    print(f"  {name}: {type(error).__name__}: {str(error).splitlines()[0][:100] if str(error) else ''}")
        print(title)
        first = best.get(next(iter(ways)), float("nan"))
        for name, took in best.items():
            self.figures[f"{title}: {name}"] = took
            print(f"  {name:<46}{took:8.2f} s{took / tokens * 1e3:9.2f} ms a token{took / first:7.2f} x", flush=True)


def cpu_seconds() -> float:
    used = resource.getrusage(resource.RUSAGE_SELF)
    return used.ru_utime + used.ru_stime


def open_model(given: argparse.Namespace, device: str, dtype: str) -> Any:
    options = (("threads", given.threads),) if device == "cpu" else ()
    source = given.model or embedded_source()
    return open_backend(ModelSpec("transformers", source, dtype=dtype, device=device, options=options))


def open_random(given: argparse.Namespace, device: str) -> Any:
    from bench.random_model import RandomBackend

    return RandomBackend(given.random, device=device, dtype=given.dtype)


def requests_of(contexts: int, samples: int) -> list[Request]:
    return [
        Request((context, name, n), prompt, parse_decoder(name), Limits(exact=N_TOKENS), seed=1000 * context + n)
        for context, prompt in enumerate(prompts_of(contexts))
        for name in DECODERS
        for n in range(samples)
    ]


# --- A run ---


def compare(bench: Bench, backend: Any, requests: Sequence[Request], repeats: int) -> None:
    by_decoder = [[each for each in requests if each.decoder.name == name] for name in DECODERS]
    in_engine(backend, requests[:8])
    ways: dict[str, Callable[[], object]] = {
        "our engine": lambda: in_engine(backend, requests),
        "generate_batch, decoders per request": lambda: continuous(bench.torch, backend, requests),
        "generate_batch, a call per decoder": partial(each_with, continuous, bench.torch, backend, by_decoder),
        "model.generate, a padded batch per decoder": partial(each_with, padded, bench.torch, backend, by_decoder),
        "our engine, attention of transformers": lambda: with_plain_attention(backend, requests),
        "our engine, top-p sorts the whole vocabulary": lambda: with_plain_topk(backend, requests),
        "our engine, no two texts share a prompt": lambda: without_sharing(backend, requests),
    }
    bench.compare("A run", ways, len(requests) * N_TOKENS, repeats)


def each_with(way: Callable[..., None], torch: Any, backend: Any, groups: Sequence[Sequence[Request]]) -> None:
    for requests in groups:
        way(torch, backend, requests)


def in_engine(backend: Any, requests: Sequence[Request]) -> None:
    made = sum(each.n_tokens for each in backend.generate(requests) if isinstance(each, Generated))
    assert made == len(requests) * N_TOKENS, made


def continuous(torch: Any, backend: Any, requests: Sequence[Request]) -> None:
    """transformers' continuous batching; settings that differ between requests go with each request, where possible."""
    from transformers import ContinuousBatchingConfig

    model = backend.model
    with attention(model, "sdpa"):
        first = requests[0].decoder
        mixed = any(each.decoder != first for each in requests)
        config = settings(first, temperature=0.99, top_k=1000, top_p=0.99) if mixed else settings(first)
        tokens = [backend.vocabulary.encode(each.prompt) for each in requests]
        pages = sum((len(each) + N_TOKENS) // PAGE + 1 for each in tokens)
        batching = ContinuousBatchingConfig(
            page_size=PAGE,
            num_blocks=pages + 8,
            max_batch_tokens=2048,
            max_requests_per_batch=128,
            per_request_processors=mixed,
            return_logprobs=True,
            auto_switch_to_flash=False,
            seed=1,
        )
        with model.continuous_batching_context_manager(
            generation_config=config, continuous_batching_config=batching
        ) as manager:
            for prompt, request in zip(tokens, requests, strict=True):
                manager.add_request(
                    prompt, max_new_tokens=N_TOKENS, eos_token_id=-1, **(own(request.decoder, backend) if mixed else {})
                )
            made = 0
            while made < len(requests) * N_TOKENS and manager.is_running():
                found = manager.get_result(timeout=1)
                if found is not None and found.is_finished():
                    made += len(found.generated_tokens)
    assert made == len(requests) * N_TOKENS, made


def own(decoder: Decoder, backend: Any) -> dict[str, Any]:
    top_k = decoder.top_k or backend.vocabulary.size
    return {"temperature": decoder.temperature, "top_k": top_k, "top_p": decoder.top_p or 1.0}


def settings(decoder: Decoder, **changes: Any) -> Any:
    """The decoder with transformers' names. A request has a processor only if the settings for all have it."""
    from transformers import GenerationConfig

    drawing = {"temperature": decoder.temperature, "top_k": decoder.top_k or 0, "top_p": decoder.top_p or 1.0}
    return GenerationConfig(  # type: ignore[no-untyped-call]
        do_sample=True, max_new_tokens=N_TOKENS, eos_token_id=-1, pad_token_id=0, **drawing | changes
    )


def padded(torch: Any, backend: Any, requests: Sequence[Request]) -> None:
    encoded = [backend.vocabulary.encode(each.prompt) for each in requests]
    width = max(map(len, encoded))
    device = backend.model.device
    tokens = torch.tensor([[0] * (width - len(each)) + each for each in encoded], device=device)
    mask = torch.tensor([[0] * (width - len(each)) + [1] * len(each) for each in encoded], device=device)
    with torch.inference_mode(), attention(backend.model, "sdpa"):
        config = settings(requests[0].decoder)
        made = backend.model.generate(input_ids=tokens, attention_mask=mask, generation_config=config)
    assert made.shape[1] == width + N_TOKENS


# --- The parts of the engine, each switched off ---


@contextmanager
def attention(model: Any, name: str) -> Iterator[None]:
    before = model.config._attn_implementation
    model.set_attn_implementation(name)
    try:
        yield
    finally:
        model.set_attn_implementation(before)


@contextmanager
def replaced(module: Any, name: str, other: Any) -> Iterator[None]:
    before = getattr(module, name)
    setattr(module, name, other)
    try:
        yield
    finally:
        setattr(module, name, before)


def with_plain_attention(backend: Any, requests: Sequence[Request]) -> None:
    with attention(backend.model, "sdpa"):
        in_engine(backend, requests)


def with_plain_topk(backend: Any, requests: Sequence[Request]) -> None:
    from generation.backends import sampling

    with replaced(sampling, "FIRST_SORTED", 1 << 30):
        in_engine(backend, requests)


def without_sharing(backend: Any, requests: Sequence[Request]) -> None:
    """Adds a number before each prompt, so that no two texts share a prompt."""
    in_engine(backend, [replace(each, prompt=f"{100 + n} {each.prompt}") for n, each in enumerate(requests)])


# --- One writer ---


def compare_alone(bench: Bench, backend: Any, repeats: int) -> None:
    """A story that grows by five sentences, with a text of 30 tokens each time a writer asks for suggestions."""
    story = [STORY * (length + 8) for length in range(5)]

    def live(remember: bool) -> None:
        engine = backend.open_engine(most_active=2)
        for number, prompt in enumerate(story):
            if not remember:
                engine = backend.open_engine(most_active=2)
            engine.add([
                Request((number, side), prompt, parse_decoder(name), Limits(exact=N_TOKENS), seed=number)
                for side, name in enumerate(("top_p=0.9", "temperature=0.7"))
            ])  # fmt: skip
            while engine.n_active or engine.n_waiting:
                engine.step()

    def plain() -> None:
        with attention(backend.model, "sdpa"):
            live(True)

    def alone() -> None:
        for prompt in story:
            for name in ("top_p=0.9", "temperature=0.7"):
                padded(bench.torch, backend, [Request(0, prompt, parse_decoder(name), Limits(exact=N_TOKENS), seed=1)])

    def both() -> None:
        for prompt in story:
            continuous(bench.torch, backend, [
                Request(side, prompt, parse_decoder(name), Limits(exact=N_TOKENS), seed=1)
                for side, name in enumerate(("top_p=0.9", "temperature=0.7"))
            ])  # fmt: skip

    ways: dict[str, Callable[[], object]] = {
        "our engine": lambda: live(True),
        "our engine, the whole story read each time": lambda: live(False),
        "our engine, attention of transformers": plain,
        "generate_batch, both suggestions in one call": both,
        "model.generate, one text after the other": alone,
    }
    bench.compare("A writer, two suggestions, five times", ways, 2 * len(story) * N_TOKENS, repeats)


# --- dtypes ---


def compare_dtypes(bench: Bench, given: argparse.Namespace, requests: Sequence[Request]) -> None:
    for name in ("float32", "bfloat16", "int8"):
        if time.monotonic() > bench.ends_at:
            print("Out of time.")
            return
        backend = open_model(given, "cpu", name)
        in_engine(backend, requests[:8])
        part = requests[:: max(1, len(requests) // 128)][:128]
        one = [requests[0]]
        many = {"our engine": partial(in_engine, backend, part)}
        bench.compare(f"{len(part)} texts, {name}", many, len(part) * N_TOKENS, given.repeats)
        bench.compare(
            f"One text, {name}", {"our engine": partial(in_engine, backend, one)}, N_TOKENS, 3 * given.repeats
        )
        backend.close()


if __name__ == "__main__":
    main()
