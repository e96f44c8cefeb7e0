"""Run files and runs, keyword-only."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from generation.models import GenerationRun, LanguageModel
from generation.runs.lifecycle import create_run
from generation.runs.run_files import RunFile, read_run

_numbers = itertools.count(1)


def make_model(*, name: str = "toy", **values: Any) -> LanguageModel:
    fields = {"backend": "transformers", "source": "toy"} | values
    return LanguageModel.objects.get_or_create(name=name, defaults=fields)[0]


def make_file(
    *, contexts: Sequence[Any] = ("One", "Two", "Three"), models: Sequence[str] = ("toy",), **values: Any
) -> RunFile:
    """Three contexts, two decoders, three samples each: 18 samples in chunks of four."""
    document = {
        "name": f"run-{next(_numbers)}",
        "models": list(models),
        "decoders": ["top_p=0.9", "temperature=0.5"],
        "contexts": list(contexts),
        "samples": 3,
        "chunk_size": 4,
        "limits": {"exact": 5},
    }
    return read_run(document | values, folder=Path())


def make_run(**values: Any) -> GenerationRun:
    file = make_file(**values)
    for name in file.models:
        make_model(name=name)
    return create_run(file=file)[0]
