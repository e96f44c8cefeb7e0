"""How fast a model is on a GPU: the parts of ``bench.gpu_day`` that measure one model with random weights.

Elapsed seconds, after a first run that is not counted. The bound for one step is the time in which the device could
read the weights once at the rate of a large copy (bytes read and written).
"""

from __future__ import annotations

import heapq
import random
import statistics
import time
from collections.abc import Callable, Iterable, Sequence
from functools import partial
from importlib import util
from typing import Any

import torch

from bench.gpu_checks import texts_of, without_recording, words
from generation.backends import sampling
from generation.backends.base import Request
from generation.backends.batch_rows import Row, begin
from generation.decoding.decoders import Limits, parse_decoder

PROMPT_TOKENS = 64
BATCHES = (1, 8, 64)
SEVEN = ("ancestral", "temperature=0.5", "temperature=0.8", "top_k=5", "top_k=40", "top_p=0.5", "top_p=0.9")
#: Writers, the seconds that one thinks on average between two asks, tokens of a suggestion, rounds of one writer.
WRITERS, THINKING, SUGGESTION, ROUNDS = 30, 20.0, 40, 4
STORY_TOKENS = 60
#: New tokens where each takes 50 milliseconds or more.
SLOW_TOKENS = 32


def requests_of(count: int, tokens: int, decoders: Sequence[str] = ("ancestral",)) -> list[Request]:
    return [
        Request(number, words(PROMPT_TOKENS, 100 * number), parse_decoder(decoders[number % len(decoders)]),
                Limits(exact=tokens), seed=number)
        for number in range(count)
    ]  # fmt: skip


def elapsed(work: Callable[[], object]) -> float:
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    began = time.perf_counter()
    work()
    if torch.cuda.is_available():
        torch.cuda.synchronize()
    return time.perf_counter() - began


def read_bytes(backend: Any) -> int:
    """The bytes of weights that one step reads: all but the table of embeddings, of which it reads a row."""
    total = sum(weight.numel() * weight.element_size() for weight in backend.model.parameters())
    table = backend.model.get_input_embeddings().weight
    return int(total - (0 if backend.model.config.tie_word_embeddings else table.numel() * table.element_size()))


# --- Tokens a second ---


def speed(day: Any, backend: Any) -> dict[str, Any]:
    """A run in the engine, with and without recorded steps, beside ``model.generate`` and the bound."""
    tokens = day.arguments.tokens
    bound = read_bytes(backend) / day.copy_rate
    result: dict[str, Any] = {"bound_ms_a_step": 1e3 * bound, "prompt": PROMPT_TOKENS, "tokens": tokens}
    for batch in BATCHES:
        requests = requests_of(batch, tokens)
        few = min(tokens, SLOW_TOKENS)
        ways: dict[str, tuple[int, Callable[[], object]]] = {
            "engine_first_run": (tokens, partial(new_engine, backend, requests)),
            "engine": (tokens, partial(backend.generate, requests)),
            "engine_unrecorded": (few, partial(without_recording, backend, requests_of(batch, few))),
            "generate": (few, partial(plain_generate, backend, batch, few)),
        }
        line: dict[str, float] = {"bound": batch / bound}
        texts_of(backend.generate(requests_of(batch, 8)))
        plain_generate(backend, batch, 8)
        for name, (count, work) in ways.items():
            line[name] = batch * count / elapsed(work)
        result[f"tokens_a_second_{batch}"] = line
        result[f"ms_a_step_{batch}"] = step_times(backend, requests)
    for name, batch, decoders in (("seven_decoders_64", 64, SEVEN), ("engine_256", 256, ("ancestral",))):
        if day.seconds_left > 10:
            run = partial(backend.generate, requests_of(batch, tokens, decoders))
            result[f"tokens_a_second_{name}"] = batch * tokens / elapsed(run)
    if torch.cuda.is_available():
        result["peak_gb"] = torch.cuda.max_memory_allocated() / 1e9
    return result


def new_engine(backend: Any, requests: Sequence[Request]) -> None:
    """A run whose steps were not recorded by an earlier one."""
    backend._last_engine = None
    backend.generate(requests)


def plain_generate(backend: Any, batch: int, tokens: int, **options: Any) -> None:
    rows = [backend.vocabulary.encode(request.prompt) for request in requests_of(batch, tokens)]
    ids = torch.tensor(rows, device=backend.model.device)
    settings = {"do_sample": True, "top_k": 0, "max_new_tokens": tokens, "min_new_tokens": tokens, "pad_token_id": 0}
    with torch.inference_mode():
        made = backend.model.generate(input_ids=ids, attention_mask=torch.ones_like(ids), **settings, **options)
    if made.shape[1] != ids.shape[1] + tokens:
        raise RuntimeError(f"generate gave {made.shape[1] - ids.shape[1]} tokens")


def step_times(backend: Any, requests: Sequence[Request]) -> dict[str, float]:
    """The steps of a live engine that has written the same batch before."""
    engine = backend.open_engine(most_active=len(requests))
    times: list[float] = []
    for _ in range(2):
        engine.add(requests)
        times = []
        while engine.n_active or engine.n_waiting:
            times.append(elapsed(engine.step))
    return {"median": 1e3 * statistics.median(times), "first": 1e3 * times[0], "longest_other": 1e3 * max(times[1:])}


def first_token(day: Any, backend: Any) -> dict[str, Any]:
    """Milliseconds until the first token of one text, by the length of its prompt; the third of three counts."""
    result = {}
    for count in (16, 64, 256, 1024, 1900):
        for start in (1, 2, 3):
            request = Request(0, words(count, 10_000 * start), parse_decoder("top_p=0.9"), Limits(exact=1), seed=1)
            took = elapsed(partial(backend.generate, [request]))
        result[f"ms_{count}"] = 1e3 * took
    return result


# --- Writers ---


def writers(day: Any, backend: Any) -> dict[str, Any]:
    """30 people write at human speed, or ask all at once. A simulated clock runs while the engine works, and jumps to
    the next person when it has nothing to do; waits are for both of two suggestions."""
    calm, busy = simulate(day, backend, all_at_once=False), simulate(day, backend, all_at_once=True)
    return {"writers": WRITERS, "thinking_s": THINKING, "tokens": SUGGESTION, "human_speed": calm, "all_at_once": busy}


def simulate(day: Any, backend: Any, *, all_at_once: bool) -> dict[str, Any]:
    engine, rng = backend.open_engine(most_active=64), random.Random(1)
    stories = {writer: words(STORY_TOKENS, 1000 * writer) for writer in range(WRITERS)}
    coming = [(0.0 if all_at_once else rng.uniform(0, THINKING), writer) for writer in range(WRITERS)]
    heapq.heapify(coming)
    asked: dict[int, float] = {}
    pending: dict[int, int] = {}
    rounds: dict[int, int] = dict.fromkeys(range(WRITERS), 0)
    waits: list[float] = []
    clock = busy = 0.0
    while (coming or pending) and day.seconds_left > 3:
        if not pending and coming[0][0] > clock:
            clock = coming[0][0]
        while coming and coming[0][0] <= clock:
            moment, writer = heapq.heappop(coming)
            asked[writer], pending[writer] = moment, 2
            rounds[writer] += 1
            engine.add(list(pair(writer, rounds[writer], stories[writer])))
        took, ended = timed_step(engine)
        clock, busy = clock + took, busy + took
        for (writer, _), _outcome in ended:
            pending[writer] -= 1
            if not pending[writer]:
                del pending[writer]
                waits.append(clock - asked[writer])
                stories[writer] += f" {words(SUGGESTION + 15, rng.randrange(10**6))}"
                if rounds[writer] < (2 if all_at_once else ROUNDS):
                    coming_at = clock if all_at_once else clock + rng.uniform(0.5, 1.5) * THINKING
                    heapq.heappush(coming, (coming_at, writer))
    return {"asks": len(waits), "p50_s": quantile(waits, 0.5), "p95_s": quantile(waits, 0.95),
            "longest_s": max(waits, default=0.0), "busy_share": busy / max(clock, 1e-9)}  # fmt: skip


def pair(writer: int, number: int, story: str) -> Iterable[Request]:
    for place, decoder in enumerate(("top_p=0.9", "temperature=0.7")):
        seed = 1000 * writer + 10 * number + place
        yield Request((writer, place), story, parse_decoder(decoder), Limits(exact=SUGGESTION), seed=seed)


def timed_step(engine: Any) -> tuple[float, list[Any]]:
    began = time.perf_counter()
    ended = engine.step()
    return time.perf_counter() - began, ended


def quantile(values: Sequence[float], share: float) -> float:
    return sorted(values)[min(len(values) - 1, int(share * len(values)))] if values else 0.0


# --- Where the time goes ---


def drawing(day: Any, backend: Any) -> dict[str, Any]:
    """Milliseconds to draw one token for each row, with log p and log q, by decoder. Logits are as spread as a trained
    model's."""
    result: dict[str, Any] = {}
    size, ends = backend.vocabulary.size, torch.tensor([0], device=day.device)
    for batch in (1, 64, 512):
        logits = (3 * torch.randn(batch, size, device=day.device)).to(torch.bfloat16)
        for decoder in ("greedy", "ancestral", "temperature=0.8", "top_k=40", "top_p=0.9", "typical=0.9"):
            rows = rows_of(backend, batch, decoder)
            result[f"{batch} {decoder}"] = 1e3 * least(partial(sampling.draw, logits, rows, ends))
    return result


def rows_of(backend: Any, count: int, decoder: str) -> list[Row]:
    rows = [begin(request, backend.vocabulary) for request in requests_of(count, 4, (decoder,))]
    return [row for row in rows if isinstance(row, Row)]


def least(work: Callable[[], object]) -> float:
    with torch.inference_mode():
        work()
        return min(elapsed(work) for _ in range(5))


def profile(day: Any, backend: Any) -> dict[str, Any]:
    """The kernels of some steps of one text and of 64, the longest first, in microseconds a step."""
    from torch.profiler import ProfilerActivity
    from torch.profiler import profile as recorder

    cuda = day.device.type == "cuda"
    result: dict[str, Any] = {}
    for batch in (1, 64):
        engine = backend.open_engine(most_active=batch)
        engine.add(requests_of(batch, min(60, day.arguments.tokens)))
        for _ in range(min(12, day.arguments.tokens - 8)):
            engine.step()
        with recorder(activities=[ProfilerActivity.CUDA if cuda else ProfilerActivity.CPU]) as made:
            took = elapsed(partial(five_steps, engine))
        events = made.key_averages()
        spent = {event.key: float(getattr(event, "self_device_time_total" if cuda else "self_cpu_time_total")) / 5
                 for event in events}  # fmt: skip
        top = sorted(spent.items(), key=lambda item: -item[1])[:14]
        result[f"batch {batch}"] = {"wall_us": took / 5 * 1e6, "device_us": sum(spent.values()),
                                    **{key[:70]: us for key, us in top}}  # fmt: skip
    return result


def five_steps(engine: Any) -> None:
    for _ in range(5):
        engine.step()


# --- Other ways ---


def others(day: Any, backend: Any) -> dict[str, Any]:
    """transformers with a static cache, its continuous batching, and vLLM, as far as this machine has them."""
    tokens = min(64, day.arguments.tokens)
    ways: dict[str, Callable[[], object]] = {
        "generate, static cache, 64": lambda: plain_generate(
            backend, 64, tokens, cache_implementation="static", disable_compile=True
        ),
        "engine, 64": lambda: texts_of(backend.generate(requests_of(64, tokens))),
        "generate_batch, 64": lambda: continuous(backend, 64, tokens),
        "generate, compiled, 1": lambda: plain_generate(backend, 1, tokens, cache_implementation="static"),
    }
    result: dict[str, Any] = {"tokens": tokens, "vllm": "here" if util.find_spec("vllm") else "not here"}
    for name, work in ways.items():
        if day.seconds_left < (55 if "compiled" in name else 12):
            result[name] = "no time left"
            continue
        count = int(name.rpartition(" ")[2])
        try:
            began = time.perf_counter()
            work()
            first = time.perf_counter() - began
            result[name] = {"tokens_a_second": count * tokens / elapsed(work), "first_time_s": first}
        except TimeoutError:
            raise
        except Exception as error:
            result[name] = f"{type(error).__name__}: {str(error)[:300]}"
        print(f"    {name}: {result[name]}", flush=True)
    return result


def continuous(backend: Any, count: int, tokens: int) -> None:
    from transformers import ContinuousBatchingConfig, GenerationConfig

    config = GenerationConfig(  # type: ignore[no-untyped-call]
        do_sample=True, top_k=0, max_new_tokens=tokens, eos_token_id=-1, pad_token_id=0
    )
    prompts = [backend.vocabulary.encode(request.prompt) for request in requests_of(count, tokens)]
    done = backend.model.generate_batch(prompts, config, ContinuousBatchingConfig(return_logprobs=True))
    made = sum(len(output.generated_tokens) for output in done.values())
    if made != count * tokens:
        raise RuntimeError(f"generate_batch gave {made} tokens")
