"""Whether the texts of a run fit into its models: checked when it is created, and again by the first worker.

Only a worker has the tokenizer. Before that, what certainly does not fit is refused: no token has more than one word.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from common.problems import Problem
from common.text_length import count_words
from common.words import counted
from generation.backends.base import Backend
from generation.decoding.decoders import Limits
from generation.models import GenerationRun, LanguageModel, RunContext
from generation.runs.places import place_of, request_of
from generation.runs.run_files import RunFile

MOST_LISTED = 20


def too_long(file: RunFile, models: Iterable[LanguageModel]) -> list[Problem]:
    """What the run's models certainly cannot do, by their stored context lengths; all contexts at once."""
    problems: list[Problem] = []
    for model in models:
        if model.context_length is not None:
            problems += _lengths(file, model.name, model.context_length)
    return problems


def unusable_decoders(file: RunFile, models: Iterable[LanguageModel]) -> list[Problem]:
    """Decoders that a model refused when it was checked."""
    problems = []
    for model in models:
        fixed = model.found.get("fixed", ())
        changing = [decoder.name for decoder in file.decoders if fixed and decoder.name != "ancestral"]
        if changing:
            what = f"{model.name} accepts only the default {' and '.join(fixed)}, so it cannot use {_some(changing)}."
            problems.append(Problem("decoders", what, "Use ancestral, or another model."))
    return problems


def _lengths(file: RunFile, model: str, context_length: int) -> list[Problem]:
    limits = file.limits
    has = f"{model} has room for {context_length:,} tokens, prompt included"
    if limits.needed >= context_length:
        return [Problem("limits", f"Each text should have {limits.shortest}, but {has}.", "Ask for fewer.")]
    most = context_length - limits.needed
    if file.over_long == "cut":
        words = max((count_words(each.prompt[: each.keep]) for each in file.contexts), default=0)
        what = f"The priming text has {words:,} words, each text should have {limits.shortest}, and {has}."
        return [Problem("priming", what, "Shorten the priming text.")] if words >= most else []
    long = [
        f"“{each.external_id}” ({count_words(each.prompt):,} words)"
        for number, each in enumerate(file.contexts)
        if count_words(each.prompt) > most and file.decoders_for(number, model)
    ]
    if not long:
        return []
    what = f"{counted(len(long), 'prompt')} of the run cannot fit, because {has}: {_some(long)}."
    return [Problem("contexts", what, "Shorten or remove these contexts, or write over_long: cut.")]


def refused_contexts(run: GenerationRun, model: LanguageModel, backend: Backend) -> dict[str, str]:
    """Every context of the run whose prompt this model refuses because of its length, by id, and why."""
    spec = run.spec
    if spec["over_long"] == "cut" and not spec["priming"] and Limits(**spec["limits"]).needed == 1:
        return {}  # every prompt can be cut until it fits
    numbers: set[int] = set()
    for places in run.chunks.filter(model=model).values_list("places", flat=True).iterator(chunk_size=500):
        numbers.update(place[0] for place in places)
    contexts = RunContext.objects.filter(run=run).order_by("number").iterator(chunk_size=2000)
    reasons: dict[str, str] = {}
    for context in contexts:
        if context.number in numbers:
            request = request_of(place_of(run, context, model.name, spec["decoders"][0], 0), spec)
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
