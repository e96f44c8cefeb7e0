"""The backend ``transformers``: a hub name, a folder or a GGUF file, on a CPU or a CUDA device.

Options: ``batch`` (texts at once, at most), ``max_batch_tokens`` (texts x tokens at once, at most), ``prefill_tokens``
(tokens of new prompts read in one pass), ``kept_prompt_tokens`` (prompts kept for live use), ``threads`` (of a CPU),
``context`` (a context shorter than the model's).
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any

import torch
from transformers import GenerationConfig

from generation.backends import attention
from generation.backends.adapters import base_of
from generation.backends.base import BackendError, Facts, ModelSpec, OnDone, Outcome, Request
from generation.backends.batch_rows import refused
from generation.backends.loading import load
from generation.backends.memory import PASSES, Room, available_bytes, release, token_bytes
from generation.backends.model_origin import origin_of
from generation.backends.prompt_cache import PromptCache
from generation.backends.source_engine import SourceEngine
from generation.backends.torch_engine import Pace, TorchEngine
from generation.decoding.conversations import Message
from generation.decoding.decoders import Decoder

OPTIONS = ("batch", "max_batch_tokens", "prefill_tokens", "kept_prompt_tokens", "threads", "context")
# More rows do not make a CPU faster, only each step longer; a GPU gains up to larger batches.
BATCH = {"cpu": 128, "cuda": 512}
PREFILL_TOKENS = {"cpu": 2048, "cuda": 32768}
KEPT_PROMPT_TOKENS = 8192
LIBRARIES = ("torch", "transformers", "tokenizers")
UNKNOWN_CONTEXT = 1024
# Names of special tokens that end a text.
ENDS = ("<|endoftext|>", "<|im_end|>", "<|eot_id|>", "<|end|>", "<end_of_turn>", "</s>", "<|end_of_text|>")
SENTINEL = "\u2402prompt\u2402"


class TransformersBackend:
    """See ``base.Backend``."""

    _last_engine: TorchEngine | None = None

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self._options = spec.checked_options(OPTIONS)
        if "threads" in self._options:
            torch.set_num_threads(self._options["threads"])
        loaded = load(spec)
        self.model, self._dtype = loaded.model, loaded.dtype
        self._device = torch.device(self.model.device)
        self._two_parts = bool(self.model.config.is_encoder_decoder)
        if self._two_parts and "kept_prompt_tokens" in self._options:
            raise BackendError(
                f"{spec.source} is an encoder–decoder model, which reads each prompt as a whole: no beginning of one "
                "can be kept. Register it without the option kept_prompt_tokens."
            )
        if self._device.type == "cpu" and not self._two_parts:
            attention.use(self.model)
        self.vocabulary = Tokens(loaded.tokenizer, self.model, chat=spec.chat, context=self._options.get("context"))
        # A search would otherwise follow what the model's own settings say of repetitions, lengths and forced tokens.
        self.model.generation_config = GenerationConfig()  # type: ignore[no-untyped-call]
        itemsize = next(self.model.parameters()).element_size()
        self._room = Room(
            self._device,
            token_bytes=token_bytes(self.model.config, itemsize),
            row_bytes=4 * PASSES * self.vocabulary.size,
            most_tokens=self._options.get("max_batch_tokens"),
        )

    def facts(self) -> Facts:
        tensors = _distinct([*self.model.parameters(), *self.model.buffers()])
        weights = _distinct([*self.model.parameters(), *(b for n, b in self.model.named_buffers() if "weight" in n)])
        return Facts(
            parameters=sum(tensor.numel() for tensor in weights),
            memory_bytes=sum(tensor.numel() * tensor.element_size() for tensor in tensors),
            context_length=self.vocabulary.context_length,
            vocabulary=self.vocabulary.size,
            dtype=self._dtype,
            device=str(self._device),
            gives_log_p=True,
            gives_log_q=True,
            origin=self._origin(),
        )

    def _origin(self) -> dict[str, Any]:
        commit = getattr(self.model.config, "_commit_hash", None)
        if (base := base_of(self.spec)) is None:
            return origin_of(self.spec.source, *LIBRARIES, commit=commit)
        own = origin_of(self.spec.source, *LIBRARIES, "peft")
        return own | {"base": {"source": base.source, **origin_of(base.source, *LIBRARIES, commit=commit)}}

    def count_tokens(self, text: str) -> int:
        return len(self.vocabulary.encode(text))

    def refusal(self, decoder: Decoder) -> str:
        return ""

    def refused(self, requests: Sequence[Request]) -> dict[Any, str]:
        return refused(requests, self.vocabulary)

    def generate(self, requests: Sequence[Request], on_done: OnDone | None = None) -> list[Outcome]:
        """See ``base.Backend``. The longest come first, so that memory runs out at once or not at all."""
        engine = self._engine_for_runs()

        def position(number: int) -> tuple[Any, ...]:
            request = requests[number]
            return -len(request.prompt), request.prompt, -request.limits.most

        order = sorted(range(len(requests)), key=position)
        engine.add([replace(requests[number], key=number) for number in order])
        outcomes: dict[int, Outcome] = {}
        while len(outcomes) < len(requests):
            for number, outcome in engine.step():
                outcomes[number] = outcome
                if on_done is not None:
                    on_done(requests[number].key, outcome)
        engine.forget_prompts()
        if self._device.type == "cuda" and engine.held_bytes <= available_bytes(self._device) / 8:
            self._last_engine = engine
        return [outcomes[number] for number in range(len(requests))]

    def _engine_for_runs(self) -> TorchEngine:
        """A new engine, or the last one if it came to its end: the steps that it has recorded may fit again."""
        engine, self._last_engine = self._last_engine, None
        if engine is not None and self.model is not None:
            return engine
        batch = self._options.get("batch", BATCH[self._device.type])
        pace = Pace(batch, self._prefill_tokens, admit_at_least=max(1, batch // 8))
        return self._engine(pace, PromptCache(self._prefill_tokens))

    def open_engine(self, *, most_active: int) -> TorchEngine:
        most_kept = 0 if self._two_parts else min(KEPT_PROMPT_TOKENS, self._room.tokens_of(1 / 8))
        prompt_tokens = self._options.get("kept_prompt_tokens", most_kept)
        return self._engine(
            Pace(most_active, self._prefill_tokens, live=True), PromptCache(prompt_tokens, beginnings=True)
        )

    def close(self) -> None:
        self.model = self._last_engine = None
        release(self._device)

    @property
    def _prefill_tokens(self) -> int:
        return int(self._options.get("prefill_tokens", PREFILL_TOKENS[self._device.type]))

    def _engine(self, pace: Pace, prompts: PromptCache) -> TorchEngine:
        if self.model is None:
            raise BackendError(f"{self.spec.source} was closed.")
        kind = SourceEngine if self._two_parts else TorchEngine
        return kind(self.model, self.vocabulary, room=self._room, pace=pace, prompts=prompts)


class Tokens:
    """The model's tokenizer as a ``batch_rows.Vocabulary``."""

    def __init__(self, tokenizer: Any, model: Any, *, chat: bool, context: int | None = None) -> None:
        self._tokenizer = tokenizer
        text = model.config.get_text_config()
        named = ("max_position_embeddings", "n_positions")
        trained = _first_of(text, "max_encoder_position_embeddings", *named) or UNKNOWN_CONTEXT
        self.context_length: int = min(trained, context or trained)
        self.size: int = text.vocab_size
        special = tokenizer.get_added_vocab()
        ends = {special[name] for name in ENDS if name in special}
        for ids in (tokenizer.eos_token_id, model.config.eos_token_id, model.generation_config.eos_token_id):
            ends.update(ids if isinstance(ids, (list, tuple)) else [] if ids is None else [ids])
        self.ends = frozenset(token for token in ends if 0 <= token < self.size)
        self.head: tuple[int, ...]
        self.tail: tuple[int, ...] = ()
        self._chat = chat
        if chat:
            if not tokenizer.chat_template:
                raise BackendError("The model has no chat template; register it without chat.")
            message = [{"role": "user", "content": SENTINEL}]
            written = tokenizer.apply_chat_template(message, tokenize=False, add_generation_prompt=True)
            before, sentinel, after = written.partition(SENTINEL)
            if not sentinel:
                raise BackendError(
                    "The model's chat template does not show what the user said; register it without chat."
                )
            self.head, self.tail = tuple(self.encode(before)), tuple(self.encode(after))
        else:  # what the tokenizer adds before a text, such as a beginning-of-text token
            bare, with_special = self.encode("a"), tokenizer("a").input_ids
            starts = range(len(with_special) - len(bare) + 1)
            matches = (start for start in starts if with_special[start : start + len(bare)] == bare)
            start = next(matches, None)
            self.head = tuple(with_special[: start or 0])
            if start is not None and model.config.is_encoder_decoder:
                self.tail = tuple(with_special[start + len(bare) :])
        self.starts: tuple[int, ...] = ()
        if model.config.is_encoder_decoder:
            self.starts = _starts_of(model, self.head, tokenizer.bos_token_id)
        self.text_length: int = _first_of(text, "max_decoder_position_embeddings", *named) or UNKNOWN_CONTEXT
        # Some tokenizers drop the space before the first word. For them, the token before it is decoded, too.
        words = self.encode("a b")
        self._drops_space = bool(words) and not tokenizer.decode(words[-1:]).startswith(" ")

    def encode(self, text: str) -> list[int]:
        tokens: list[int] = self._tokenizer(text, add_special_tokens=False, verbose=False).input_ids
        return tokens

    def conversation(self, messages: Sequence[Message]) -> list[int] | None:
        if not self._chat:
            return None
        turns = [{"role": role, "content": SENTINEL} for role, _ in messages]
        try:
            written = self._tokenizer.apply_chat_template(turns, tokenize=False, add_generation_prompt=True)
        except Exception as error:  # a template may raise anything, such as for roles that do not alternate
            raise ValueError(str(error)) from error
        marks = written.split(SENTINEL)
        if len(marks) != len(messages) + 1:
            raise ValueError("it does not show every message once")
        tokens = self.encode(marks[0])
        for (_, content), mark in zip(messages, marks[1:], strict=True):
            # A person who writes a mark of the template gets its letters, not the mark.
            tokens += self._tokenizer(
                content, add_special_tokens=False, split_special_tokens=True, verbose=False
            ).input_ids
            tokens += self.encode(mark)
        return tokens

    def decode(self, tokens: Sequence[int]) -> str:
        if self.starts:  # the text continues nothing
            return self._text(tokens).lstrip(" ")
        if not self._drops_space:
            return self._text(tokens)
        before = self.encode("a")[-1:]
        return self._text([*before, *tokens])[len(self._text(before)) :]

    def _text(self, tokens: Sequence[int]) -> str:
        text: str = self._tokenizer.decode(list(tokens), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text


def _starts_of(model: Any, head: tuple[int, ...], beginning: int | None) -> tuple[int, ...]:
    """The tokens before every text of an encoder–decoder model: the one that its decoder starts with, then the one that
    all texts began with in training, if there is one (BART's beginning of a text, the language of mBART)."""
    start = next(
        (
            number
            for config in (model.generation_config, model.config)
            if isinstance(number := getattr(config, "decoder_start_token_id", None), int)
        ),
        beginning,
    )
    if start is None:
        raise BackendError(
            f"{model.config.name_or_path} does not say which token its texts begin with: add decoder_start_token_id to "
            "its config.json."
        )
    forced = _first_of(model.generation_config, "forced_bos_token_id")
    if forced is None and beginning is not None and head == (beginning,):
        forced = beginning
    return (start,) if forced is None else (start, forced)


def _first_of(config: Any, *names: str) -> int | None:
    return next((value for name in names if (value := getattr(config, name, None)) is not None), None)


def _distinct(tensors: Iterable[torch.Tensor]) -> list[torch.Tensor]:
    return list({tensor.data_ptr(): tensor for tensor in tensors}.values())
