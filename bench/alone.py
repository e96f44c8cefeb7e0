"""What one text at a time costs, and where the time goes: ``python -m bench.alone [--tokens 40] [--device cuda]``.

When one model writes one text for one writer, every token reads all weights once, so memory bandwidth is the limit.
Prints milliseconds per token, each the best of several texts: ``model.generate`` with its growing cache, with a static
cache, and compiled with a static cache; our engine in every dtype; and llama.cpp where it is installed. For each dtype,
it also prints the linear layers alone, run one after the other without the rest of the model, and what remains:
attention, norms, drawing the token, and the interpreter. ``--device cuda`` measures bfloat16 only and needs the files
of a model.
"""

from __future__ import annotations

import argparse
import time
from collections.abc import Callable
from functools import partial
from typing import Any

from bench.generate import bandwidth, print_machine
from generation.backends import embedded_source, open_backend
from generation.backends.base import BackendError, ModelSpec, Request
from generation.decoding.decoders import Limits, parse_decoder

PROMPT = "The ferry had left an hour early, and nobody on the pier knew why. The harbour master looked at"


def main() -> None:
    import torch

    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--source", default="", help="a GGUF file, a folder or a hub name (default: the embedded model)"
    )
    parser.add_argument("--device", default="cpu", help="cpu or cuda")
    parser.add_argument("--tokens", type=int, default=40)
    parser.add_argument("--rows", type=int, nargs="*", default=[1, 2], help="numbers of texts at once in our engine")
    parser.add_argument("--without-compile", action="store_true")
    given = parser.parse_args()
    print_machine(torch, argparse.Namespace())
    source = given.source or embedded_source()
    read = bandwidth(torch, torch.device(given.device))
    for dtype in ("float32", "bfloat16", "int8") if given.device == "cpu" else ("bfloat16",):
        backend: Any = open_backend(ModelSpec("transformers", source, dtype=dtype, device=given.device))
        facts = backend.facts()
        bound = facts.memory_bytes / (read / 2) * 1e3
        print(f"{dtype}: {facts.memory_bytes / 1e6:.0f} MB read for a token, {bound:.1f} ms at {read / 2e9:.0f} GB/s")
        if dtype != "int8":
            theirs(torch, backend, given)
        ours(backend, given)
        print_layers(torch, backend, given.rows)
        backend.close()
    if given.device != "cpu":
        return
    try:
        llama = open_backend(ModelSpec("llama_cpp", source, options=(("context", 512),)))
    except BackendError as error:
        print(f"llama.cpp: {error}")
    else:
        print(f"llama.cpp, {llama.facts().dtype}, {(llama.facts().memory_bytes or 0) / 1e6:.0f} MB")
        ours(llama, given)


def say(what: str, seconds: float, tokens: int) -> None:
    print(f"  {what:<34}{seconds / tokens * 1e3:8.1f} ms a token{tokens / seconds:8.1f} tokens/s", flush=True)


def best(work: Callable[[], object], times: int = 3) -> float:
    took = []
    for _ in range(times):
        began = time.perf_counter()
        work()
        took.append(time.perf_counter() - began)
    return min(took)


def theirs(torch: Any, backend: Any, given: argparse.Namespace) -> None:
    """``model.generate`` alone: unchanged, with a static cache, and compiled."""
    from transformers import GenerationConfig

    encoded = torch.tensor([backend.vocabulary.encode(PROMPT)], device=backend.model.device)
    wanted = {"do_sample": True, "top_k": 0, "top_p": 0.9, "max_new_tokens": given.tokens, "pad_token_id": 0}
    wanted |= {"min_new_tokens": given.tokens, "eos_token_id": sorted(backend.vocabulary.ends)}
    static = {"cache_implementation": "static"}
    ways: list[tuple[str, dict[str, Any]]] = [
        ("generate", {}),
        ("generate, static cache", static | {"disable_compile": True}),
    ]
    if not given.without_compile:
        ways.append(("generate, static cache, compiled", static))
    for what, more in ways:
        config = GenerationConfig(**wanted, **more)  # type: ignore[no-untyped-call]
        model = backend.model
        whole = model.forward
        began = time.perf_counter()
        try:
            if "compiled" in what:
                model.forward = torch.compile(whole, dynamic=False)
            with torch.inference_mode():
                run = partial(
                    model.generate,
                    input_ids=encoded,
                    attention_mask=torch.ones_like(encoded),
                    generation_config=config,
                )
                run()
                first = time.perf_counter() - began
                say(what, best(run), given.tokens)
            if "compiled" in what:
                print(f"  {'':<34}the first text took {first:.0f} s, which is compiling")
        except Exception as error:  # a compiler may be missing, or fail on the model
            print(f"  {what}: {type(error).__name__}: {str(error).splitlines()[0][:80] if str(error) else ''}")
        finally:
            model.forward = whole


def ours(backend: Any, given: argparse.Namespace) -> None:
    """Our engine with a few texts at once; one step makes one token of each."""
    for rows in given.rows:
        engine = backend.open_engine(most_active=max(given.rows))
        requests = [
            Request(row, PROMPT, parse_decoder("top_p=0.9"), Limits(exact=given.tokens), seed=row)
            for row in range(rows)
        ]

        def run(engine: Any = engine, requests: list[Request] = requests) -> None:
            engine.add(requests)
            while engine.n_active or engine.n_waiting:
                engine.step()

        run()
        say(f"our engine, {rows} at once: a step", best(run), given.tokens)
        getattr(engine, "close", lambda: None)()


def print_layers(torch: Any, backend: Any, sizes: list[int]) -> None:
    """The model's linear layers alone, run as often as for one token."""
    linear = [
        module
        for module in backend.model.modules()
        if hasattr(module, "weight") and module.weight.dim() == 2 and not isinstance(module, torch.nn.Embedding)
    ]
    dtype = torch.bfloat16 if linear[0].weight.dtype == torch.bfloat16 else torch.float32
    for rows in sizes:
        given = {
            width: torch.randn(rows, width, dtype=dtype, device=backend.model.device)
            for width in {each.weight.shape[1] for each in linear}
        }

        def run(given: dict[int, Any] = given) -> None:
            for module in linear:
                module(given[module.weight.shape[1]])
            if backend.model.device.type == "cuda":
                torch.cuda.synchronize()

        with torch.inference_mode():
            run()
            say(f"its {len(linear)} linear layers, {rows} at once", best(run, 10), 1)


if __name__ == "__main__":
    main()
