"""Items made from samples and outputs: what every type promises, with samples and outputs to test it."""

from __future__ import annotations

from collections.abc import Sequence
from types import SimpleNamespace
from typing import Any

from annotation.task_types.base import TaskType
from annotation.task_types.items import Json, Row, SourceOutput, SourceRow
from tests.annotation.task_types.walking import initial_config

#: Some types leave out short texts.
LONG = f" {'It rained all day. ' * 30}".rstrip()


def check_sources(task: TaskType) -> None:
    """Rows made from samples and outputs are valid items, name what they use, and stay the same when more arrive."""
    config = initial_config(task)
    if task.sample_form is not None:
        options = {name: field.initial for name, field in task.sample_form.base_fields.items()}
        form = task.sample_form(options)
        assert form.is_valid(), form.errors
        samples = make_samples(more=LONG)
        rows, left_out = task.from_samples(samples, dict(form.cleaned_data))
        used = {source for row in rows for source in row.sources}
        assert used <= {sample.id for sample in samples}
        assert len(used) + left_out == len(samples)
        check_source_rows(task, config, rows)
    for kind in task.takes_outputs:
        outputs = make_outputs(kind)
        rows = task.from_outputs(outputs)
        check_source_rows(task, config, rows)
        for count in range(len(outputs)):
            fewer = task.from_outputs(outputs[:count])
            assert rows[: len(fewer)] == fewer, "rows already made stay the same and first"


def check_source_rows(task: TaskType, config: Json, rows: Sequence[SourceRow]) -> None:
    assert rows
    items, problems = task.read_items([Row(at, row.cells, row.sources) for at, row in enumerate(rows, 1)], config)
    assert problems == []
    assert all(row.sources for row in rows)
    assert len({item.external_id for item in items}) == len(items)


def make_samples(*, more: str = "") -> list[Any]:
    """Six texts by each of three decoders for one context, and one by a fourth. ``more`` is at the end of each."""
    labels = {"temp=0.5": ("temperature", 0.5), "temp=1": ("temperature", 1.0), "top_k=5": ("top_k", 5.0)}
    made = [(decoder, number) for decoder in labels for number in range(6)] + [("greedy", 0)]
    return [
        SimpleNamespace(
            id=100 + at,
            context_id="c1",
            context="Once upon a time",
            fields={},
            model="gpt2",
            decoder=decoder,
            label=labels.get(decoder),
            number=number,
            text=f" Text {number} of {decoder}.{more}\n",
            priming="",
        )
        for at, (decoder, number) in enumerate(made)
    ]


def make_outputs(kind: str) -> list[SourceOutput]:
    """Two items, each with outputs of four writers in two arms."""
    return [
        SourceOutput(
            id=10 * item + 2 * writer + int(high),
            kind=kind,
            context=f"Context {item}",
            texts=[f"Text {at} {high} by {writer}." for at in range(5 if kind == "set" else 1)],
            label=("content_diversity", float(high)),
            item="i" * 158 + str(item),
            author=f"w{writer}",
            arm="solo" if writer % 2 else "mil",
        )
        for writer in range(4)
        for item in (1, 2)
        for high in ((True, False) if kind == "set" else (True,))
    ]
