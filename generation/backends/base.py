"""The interface of a backend: a loaded model that turns prompts into texts.

Callers use only this module. ``open_backend`` (in ``generation.backends``) chooses the class by the model's ``backend``
and imports its library at that moment, so a process that never opens a backend never imports torch.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Protocol

from generation.decoding.decoders import Decoder, Limits


class BackendError(Exception):
    """The model cannot be loaded or used. The message gives the problem, its place and how to fix it."""


class NoMemory(BackendError):
    """The device has too little memory for the model or for a single text; closing another model may help."""


@dataclass(frozen=True)
class ModelSpec:
    """Which model and how it is loaded. ``source``: a hub name, a folder, a GGUF file, or its name on a server.

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
    """What is known about a loaded model. Sizes in bytes and tokens."""

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
    """One text to generate. ``key`` belongs to the caller and is returned with the outcome. A prompt that is too long
    for the model loses its beginning if ``cut_left``, and is refused otherwise; the first ``keep`` characters (a
    priming text) stay."""

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
    truncated). ``log_q``: the same under the distribution that the decoder drew from (temperature, truncation,
    renormalised; without the end of text while a minimum length excludes it). Both count the end-of-text token if the
    text ended with one. None: the backend does not report it, or the decoder draws nothing. ``finish_reason``: end (of
    text), length, sentence. ``seconds``: from the request's start to its last token, shared with the others in its
    batch. ``prompt_tokens`` after any cut; ``cut_tokens``: how many were cut.
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
class NotGenerated:
    """A request that cannot be fulfilled, with the reason."""

    reason: str


Outcome = Generated | NotGenerated
OnDone = Callable[[Any, Outcome], None]


class Engine(Protocol):
    """Continuous batching: requests join and leave between two tokens. Not thread-safe; one thread owns it."""

    def add(self, requests: Sequence[Request]) -> None:
        """Queue requests. `step` returns what becomes of each."""

    def cancel(self, key: Any) -> None:
        """Forget the request with this key. It gets no outcome."""

    def step(self) -> list[tuple[Any, Outcome]]:
        """Admit waiting requests, then generate one token for every active one. Returns those that ended, refused
        prompts included."""

    @property
    def n_active(self) -> int: ...

    @property
    def n_waiting(self) -> int: ...


class Backend(Protocol):
    """An open model. Any method may raise BackendError if the model can no longer be used, such as a server."""

    spec: ModelSpec

    def facts(self) -> Facts: ...

    def count_tokens(self, text: str) -> int:
        """The tokens of the text alone, without those that go around a prompt; an estimate for a model on a server."""

    def refusal(self, decoder: Decoder) -> str:
        """Why this backend cannot use the decoder; empty if it can. Called before a run starts."""

    def generate(self, requests: Sequence[Request], on_done: OnDone | None = None) -> list[Outcome]:
        """All outcomes, in the order of the requests. Calls ``on_done(key, outcome)`` as each ends. Requests are
        grouped so that the device is filled; equal prompts are read once."""

    def open_engine(self, *, most_active: int) -> Engine:
        """An engine for live use, with at most ``most_active`` requests in a batch."""

    def close(self) -> None:
        """Release the memory or the connection. The backend cannot be used afterwards."""
