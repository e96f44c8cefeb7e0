"""What a backend is: a loaded model that turns prompts into texts.

Callers see this module only. ``open_backend`` (in ``generation.backends``) picks the class by the model's ``backend``
and imports its library then; so a process that never opens a backend never imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from generation.decoders import Decoder, Limits


class BackendError(Exception):
    """The model cannot be loaded or used: a message for the researcher says what, where and how to mend it."""


class PromptError(BackendError):
    """One prompt cannot be used (empty, longer than the model's context); the others can."""


class NoMemory(BackendError):
    """The device has no room for the model, or not even for one text; closing another model may help."""


@dataclass(frozen=True)
class ModelSpec:
    """Which model and how it is loaded. ``source``: a hub name, a folder, a GGUF file, or the name a server knows it
    by.

    ``dtype``: auto, float32, bfloat16, float16 or int8 (CPU, dynamic). ``device``: auto, cpu, cuda, cuda:N.
    ``key_variable`` names the environment variable that holds a server's key; the key itself is never stored.
    ``options`` are the backend's own (documented with it).
    """

    backend: str
    source: str
    revision: str = ""
    dtype: str = "auto"
    device: str = "auto"
    base_url: str = ""
    key_variable: str = ""
    chat: bool = False
    options: tuple[tuple[str, Any], ...] = ()


@dataclass(frozen=True)
class Facts:
    """What a loaded model says of itself. Bytes; tokens per second of one stream, where they were measured."""

    parameters: int | None
    memory_bytes: int | None
    context_length: int | None
    vocabulary: int | None
    dtype: str
    device: str
    gives_log_p: bool
    gives_log_q: bool


@dataclass(frozen=True)
class Request:
    """One text to be generated. ``key`` is the caller's and comes back with it. A prompt too long for the model is
    cut from the left to what fits when ``cut_left``, and refused otherwise; the first ``keep`` characters (a priming
    text) stay."""

    key: Any
    prompt: str
    decoder: Decoder
    limits: Limits
    seed: int
    cut_left: bool = True
    keep: int = 0


@dataclass(frozen=True)
class Generated:
    """One generated text.

    ``log_p``: the sum of the tokens' natural log-probabilities under the model itself (temperature 1, nothing
    truncated). ``log_q``: the same under what the decoder drew from (temperature, truncation, renormalised; with the
    end of text barred where a minimum length bars it). Both count the end-of-text token when the text ended with one.
    None: the backend cannot say, or the decoder draws nothing. ``finish_reason``: end (of text), length, sentence.
    ``seconds``: from the request's start to its last token, shared with the others in its batch. ``prompt_tokens``
    after any cut; ``cut_tokens``: how many were cut.
    """

    text: str
    token_ids: tuple[int, ...]
    n_tokens: int
    log_p: float | None
    log_q: float | None
    finish_reason: str
    seconds: float
    prompt_tokens: int
    cut_tokens: int = 0


@dataclass(frozen=True)
class Refused:
    """A request that cannot be served, with the reason in plain words."""

    reason: str


Outcome = Generated | Refused
OnDone = Callable[[Any, Outcome], None]


class Engine(Protocol):
    """Continuous batching: requests join and leave between two tokens. Not thread-safe; one thread owns it."""

    def add(self, requests: Sequence[Request]) -> None: ...

    def cancel(self, key: Any) -> None:
        """Forget a request; nothing comes back for it."""

    def step(self) -> list[tuple[Any, Outcome]]:
        """One token for every active request (after admitting waiting ones); what ended with it. A refused prompt
        ends here."""

    @property
    def n_active(self) -> int: ...

    @property
    def n_waiting(self) -> int: ...


class Backend(Protocol):
    spec: ModelSpec

    def facts(self) -> Facts: ...

    def count_tokens(self, text: str) -> int: ...

    def refusal(self, decoder: Decoder) -> str:
        """Why this backend cannot draw so, in plain words; empty when it can. Asked before a run starts."""

    def generate(self, requests: Sequence[Request], on_done: OnDone | None = None) -> list[Outcome]:
        """All outcomes, in the order of the requests; ``on_done(key, outcome)`` as each ends. Requests are grouped so
        that the device is filled; equal prompts are read once."""

    def open_engine(self, *, most_active: int) -> Engine: ...

    def close(self) -> None: ...
