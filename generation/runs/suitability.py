"""Whether a run can be made with its models: checked when it is created, and again by each worker that opens a model.

Only a worker has the tokenizer and the weights. Before that, what certainly does not fit is refused: no token has more
than one word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from django.db import transaction

from common.problems import Problem
from common.text_length import count_words
from common.words import counted
from generation.backends.base import Backend, BackendError
from generation.backends.capabilities import decoder_refusal
from generation.backends.model_origin import differing, made_with
from generation.decoding.decoders import Limits
from generation.models import GenerationRun, LanguageModel, RunContext
from generation.runs.planned_samples import plan_sample, request_of
from generation.runs.run_files import RunFile

MOST_LISTED = 20


class Unsuitable(BackendError):
    """The run cannot be made with this model as it is; another try would not help."""


def too_long(file: RunFile, models: Iterable[LanguageModel]) -> list[Problem]:
    """What the run's models certainly cannot do, by their stored context lengths; all contexts at once."""
    problems: list[Problem] = []
    limits = file.limits
    for model in models:
        if model.context_length is None:
            continue
        has = f"{model.name} has room for {model.context_length:,} tokens, prompt included"
        most = model.context_length - limits.needed
        if most <= 0:
            what = f"Each text should have {limits.shortest}, but {has}."
            problems.append(Problem("limits", what, "Ask for fewer."))
        elif file.over_long == "cut":
            words = max((count_words(context.prompt[: context.keep]) for context in file.contexts), default=0)
            what = f"The priming text has {words:,} words, each text should have {limits.shortest}, and {has}."
            if words >= most:
                problems.append(Problem("priming", what, "Shorten the priming text."))
        else:
            long = [
                f"“{context.external_id}” ({count_words(context.prompt):,} words)"
                for number, context in enumerate(file.contexts)
                if count_words(context.prompt) > most and file.decoders_for(number, model.name)
            ]
            what = f"{counted(len(long), 'prompt')} of the run cannot fit, because {has}: {_some(long)}."
            if long:
                fix = "Shorten or remove these contexts, or write over_long: cut."
                problems.append(Problem("contexts", what, fix))
    return problems


def unusable_decoders(file: RunFile, models: Iterable[LanguageModel]) -> list[Problem]:
    """Decoders that a model's backend does not have, or that the model refused when it was checked."""
    problems = []
    for model in models:
        fixed = model.found.get("fixed", ())
        changing = [decoder.name for decoder in file.decoders if fixed and decoder.name != "ancestral"]
        if changing:
            what = f"{model.name} accepts only the default {' and '.join(fixed)}, so it cannot use {_some(changing)}."
            problems.append(Problem("decoders", what, "Use ancestral, or another model."))
        server = str(model.options.get("server") or model.found.get("origin", {}).get("server", ""))
        reasons: dict[str, list[str]] = {}
        for decoder in file.decoders:
            if reason := decoder_refusal(model.backend, decoder, server=server):
                reasons.setdefault(reason, []).append(decoder.name)
        for reason, names in reasons.items():
            problems.append(Problem("decoders", f"{model.name} cannot use {_some(names)}.", reason))
    return problems


def check_first_use(run: GenerationRun, model: LanguageModel, backend: Backend) -> None:
    """Store what the model is if nobody has used it for the run; otherwise compare. Raises Unsuitable.

    With other libraries, dtypes and devices, the run continues: each sample's chunk records its own.
    """
    origin = made_with(backend)
    if model.name not in run.origins:
        if reasons := refused_contexts(run, model, backend):
            raise Unsuitable(refusals(reasons))
        with transaction.atomic():
            stored = GenerationRun.objects.select_for_update(no_key=True).get(pk=run.pk)
            stored.origins.setdefault(model.name, origin)
            stored.save(update_fields=["origins"])
        run.origins = stored.origins
    if changed := differing(run.origins[model.name], origin):
        before, now = changed
        raise Unsuitable(
            f"{model.name} is not the model that this run began with: it was {before} and is now {now}. Bring the "
            "old files back and resume the run, or register this model under another name and make another run."
        )


def refused_contexts(run: GenerationRun, model: LanguageModel, backend: Backend) -> dict[str, str]:
    """Every context of the run whose prompt this model refuses because of its length, by id, and why."""
    spec = run.spec
    if spec["over_long"] == "cut" and not spec["priming"] and Limits(**spec["limits"]).needed == 1:
        return {}  # every prompt can be cut until it fits
    numbers: set[int] = set()
    for places in run.chunks.filter(model=model).values_list("places", flat=True).iterator(chunk_size=500):
        numbers.update(number for number, *_ in places)
    contexts = RunContext.objects.filter(run=run).order_by("number").iterator(chunk_size=2000)
    reasons: dict[str, str] = {}
    for context in contexts:
        if context.number in numbers:
            request = request_of(plan_sample(run, context, model.name, spec["decoders"][0], 0), spec)
            for reason in backend.refused([request]).values():
                reasons[context.external_id] = reason
    return reasons


def refusals(reasons: dict[str, str]) -> str:
    """Which contexts a model refused, and why."""
    listed = _some([f"context “{name}”: {reason}" for name, reason in reasons.items()], "; ")
    return f"The model refused {counted(len(reasons), 'prompt')}: {listed}"


def _some(texts: Sequence[str], separator: str = ", ") -> str:
    more = f" … and {len(texts) - MOST_LISTED:,} more" if len(texts) > MOST_LISTED else ""
    return separator.join(texts[:MOST_LISTED]) + more
