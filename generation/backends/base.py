"""The interface of a backend: a loaded model that turns prompts into texts.

Callers use only this module. ``open_backend`` (in ``generation.backends``) chooses the class by the model's ``backend``
and imports its library at that moment, so a process that never opens a backend never imports torch.
"""

from __future__ import annotations

import threading
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

from generation.decoding.conversations import Message
from generation.decoding.decoders import Decoder, Limits

#: Held by whatever loads a model into this process: libraries change process-wide state meanwhile, and what is free in
#: memory can be promised only once. A model on a server needs no lock.
LOADING = threading.RLock()


class BackendError(Exception):
    """The model cannot be loaded or used. The message gives the problem, its place and how to fix it."""


class ServerAway(BackendError):
    """The server cannot answer now: unreachable, too busy (429) or broken (5xx). Another time it may. ``pause``: the
    seconds after which it wants to be asked again, if it says so."""

    def __init__(self, message: str, *, pause: float = 0.0) -> None:
        super().__init__(message)
        self.pause = pause


class EngineDied(BackendError):
    """The engine behind a backend has ended, and the backend with it. Another one can be opened."""


def is_device_broken(error: BaseException | None) -> bool:
    """Whether a device reported an error after which this process can no longer use it (CUDA calls it sticky)."""
    while error is not None:
        broken = type(error).__name__ == "AcceleratorError" or "CUDA error" in str(error)
        if broken and "out of memory" not in str(error):
            return True
        error = error.__cause__ or error.__context__
    return False


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

    def checked_options(self, allowed: Sequence[str]) -> dict[str, Any]:
        """The options by name; every one is a whole number above 0. Raises BackendError that names unknown ones."""
        options = dict(self.options)
        for name, value in options.items():
            if name not in allowed:
                raise BackendError(f"The backend {self.backend} has no option {name!r}; use {', '.join(allowed)}.")
            if isinstance(value, bool) or not isinstance(value, int) or value < 1:
                raise BackendError(f"The option {name} is {value!r}; use a whole number above 0.")
        return options


@dataclass(frozen=True)
class Facts:
    """What is known about a loaded model. Sizes in bytes and tokens. ``origin``: see ``backends.model_origin``.
    ``fixed``: parameters of decoders whose default is all that the model accepts."""

    parameters: int | None
    memory_bytes: int | None
    context_length: int | None
    vocabulary: int | None
    dtype: str
    device: str
    gives_log_p: bool
    gives_log_q: bool
    origin: Mapping[str, Any] = field(default_factory=dict)
    fixed: Sequence[str] = ()


@dataclass(frozen=True)
class Request:
    """One text to generate. ``key`` belongs to the caller and is returned with the outcome. A prompt that is too long
    for the model loses its beginning if ``cut_left``, and is refused otherwise; the first ``keep`` characters (a
    priming text) stay. ``rank``: which of the n-best texts of a beam search is wanted, 0 the best.

    ``messages``: the conversation that the text answers. A model with a chat template reads them in place of the
    ``prompt``; of a conversation that is too long for it, the oldest messages are left out. ``system`` and ``schema``
    are for chats on a server: a message before the prompt, and the JSON schema that the answer must have if the server
    can enforce one. Other backends use the prompt alone.
    """

    key: Any
    prompt: str
    decoder: Decoder
    limits: Limits
    seed: int
    cut_left: bool = True
    keep: int = 0
    rank: int = 0
    messages: tuple[Message, ...] = ()
    system: str = ""
    schema: Mapping[str, Any] | None = None


@dataclass(frozen=True)
class Generated:
    """One generated text.

    ``log_p``: the sum of the tokens' natural log-probabilities under the model itself (temperature 1, nothing
    truncated). ``log_q``: the same under the distribution that the decoder drew from (temperature, truncation,
    renormalised; without the end of text while a minimum length excludes it). Both count the end-of-text token if the
    text ended with one. None: the backend does not report it, or the decoder draws nothing. ``finish_reason``: end (of
    text), length, sentence, stop (before one of the limits' stop strings), or context (the model's context was full
    before the text had the tokens that were asked for). ``score``: what a beam search or a reranker ordered texts by; a
    beam search by the log p of all tokens that it drew, divided by their number to the power of the length penalty.
    ``seconds``: from the request's start to its last token, shared with the others in its batch. ``prompt_tokens``
    after any cut; ``cut_tokens``: how many were cut. ``billed``: tokens read and written, if these are more than the
    text has: what was cut off, or asked for again.
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
    score: float | None = None
    billed: tuple[int, int] | None = None

    @property
    def cost(self) -> tuple[int, int]:
        """Tokens read and written that a server may charge for."""
        return self.billed if self.billed is not None else (self.prompt_tokens, self.n_tokens)


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

    @property
    def unbegun(self) -> set[Any]:
        """The keys of the requests that nothing has been computed for yet."""

    def so_far(self, keys: Collection[Any]) -> dict[Any, str]:
        """The texts of these requests as far as they are written; empty if the engine cannot see them grow."""


class Backend(Protocol):
    """An open model. Any method may raise BackendError if the model can no longer be used, and ServerAway if its server
    cannot answer now."""

    spec: ModelSpec

    def facts(self) -> Facts: ...

    def count_tokens(self, text: str) -> int:
        """The tokens of the text alone, without those that go around a prompt; an estimate for a model on a server."""

    def refusal(self, decoder: Decoder) -> str:
        """Why this backend cannot use the decoder; empty if it can. Called before a run starts."""

    def refused(self, requests: Sequence[Request]) -> dict[Any, str]:
        """Which of the requests would not be fulfilled because of their length, by key, and why. Nothing is generated.
        A backend that cannot count tokens returns none."""

    def generate(self, requests: Sequence[Request], on_done: OnDone | None = None) -> list[Outcome]:
        """All outcomes, in the order of the requests. Calls ``on_done(key, outcome)`` as each ends, also for those
        that end before an error is raised. Requests are grouped so that the device is filled; equal prompts are read
        once."""

    def open_engine(self, *, most_active: int) -> Engine:
        """An engine for live use, with at most ``most_active`` requests in a batch."""

    def close(self) -> None:
        """Release the memory or the connection. The backend cannot be used afterwards."""
