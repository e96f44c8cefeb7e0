"""The packaged model for live suggestions, registered in several ways: the one that writes fastest here is used.

All ways have the same weights. They round differently (whole numbers, 16 bits, llama.cpp's own kernels), so the same
seed gives other texts of the same kind. Threads leave one core for pages, which would otherwise wait for the model.
"""

from __future__ import annotations

import os

from generation.backends.requirements import missing
from generation.models import LanguageModel
from generation.registry.open_models import EMBEDDED_SOURCE
from generation.registry.registration import register_model

#: By name: backend and dtype.
WAYS = {
    "smollm2-135m-live-int8": ("transformers", "int8"),
    "smollm2-135m-live": ("transformers", "auto"),
    "smollm2-135m-live-llama": ("llama_cpp", "auto"),
}
#: llama.cpp sets memory aside for every writer at once; a story and its suggestion have room in this many tokens.
LLAMA_CONTEXT = 512


def live_threads() -> int:
    """All cores of this process but one."""
    cores = len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
    return max(1, cores - 1)


def register_ways(*, actor: str = "") -> list[LanguageModel]:
    """The ways that this machine has the libraries for. Those that exist stay as they are."""
    ways = []
    for name, (backend, dtype) in WAYS.items():
        if missing(backend):
            continue
        options = {"threads": live_threads()} | ({"context": LLAMA_CONTEXT} if backend == "llama_cpp" else {})
        existing = LanguageModel.objects.filter(name=name).first()
        ways.append(
            existing
            or register_model(
                name=name, backend=backend, source=EMBEDDED_SOURCE, dtype=dtype, options=options, actor=actor
            )
        )
    return ways


def fastest_way() -> LanguageModel | None:
    """The one with the most tokens a second at its check; None if none has been checked and works."""
    works = LanguageModel.objects.filter(name__in=WAYS, check_state=LanguageModel.Check.PASSED, retired=False)
    return works.filter(tokens_per_second__isnull=False).order_by("-tokens_per_second", "name").first()
