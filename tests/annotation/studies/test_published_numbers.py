"""The examples and the types' own defaults have the numbers of the published studies.

The expected values are typed from the papers that each type names as its source: Tevet & Berant 2021 (hds, conTest),
Clark 2021 (detection, coding, writing, pairwise, likert), Giulianelli et al. 2023 (production), Zhang et al. 2020
(quality).
"""

import csv
from collections import defaultdict
from collections.abc import Mapping
from decimal import Decimal
from typing import Any

import pytest
import yaml

from annotation.studies.checking import default_config
from annotation.studies.spec import default_values
from annotation.task_types.registry import all_types, get_type
from tests.services import ROOT

EXAMPLES = ROOT / "examples"
DIVERSITY = {"items_per_hit": 1, "ratings_per_item": 10}
WARM_UP = {"write_first": True, "rate_first": True, "max_words": 15}
#: What a type's new study has, by its published study. Names with a dot are settings; a number beside a list of records
#: is its length.
PUBLISHED: dict[str, dict[str, Any]] = {
    "abs_hds": DIVERSITY | {"reward": "0.18", **{f"config.{name}": value for name, value in WARM_UP.items()}},
    "asp_hds": DIVERSITY | {"reward": "0.18", **{f"config.{name}": value for name, value in WARM_UP.items()}},
    "rnk_hds": DIVERSITY | {"reward": "0.18", **{f"config.{name}": value for name, value in WARM_UP.items()}},
    "sim_hds": DIVERSITY | {"reward": "0.56", **{f"config.{name}": value for name, value in WARM_UP.items()}},
    "con_test": {"items_per_hit": 1, "config.responses": 5, "config.max_words": 15},
    "production": {"ratings_per_item": 5},
    "quality": {"items_per_hit": 5, "config.raters_per_task": 1}
    | {"config.exam_most_wrong": 1, "config.exam_most_levels": 1},
    "detection": {"items_per_hit": 5, "hits_per_worker": 1, "reward": "1.25"},
    "comment_coding": {"ratings_per_item": 2, "config.authors_per_domain": 50, "config.labels": 11},
    "cyoa": {"items_per_hit": 1, "hits_per_worker": 1, "reward": "2.50"}
    | {"config.rounds": 5, "config.least_characters": 20, "config.most_characters": 260}
    | {"config.suggesters": 2, "config.statements": 5, "config.questions": 2},
    "mil_story": {"items_per_hit": 3, "hits_per_worker": 1, "config.sentences": 10}
    | {"config.statements": 5, "config.survey_statements": 1, "config.survey_questions": 3}
    | {"config.solo_questions": 1, "config.suggestion_statements": 5},
    "slogan": {"items_per_hit": 3, "hits_per_worker": 1, "config.suggesters": 3}
    | {"config.statements": 4, "config.suggestion_statements": 6},
    "form": {"items_per_hit": 1, "ratings_per_item": 3},  # nobody's: what docs/study-files.md says
    "pairwise": {"items_per_hit": 1, "ratings_per_item": 11, "config.criteria": 1}
    | {"config.ties": False, "config.reason": "required"},
    "likert": {"items_per_hit": 1, "ratings_per_item": 9, "reward": "0.15"}
    | {"config.points": 7, "config.statements": 5},
}
#: The names of rated statements in the data, which results are compared by.
TOPICS = {
    ("likert", "statements"): "creative coherent entertaining grammatical liked",
    ("mil_story", "statements"): "creative coherent entertaining grammatical satisfied",
    ("mil_story", "suggestion_statements"): "surprising creative grammatical liked appreciated",
    ("slogan", "statements"): "creative catchy relevant satisfied",
    ("slogan", "suggestion_statements"): "surprising creative catchy relevant liked appreciated",
}
#: Names of scale points from the highest to the lowest, empty where only the ends have names.
SCALES = {
    "abs_hds": "Very diverse, Diverse, Slightly diverse, Almost not diverse, Not diverse at all",
    "asp_hds": "Very diverse, Diverse, Slightly diverse, Almost not diverse, Not diverse at all",
    "rnk_hds": "Set A is much more diverse, Set A is somewhat more diverse, The diversity of both sets is similar, "
    "Set B is somewhat more diverse, Set B is much more diverse",
    "sim_hds": "Very similar, Similar, Slightly similar, Almost not similar, Not similar at all",
    "quality": "High Quality, Decent, Passable, Bad, Terrible",
    "detection": "Definitely machine-generated, Possibly machine-generated, Possibly human-written, "
    "Definitely human-written",
    "cyoa": "Strongly Agree, , , , Strongly Disagree",
    "mil_story": "Strongly agree, , , , , , Strongly disagree",
    "slogan": "Strongly agree, , , , , , Strongly disagree",
    "likert": "Strongly agree, , , , , , Strongly disagree",
}
FIT = "Excellent, Good, Somewhat, Poor, Invalid"


def example(name: str) -> dict[str, Any]:
    loaded: dict[str, Any] = yaml.safe_load((EXAMPLES / f"{name}.yaml").read_text("utf-8"))
    return loaded


def rows(name: str) -> list[dict[str, str]]:
    with (EXAMPLES / name).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def terms_of(document: Mapping[str, Any]) -> dict[str, Any]:
    """A study file's fields and settings with their defaults, lists of records by their length."""
    name = document["task_type"]
    config = default_config(get_type(name)) | document.get("config", {})
    counted = {f"config.{key}": len(value) if isinstance(value, list) else value for key, value in config.items()}
    return default_values(name) | dict(document) | counted


def test_every_type_has_its_published_numbers_here() -> None:
    assert set(PUBLISHED) | {"chat"} == set(all_types())  # conversations are not of a paper


@pytest.mark.parametrize("name", PUBLISHED)
def test_the_example_has_the_published_numbers(name: str) -> None:
    expected, found = PUBLISHED[name], terms_of(example(name))
    if "reward" in expected:
        found["reward"] = f"{Decimal(str(found['reward'])):.2f}"
    assert {key: found[key] for key in expected} == expected


@pytest.mark.parametrize("name", PUBLISHED)
def test_a_study_file_that_names_nothing_has_the_published_sizes_and_promises_no_money(name: str) -> None:
    found = terms_of({"task_type": name})
    expected = {key: value for key, value in PUBLISHED[name].items() if key != "reward"}
    assert {key: found[key] for key in expected} == expected
    assert found["reward"] == 0


def test_rated_statements_have_the_published_names() -> None:
    for (name, setting), topics in TOPICS.items():
        for config in (default_config(get_type(name)), example(name).get("config", {})):
            if setting in config:
                assert sorted(row["topic"].removeprefix("suggestions_") for row in config[setting]) == sorted(
                    topics.split()
                ), (name, setting)


@pytest.mark.parametrize("name", SCALES)
def test_scale_points_have_the_published_names(name: str) -> None:
    task = get_type(name)
    config = default_config(task)
    texts = {text.name: text.default for text in task.texts(config)}
    told = SCALES[name].split(", ")
    scales = [scale for question in task.questions(config, texts) if (scale := question.describe().scale)]
    named = [[point.label for point in sorted(scale.points, key=lambda point: -point.value)] for scale in scales]
    if name.endswith("_hds"):
        # Five names and half steps between them, but for the pairs of simHDS.
        assert sorted({len(labels) for labels in named if labels}) == ([5, 9] if name == "sim_hds" else [9])
        named = [[label for label in labels if label] for labels in named]
        assert FIT.split(", ") in named
    assert told in named


# --- sets, texts and arms ---


def test_the_sets_of_examples_have_five_responses_so_that_simhds_asks_about_ten_pairs() -> None:
    for name in ("sets.csv", "endings.csv"):
        for row in rows(name):
            assert [key for key, cell in row.items() if key.startswith("resp_") and cell] == [
                f"resp_{at}" for at in range(5)
            ]


def test_the_detection_example_has_the_published_arms_and_rewards() -> None:
    document = example("detection")
    arms = [
        (arm["name"], arm.get("config", {}).get("training", "none"), arm.get("reward", 1.25), arm["wanted"])
        for arm in document["arms"]
    ]
    assert arms == [
        ("none", "none", 1.25, 130),
        ("instructions", "instructions", 1.25, 130),
        ("examples", "examples", 1.75, 130),
        ("comparison", "comparison", 2.25, 130),
    ]


def test_the_texts_of_the_detection_example_are_as_published() -> None:
    """Half by people, one prompt, 100 words or more up to the end of a sentence; three practice texts and pairs."""
    texts = rows("stories-by-two.csv")
    main = [row for row in texts if not row["role"]]
    assert sum(row["source"] == "human" for row in main) * 2 == len(main)
    assert {row["prompt"] for row in texts} == {"Once upon a time"}
    practice = [bool(row["other_text"]) for row in texts if row["role"] == "practice"]
    assert (practice.count(False), practice.count(True)) == (3, 3)
    for text in [row["text"] for row in texts] + [row["other_text"] for row in texts if row["other_text"]]:
        assert 100 <= len(text.split()) <= 130
        assert text.rstrip("”\"'")[-1] in ".!?"


def test_the_continuations_of_the_quality_example_are_as_published() -> None:
    """The first 20 words of a news text, continued by at least as many systems as a task shows: five."""
    systems: dict[str, list[str]] = defaultdict(list)
    for row in rows("continuations.csv"):
        assert len(row["context"].split()) == 20
        systems[row["context"]].append(row["system"])
    assert all(len(set(names)) == len(names) >= 5 for names in systems.values())


def test_the_writing_examples_compare_writers_with_and_without_a_machine() -> None:
    for name in ("mil_story", "slogan"):
        document = example(name)
        assert [arm["name"] for arm in document["arms"]] == ["mil", "solo"]
        assert document["arms"][1]["config"] == {"suggestions": False}
        assert len(rows(document["items"])) == 3  # three prompts


def test_the_likert_example_asks_for_the_published_workers() -> None:
    """From the United States, over 1,000 HITs, over 95% approved; the platform compares with “at least”."""
    asked = example("likert")["platforms"]["mturk"]
    assert asked == {"locales": ["US"], "least_approved": 1001, "least_percent_approved": 96}


def test_run_files_have_the_published_sizes() -> None:
    quality, dectest = (
        yaml.safe_load((EXAMPLES / f"{name}.run.yaml").read_text("utf-8")) for name in ("quality", "dectest")
    )
    steps = [axis["steps"] for decoder in quality["decoders"] for axis in decoder.values()]
    assert (sum(steps), quality["samples"]) == (15, 10)
    assert dectest["decoders"][0]["temperature"]["steps"] == 100
    assert (dectest["samples"], dectest["assign"]) == (10, "one_per_context")


def test_judges_of_contest_sets_rate_as_in_abshds() -> None:
    document = example("con_test_sets")
    assert (document["task_type"], document["ratings_per_item"], document["reward"]) == ("abs_hds", 10, 0.18)
