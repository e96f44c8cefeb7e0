"""The registry of language models: registered by hand, checked where models run, retired, never changed."""

from __future__ import annotations

import logging
import re
import time
from collections.abc import Callable, Mapping
from typing import Any
from urllib.parse import urlsplit

from django.db import IntegrityError, transaction
from django.utils import timezone

from generation.backends.base import Backend, BackendError, Generated, ModelSpec, Request
from generation.decoders import Decoder, Limits
from generation.models import LanguageModel
from generation.problems import Invalid, Problem, invalid, refuse_if_any, unknown
from generation.requirements import why_not

logger = logging.getLogger(__name__)

#: Stands for the path of the model that comes as a package, which differs from machine to machine.
EMBEDDED_SOURCE = "embedded"
EMBEDDED_NAMES = {"transformers": "smollm2-135m", "llama_cpp": "smollm2-135m-llama"}
DTYPES = ("auto", "float32", "bfloat16", "float16", "int8")
CHECK_TOKENS = 32
BackendOf = Callable[[LanguageModel], Backend]
_DEVICE = re.compile(r"auto|cpu|mps|cuda(:\d{1,2})?")
_NAME = re.compile(r"[A-Za-z0-9_-]{1,60}")
_VARIABLE = re.compile(r"[A-Z][A-Z0-9_]{0,99}")


def spec_of(model: LanguageModel) -> ModelSpec:
    """How a backend opens the model. Raises BackendError where the embedded model is wanted and not installed."""
    source = model.source
    if source == EMBEDDED_SOURCE:
        from generation.backends import embedded_source

        source = embedded_source()
    return ModelSpec(
        backend=model.backend,
        source=source,
        revision=model.revision,
        dtype=model.dtype,
        device=model.device,
        base_url=model.base_url,
        key_variable=model.key_variable,
        chat=model.chat,
        options=tuple(sorted(model.options.items())),
    )


def register_model(
    *,
    name: str,
    backend: str,
    source: str,
    revision: str = "",
    dtype: str = "auto",
    device: str = "auto",
    base_url: str = "",
    key_variable: str = "",
    chat: bool = False,
    options: Mapping[str, Any] | None = None,
) -> LanguageModel:
    """A new model, or the one there is when it is registered with just these values. Raises Invalid.

    Whether it works is for ``check_model`` to find out, on a machine that has the model's requirements.
    """
    values: dict[str, Any] = {
        "backend": backend,
        "source": source.strip(),
        "revision": revision,
        "dtype": dtype,
        "device": device,
        "base_url": base_url.strip().rstrip("/"),
        "key_variable": key_variable,
        "chat": chat,
        "options": dict(options or {}),
    }
    refuse_if_any(_problems(name, values))
    try:
        with transaction.atomic():
            return LanguageModel.objects.create(name=name, **values)
    except IntegrityError:
        return _same(name, values)


def ensure_embedded_model(*, backend: str = "transformers") -> LanguageModel:
    """The model that comes as a package, registered if it is not yet. Raises Invalid."""
    if backend not in EMBEDDED_NAMES:
        raise Invalid([unknown("backend", backend, EMBEDDED_NAMES)])
    return register_model(name=EMBEDDED_NAMES[backend], backend=backend, source=EMBEDDED_SOURCE)


def find_model(name: str) -> LanguageModel:
    """The model called ``name``. Raises Invalid with the nearest name there is."""
    found = LanguageModel.objects.filter(name=name).first()
    if found is None:
        raise Invalid([unknown("model", name, LanguageModel.objects.order_by("name").values_list("name", flat=True))])
    return found


def retire_model(*, model_id: int, retired: bool = True) -> None:
    """Keep new runs and suggesters from using the model, or let them again. What it made stays."""
    LanguageModel.objects.filter(pk=model_id).update(retired=retired)


def check_model(*, model_id: int, backend_of: BackendOf | None = None) -> LanguageModel:
    """Load the model, generate, note what it says of itself and how fast it is; a failure is noted in plain words.

    Takes seconds to minutes and loads the model: for workers and the command line, never for a web process.
    """
    model = LanguageModel.objects.get(pk=model_id)
    try:
        found = _measured(model, backend_of or _held)
    except Exception as error:  # whatever a library raises ends up as a message
        logger.warning("The check of model %s failed.", model.name, exc_info=not isinstance(error, BackendError))
        found = {"check_state": LanguageModel.Check.FAILED, "check_message": in_words(error)}
    LanguageModel.objects.filter(pk=model_id).update(**found, checked_at=timezone.now())
    model.refresh_from_db()
    return model


def in_words(error: BaseException) -> str:
    """An exception as a message: a backend's own words, else its kind and first line."""
    if isinstance(error, BackendError):
        return str(error)
    if isinstance(error, MemoryError) or "out of memory" in str(error).lower():
        return "The memory did not suffice. Choose a smaller model, a smaller dtype (bfloat16, int8) or fewer texts."
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


def _held(model: LanguageModel) -> Backend:
    from generation.services.holding import backend_of

    return backend_of(model)


def _measured(model: LanguageModel, backend_of: BackendOf) -> dict[str, Any]:
    """What the check found. Raises BackendError, and whatever libraries raise."""
    if lacking := why_not(model.backend):
        raise BackendError(lacking)
    begin = time.perf_counter()
    backend = backend_of(model)
    load_seconds = time.perf_counter() - begin
    facts = backend.facts()
    _generate(backend, 1)  # the first one warms up
    tokens, seconds = _generate(backend, 2)
    return {
        "check_state": LanguageModel.Check.PASSED,
        "check_message": f"{facts.dtype} on {facts.device}",
        "parameters": facts.parameters,
        "memory_bytes": facts.memory_bytes,
        "context_length": facts.context_length,
        "tokens_per_second": round(tokens / seconds, 2) if seconds else None,
        "gives_log_p": facts.gives_log_p,
        "gives_log_q": facts.gives_log_q,
        "load_seconds": round(load_seconds, 2),
    }


def _generate(backend: Backend, seed: int) -> tuple[int, float]:
    """Tokens and seconds of one text."""
    request = Request(
        key=seed,
        prompt="The old bridge over the river was closed last winter, and",
        decoder=Decoder(),
        limits=Limits(max_new_tokens=CHECK_TOKENS),
        seed=seed,
    )
    begin = time.perf_counter()
    outcome = backend.generate([request])[0]
    if not isinstance(outcome, Generated):
        raise BackendError(f"The model refused a plain prompt: {outcome.reason}")
    if not outcome.n_tokens:
        raise BackendError("The model loads but generates nothing.")
    return outcome.n_tokens, time.perf_counter() - begin


def _same(name: str, values: Mapping[str, Any]) -> LanguageModel:
    """The model of that name if it has these values. Raises Invalid otherwise."""
    there = LanguageModel.objects.get(name=name)
    other = [f"{field} {getattr(there, field)!r}" for field, value in values.items() if getattr(there, field) != value]
    if other:
        what = f"There is a model “{name}” already, with {', '.join(other)}."
        raise invalid("name", what, "Models do not change, as samples refer to them: choose another name.")
    return there


def _problems(name: str, values: Mapping[str, Any]) -> list[Problem]:
    problems: list[Problem] = []
    if not _NAME.fullmatch(name):
        mend = "Use 1 to 60 letters, digits, hyphens and underscores."
        problems.append(Problem("name", f"“{name[:70]}” is no name.", mend))
    if values["backend"] not in LanguageModel.Backend.values:
        problems.append(unknown("backend", values["backend"], LanguageModel.Backend.values))
    if not values["source"] or len(values["source"]) > 500 or not values["source"].isprintable():
        mend = "Give a hub name, a folder, a GGUF file, or the name a server knows the model by."
        problems.append(Problem("source", f"The source is {values['source'][:60]!r}.", mend))
    if values["dtype"] not in DTYPES:
        problems.append(unknown("dtype", values["dtype"], DTYPES))
    if not _DEVICE.fullmatch(values["device"]):
        problems.append(
            Problem("device", f"“{values['device'][:30]}” is no device.", "Write auto, cpu, cuda or cuda:N.")
        )
    if len(values["revision"]) > 100:
        problems.append(Problem("revision", "The revision is too long.", "Use at most 100 characters."))
    return problems + _server_problems(values)


def _server_problems(values: Mapping[str, Any]) -> list[Problem]:
    problems: list[Problem] = []
    variable, url = values["key_variable"], values["base_url"]
    if variable and not _VARIABLE.fullmatch(variable):
        what = "This is not the name of an environment variable."  # it may be the key itself: not repeated
        mend = "Give the name of the variable that holds the key, such as OPENAI_API_KEY; the key is never stored."
        problems.append(Problem("key_variable", what, mend))
    if values["backend"] == LanguageModel.Backend.OPENAI:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.netloc or parts.username or len(url) > 300:
            what = "The address is missing." if not url else "This is no address of a server."
            problems.append(Problem("base_url", what, "Write it as http://127.0.0.1:8000/v1, without a key in it."))
    elif url or variable:
        what = f"The backend {values['backend']} asks no server."
        problems.append(Problem("base_url", what, "Take base_url and key_variable out, or use the backend openai."))
    return problems
