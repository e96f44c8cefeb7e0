"""The samples of a run: as other apps read them, and as a file."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from typing import Any

import pytest

from generation.models import GenerationRun, Sample
from generation.runs.export import COLUMNS, csv_pieces, json_pieces
from generation.runs.run_worker import work_on
from generation.runs.samples import label_of, samples_of, shown_context
from tests.generation.support.run_factories import make_run
from tests.generation.support.toy_runs import Toy


def finished(**values: Any) -> GenerationRun:
    run = make_run(**values)
    work_on(run_id=run.pk, worker="w", backend_of=Toy().backend_of)
    run.refresh_from_db()
    assert run.state == "done", run.message
    return run


def exported(run: GenerationRun) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO("".join(csv_pieces(run)), newline="")))


def test_ancestral_sampling_is_temperature_one_in_a_sweep_of_temperatures_only() -> None:
    assert label_of("ancestral", {"temperature"}) == ("temperature", 1.0)
    assert label_of("ancestral", {"top_p"}) is None
    assert label_of("greedy", {"temperature"}) is None
    assert label_of("temperature=0.7,top_k=40", {"temperature"}) is None
    assert label_of("top_k=40", []) == ("top_k", 40.0)


def test_raters_never_see_the_priming_text() -> None:
    assert shown_context({"context": "c", "x": "y"}, "PRIMING c", 8) == "c"
    assert shown_context({"prompt": "p"}, "PRIMING p", 8) == "p"
    assert shown_context({"topic": "rain"}, "PRIMING Write about rain:", 8) == "Write about rain:"


@pytest.mark.django_db
def test_samples_come_context_by_context_in_the_order_of_the_run_file(everything_installed: None) -> None:
    run = finished(decoders=["top_k=100", "top_k=20", "greedy"], samples=2, models=["toy", "other"], chunk_size=3)
    rows_by_context = [
        [(row.context_id, row.model, row.decoder, row.number) for row in rows] for rows in samples_of(run)
    ]
    assert rows_by_context == [
        [
            (context, model, decoder, number)
            for model in ("toy", "other")
            for decoder, count in (("top_k=100", 2), ("top_k=20", 2), ("greedy", 1))
            for number in range(count)
        ]
        for context in ("1", "2", "3")
    ]
    assert [row["sample"] for row in exported(run)] == [str(row.id) for rows in samples_of(run) for row in rows]


@pytest.mark.django_db
def test_a_row_holds_all_of_its_sample(everything_installed: None) -> None:
    run = finished(contexts=["One"], decoders=["temperature=0.5"], samples=1)
    Sample.objects.update(log_p=-3.5, log_q=None, token_ids=[7, 8], n_tokens=2, finish_reason="end", text=" So.")
    (row,) = exported(run)
    assert tuple(row) == COLUMNS
    names = ("parameter", "value", "token_ids", "log_p", "log_q", "text", "seed", "context")
    assert {name: row[name] for name in names} == {
        "parameter": "temperature", "value": "0.5", "token_ids": "7 8", "log_p": "-3.500000", "log_q": "",
        "text": " So.", "seed": str(run.samples.get().seed), "context": "One",
    }  # fmt: skip


@pytest.mark.django_db
def test_the_csv_file_is_safe_in_a_spreadsheet_and_json_lines_are_exact(everything_installed: None) -> None:
    run = finished(contexts=["Grüße"], samples=2)
    Sample.objects.update(text="=1+1")
    assert {row["text"] for row in exported(run)} == {"'=1+1"}
    lines = [json.loads(line) for line in "".join(json_pieces(run)).splitlines()]
    assert {row["text"] for row in lines} == {"=1+1"}
    assert [row["sample"] for row in lines] == [row["sample"] for row in exported(run)]
    assert "Grüße" in "".join(json_pieces(run))


@pytest.mark.django_db
def test_memory_does_not_grow_with_the_run(everything_installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With five times the contexts, the most that is held at once stays the same."""
    monkeypatch.setattr("generation.runs.samples.FETCH_AT_ONCE", 50)

    def peak(contexts: int) -> int:
        run = finished(contexts=[f"Text {n}" for n in range(contexts)], samples=5, chunk_size=1000)
        tracemalloc.start()
        for _ in csv_pieces(run):
            pass
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(5)  # what is loaded and kept the first time
    assert peak(150) < 1.3 * peak(30)


@pytest.mark.django_db
def test_texts_with_carriage_returns_are_one_row_each(everything_installed: None) -> None:
    """Three contexts with one sample each: a header and three rows, whatever the texts contain."""
    run = finished(samples=1, decoders=["ancestral"])
    Sample.objects.update(text="One\rtwo\r")
    assert [row["text"] for row in exported(run)] == ["One\rtwo\r"] * 3
