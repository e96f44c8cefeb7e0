"""A run's samples as rows: all they hold, and the items of HDS, quality and detection studies."""

from __future__ import annotations

import csv
import io
import json
import tracemalloc
from typing import Any

import pytest

from generation.exporting import (
    FORMATS,
    SampleRow,
    Wanted,
    detection_rows,
    diversity_rows,
    label_of,
    quality_rows,
    sample_rows,
    shown_context,
    wanted_of,
    write_run,
)
from generation.models import GenerationRun, Sample
from generation.problems import Invalid
from generation.services.work import work_on
from tests.generation.run_factories import make_run
from tests.generation.run_toy import Toy

WORDS_100 = " ".join(["word"] * 100)


def row(**values: Any) -> SampleRow:
    given: dict[str, Any] = {
        "id": 1,
        "context_id": "c1",
        "context": "It rained.",
        "fields": {"context": "It rained."},
        "model": "m",
        "decoder": "temperature=0.7",
        "label": ("temperature", 0.7),
        "number": 0,
        "seed": 5,
        "text": " So we stayed.",
    }
    return SampleRow(**(given | values))


def finished(**values: Any) -> GenerationRun:
    run = make_run(**values)
    work_on(run_id=run.pk, worker="w", backend_of=Toy().backend_of)
    run.refresh_from_db()
    assert run.state == "done", run.message
    return run


def written(run: GenerationRun, **options: Any) -> list[dict[str, str]]:
    out = io.StringIO()
    write_run(run, out, **({"format": "samples", "wanted": wanted_of(run)} | options))
    return list(csv.DictReader(io.StringIO(out.getvalue(), newline="")))


# --- the row makers ---


def test_a_sample_s_row_holds_all_of_it() -> None:
    rows, left_out = sample_rows([row(token_ids=(7, 8), n_tokens=2, log_p=-3.5, finish_reason="end")], Wanted())
    assert left_out == 0
    found = {name: rows[0][name] for name in ("parameter", "value", "token_ids", "log_p", "log_q", "text", "seed")}
    assert found == {
        "parameter": "temperature", "value": "0.7", "token_ids": "7 8", "log_p": "-3.500000", "log_q": "",
        "text": " So we stayed.", "seed": "5",
    }  # fmt: skip


def test_sets_have_the_columns_of_the_released_files_and_the_decoder_s_label() -> None:
    """Columns: Tevet & Berant's diversity-eval files; label: the diversity parameter of section 6.1."""
    samples = [row(number=number, text=f" Text {number}. ") for number in range(3)]
    rows, left_out = diversity_rows(samples, Wanted(set_size=3))
    assert left_out == 0
    assert rows == [
        {
            "sample_id": "c1", "context": "It rained.", "label_value": "0.7", "label_name": "temperature",
            "resp_0": "Text 0.", "resp_1": "Text 1.", "resp_2": "Text 2.", "model": "m", "decoder": "temperature=0.7",
        }
    ]  # fmt: skip


def test_what_fills_no_set_is_left_out_and_counted() -> None:
    samples = [row(decoder="greedy", label=None)] + [row(number=number) for number in range(5)]
    rows, left_out = diversity_rows(samples, Wanted(set_size=2))
    assert [each["sample_id"] for each in rows] == ["c1-1", "c1-2"]
    assert left_out == 2


def test_sets_of_several_models_are_told_apart() -> None:
    samples = [row(model=model, number=number) for model in ("a", "b") for number in range(2)]
    rows, _ = diversity_rows(samples, Wanted(set_size=2, several=True))
    assert [each["sample_id"] for each in rows] == ["c1-a", "c1-b"]


def test_ancestral_sampling_is_temperature_one_in_a_sweep_of_temperatures_only() -> None:
    assert label_of("ancestral", {"temperature"}) == ("temperature", 1.0)
    assert label_of("ancestral", {"top_p"}) is None
    assert label_of("greedy", {"temperature"}) is None
    assert label_of("temperature=0.7,top_k=40", {"temperature"}) is None
    assert label_of("top_k=40", ()) == ("top_k", 40.0)


def test_a_continuation_is_named_by_its_system() -> None:
    """The payload of a quality item: context, text, system such as top_p=0.7, log_prob."""
    sample = row(decoder="top_p=0.7", number=4, log_p=-70.25)
    assert quality_rows([sample], Wanted())[0] == [
        {"sample_id": "c1-top_p=0.7-4", "context": "It rained.", "text": " So we stayed.", "system": "top_p=0.7",
         "log_prob": "-70.250000"}
    ]  # fmt: skip
    assert quality_rows([sample], Wanted(several=True))[0][0]["system"] == "m:top_p=0.7"


def test_detection_texts_end_with_the_sentence_that_passes_a_hundred_words() -> None:
    """Clark 2021, ch. 6: 100 words or longer, cut at the end of the sentence that passes 100 words."""
    fields = {"prompt": "Once", "domain": "story", "human_text": f"It began. {WORDS_100} and so it ended. More. "}
    samples = [
        row(fields=fields, context="Once", text=f" Short one. {WORDS_100} ends here. Left over."),
        row(fields=fields, context="Once", number=1, text=" Too short. "),
        row(fields=fields, context="Once", number=2, text=f"{WORDS_100} without any end"),
    ]
    rows, left_out = detection_rows(samples, Wanted())
    assert left_out == 2
    assert [(each["source"], each["domain"], each["prompt"]) for each in rows] == [
        ("human", "story", "Once"),
        ("m", "story", "Once"),
    ]
    assert rows[0]["text"] == f"It began. {WORDS_100} and so it ended."
    assert rows[1]["text"] == f"Short one. {WORDS_100} ends here."
    assert rows[0]["sample_id"] != rows[1]["sample_id"]
    assert detection_rows(samples[:1], Wanted(domain="news"))[0][0]["domain"] == "story"
    plain = row(text=f"{WORDS_100} x.")
    assert detection_rows([plain], Wanted(domain="news"))[0][0]["domain"] == "news"


def test_control_characters_are_no_item_s_text() -> None:
    assert diversity_rows([row(text="a\x1bb"), row(text="c\n")], Wanted(set_size=2))[0][0]["resp_0"] == "a�b"
    assert quality_rows([row(text="a\x1bb")], Wanted())[0][0]["text"] == "a�b"


def test_raters_never_see_the_priming_text() -> None:
    assert shown_context({"context": "c", "x": "y"}, "PRIMING c", 8) == "c"
    assert shown_context({"prompt": "p"}, "PRIMING p", 8) == "p"
    assert shown_context({"topic": "rain"}, "PRIMING Write about rain:", 8) == "Write about rain:"


# --- from a run ---


@pytest.mark.django_db
def test_rows_come_in_the_order_of_the_run_file(everything_installed: None) -> None:
    run = finished(decoders=["top_k=100", "top_k=20", "greedy"], samples=2, models=["toy", "other"], chunk_size=3)
    rows = written(run)
    assert [(each["context_id"], each["model"], each["decoder"], each["number"]) for each in rows] == [
        (context, model, decoder, str(number))
        for context in ("1", "2", "3")
        for model in ("toy", "other")
        for decoder, count in (("top_k=100", 2), ("top_k=20", 2), ("greedy", 1))
        for number in range(count)
    ]
    assert set(rows[0]) == set(FORMATS["samples"].columns(Wanted()))


@pytest.mark.django_db
def test_the_file_of_all_samples_is_safe_in_a_spreadsheet_and_items_are_exact(everything_installed: None) -> None:
    run = finished(contexts=["One"], samples=2)
    Sample.objects.update(text="=1+1")
    guarded = {"guard": lambda text: f"'{text}" if text.startswith("=") else text}
    assert {each["text"] for each in written(run, **guarded)} == {"'=1+1"}
    assert {each["resp_0"] for each in written(run, format="diversity", **guarded)} == {"=1+1"}


@pytest.mark.django_db
def test_json_lines_hold_the_same_and_are_exact(everything_installed: None) -> None:
    run = finished(contexts=["Grüße"], samples=2)
    out = io.StringIO()
    done = write_run(run, out, format="quality", wanted=wanted_of(run), json_lines=True)
    lines = [json.loads(line) for line in out.getvalue().splitlines()]
    assert (done.rows, done.left_out, len(lines)) == (4, 0, 4)
    assert lines == written(run, format="quality")
    assert "Grüße" in out.getvalue()


@pytest.mark.django_db
def test_a_set_size_that_cannot_be_is_refused(everything_installed: None) -> None:
    run = make_run(samples=4)
    assert wanted_of(run).set_size == 4
    assert wanted_of(make_run(samples=30)).set_size == 10
    for size in (1, 5, 11):
        with pytest.raises(Invalid, match="A set has 2 to 10 texts, and the run has 4 of each decoder"):
            wanted_of(run, set_size=size)


@pytest.mark.django_db
def test_memory_does_not_grow_with_the_run(everything_installed: None, monkeypatch: pytest.MonkeyPatch) -> None:
    """With five times the contexts, the most that is held at once stays the same."""
    monkeypatch.setattr("generation.exporting.FETCH_AT_ONCE", 50)

    class Nowhere(io.StringIO):
        def write(self, text: str) -> int:
            return len(text)

    def peak(contexts: int) -> int:
        run = finished(contexts=[f"Text {n}" for n in range(contexts)], samples=5, chunk_size=1000)
        tracemalloc.start()
        write_run(run, Nowhere(), format="samples", wanted=wanted_of(run))
        most = tracemalloc.get_traced_memory()[1]
        tracemalloc.stop()
        return most

    peak(5)  # what is loaded and kept the first time
    assert peak(150) < 1.3 * peak(30)
