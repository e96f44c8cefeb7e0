"""Stands in for the library vLLM: names, arguments and outputs as vLLM 0.32 publishes them, and a model of eight words.

The next word's logits depend on the last word alone (``LOGITS``), so a test can work out what a text's
log-probabilities must be. What is drawn follows the order that vLLM's sampler documents: barred ends, repetition
penalty, temperature, min-p, top-k, top-p.
"""

from __future__ import annotations

import asyncio
import math
import random
import sys
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from enum import Enum
from itertools import pairwise
from types import ModuleType, SimpleNamespace
from typing import Any

import pytest

WORDS = ("<|endoftext|>", " the", " old", " boat", " sank", ".", " Nobody", " saw")
END = 0
#: A row for each last word.
LOGITS = [[math.sin(3.1 * row + 1.7 * column) * 2 for column in range(len(WORDS))] for row in range(len(WORDS))]


class Tokenizer:
    eos_token_id, chat_template = END, None

    def get_added_vocab(self) -> dict[str, int]:
        return {WORDS[END]: END}

    def __call__(self, text: str, **options: Any) -> Any:
        words = text.replace(".", " .").split()
        spelled = {word.strip(): number for number, word in enumerate(WORDS)}
        return SimpleNamespace(input_ids=[spelled.get(word, 1) for word in words])

    def decode(self, tokens: Sequence[int], **options: Any) -> str:
        return "".join(WORDS[token] for token in tokens if token != END)


class RequestOutputKind(Enum):
    CUMULATIVE = 0
    DELTA = 1
    FINAL_ONLY = 2


@dataclass
class SamplingParams:
    n: int = 1
    repetition_penalty: float = 1.0
    temperature: float = 1.0
    top_p: float = 1.0
    top_k: int = 0
    min_p: float = 0.0
    seed: int | None = None
    stop_token_ids: list[int] = field(default_factory=list)
    max_tokens: int | None = 16
    min_tokens: int = 0
    logprobs: int | None = None
    prompt_logprobs: int | None = None
    detokenize: bool = True
    output_kind: RequestOutputKind = RequestOutputKind.CUMULATIVE

    def __post_init__(self) -> None:
        if self.max_tokens is not None and self.min_tokens > self.max_tokens:
            raise VLLMClientError(f"min_tokens must be less than or equal to max_tokens={self.max_tokens}")


@dataclass
class AsyncEngineArgs:
    model: str
    revision: str | None = None
    dtype: str = "auto"
    logprobs_mode: str = "raw_logprobs"
    generation_config: str = "auto"
    disable_log_stats: bool = False
    tensor_parallel_size: int = 1
    pipeline_parallel_size: int = 1
    distributed_executor_backend: str | None = None
    quantization: str | None = None
    gpu_memory_utilization: float = 0.92
    max_model_len: int = 64
    enable_prefix_caching: bool | None = None
    enforce_eager: bool = False
    max_num_seqs: int | None = None


class VLLMClientError(Exception):
    pass


class EngineDeadError(Exception):
    pass


@dataclass
class Logprob:
    logprob: float


class AsyncLLM:
    """``before(engine, number of the token over all requests)`` is called for each token and may raise."""

    started: list[AsyncLLM] = []
    before: Callable[[AsyncLLM, int], object] = staticmethod(lambda engine, number: None)
    #: Why requests end after their first token.
    finish: str | None = None

    def __init__(self, args: AsyncEngineArgs) -> None:
        self.args, self.errored, self.closed, self.n_drawn = args, False, False, 0
        self.asked: dict[str, SamplingParams] = {}
        self.active: set[str] = set()
        self.aborted: list[str] = []
        hf = SimpleNamespace(
            is_encoder_decoder=False, eos_token_id=END, vocab_size=len(WORDS), max_position_embeddings=64
        )
        hf.get_text_config = lambda: hf
        self.model_config = SimpleNamespace(
            hf_config=hf, max_model_len=args.max_model_len, dtype="torch.bfloat16", quantization=args.quantization
        )
        self.vllm_config = SimpleNamespace(parallel_config=args)
        AsyncLLM.started.append(self)

    @classmethod
    def from_engine_args(cls, args: AsyncEngineArgs) -> AsyncLLM:
        return cls(args)

    def get_tokenizer(self) -> Tokenizer:
        return Tokenizer()

    def shutdown(self) -> None:
        self.closed = True

    async def generate(self, prompt: Any, params: SamplingParams, request_id: str) -> AsyncGenerator[Any, None]:
        tokens, drawn = list(prompt["prompt_token_ids"]), list[int]()
        self.asked[request_id] = params
        self.active.add(request_id)
        chance = random.Random(params.seed)
        try:
            while True:
                await asyncio.sleep(0)
                if self.errored:
                    raise EngineDeadError
                self.n_drawn += 1
                AsyncLLM.before(self, self.n_drawn)
                log_qs = distribution(params, tokens, drawn)
                pairs = list(enumerate(map(math.exp, log_qs)))
                token = max(pairs, key=lambda pair: pair[1])[0]
                if params.temperature > 0:
                    token = chance.choices([number for number, _ in pairs], [share for _, share in pairs])[0]
                drawn.append(token)
                finish = "stop" if token in (END, *params.stop_token_ids) else None
                finish = finish or ("length" if len(drawn) == params.max_tokens else AsyncLLM.finish)
                delta = params.output_kind is RequestOutputKind.DELTA
                shown = [drawn[-1]] if delta else drawn
                at_tokens = [{token: Logprob(log_qs[token])}] if params.logprobs is not None else None
                completion = SimpleNamespace(token_ids=shown, logprobs=at_tokens, finish_reason=finish)
                read = [None, *({b: Logprob(plain(a)[b])} for a, b in pairwise(tokens))]
                if finish or params.output_kind is not RequestOutputKind.FINAL_ONLY:
                    yield SimpleNamespace(
                        outputs=[completion],
                        finished=bool(finish),
                        prompt_logprobs=read if params.prompt_logprobs is not None else None,
                    )
                if finish:
                    return
        except (asyncio.CancelledError, GeneratorExit):
            self.aborted.append(request_id)
            raise
        finally:
            self.active.discard(request_id)


def plain(last: int) -> list[float]:
    """The log-probabilities of the model itself after a word."""
    total = math.log(sum(map(math.exp, LOGITS[last])))
    return [logit - total for logit in LOGITS[last]]


def distribution(params: SamplingParams, prompt: Sequence[int], drawn: Sequence[int]) -> list[float]:
    read = [*prompt, *drawn]
    scores = list(LOGITS[read[-1]])
    if len(drawn) < params.min_tokens:
        for token in {END, *params.stop_token_ids}:
            scores[token] = -math.inf
    for token in set(read):
        penalty = params.repetition_penalty
        scores[token] = scores[token] / penalty if scores[token] > 0 else scores[token] * penalty
    weights = [math.exp(score / (params.temperature or 1.0)) for score in scores]
    weights = [weight if weight >= params.min_p * max(weights) else 0.0 for weight in weights]
    if params.top_k:
        least = sorted(weights)[-min(params.top_k, len(weights))]
        weights = [weight if weight >= least else 0.0 for weight in weights]
    before, total = 0.0, sum(weights)
    for token in sorted(range(len(weights)), key=lambda number: -weights[number]):
        weights[token], before = (0.0 if before >= params.top_p * total else weights[token]), before + weights[token]
    return [math.log(weight / sum(weights)) if weight else -math.inf for weight in weights]


def install(patch: pytest.MonkeyPatch) -> type[AsyncLLM]:
    """From now on ``import vllm`` finds the stand-in."""
    contents: dict[str, dict[str, Any]] = {
        "vllm": {},
        "vllm.engine": {},
        "vllm.engine.arg_utils": {"AsyncEngineArgs": AsyncEngineArgs},
        "vllm.v1": {},
        "vllm.v1.engine": {},
        "vllm.v1.engine.async_llm": {"AsyncLLM": AsyncLLM},
        "vllm.v1.engine.exceptions": {"EngineDeadError": EngineDeadError},
        "vllm.exceptions": {"VLLMClientError": VLLMClientError},
        "vllm.inputs": {"tokens_input": lambda tokens: {"type": "token", "prompt_token_ids": tokens}},
        "vllm.platforms": {"current_platform": SimpleNamespace(device_type="cuda")},
        "vllm.sampling_params": {"SamplingParams": SamplingParams, "RequestOutputKind": RequestOutputKind},
    }
    for name, values in contents.items():
        module = ModuleType(name)
        vars(module).update(values)
        patch.setitem(sys.modules, name, module)
    patch.setattr(AsyncLLM, "started", [])
    return AsyncLLM
