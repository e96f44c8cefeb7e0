"""What a worker checks when it opens a model for a run: is it still the same model, and do all prompts fit?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from django.db import transaction

from generation.backends.base import Backend, BackendError
from generation.backends.origin import differing, made_with
from generation.models import GenerationRun, LanguageModel
from generation.runs.fitting import refusals, refused_contexts


class Unsuitable(BackendError):
    """The run cannot be made with this model as it is; another try would not help."""


def check_first_use(run: GenerationRun, model: LanguageModel, backend: Backend) -> None:
    """Store what the model is if nobody has used it for the run; otherwise compare. Raises Unsuitable.

    With other libraries, dtypes and devices, the run continues: each sample's chunk records its own.
    """
    now = made_with(backend)
    if model.name not in run.origins:
        if reasons := refused_contexts(run, model, backend):
            raise Unsuitable(refusals(reasons))
        _store(run, model.name, now)
    if changed := differing(run.origins[model.name], now):
        was, found = changed
        raise Unsuitable(
            f"{model.name} is not the model that this run began with: it was {was} and is now {found}. Bring the "
            "old files back and resume the run, or register this model under another name and make another run."
        )


def _store(run: GenerationRun, model: str, now: Mapping[str, Any]) -> None:
    with transaction.atomic():
        stored = GenerationRun.objects.select_for_update(no_key=True).get(pk=run.pk)
        stored.origins.setdefault(model, dict(now))
        stored.save(update_fields=["origins"])
    run.origins = stored.origins
