"""The backend ``llama_cpp``: a GGUF file through llama-cpp-python, the fast way on a CPU.

Options: ``batch`` (texts of a run at once), ``context`` (tokens of a prompt with its text, at most), ``threads``,
``gpu_layers`` (layers on a GPU, for a library built with one). Beam search is not offered.
"""

from __future__ import annotations

import ctypes
import os
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

from generation.backends.base import LOADING, BackendError, Facts, ModelSpec, OnDone, Outcome, Request
from generation.backends.batch_rows import refused
from generation.backends.capabilities import decoder_refusal
from generation.backends.llama_engine import LlamaEngine
from generation.backends.model_origin import origin_of
from generation.decoding.conversations import Message
from generation.decoding.decoders import Decoder

OPTIONS = ("batch", "context", "threads", "gpu_layers")
BATCH = 32
# A model's own context may be 128,000 tokens, and memory is allocated for all of it.
CONTEXT = 2048
NOT_INSTALLED = (
    "The library llama-cpp-python is not installed. Install it with: pip install -r requirements-llama.txt "
    "(it is compiled, which takes minutes and needs a C++ compiler)."
)
SENTINEL = "\u2402prompt\u2402"


class LlamaCppBackend:
    """See ``base.Backend``."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        self._options = spec.checked_options(OPTIONS)
        with LOADING:
            self._library = _library()
            path = Path(spec.source).expanduser()
            if not path.is_file():
                raise BackendError(
                    f"There is no file {spec.source} on this machine; llama_cpp takes the path of a GGUF file."
                )
            with path.open("rb") as file:
                if file.read(4) != b"GGUF":
                    raise BackendError(f"{path} is not a GGUF file: it does not begin as one. Download it again.")
            if spec.dtype != "auto":
                raise BackendError("A GGUF file has its own dtype; register it with dtype auto.")
            parameters = self._library.llama_model_default_params()
            parameters.n_gpu_layers = self._options.get("gpu_layers", 0)
            self._model = self._library.llama_model_load_from_file(str(path).encode(), parameters)
            if not self._model:
                raise BackendError(
                    f"{path} cannot be read by llama.cpp. It may be cut short, damaged, or of a kind that this version "
                    "does not know; download it again, or update llama-cpp-python."
                )
        if reason := encoder_refusal(self._library, self._model):
            raise BackendError(f"{path} {reason}")
        trained = int(self._library.llama_model_n_ctx_train(self._model))
        context = min(trained, int(self._options.get("context", CONTEXT)))
        self.vocabulary = LlamaTokens(self._library, self._model, chat=spec.chat, context=context)
        self._for_runs: LlamaEngine | None = None

    def facts(self) -> Facts:
        library = self._library
        description = ctypes.create_string_buffer(128)
        library.llama_model_desc(self._model, description, 128)
        return Facts(
            parameters=int(library.llama_model_n_params(self._model)),
            memory_bytes=int(library.llama_model_size(self._model)),
            context_length=self.vocabulary.context_length,
            vocabulary=self.vocabulary.size,
            dtype=description.value.decode(errors="replace") or "gguf",
            device="gpu" if self._options.get("gpu_layers") else "cpu",
            gives_log_p=True,
            gives_log_q=True,
            origin=origin_of(self.spec.source, "llama-cpp-python", "torch"),
        )

    def count_tokens(self, text: str) -> int:
        return len(self.vocabulary.encode(text))

    def refusal(self, decoder: Decoder) -> str:
        return decoder_refusal("llama_cpp", decoder)

    def refused(self, requests: Sequence[Request]) -> dict[Any, str]:
        return refused(requests, self.vocabulary)

    def generate(self, requests: Sequence[Request], on_done: OnDone | None = None) -> list[Outcome]:
        if self._for_runs is None:
            self._for_runs = self._engine(int(self._options.get("batch", BATCH)), live=False)
        engine = self._for_runs
        engine.clear()
        order = sorted(
            range(len(requests)), key=lambda number: (-len(requests[number].prompt), requests[number].prompt)
        )
        engine.add([replace(requests[number], key=number) for number in order])
        outcomes: dict[int, Outcome] = {}
        while len(outcomes) < len(requests):
            for number, outcome in engine.step():
                outcomes[number] = outcome
                if on_done is not None:
                    on_done(requests[number].key, outcome)
        return [outcomes[number] for number in range(len(requests))]

    def open_engine(self, *, most_active: int) -> LlamaEngine:
        return self._engine(most_active, live=True)

    def close(self) -> None:
        if self._for_runs is not None:
            self._for_runs.close()
            self._for_runs = None
        if self._model is not None:
            self._library.llama_model_free(self._model)
            self._model = None

    def _engine(self, most_active: int, *, live: bool) -> LlamaEngine:
        if self._model is None:
            raise BackendError(f"{self.spec.source} was closed.")
        threads = self._options.get("threads", os.cpu_count() or 1)
        return LlamaEngine(
            self._library, self._model, self.vocabulary, most_active=most_active, threads=threads, live=live
        )


def encoder_refusal(library: Any, model: Any) -> str:
    """What is wrong if the model has an encoder; empty if it has none."""
    if not library.llama_model_has_encoder(model):
        return ""
    return (
        "is an encoder–decoder model, which this backend cannot run; register its folder or hub name with the backend "
        "transformers."
    )


class LlamaTokens:
    """llama.cpp's tokenizer as a ``batch_rows.Vocabulary``."""

    starts: tuple[int, ...] = ()
    text_length = 0

    def __init__(self, library: Any, model: Any, *, chat: bool, context: int) -> None:
        self._library = library
        self._vocabulary = library.llama_model_get_vocab(model)
        self.size = int(library.llama_vocab_n_tokens(self._vocabulary))
        self.context_length = context
        self.ends = frozenset(
            token for token in range(self.size) if library.llama_vocab_is_eog(self._vocabulary, token)
        )
        self._pieces: dict[int, bytes] = {}
        bos = library.llama_vocab_bos(self._vocabulary)
        self.head: tuple[int, ...] = (bos,) if library.llama_vocab_get_add_bos(self._vocabulary) else ()
        self.tail: tuple[int, ...] = ()
        self._template = library.llama_model_chat_template(model, None) if chat else None
        self._start = self.head
        if chat:
            before, sentinel, after = self._written(["user"]).partition(SENTINEL)
            if not sentinel:
                raise BackendError("The model has no chat template that llama.cpp knows; register it without chat.")
            self.head = (*self.head, *self.encode(before, special=True))
            self.tail = tuple(self.encode(after, special=True))

    def _written(self, roles: Sequence[str]) -> str:
        """A conversation by the model's template, with `SENTINEL` for what every message contains."""
        messages = (self._library.llama_chat_message * len(roles))()
        for message, role in zip(messages, roles, strict=True):
            message.role, message.content = role.encode(), SENTINEL.encode()
        buffer = ctypes.create_string_buffer(8192 + 256 * len(roles))
        length = -1
        if self._template:
            length = self._library.llama_chat_apply_template(
                self._template, messages, len(roles), True, buffer, len(buffer)
            )
        return buffer.raw[: max(length, 0)].decode(errors="replace")

    def conversation(self, messages: Sequence[Message]) -> list[int] | None:
        if not self._template:
            return None
        marks = self._written([role for role, _ in messages]).split(SENTINEL)
        if len(marks) != len(messages) + 1:
            raise ValueError("it does not show every message once")
        tokens = [*self._start, *self.encode(marks[0], special=True)]
        for (_, content), mark in zip(messages, marks[1:], strict=True):
            # A person who writes a mark of the template gets its letters, not the mark.
            tokens += self.encode(content) + self.encode(mark, special=True)
        return tokens

    def encode(self, text: str, *, special: bool = False) -> list[int]:
        utf8 = text.encode()
        tokens = (self._library.llama_token * (len(utf8) + 8))()
        count = self._library.llama_tokenize(self._vocabulary, utf8, len(utf8), tokens, len(tokens), False, special)
        if count < 0:
            raise BackendError(f"A prompt of {len(utf8)} bytes cannot be split into tokens.")
        return list(tokens[:count])

    def decode(self, tokens: Sequence[int]) -> str:
        for token in set(tokens) - self._pieces.keys():
            buffer = ctypes.create_string_buffer(256)
            length = self._library.llama_token_to_piece(self._vocabulary, token, buffer, 256, 0, False)
            self._pieces[token] = buffer.raw[: max(length, 0)]
        return b"".join(self._pieces[token] for token in tokens).decode(errors="replace")


#: The callback must live as long as the library.
_log_callbacks: list[Any] = []


def _library() -> Any:
    try:
        import llama_cpp
    except ImportError:
        raise BackendError(NOT_INSTALLED) from None
    except (OSError, RuntimeError) as error:
        raise BackendError(f"llama-cpp-python is installed but cannot be loaded: {error}") from error
    # Otherwise llama.cpp writes every detail to standard error.
    if not _log_callbacks:
        _log_callbacks.append(llama_cpp.llama_log_callback(lambda level, text, data: None))
    llama_cpp.llama_log_set(_log_callbacks[0], None)
    llama_cpp.llama_backend_init()
    return llama_cpp
