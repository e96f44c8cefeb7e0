"""What has to hold on a GPU: the parts of ``bench.gpu_day`` that compare. Each names what is wrong in ``wrong``.

Reference values come from one forward pass over prompt and text in float64 on the CPU, with each decoder's
distribution written out plainly.
"""

from __future__ import annotations

import gc
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any
from unittest import mock

import torch
from torch import Tensor

from bench.random_model import SHAPES, RandomBackend
from generation.backends import open_backend, recorded_steps
from generation.backends.base import Generated, ModelSpec, NotGenerated, Request
from generation.decoding.decoders import Decoder, Limits, parse_decoder

DECODERS = (
    "ancestral",
    "temperature=0.5",
    "top_k=20",
    "top_p=0.9",
    "typical=0.7",
    "temperature=1.3,top_p=0.5",
    "greedy",
)
N_TOKENS = 24
#: How far log p and log q may lie from the reference, on average for a token.
TOLERANCE = {"float32": 1e-4, "bfloat16": 0.08, "float16": 0.01}
PEAKED = 10.0


def words(count: int, start: int = 0) -> str:
    """A prompt of that many tokens for ``random_model.Words``."""
    return " ".join(f"word{start + number}" for number in range(count))


def requests_of(count: int, *, tokens: int = N_TOKENS, decoders: Sequence[str] = DECODERS) -> list[Request]:
    """Prompts of different lengths, each decoder in turn."""
    return [
        Request(
            number, words(5 + 7 * number % 50, number), parse_decoder(decoders[number % len(decoders)]),
            Limits(exact=tokens), seed=number,
        )
        for number in range(count)
    ]  # fmt: skip


def peaked(device: str, dtype: str, like: Any = None) -> Any:
    """A small model whose distributions are far from uniform, on the device; with the weights of another one."""
    backend = RandomBackend("small", device=device, dtype=dtype)
    if like is None:
        with torch.no_grad():
            backend.model.get_output_embeddings().weight.mul_(PEAKED)
    else:
        backend.model.load_state_dict(like.model.state_dict())
    return backend


# --- Texts and log-probabilities ---


def correctness(day: Any) -> dict[str, Any]:
    """CPU in float32 compared with the device in three dtypes; log p and log q compared with the reference."""
    cpu = peaked("cpu", "float32")
    requests = requests_of(84)
    expected = texts_of(cpu.generate(requests))
    result: dict[str, Any] = {"texts": len(requests), "wrong": []}
    for dtype in ("float32", "bfloat16", "float16"):
        backend = peaked(str(day.device), dtype, like=cpu)
        outcomes = texts_of(backend.generate(requests))
        reference = peaked("cpu", "float32")
        reference.model.load_state_dict(backend.model.state_dict())
        reference.model.double()
        off_p, off_q = distances(reference.model, requests, outcomes)
        same = sum(one.token_ids == other.token_ids for one, other in zip(expected, outcomes, strict=True))
        unrecorded = texts_of(without_recording(backend, requests))
        same_unrecorded = sum(one.token_ids == two.token_ids for one, two in zip(unrecorded, outcomes, strict=True))
        result[dtype] = {
            "same_texts_as_cpu_float32": same, "same_texts_unrecorded": same_unrecorded,
            "log_p_off_a_token": max(off_p), "log_q_off_a_token": max(off_q),
        }  # fmt: skip
        if max(off_p) > TOLERANCE[dtype] or max(off_q) > 2 * TOLERANCE[dtype]:
            result["wrong"].append(f"{dtype}: log-probabilities are off")
        if dtype == "float32" and same < len(requests):
            result["wrong"].append(f"float32: {len(requests) - same} texts differ from the CPU's")
    return result


def texts_of(outcomes: Sequence[Any]) -> list[Generated]:
    refused = [outcome.reason for outcome in outcomes if isinstance(outcome, NotGenerated)]
    if refused:
        raise RuntimeError(refused[0])
    return list(outcomes)


def without_recording(backend: Any, requests: Sequence[Request]) -> Any:
    backend._last_engine = None
    with mock.patch.object(recorded_steps, "USES_BEFORE_RECORDING", 10**9):
        return backend.generate(requests)


def distances(model: Any, requests: Sequence[Request], texts: Sequence[Generated]) -> tuple[list[float], list[float]]:
    """How far each text's log p and log q lie from the reference, for a token."""
    off_p, off_q = [0.0], [0.0]
    encode = RandomBackend.vocabulary_of("small").encode
    for request, text in zip(requests, texts, strict=True):
        prompt = encode(request.prompt)
        with torch.inference_mode():
            logits = model(torch.tensor([[*prompt, *text.token_ids]])).logits[0, len(prompt) - 1 : -1]
        chosen = torch.tensor(text.token_ids)[:, None]
        log_p = float(logits.log_softmax(-1).gather(-1, chosen).sum())
        off_p.append(abs(log_p - (text.log_p or 0.0)) / text.n_tokens)
        if text.log_q is not None:
            inside = distribution(logits, request.decoder).log().gather(-1, chosen)[:, 0]
            # A token at the edge of a truncation is inside of it in one rounding and outside in the other.
            if bool(inside.isfinite().all()):
                off_q.append(abs(float(inside.sum()) - text.log_q) / text.n_tokens)
    return off_p, off_q


def distribution(logits: Tensor, decoder: Decoder) -> Tensor:
    """What the decoder draws from, for texts of an exact length: their end, token 0, is excluded."""
    barred = logits.clone()
    barred[:, 0] = -torch.inf
    shares = (barred / decoder.temperature).softmax(-1)
    if decoder.top_k is not None:
        shares = shares.where(shares >= shares.topk(decoder.top_k).values[:, -1:], 0.0)
    elif decoder.top_p is not None:
        shares = shares.where(shares >= first_at_mass(shares, shares, decoder.top_p, descending=True), 0.0)
    elif decoder.typical is not None:
        surprise = -shares.clamp(min=1e-300).log()
        distance = (surprise - (shares * surprise).sum(-1, keepdim=True)).abs()
        shares = shares.where(distance <= first_at_mass(distance, shares, decoder.typical, descending=False), 0.0)
    return shares / shares.sum(-1, keepdim=True)


def first_at_mass(order: Tensor, shares: Tensor, mass: float, *, descending: bool) -> Tensor:
    values, tokens = order.sort(-1, descending=descending)
    reached = (shares.gather(-1, tokens).cumsum(-1) < mass).sum(-1, keepdim=True)
    return values.gather(-1, reached.clamp(max=order.shape[-1] - 1))


# --- Alone and together ---


def invariance(day: Any) -> dict[str, Any]:
    """The same request alone and in a batch of 64."""
    result: dict[str, Any] = {"wrong": []}
    for dtype in ("float32", "bfloat16"):
        backend = peaked(str(day.device), dtype)
        requests = requests_of(64)
        together = texts_of(backend.generate(requests))
        again = texts_of(backend.generate(requests))
        alone = [texts_of(backend.generate([request]))[0] for request in requests[:21]]
        same = [one for one, other in zip(alone, together, strict=False) if one.token_ids == other.token_ids]
        off = [abs((one.log_p or 0) - (other.log_p or 0)) / one.n_tokens
               for one, other in zip(alone, together, strict=False) if one.token_ids == other.token_ids]  # fmt: skip
        repeated = sum(one.token_ids == two.token_ids for one, two in zip(together, again, strict=True))
        result[dtype] = {"alone": len(alone), "same": len(same), "log_p_off_a_token": max(off, default=0.0),
                         "of_64_same_when_repeated": repeated}  # fmt: skip
        if repeated < 64:
            result["wrong"].append(f"{dtype}: the same batch gave other texts")
        if dtype == "float32" and len(same) < len(alone):
            result["wrong"].append("float32: a text depends on its batch")
    return result


def failed_recording(day: Any) -> dict[str, Any]:
    """A step that cannot be recorded: it waits for the device. The texts are the same, and so is everything after."""
    if day.device.type != "cuda":
        return {"not_started": "records nothing"}
    backend, requests = peaked(str(day.device), "float32"), requests_of(14)
    expected = texts_of(without_recording(backend, requests))
    forward, stream = recorded_steps._Step.forward, torch.cuda.current_stream()

    def waiting(step: Any) -> Tensor:
        logits = forward(step)
        if torch.cuda.is_current_stream_capturing():
            logits.sum().item()
        return logits

    with mock.patch.object(recorded_steps._Step, "forward", waiting):
        outcomes = texts_of(backend.generate(requests))
    wrong = [] if [one.token_ids for one in expected] == [one.token_ids for one in outcomes] else ["other texts"]
    wrong += [] if torch.cuda.current_stream() == stream else ["another stream is the current one"]
    torch.randn(10, device=day.device)
    again = texts_of(peaked(str(day.device), "float32", like=backend).generate(requests))
    wrong += [] if [one.token_ids for one in expected] == [one.token_ids for one in again] else ["other texts later"]
    torch.cuda.empty_cache()
    return {"texts": len(requests), "wrong": wrong}


def growing_story(day: Any) -> dict[str, Any]:
    """A story read from where it changed, compared with the same story read anew."""
    backend = peaked(str(day.device), "float32")
    engine, wrong, story = backend.open_engine(most_active=8), [], words(20)
    for number in range(6):
        story = f"{story} {words(9, 1000 * number)}"
        request = Request(number, story, parse_decoder("top_p=0.9"), Limits(exact=N_TOKENS), seed=number)
        engine.add([request])
        ended: list[Any] = []
        while not ended:
            ended = engine.step()
        if ended[0][1].token_ids != texts_of(backend.generate([request]))[0].token_ids:
            wrong.append(f"round {number} differs")
    return {"rounds": 6, "wrong": wrong}


def beams(day: Any) -> dict[str, Any]:
    """Beam search, on the device and on the CPU in float32."""
    cpu = peaked("cpu", "float32")
    requests = requests_of(12, decoders=("beam=4",), tokens=12)
    expected = texts_of(cpu.generate(requests))
    began = time.perf_counter()
    outcomes = texts_of(peaked(str(day.device), "float32", like=cpu).generate(requests))
    took = time.perf_counter() - began
    same = sum(one.token_ids == other.token_ids for one, other in zip(expected, outcomes, strict=True))
    off = max(abs((one.log_p or 0) - (two.log_p or 0)) for one, two in zip(expected, outcomes, strict=True))
    wrong = ["texts differ"] if same < len(requests) else ["log p differs"] if off > 1e-2 else []
    return {"texts": len(requests), "same": same, "log_p_off": off, "device_seconds": took, "wrong": wrong}


# --- Loading ---


def loading(day: Any) -> dict[str, Any]:
    """A folder with the first model's shape, opened as a model worker opens it, and by way of the CPU."""
    from transformers import AutoModelForCausalLM

    with TemporaryDirectory() as name:
        folder = Path(name)
        backend = RandomBackend(day.arguments.large or "tiny", device=str(day.device), dtype="bfloat16")
        backend.model.save_pretrained(folder)
        tokenizer_of(SHAPES[day.arguments.large or "tiny"][-1]).save_pretrained(folder)
        del backend
        size = sum(file.stat().st_size for file in folder.glob("*.safetensors"))
        result: dict[str, Any] = {"gb": size / 1e9}
        for attempt in ("first", "second"):
            began = time.perf_counter()
            opened: Any = open_backend(ModelSpec("transformers", str(folder), device=str(day.device)))
            result[f"{attempt}_seconds"] = time.perf_counter() - began
            request = Request(0, "w1 w2 w3", parse_decoder("top_p=0.9"), Limits(exact=8), seed=1)
            result["text"] = texts_of(opened.generate([request]))[0].text
            result["facts"] = f"{opened.facts().dtype} on {opened.facts().device}"
            opened.close()
        for way in ("straight", "by_way_of_cpu") * 2:
            began = time.perf_counter()
            straight: dict[str, Any] = {"device_map": {"": day.device}} if way == "straight" else {}
            AutoModelForCausalLM.from_pretrained(folder, dtype=torch.bfloat16, **straight).to(day.device)
            result[f"{way}_seconds"] = time.perf_counter() - began
    return result


def tokenizer_of(size: int) -> Any:
    from tokenizers import Tokenizer, models, pre_tokenizers
    from transformers import PreTrainedTokenizerFast

    by_word = Tokenizer(models.WordLevel({f"w{number}": number for number in range(size)}, unk_token="w1"))  # noqa: S106
    by_word.pre_tokenizer = pre_tokenizers.WhitespaceSplit()
    fast: Any = PreTrainedTokenizerFast
    return fast(tokenizer_object=by_word, eos_token="w0")  # noqa: S106


# --- Memory ---


def out_of_memory(day: Any, backend: Any) -> dict[str, Any]:
    """Far more rows than fit are admitted as room allows. With most of the memory taken away, which the engine does not
    see, a batch is split; with all of it, one text is refused; afterwards everything works as before."""
    tokens = min(8, day.arguments.tokens)
    request = Request("one", words(30), parse_decoder("top_p=0.9"), Limits(exact=tokens), seed=5)
    before = texts_of(backend.generate([request]))[0]
    result: dict[str, Any] = {"wrong": [], "room": far_too_many(backend)}
    if day.device.type != "cuda":
        return result
    many = [replace(request, key=n, prompt=words(600, 7 * n), seed=n) for n in range(64)]
    expected = texts_of(backend.generate(many))
    long = replace(request, prompt=words(1500))
    for name, spare, requests in (("split", 1.2e9, many), ("refused", 0.0, [long])):
        backend._last_engine = None
        began = time.perf_counter()
        with memory_taken(spare):
            outcomes = backend.generate(requests)
        refusals = [outcome.reason for outcome in outcomes if isinstance(outcome, NotGenerated)]
        result[name] = {"seconds": time.perf_counter() - began, "refusals": len(refusals), "reason": refusals[:1]}
        if name == "split":
            made = [one.token_ids == two.token_ids for one, two in zip(outcomes, expected, strict=True)
                    if isinstance(one, Generated)]  # fmt: skip
            result[name]["same_texts"] = f"{sum(made)} of {len(made)}"
    if result["split"]["refusals"] or result["refused"]["refusals"] != 1:
        result["wrong"].append("memory that ran out was not handled")
    after = texts_of(backend.generate([request]))[0]
    if after.token_ids != before.token_ids:
        result["wrong"].append("the engine gives another text afterwards")
    return result


def far_too_many(backend: Any) -> dict[str, Any]:
    """3,000 texts of almost the whole context at once, for four steps; then all are cancelled."""
    engine = backend.open_engine(most_active=4096)
    longest = Limits(exact=backend.vocabulary.context_length - 50)
    requests = [Request(n, words(12, n), parse_decoder("ancestral"), longest, seed=n) for n in range(3000)]
    engine.add(requests)
    began = time.perf_counter()
    for _ in range(4):
        engine.step()
    active = engine.n_active
    took = time.perf_counter() - began
    for request in requests:
        engine.cancel(request.key)
    return {"asked": len(requests), "active": active, "seconds": took, "left": engine.n_active + engine.n_waiting}


@contextmanager
def memory_taken(spare: float) -> Iterator[None]:
    """While in this block, the process may allocate about this many bytes and what it holds now; with 0, none."""
    torch.cuda.synchronize()
    gc.collect()
    torch.cuda.empty_cache()
    _, total = torch.cuda.mem_get_info()
    torch.cuda.set_per_process_memory_fraction(min(1.0, (torch.cuda.memory_reserved() + spare) / total))
    filling = []
    size = 0 if spare else 1 << 28
    while size >= 1 << 20:
        try:
            filling.append(torch.empty(size, dtype=torch.uint8, device="cuda"))
        except torch.OutOfMemoryError:
            size //= 2
    try:
        yield
    finally:
        filling.clear()
        torch.cuda.set_per_process_memory_fraction(1.0)
