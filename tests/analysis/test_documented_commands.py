"""Every command line in the docs that names an example study runs on what a researcher can save of that study."""

from __future__ import annotations

import json
import re
import shlex
from pathlib import Path
from typing import Any

import pytest

from analysis.__main__ import main
from analysis.data import read_bundle
from analysis.report import report_numbers
from tests.analysis.support.example_exports import example_study, save_exports
from tests.services import ROOT

#: Finished hits of each example. Quality has two tasks, so that texts have several raters.
HITS = {
    "likert": 24,
    "pairwise": 40,
    "detection": 24,
    "quality": 24,
    "abs_hds": 40,
    "sim_hds": 30,
    "production": 12,
    "cyoa": 12,
}
ONE_HIT_EACH = ("detection", "cyoa")
LINE = re.compile(r"^ *python -m analysis ([^#\n]*\bexample-[^#\n]*)", re.MULTILINE)
FORMS = ("long.csv", "long.jsonl", "bundle.zip", "api.json")
#: What makes the figures of an example: command, options.
FIGURES: dict[str, list[list[str]]] = {
    "likert": [["agreement", "--criterion", "creative"]],
    "pairwise": [["preference"]],
    "detection": [["detection"], ["compare", "--factor", "arm", "--factor", "source"]],
    "quality": [["compare"], ["preference"]],
    "abs_hds": [["compare"], ["agreement"], ["contest"]],
    "sim_hds": [["agreement"], ["compare"]],
    "production": [["variability", "--tagger", "none", "--embedder", "none"]],
    "cyoa": [],
}


def documented() -> dict[str, list[str]]:
    """The lines by the example that they name."""
    lines: dict[str, list[str]] = {}
    for page in [*sorted((ROOT / "docs").glob("*.md")), ROOT / "README.md"]:
        for line in LINE.findall(page.read_text()):
            name = next(name for name in HITS if f"example-{name.replace('_', '-')}-" in line)
            lines.setdefault(name, []).append(line.strip())
    return lines


@pytest.fixture
def saved(example: str, tmp_path: Path) -> Path:
    """The example's exports as a browser would save them, in a folder."""
    study = example_study(example, hits=HITS[example], workers=24 if example in ONE_HIT_EACH else 6)
    folder = tmp_path / "saved"
    folder.mkdir()
    save_exports(study, folder)
    for file in list(folder.iterdir()):
        file.rename(folder / f"{study.slug}-{file.name}")
    return folder


def run(words: list[str], capsys: pytest.CaptureFixture[str]) -> str:
    status = main(words)
    printed = capsys.readouterr()
    assert (status, printed.err) == (0, ""), words
    return printed.out


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("example", HITS)
def test_every_documented_line_runs_and_all_forms_of_a_study_give_the_same_figures(
    example: str, saved: Path, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(saved)
    monkeypatch.setenv("OPENBLAS_NUM_THREADS", "1")
    for line in documented().get(example, []):
        words = shlex.split(line)
        status = main(words)
        printed = capsys.readouterr()
        assert status == 0, f"{line}: {printed.err}"
        assert printed.out, line
    slug = f"example-{example.replace('_', '-')}"
    for words in FIGURES[example]:
        outcomes = [json.loads(run([words[0], f"{slug}-{form}", *words[1:], "--json"], capsys)) for form in FORMS]
        assert outcomes[0]["estimates"], words
        for form, outcome in zip(FORMS[1:], outcomes[1:], strict=True):
            for part in ("data", "estimates", "figures"):
                assert outcome[part] == outcomes[0][part], f"{words} on {form}: {part}"


@pytest.mark.slow
@pytest.mark.django_db
@pytest.mark.parametrize("example", ["quality", "detection"])
def test_figures_of_a_command_are_those_of_the_report(
    example: str, saved: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    """The report's sections read the study in a way of their own."""
    bundle = saved / f"example-{example}-bundle.zip"
    sections = report_numbers(read_bundle(bundle), draws=40)["sections"]
    if example == "detection":
        measures = sections["human_or_machine"]["measures"]
        estimates = outcome_of(["detection", str(saved / "example-detection-long.csv")], capsys)["estimates"]
        for name in ("accuracy", "precision", "recall", "f1", "alpha"):
            assert estimates[name]["value"] == pytest.approx(measures[name]["value"], nan_ok=True)
        return
    levels = sections["findings"]["levels by system"]
    estimates = outcome_of(["compare", str(saved / "example-quality-long.csv")], capsys)["estimates"]
    assert {row["level"]["name"]: row["level"]["mean"]["value"] for row in levels} == {
        name.removeprefix("quality.system.mean."): estimate["value"]
        for name, estimate in estimates.items()
        if name.startswith("quality.system.mean.")
    }


def outcome_of(words: list[str], capsys: pytest.CaptureFixture[str]) -> dict[str, Any]:
    outcome: dict[str, Any] = json.loads(run([*words, "--json"], capsys))
    return outcome


def test_the_docs_show_every_command_with_every_form() -> None:
    shown = [line for lines in documented().values() for line in lines]
    forms: dict[str, set[str]] = {}
    for line in shown:
        forms.setdefault(line.split()[0], set()).update(
            form for form in ("long", "bundle", "api") if f"-{form}." in line
        )
    every = {"long", "bundle", "api"}
    assert all(forms[name] == every for name in ("compare", "agreement", "preference", "detection", "writing"))
    assert forms["variability"] == forms["contest"] == every
    assert set(forms) >= {"diversity", "nuggets", "dectest", "ranking"}
