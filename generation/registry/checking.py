"""Whether a registered model works: a check loads it and measures it, and workers note when its server is away."""

from __future__ import annotations

import logging
import time
from datetime import datetime, timedelta
from typing import Any

from django.db import transaction

from generation.backends.base import Backend, BackendError, Generated, Request, ServerAway, is_device_broken
from generation.backends.requirements import why_not
from generation.decoding.decoders import Decoder, Limits
from generation.models import LanguageModel
from generation.registry import open_models
from generation.registry.open_models import BackendOf

logger = logging.getLogger(__name__)

CHECK_TOKENS = 32
#: A pause is as long as the server has been away so far, within these limits, or as long as the server says.
SHORTEST_PAUSE, LONGEST_PAUSE = timedelta(seconds=5), timedelta(minutes=5)


def check_model(*, model_id: int, backend_of: BackendOf | None = None) -> LanguageModel:
    """Load the model, generate, and store what it reports and how fast it is, or the reason why it failed.

    Loading takes seconds to minutes. Use this in workers and on the command line, never in a web process.
    """
    model = LanguageModel.objects.get(pk=model_id)
    broken: Exception | None = None
    try:
        if lacking := why_not(model.backend):
            raise BackendError(lacking)
        begin = time.perf_counter()
        backend = (backend_of or open_models.backend_of)(model)
        load_seconds = time.perf_counter() - begin
        facts = backend.facts()
        _generate(backend, 1)  # the first one warms up
        tokens, seconds = _generate(backend, 2)
        values: dict[str, Any] = {
            "check_state": LanguageModel.Check.PASSED,
            "check_message": f"{facts.dtype} on {facts.device}",
            "parameters": facts.parameters,
            "memory_bytes": facts.memory_bytes,
            "context_length": facts.context_length,
            "tokens_per_second": round(tokens / seconds, 2) if seconds else None,
            "gives_log_p": facts.gives_log_p,
            "gives_log_q": facts.gives_log_q,
            "load_seconds": round(load_seconds, 2),
            "found": {"origin": dict(facts.origin), "fixed": list(facts.fixed)},
        }
    except Exception as error:  # any error from a library becomes a message
        logger.warning("The check of model %s failed.", model.name, exc_info=not isinstance(error, BackendError))
        values = {"check_state": LanguageModel.Check.FAILED, "check_message": describe_error(error)}
        broken = error if is_device_broken(error) else None
    LanguageModel.objects.filter(pk=model_id).update(**values)
    model.refresh_from_db()
    end_process_if_broken(broken)
    return model


def end_process_if_broken(broken: Exception | None) -> None:
    """End this process if its device is broken. Who started it starts another, for which the device works again."""
    if broken is not None:
        raise SystemExit(describe_error(broken)) from broken


def describe_error(error: BaseException) -> str:
    """An exception as a message: a backend's own message, or the type and first line of any other exception."""
    if is_device_broken(error):
        first = str(error).strip().partition("\n")[0]
        return f"The device failed: {first}. This process cannot use it any more, so it ends and a new one starts."
    if isinstance(error, BackendError):
        return str(error)
    if isinstance(error, MemoryError) or "out of memory" in str(error).lower():
        return "There is not enough memory. Choose a smaller model, a smaller dtype (bfloat16, int8) or fewer texts."
    first = str(error).strip().partition("\n")[0]
    return f"{type(error).__name__}: {first}" if first else type(error).__name__


@transaction.atomic
def note_server_away(*, model_id: int, error: ServerAway, answered: bool, now: datetime) -> None:
    """Record that the model's server cannot answer. One worker finds out for all chunks of all runs.

    ``answered``: it has just answered other requests, so it has not been away long.
    """
    model = LanguageModel.objects.select_for_update(no_key=True).get(pk=model_id)
    since = model.away_since if model.away_since and not answered else now
    pause = max(min(max(now - since, SHORTEST_PAUSE), LONGEST_PAUSE), timedelta(seconds=error.pause))
    LanguageModel.objects.filter(pk=model_id).update(away_since=since, away_until=now + pause, away_message=str(error))


def note_server_back(*, model_id: int) -> None:
    """Record that the model's server answers."""
    away = LanguageModel.objects.filter(pk=model_id, away_since__isnull=False)
    away.update(away_since=None, away_until=None, away_message="")


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
