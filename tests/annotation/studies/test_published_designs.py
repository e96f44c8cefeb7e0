"""Study files in examples/published, and the run files in examples, have the numbers that the papers print
(published_numbers.yaml, typed from them)."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.services import ROOT

EXAMPLES = ROOT / "examples"
FOLDER = EXAMPLES / "published"
#: Run files that are of no paper's design.
OWN_RUNS = {"sweep"}
PAPERS = yaml.safe_load((Path(__file__).parent / "published_numbers.yaml").read_text("utf-8"))
FACTS = [(fact, file) for paper in PAPERS for fact in paper["facts"] for file in fact.get("files", [])]
RUN_FACTS = [(fact, file) for paper in PAPERS for fact in paper["facts"] for file in fact.get("runs", [])]


def value_in(document: dict[str, Any], fact: dict[str, Any]) -> Any:
    if "arm" in fact:
        (document,) = (arm for arm in document["arms"] if arm["name"] == fact["arm"])
    value: Any = document
    for part in fact["key"].split("."):
        value = value[int(part)] if isinstance(value, list) else value[part]
    return len(value) if fact["key"] == "arms" else value


@pytest.mark.parametrize(("fact", "file"), FACTS, ids=lambda one: one if isinstance(one, str) else one["fact"])
def test_a_published_design_has_the_paper_s_number_and_names_its_section(fact: dict[str, Any], file: str) -> None:
    text = (FOLDER / f"{file}.yaml").read_text("utf-8")
    assert value_in(yaml.safe_load(text), fact) == fact["value"], fact["section"]
    assert fact["section"] in text


@pytest.mark.parametrize(("fact", "file"), RUN_FACTS, ids=lambda one: one if isinstance(one, str) else one["fact"])
def test_a_run_file_has_the_paper_s_number_and_names_its_section(fact: dict[str, Any], file: str) -> None:
    text = (EXAMPLES / f"{file}.run.yaml").read_text("utf-8")
    assert value_in(yaml.safe_load(text), fact) == fact["value"], fact["section"]
    assert fact["section"] in text


def test_every_published_design_is_compared() -> None:
    assert {file for _, file in FACTS} == {path.stem for path in FOLDER.glob("*.yaml")}
    runs = {path.name.removesuffix(".run.yaml") for path in EXAMPLES.glob("*.run.yaml")}
    assert {file for _, file in RUN_FACTS} == runs - OWN_RUNS


def test_three_priming_texts_with_a_separator_come_before_a_machine_s_text() -> None:
    """Clark 2021, §6.2."""
    run = yaml.safe_load((EXAMPLES / "detection.run.yaml").read_text("utf-8"))
    *priming, rest = run["priming"].split("* * *")
    assert [len(text.split()) > 50 for text in priming] == [True] * 3
    assert rest.strip() == ""


@pytest.mark.parametrize(
    ("file", "sets", "usd"),
    [("tevet_abs_hds", 200, "360"), ("tevet_asp_hds", 200, "360"), ("tevet_rnk_hds", 200, "360"),
     ("tevet_sim_hds", 200, "1120")],
)  # fmt: skip
def test_an_experiment_costs_what_the_paper_paid(file: str, sets: int, usd: str) -> None:
    """Tevet & Berant 2021, §6.2: 200 sets, ten workers each."""
    document = yaml.safe_load((FOLDER / f"{file}.yaml").read_text("utf-8"))
    assert sets * document["ratings_per_item"] * Decimal(str(document["reward"])) == Decimal(usd)


def test_every_cell_of_the_detection_design_has_its_workers_and_pay() -> None:
    """Six cells without training and nine with one, GPT-3 only (chapter 6); 1.25, 1.25, 1.75 and 2.25 USD."""
    document = yaml.safe_load((FOLDER / "clark_detection.yaml").read_text("utf-8"))
    cells = {
        (arm["factors"]["training"], arm["factors"]["model"], arm["factors"]["domain"]) for arm in document["arms"]
    }
    trained = [("none", "gpt2"), *((name, "gpt3") for name in ("none", "instructions", "examples", "comparison"))]
    assert cells == {(*of, domain) for of in trained for domain in ("story", "news", "recipe")}
    pay = {"none": 1.25, "instructions": 1.25, "examples": 1.75, "comparison": 2.25}
    for arm in document["arms"]:
        assert arm["wanted"] == 130
        assert arm.get("reward", document["reward"]) == pay[arm["factors"]["training"]]
        assert arm["config"] == arm["factors"]
