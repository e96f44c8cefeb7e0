"""The files in examples/published have the numbers that the papers print (published_numbers.yaml, typed from them)."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import yaml

from tests.services import ROOT

FOLDER = ROOT / "examples" / "published"
PAPERS = yaml.safe_load((Path(__file__).parent / "published_numbers.yaml").read_text("utf-8"))
FACTS = [(fact, file) for paper in PAPERS for fact in paper["facts"] for file in fact["files"]]


def value_in(document: dict[str, Any], fact: dict[str, Any]) -> Any:
    if "arm" in fact:
        (document,) = (arm for arm in document["arms"] if arm["name"] == fact["arm"])
    value: Any = document
    for part in fact["key"].split("."):
        value = value[part]
    return len(value) if fact["key"] == "arms" else value


@pytest.mark.parametrize(("fact", "file"), FACTS, ids=lambda one: one if isinstance(one, str) else one["fact"])
def test_a_published_design_has_the_paper_s_number_and_names_its_section(fact: dict[str, Any], file: str) -> None:
    text = (FOLDER / f"{file}.yaml").read_text("utf-8")
    assert value_in(yaml.safe_load(text), fact) == fact["value"], fact["section"]
    assert fact["section"] in text


def test_every_published_design_is_compared() -> None:
    assert {file for _, file in FACTS} == {path.stem for path in FOLDER.glob("*.yaml")}


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
