"""The suggesters of the demo: the packaged model with two decoders, and a pool for suggestions that come too late."""

from __future__ import annotations

import subprocess
import sys
import time
from collections import Counter
from itertools import cycle
from pathlib import Path
from typing import TYPE_CHECKING

from common.words import counted, duration

if TYPE_CHECKING:
    from annotation.models import Study
    from annotation.task_types.base import TaskType
    from annotation.task_types.offers import SuggesterNeed

EXAMPLES = Path(__file__).resolve().parent.parent / "examples"
DECODERS = ("top_k=40", "top_p=0.9")
#: What is in the box goes beside the keywords: a text that only continued it would be half a slogan on the page.
SLOGAN = "Product: {prompt}\nKeywords: {keywords} {slogan}\nSlogan:"
#: Seconds until a prepared text is used, and seconds to wait for the model.
WITH_MODEL, WITHOUT_MODEL, LOADING_SECONDS = 20.0, 0.5, 240.0
NO_MODEL = (
    "Language models cannot run here, so all suggestions come from a pool of prepared texts. To have the packaged "
    "model write them: script/setup --models"
)


def make_suggesters(task: TaskType) -> list[str]:
    """The suggesters that the type's initial settings name, unless they exist. Returns lines about the new ones."""
    from generation.models import Suggester

    config = {name: field.initial for name, field in task.config_form.base_fields.items()}
    names = set(Suggester.objects.values_list("name", flat=True))
    new = [need for need in task.suggesters(config) if need.name not in names]
    lines = [_make_suggester(need, decoder) for need, decoder in zip(new, cycle(DECODERS), strict=False)]
    return [*lines, NO_MODEL] if lines and not _has_model() else lines


def choose_live_model(task: TaskType) -> str:
    """Has a process of its own find out in which way the packaged model writes fastest here, if the type needs it and
    nobody has yet. Returns a line about it; empty if there was nothing to find out."""
    from generation.registry.live_model import fastest_way

    config = {name: field.initial for name, field in task.config_form.base_fields.items()}
    if not task.suggesters(config) or not _has_model() or fastest_way() is not None:
        return ""
    command = [sys.executable, "manage.py", "generate", "register", "--live"]
    checked = subprocess.run(command, cwd=EXAMPLES.parent, capture_output=True, text=True, check=False)
    return checked.stdout.strip().rpartition("\n")[2] if not checked.returncode else ""


def _has_model() -> bool:
    from generation.backends import embedded_source
    from generation.backends.base import BackendError
    from generation.backends.requirements import missing

    try:
        embedded_source()
    except BackendError:
        return False
    return not missing("transformers")


def model_found(study: Study) -> str:
    """A line about the weights that will write the study's suggestions; empty if none will."""
    from annotation.instrument import asks_for_offers
    from generation.backends import embedded_source

    if not (asks_for_offers(study) and _has_model()):
        return ""
    path = Path(embedded_source())
    return f"Language model: {path.name}, {path.stat().st_size / 1e6:.0f} MB."


def wait_for_model(study: Study) -> str:
    """Waits until a suggester process has loaded the packaged model, if the study needs it and it can run.

    Returns a line about it; empty if there was nothing to wait for.
    """
    from annotation.instrument import asks_for_offers
    from generation.models import ModelWorker
    from generation.registry.presence import SUGGESTIONS

    if not (asks_for_offers(study) and _has_model()):
        return ""
    begin = time.monotonic()
    while time.monotonic() - begin < LOADING_SECONDS:
        states = set(ModelWorker.objects.filter(role=SUGGESTIONS).values_list("state", flat=True))
        if "ready" in states:
            return "The language model is loaded."
        if "failed" in states:
            return "The language model could not be loaded, so suggestions come from the pool. See the server's log."
        time.sleep(0.2)
    return f"The language model was not loaded within {duration(LOADING_SECONDS)}; until then, prepared texts are used."


def _make_suggester(need: SuggesterNeed, decoder: str) -> str:
    """A suggester that continues a story or, for a type that has none, writes the last line of an example."""
    from generation.registry.live_model import fastest_way
    from generation.registry.registration import ensure_embedded_model
    from generation.suggestions.definitions import create_suggester
    from generation.suggestions.pool_filling import fill_from_csv

    continues = "story" in need.fields
    suggester = create_suggester(
        name=need.name,
        model=fastest_way() or ensure_embedded_model(),
        decoder=decoder,
        template="{story}" if continues else SLOGAN,
        priming="" if continues else (EXAMPLES / "slogan_priming.txt").read_text("utf-8"),
        least_characters=20 if continues else 8,
        most_characters=250 if continues else 150,
        wait_seconds=WITH_MODEL if _has_model() else WITHOUT_MODEL,
    )
    pool = EXAMPLES / ("story_pool.csv" if continues else "slogan_pool.csv")
    filled = fill_from_csv(suggester=suggester, path=pool)
    return f"Suggester {need.name}: {suggester.model.name} with {decoder}, {counted(filled.added, 'text')} in its pool."


def sources_shown(study: Study) -> str:
    """A line about the sources of the suggestions that writers saw; empty if there were none."""
    from annotation.models import Offer

    counts = Counter(Offer.objects.filter(study=study).values_list("source", flat=True))
    if not counts:
        return ""
    names = {"live": "in time", "second_try": "at the second try", "pool": "from the pool", "none": "missing"}
    sources = ", ".join(f"{counts[source]} {name}" for source, name in names.items() if counts[source])
    return f"{counted(counts.total(), 'suggestion')} shown: {sources}."
