"""The samples of a run as a file: CSV or JSON lines, one row per sample."""

from __future__ import annotations

import json
from collections.abc import Iterator

from common.cells import protect_cell
from common.csv_files import csv_text
from generation.models import GenerationRun
from generation.runs.samples import SampleRow, samples_of

COLUMNS = (
    *("sample", "context_id", "context", "model", "decoder", "parameter", "value", "number", "seed", "text"),
    *("n_tokens", "log_p", "log_q", "finish_reason", "seconds", "prompt_tokens", "cut_tokens", "token_ids", "score"),
    *("model_source", "revision", "dtype", "device", "versions"),
)


def csv_pieces(run: GenerationRun) -> Iterator[str]:
    """The CSV file: its header, then the samples of one context after the other. Cells are safe for spreadsheets."""
    yield csv_text([COLUMNS])
    for samples in samples_of(run):
        yield csv_text([[protect_cell(cell) for cell in _cells(sample)] for sample in samples])


def json_pieces(run: GenerationRun) -> Iterator[str]:
    """The file of JSON lines, the samples of one context after the other. Texts are exactly as generated."""
    for samples in samples_of(run):
        rows = (dict(zip(COLUMNS, _cells(sample), strict=True)) for sample in samples)
        yield "".join(json.dumps(row, ensure_ascii=False) + "\n" for row in rows)


def _cells(sample: SampleRow) -> tuple[str, ...]:
    name, value = (sample.label[0], f"{sample.label[1]:.6g}") if sample.label else ("", "")
    return (
        *(str(sample.id), sample.context_id, sample.context, sample.model, sample.decoder, name, value),
        *(str(sample.number), str(sample.seed), sample.text, str(sample.n_tokens), _number(sample.log_p)),
        *(_number(sample.log_q), sample.finish_reason, f"{sample.seconds:.4f}", str(sample.prompt_tokens)),
        *(str(sample.cut_tokens), " ".join(map(str, sample.token_ids)), _number(sample.score)),
        *(sample.model_source, sample.revision, sample.dtype, sample.device, sample.versions),
    )


def _number(value: float | None) -> str:
    return "" if value is None else f"{value:.6f}"
