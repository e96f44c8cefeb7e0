"""A best–worst and an MQM type, declared as the documentation shows: the same figures in report, exports, API and
console, counted by hand."""

from __future__ import annotations

import json
import math
import re
import sys
from collections.abc import Iterator, Mapping, Sequence
from inspect import getsource
from pathlib import Path
from textwrap import dedent
from typing import Any

import pytest
from django.conf import settings
from django.test import override_settings
from django.urls import reverse

from analysis.report import report_numbers, write_report
from annotation import task_types
from annotation.instrument import live_instrument, shown_to
from annotation.models import Assignment, Study
from annotation.results.frames import study_data
from annotation.task_types import registry
from annotation.task_types.items import Row
from annotation.work.answers import submit_step
from annotation.work.offers import open_page
from tests.annotation.console_helpers import as_role
from tests.annotation.results.exports.helpers import exported, read_csv
from tests.annotation.task_types import suite
from tests.annotation.task_types.walking import initial_config
from tests.factories import make_assignment, make_participant, make_study

pytestmark = pytest.mark.django_db

FOLDER = Path(__file__).parent / "installed"
DOCS = Path(settings.BASE_DIR) / "docs" / "adding-a-task-type.md"


@pytest.fixture(autouse=True)
def installed(monkeypatch: pytest.MonkeyPatch) -> Iterator[None]:
    """Both types, beside the others."""
    monkeypatch.setattr(task_types, "__path__", [*task_types.__path__, str(FOLDER)])
    folders = [FOLDER / name / "templates" for name in ("best_worst", "mqm")]
    templates = [{**settings.TEMPLATES[0], "DIRS": [*settings.TEMPLATES[0]["DIRS"], *folders]}]
    registry.all_types.cache_clear()
    try:
        with override_settings(TEMPLATES=templates):
            yield
    finally:
        registry.all_types.cache_clear()
        for name in [name for name in sys.modules if re.match(r"annotation\.task_types\.(best_worst|mqm)", name)]:
            del sys.modules[name]


def study_with(task_type: str, rows: Sequence[Mapping[str, str]], **values: Any) -> Study:
    task = registry.get_type(task_type)
    items, problems = task.read_items([Row(n, cells) for n, cells in enumerate(rows, start=1)], initial_config(task))
    assert not problems
    study: dict[str, Any] = {"items_per_hit": len(items), "ratings_per_item": 20, "slug": task_type.replace("_", "-")}
    return make_study(task_type=task_type, payloads=items, **(study | values))


def answered(study: Study, worker: str, forms: Mapping[str, Mapping[str, str]]) -> None:
    """One worker sends every page of a hit: ``forms`` by item."""
    assignment = make_assignment(participant=make_participant(study=study, name=worker))
    Assignment.objects.filter(pk=assignment.pk).update(accepted_at=study.live_at)
    instrument = live_instrument(assignment.participant.arm_id)
    shown = shown_to(assignment, instrument)
    for number in range(len(forms)):
        page = open_page(
            instrument=instrument,
            assignment_id=assignment.pk,
            hit_id=assignment.hit_id,
            order=assignment.order,
            number=number,
        ).page
        assert page is not None and page.item is not None
        outcome = submit_step(
            assignment_id=assignment.pk,
            participant_id=assignment.participant_id,
            number=number,
            data=dict(forms[shown.items[page.item].external_id]),
            timing={},
        )
    assert outcome.kind == "submitted", outcome


# --- best and worst of four ---

SYSTEMS = ("human", "large", "small", "tiny")
#: Best and worst text of both sets, by worker. In the second set, the systems are in reversed order.
CHOICES = {
    "ann": {"a": (0, 3), "b": (3, 0)},
    "ben": {"a": (0, 2), "b": (3, 1)},
    "cat": {"a": (1, 3), "b": (2, 0)},
    "dan": {"a": (0, 1), "b": (3, 2)},
}


@pytest.fixture
def sets() -> Study:
    rows = [
        {"set_id": name} | {f"text_{n}": f"Text {name}{n}." for n in range(4)}
        | {f"system_{n}": system for n, system in enumerate(systems)}
        for name, systems in (("a", SYSTEMS), ("b", SYSTEMS[::-1]))
    ]  # fmt: skip
    study = study_with("best_worst", rows)
    for worker, choices in CHOICES.items():
        forms = {item: {f"best.{best}": "yes", f"worst.{worst}": "yes"} for item, (best, worst) in choices.items()}
        answered(study, worker, forms)
    return study


#: Of set a: text 0 is best for three of four workers, text 1 best once and worst once, …
SCORES = {
    ("a", "0"): (0.75, math.sqrt(3) / 4), ("a", "1"): (0.0, math.sqrt(0.5)),
    ("a", "2"): (-0.25, math.sqrt(3) / 4), ("a", "3"): (-0.5, 0.5),
    ("b", "0"): (-0.5, 0.5), ("b", "1"): (-0.25, math.sqrt(3) / 4),
    ("b", "2"): (0.0, math.sqrt(0.5)), ("b", "3"): (0.75, math.sqrt(3) / 4),
}  # fmt: skip


def test_texts_of_a_set_have_the_same_score_everywhere(sets: Study) -> None:
    numbers = report_numbers(study_data(sets), draws=10)["sections"]["item-scores"]["quality"]
    in_report = {(row["item"], row["part"]): (row["score"]["value"], row["sd"]) for row in numbers}
    api = as_role("viewer", sets).get(reverse("api_items", args=[sets.slug])).json()["results"]
    in_api = {(item["item"], score["part"]): (score["score"], score["sd"]) for item in api for score in item["scores"]}
    wide = read_csv(exported(sets, "wide"))
    in_export = {
        (row["item"], part): (float(row[f"quality_{part}"]), float(row[f"quality_{part}_sd"]))
        for row in wide
        for part in ("0", "1", "2", "3")
    }

    for figures in (in_report, in_api, in_export):
        assert figures.keys() == SCORES.keys()
        for key, expected in SCORES.items():
            assert figures[key] == pytest.approx(expected), key
    # The interval is the same to the last bit, and stays within −1 and 1.
    ends = {(row["item"], row["part"]): (row["score"]["low"], row["score"]["high"]) for row in numbers}
    assert {
        (item["item"], score["part"]): (score["low"], score["high"]) for item in api for score in item["scores"]
    } == ends
    assert all(-1 <= low < high <= 1 for low, high in ends.values())
    assert wide[0]["quality_0_n"] == "4"


def test_the_report_compares_the_systems_of_the_texts(sets: Study) -> None:
    """Of each system, the mean of its two texts: human 0.75, large 0, small −0.25, tiny −0.5."""
    findings = report_numbers(study_data(sets), draws=10)["sections"]["findings"]

    levels = {row["level"]["name"]: row["level"]["mean"]["value"] for row in findings["levels by system"]}
    assert levels == pytest.approx({"human": 0.75, "large": 0.0, "small": -0.25, "tiny": -0.5})
    assert {row["criterion"] for row in findings["levels by system"]} == {"quality"}


def test_the_console_shows_the_score_of_every_text(sets: Study) -> None:
    client = as_role("viewer", sets)
    item = sets.items.get(external_id="a")
    page = client.get(reverse("console_item", args=[sets.slug, item.pk])).content.decode()
    assert "Best − worst, part 0" in page and "0.75" in page and "−0.25" in page
    assert client.get(reverse("console_items", args=[sets.slug])).status_code == 200


# --- errors with severity ---

#: Per worker and text: severities of the errors, by category.
ERRORS: dict[str, dict[str, list[tuple[str, float]]]] = {
    "ann": {"t1": [("accuracy", 5), ("fluency", 1)], "t2": [], "t3": [("fluency", 1)]},
    "ben": {"t1": [("fluency", 1)], "t2": [], "t3": [("fluency", 5)]},
    "cat": {"t1": [], "t2": [], "t3": [("accuracy", 1), ("accuracy", 1), ("fluency", 1)]},
}
CATEGORIES = {"accuracy": "1", "fluency": "2"}
#: Sums 6, 1, 0 of t1; 0, 0, 0 of t2; 1, 5, 3 of t3. More errors are worse: the score has a minus.
SUMS = {
    "t1": (-7 / 3, math.sqrt(62 / 9)),
    "t2": (0.0, 0.0),
    "t3": (-3.0, math.sqrt(8 / 3)),
}


def marked(**values: Any) -> Study:
    rows = [{"id": f"t{n}", "text": f"Text {n}.", "system": "human" if n == 2 else "large"} for n in (1, 2, 3)]
    study = study_with("mqm", rows, **values)
    for worker, texts in ERRORS.items():
        forms = {
            text: {"found": f"{len(errors)}"}
            | {f"category-{n}": CATEGORIES[category] for n, (category, _) in enumerate(errors, start=1)}
            | {f"severity-{n}": f"{severity:g}" for n, (_, severity) in enumerate(errors, start=1)}
            for text, errors in texts.items()
        }
        answered(study, worker, forms)
    study.factors = {"system": {"position": 0}, "category": {"of": "part", "position": 1}}
    study.save()
    return study


@pytest.fixture
def translations() -> Study:
    return marked()


def test_sums_of_errors_are_the_same_everywhere(translations: Study) -> None:
    numbers = report_numbers(study_data(translations), draws=10)["sections"]["item-scores"]["errors"]
    in_report = {row["item"]: (row["score"]["value"], row["sd"]) for row in numbers}
    api = as_role("viewer", translations).get(reverse("api_items", args=[translations.slug])).json()["results"]
    in_api = {item["item"]: (item["scores"][0]["score"], item["scores"][0]["sd"]) for item in api}
    wide = {row["item"]: row for row in read_csv(exported(translations, "wide"))}
    in_export = {item: (float(row["score"]), float(row["errors_sd"])) for item, row in wide.items()}

    for figures in (in_report, in_api, in_export):
        assert figures.keys() == SUMS.keys()
        for item, expected in SUMS.items():
            assert figures[item] == pytest.approx(expected), item
    assert float(wide["t1"]["errors_mean"]) == pytest.approx(7 / 3)
    assert (wide["t2"]["errors_n"], wide["t2"]["severity_n"]) == ("3", "0")


def test_findings_are_about_sums_and_about_the_labels_of_errors(translations: Study) -> None:
    """Of large: (−7/3 − 3) / 2; of human 0. Every text counts the same, and so does every error of a text: of accuracy,
    t1 has a 5 and t3 two errors of 1; of fluency, t1 has 1 and 1, t3 has 1, 5 and 1 as errors 1, 1 and 3."""
    findings = report_numbers(study_data(translations), draws=10)["sections"]["findings"]

    systems = {row["level"]["name"]: row["level"]["mean"]["value"] for row in findings["levels by system"]
               if row["criterion"] == "errors"}  # fmt: skip
    assert systems == pytest.approx({"large": -8 / 3, "human": 0.0})
    labels = {row["level"]["name"]: row["level"]["mean"]["value"] for row in findings["levels by category"]
              if row["criterion"] == "severity"}  # fmt: skip
    assert labels == pytest.approx({"accuracy": 3.0, "fluency": (1.0 + (3.0 + 1.0) / 2) / 2})


def test_arms_are_compared_on_the_same_sums() -> None:
    """Ann and cat are in one arm, ben is in the other: of t1 6 and 0, of t2 0 and 0, of t3 1 and 3; and 1, 0, 5."""
    study = marked(arms=({"name": "a"}, {"name": "b"}))

    sections = report_numbers(study_data(study), draws=10)["sections"]

    means = {arm: mean["value"] for arm, mean in sections["arms"]["scores"]["errors"]["means"].items()}
    assert means == pytest.approx({"a": -(3 + 0 + 2) / 3, "b": -(1 + 0 + 5) / 3})
    wide = {(row["item"], row["arm"]): float(row["score"]) for row in read_csv(exported(study, "wide"))}
    assert wide == {("t1", "a"): -3, ("t1", "b"): -1, ("t2", "a"): 0, ("t2", "b"): 0, ("t3", "a"): -2, ("t3", "b"): -5}


# --- the documentation and the suite ---


@pytest.mark.parametrize("name", ["best_worst", "mqm"])
def test_the_documentation_shows_what_the_type_declares(name: str) -> None:
    task = registry.get_type(name)
    blocks = re.findall(r"```python\n(.*?)```", DOCS.read_text("utf-8"), re.DOTALL)
    shown = "\n".join(blocks)
    for hook in (type(task).scores, type(task).factors):
        assert dedent(getsource(hook)).strip() in shown


@pytest.mark.parametrize("name", ["best_worst", "mqm"])
def test_the_types_keep_what_every_type_promises(name: str) -> None:
    task = registry.get_type(name)
    suite.check_words(task, initial_config(task))


def test_a_report_of_parts_can_be_written_and_read(sets: Study, tmp_path: Path) -> None:
    write_report(study_data(sets), out_dir=tmp_path, draws=10)
    page = (tmp_path / "report.html").read_text("utf-8")
    assert "Scores of items" in page and "could not be made" not in page
    numbers: dict[str, Any] = json.loads((tmp_path / "report.json").read_text("utf-8"))
    assert len(numbers["sections"]["item-scores"]["quality"]) == 8
