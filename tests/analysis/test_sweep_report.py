"""Reports of generation runs: sweeps as curves, every decoder's figures, no invented ones."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pandas as pd
import pytest

from analysis.report.sweep import SweepData, write_sweep_report
from tests.analysis.support.pages import is_sound

COLUMNS = ["context", "model", "decoder", "number", "text", "n_tokens", "log_p", "log_q", "finish_reason", "seconds"]
SWEEP = {
    "temperature=0.5": [["a a a a", "a a a a"], ["b b b b", "b b b b"]],
    "ancestral": [["a b c d", "a b c d"], ["b c d e", "b c d f"]],
    "temperature=1.5": [["a b c d", "e f g h"], ["i j k l", "m n o p"]],
    "greedy": [["a a"], ["b b"]],
}
LABELS = {
    "temperature=0.5": ("temperature", 0.5),
    "ancestral": ("temperature", 1.0),
    "temperature=1.5": ("temperature", 1.5),
    "greedy": None,
}


def sweep_data(texts: Mapping[str, Sequence[Sequence[str]]], **values: Any) -> SweepData:
    """``texts``: for each decoder the samples of each context. Every token has log p −1 and log q −0.5."""
    rows = []
    for decoder, contexts in texts.items():
        for place, samples in enumerate(contexts):
            for number, text in enumerate(samples):
                n = len(text.split())
                log_q = None if decoder == "greedy" else -0.5 * n
                rows.append((f"c{place}", "tiny", decoder, number, text, n, -float(n), log_q, "length", 0.1))
    frame = pd.DataFrame(rows, columns=COLUMNS).astype({"log_q": float})
    usual: dict[str, Any] = {"name": "sweep", "state": "Done", "facts": [("Seed", "7")], "labels": LABELS}
    return SweepData(samples=frame, **usual | values)


def report(tmp_path: Path, texts: Mapping[str, Sequence[Sequence[str]]] = SWEEP, **values: Any) -> tuple[str, Any]:
    page = write_sweep_report(sweep_data(texts, **values), out_dir=tmp_path)
    text = page.read_text()
    is_sound(text)
    return text, json.loads((tmp_path / "report.json").read_text())


def test_a_sweep_is_drawn_with_its_trends(tmp_path: Path) -> None:
    page, numbers = report(tmp_path)
    assert 'id="sweep-temperature"' in page
    trends = {each["measure"]: each["rho"]["value"] for each in numbers["sections"]["sweep-temperature"]["trends"]}
    # Repetition by hand: "a a a a" has one 4-gram, so nothing repeats: 0 throughout, and no trend.
    assert trends["Repetition (share)"] is None
    assert trends["Distinct-n"] == pytest.approx(1.0)
    assert trends["Same text (share)"] == pytest.approx(-1.0)  # 1, then 1/2 (one context of two), then 0


def test_the_table_has_every_decoder_and_no_invented_figures(tmp_path: Path) -> None:
    _, numbers = report(tmp_path)
    rows = {row["decoder"]: row for row in numbers["sections"]["decoders"]["decoders"]}
    assert set(rows) == set(SWEEP)
    assert rows["ancestral"]["entropy"]["value"] == pytest.approx(2.0)  # −log q = 0.5 × 4 tokens
    assert rows["ancestral"]["log_p"]["value"] == pytest.approx(-4.0)
    assert rows["greedy"]["entropy"]["value"] is None
    assert rows["greedy"]["same"]["value"] is None


def axis_numbers(page: str, key: str) -> list[float]:
    """The numbers on the vertical axis of one figure."""
    svg = page[page.index(f'id="{key}-t"') :].partition("</svg>")[0]
    found = re.findall(r'text-anchor="end"[^>]*>([−\d.,]+)</text>', svg)
    return [float(each.replace("−", "-").replace(",", "")) for each in found]


@pytest.mark.parametrize(
    ("measure", "least", "greatest"),
    [("repetition", 0, 1), ("distinct", 0, 1), ("tokens", 0, 4), ("entropy_per_token", 0, 0.5)],
)
def test_the_axes_stay_within_the_range_of_a_measure(
    tmp_path: Path, measure: str, least: float, greatest: float
) -> None:
    """Nothing repeats here: a share that is 0 throughout was once drawn on an axis from −0.4."""
    page, _ = report(tmp_path)
    numbers = axis_numbers(page, f"temperature-{measure}")
    assert (min(numbers), max(numbers)) == (least, greatest)


def test_the_curves_have_intervals_over_contexts_and_say_so(tmp_path: Path) -> None:
    many = {name: [*contexts, ["e f g"], ["h i h i"], ["j j k"]] for name, contexts in SWEEP.items()}
    page, _ = report(tmp_path, many)
    assert page.count("Bands are 95% intervals over contexts.") >= 4
    few, _ = report(tmp_path)
    assert "There are no intervals: an interval needs at least 5 contexts." in few
    assert "Bands are" not in few


def test_decoders_without_a_label_make_no_sweep(tmp_path: Path) -> None:
    _, numbers = report(tmp_path, labels={})
    assert set(numbers["sections"]) == {"run", "decoders", "examples"}


def test_the_facts_are_shown(tmp_path: Path) -> None:
    page, _ = report(tmp_path, facts=[("Limits", "max_new_tokens: <10>")], n_wanted=14)
    assert '<dt>Limits</dt><dd dir="auto">max_new_tokens: &lt;10&gt;</dd>' in page
    assert "14 of 14" in page and "not final" not in page


def test_an_unfinished_run_is_marked(tmp_path: Path) -> None:
    page, _ = report(tmp_path, n_wanted=100)
    assert "The run has 14 of 100 samples so far. These figures are not final." in page


def test_a_run_without_samples_is_marked(tmp_path: Path) -> None:
    page, _ = report(tmp_path, {}, n_wanted=5)
    assert "There are no samples yet." in page


def test_texts_are_shown_as_text(tmp_path: Path) -> None:
    page, _ = report(tmp_path, {"greedy": [["<script>alert(1)</script>"]]})
    assert "&lt;script&gt;alert" in page
