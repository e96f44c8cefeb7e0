"""The report's first section: what was found by factor, in sentences and tables."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from scipy import stats

from analysis.description import Factor, Point, QuestionDescription, Scale
from analysis.factors import factors_of, level_names
from analysis.findings import Answers
from analysis.report.sections.finding_sentences import mean_sentence, mean_sentences
from tests.analysis.support.pages import Page, built, unknown_numbers
from tests.analysis.support.studies import CHOICE, LIKERT, Values, a_set, arm, study_data

SYSTEMS = ("human", "large", "small")


def rated(shifts: tuple[float, float, float], seed: int = 1) -> tuple[list[dict[str, Any]], Values]:
    """24 stories by three systems, in two domains, for eight prompts, rated 1 to 7 by ten workers."""
    rng = np.random.default_rng(seed)
    items = [
        a_set(f"i{at}", context=f"prompt {at // 3}", cells={"system": SYSTEMS[at % 3], "domain": "ab"[at // 12]})
        for at in range(24)
    ]
    difficulty, taste = rng.normal(0, 0.4, 24), rng.normal(0, 0.5, 10)
    values = {
        (f"i{at}", f"w{worker}"): float(
            np.clip(round(4 + shifts[at % 3] + difficulty[at] + taste[worker] + rng.normal(0, 0.7)), 1, 7)
        )
        for at in range(24)
        for worker in range(10)
    }
    return items, values


def findings(items: list[dict[str, Any]], values: Values, folder: Path, **study: Any) -> tuple[str, dict[str, Any]]:
    page, sections = built(study_data(items, values, **(LIKERT | study)), folder)
    return page, sections["findings"]


def test_the_best_system_is_named_with_its_mean_and_the_difference(tmp_path: Path) -> None:
    items, values = rated((1.5, 0.0, -1.2))
    page, found = findings(items, values, tmp_path)
    sentence = found["sentences"][0]["sentence"]
    of = {
        system: float(np.mean([value for (item, _), value in values.items() if int(item[1:]) % 3 == at]))
        for at, system in enumerate(SYSTEMS)
    }
    assert sentence.startswith(f"human is ahead: {of['human']:.2f} [")
    assert f"against {of['large']:.2f} [" in sentence and "for large, the next by system" in sentence
    assert f"Difference {of['human'] - of['large']:.2f} [" in sentence
    levels = [row for row in found["levels by system"] if row["criterion"] == "creative"]
    assert [(row["level"]["name"], row["level"]["letters"]) for row in levels] == [
        ("human", "a"), ("large", "b"), ("small", "c"),
    ]  # fmt: skip
    assert page.index("What the study found") < page.index("What was asked")
    numbers = built(study_data(items, values, **LIKERT), tmp_path)[1]
    assert unknown_numbers(Page(page), {"sections": numbers}) == []


def test_systems_that_are_not_told_apart_are_not_ranked(tmp_path: Path) -> None:
    _, found = findings(*rated((0.0, 0.0, 0.0), seed=2), tmp_path)
    assert found["sentences"][0]["sentence"].startswith("The data do not show which system is ahead: ")


def test_a_declared_reference_is_what_others_are_compared_with(tmp_path: Path) -> None:
    _, found = findings(*rated((1.5, 0.0, 0.0)), tmp_path, factors=(Factor("system", reference="human"),))
    sentence = found["sentences"][0]["sentence"]
    assert sentence.startswith("large and small are below human, which has ")
    pairs = [(row["pair"]["first"], row["pair"]["second"]) for row in found["differences by system"]]
    assert set(pairs) == {("large", "human"), ("small", "human")}


def test_levels_that_cannot_be_tested_have_a_sentence_of_their_own(tmp_path: Path) -> None:
    """Only one item of “small” was rated, so only “large” is tested; then three workers alone have rated."""
    items, values = rated((1.5, 0.0, 0.0))
    small = [item["item"] for item in items if item["cells"]["system"] == "small"]
    values = {key: value for key, value in values.items() if key[0] not in small[1:]}
    _, found = findings(items, values, tmp_path, factors=(Factor("system", reference="human"),))
    sentence = found["sentences"][0]["sentence"]
    assert sentence.startswith("large is below human, which has ")
    assert " There is no test of small. The largest difference: " in sentence

    values = {key: value for key, value in values.items() if key[1] in ("w0", "w1", "w2")}
    _, found = findings(items, values, tmp_path / "few", factors=(Factor("system", reference="human"),))
    sentence = found["sentences"][0]["sentence"]
    assert sentence.startswith("The reference human has ")
    assert " There is no test of large and small. " in sentence


def test_a_test_is_missing_for_the_reason_that_holds(tmp_path: Path) -> None:
    """With too few items, and enough workers, nothing is said of workers."""
    items, values = rated((1.5, 0.0, 0.0))
    of_system: dict[str, list[str]] = {}
    for item in items:
        of_system.setdefault(item["cells"]["system"], []).append(item["item"])
    first_two = {name for names in of_system.values() for name in names[:2]}
    few_items = {key: value for key, value in values.items() if key[0] in first_two}
    _, found = findings(items, few_items, tmp_path, factors=(Factor("system"),))
    assert "There is no test: an interval needs " in found["sentences"][0]["sentence"]


def test_a_reference_without_answers_is_said(tmp_path: Path) -> None:
    page, found = findings(*rated((1.5, 0.0, 0.0)), tmp_path, factors=(Factor("system", reference="nobody"),))
    assert "no answer has the reference nobody: all levels are compared with each other" in page
    assert len(found["differences by system"]) == 3


def test_too_many_levels_and_one_level_are_said(tmp_path: Path) -> None:
    items, values = rated((0.0, 0.0, 0.0))
    for at, item in enumerate(items):
        item["cells"] |= {"one": "same", "prompt": f"p{at}"}
    page, found = findings(items, values, tmp_path, factors=(Factor("one"), Factor("none"), Factor("system")))
    assert "By one: All items have the same level of one, same, so there is nothing to compare." in page
    assert "levels by system" in found and "levels by one" not in found


def test_two_factors_have_every_combination_and_overall_rows(tmp_path: Path) -> None:
    items, values = rated((1.0, 0.0, 0.0))
    page, found = findings(items, values, tmp_path)
    cells = {(row["cell"]["first"], row["cell"]["second"]): row["cell"]["mean"]["value"]
             for row in found["cells by system and domain"]}  # fmt: skip
    assert len(cells) == 4 * 3
    of_human_a = [float(str(value)) for (item, _), value in values.items() if int(item[1:]) in range(0, 12, 3)]
    assert cells["human", "a"] == pytest.approx(float(np.mean(of_human_a)))
    all_values = [value for value in values.values() if isinstance(value, float)]
    assert cells["Overall", "Overall"] == pytest.approx(float(np.mean(all_values)))
    assert len(found["interactions of system and domain"]) == 2
    means, _, interactions = page.partition("Means by system and domain")[2].partition("Interactions of system")
    assert "with fewer than 15 of either, 92 to 100% of such 95% intervals are right" in means
    assert "n interval needs at least 5 contexts, and there are only 4" in interactions


def test_arms_are_told_by_their_factors(tmp_path: Path) -> None:
    """Four arms of a two by two design; workers with training rate one point higher."""
    arms = [
        arm(f"{training}-{domain}", factors={"training": training, "domain": domain})
        for training in ("none", "examples")
        for domain in ("news", "story")
    ]
    rng = np.random.default_rng(4)
    values = {
        (f"i{item}", f"w{worker}"): float(np.clip(round(4 + 2 * (worker % 4 > 1) + rng.normal(0, 0.5)), 1, 7))
        for item in range(8)
        for worker in range(40)
    }
    arm_of = {f"w{worker}": arms[worker % 4].name for worker in range(40)}
    _, found = findings([a_set(f"i{at}") for at in range(8)], values, tmp_path, arms=tuple(arms), arm_of=arm_of)
    assert {"levels by training", "levels by domain", "cells by training and domain"} <= found.keys()
    assert found["sentences"][0]["sentence"].startswith("examples is ahead: ")
    assert any("No worker rated two levels" in table["note"] for table in found["tables"])


def test_without_factors_each_criterion_has_its_mean(tmp_path: Path) -> None:
    values = {(f"i{item}", f"w{worker}"): float(1 + (item + worker) % 7) for item in range(6) for worker in range(6)}
    _, found = findings([a_set(f"i{at}") for at in range(6)], values, tmp_path)
    mean = float(np.mean(list(values.values())))
    assert [row["criterion"] for row in found["sentences"]] == ["creative", "agreement"]
    assert found["sentences"][0]["sentence"].startswith(f"Mean {mean:.2f} [")
    assert found["sentences"][0]["sentence"].endswith("over 36 answers.")


def choices(swapped: bool, seed: int = 5) -> tuple[list[dict[str, Any]], Values]:
    """Pairs of human and model texts; workers prefer human ones. ``swapped``: every other pair is turned round."""
    rng = np.random.default_rng(seed)
    items, values = [], {}
    for at in range(12):
        order = ("model", "human") if swapped and at % 2 else ("human", "model")
        items.append(a_set(f"p{at}", cells={"system_1": order[0], "system_2": order[1]}))
        for worker in range(8):
            prefers_human = rng.random() < 0.8
            values[f"p{at}", f"w{worker}"] = 1.0 if prefers_human == (order[0] == "human") else -1.0
    return items, values


def test_choices_are_told_by_system_whichever_text_is_listed_first(tmp_path: Path) -> None:
    system = Factor("system", "part", parts={"1": "system_1", "2": "system_2"})
    results = [
        findings(*choices(swapped), tmp_path / str(swapped), **(CHOICE | {"factors": (system,)}))
        for swapped in (False, True)
    ]
    straight, swapped = (found for _, found in results)
    assert straight["choices by system"] == swapped["choices by system"]
    assert straight["sentences"] == swapped["sentences"]
    wins = sum(value == 1.0 for value in choices(False)[1].values())
    human, model = straight["choices by system"]
    assert human["level"] == "human" and human["share"]["value"] == pytest.approx(wins / 96)
    assert human["share"]["value"] + model["share"]["value"] == pytest.approx(1)
    assert straight["sentences"][0]["sentence"].startswith("human is ahead by system: it was chosen in ")
    assert "text 1" not in "".join(str(sentence) for sentence in straight["sentences"]).lower()


def test_a_part_has_the_level_of_its_column() -> None:
    """Best–worst: every text of a set has a column with its system; ratings are by target."""
    items = [
        a_set("s1", cells={"system_0": "x", "system_1": "y"}),
        a_set("s2", cells={"system_0": "y", "system_1": "x"}),
    ]
    data = study_data(items, {("s1", "w"): {"0": 1.0, "1": -1.0}, ("s2", "w"): {"0": -1.0, "1": 1.0}}, **LIKERT)
    factor = Factor("system", "part", parts={"0": "system_0", "1": "system_1"})
    assert level_names(data, factor, data.ratings).tolist() == ["x", "y", "y", "x"]


def test_a_workers_answer_is_a_factor() -> None:
    values: Values = {("i0", "w0"): 1.0, ("i0", "w1"): 2.0}
    data = study_data([a_set("i0")], values, texts={("", "w0"): {"job": "poet "}}, **LIKERT)
    factor = Factor("job", "worker")
    rows = data.ratings[data.ratings["item"] == "i0"]
    assert level_names(data, factor, rows).tolist() == ["poet", ""]


def test_suggestions_need_several_items_per_level_and_skip_what_says_the_same() -> None:
    items = [
        a_set(f"i{at}", label=at % 2, cells={"system": "ab"[at % 2], "model": "xy"[at % 2], "genre": f"g{at}"})
        for at in range(8)
    ]
    assert [factor.name for factor in factors_of(study_data(items, {}, **LIKERT))] == ["system"]


def test_a_level_whose_items_nobody_rated_is_named(tmp_path: Path) -> None:
    items, values = rated((1.0, 0.0, 0.0))
    items.append(a_set("new", cells={"system": "medium", "domain": "a"}))
    page, found = findings(items, values, tmp_path, factors=(Factor("system"),))
    assert "By system, without answers on creative, so not compared: medium." in page
    assert {row["level"]["name"] for row in found["levels by system"]} == set(SYSTEMS)


def test_choices_between_texts_of_one_system_are_counted_where_they_are_left_out(tmp_path: Path) -> None:
    items, values = choices(False)
    items.append(a_set("same", cells={"system_1": "human", "system_2": "human"}))
    values = {**values, ("same", "w0"): 1.0, ("same", "w1"): -1.0}
    system = Factor("system", "part", parts={"1": "system_1", "2": "system_2"})
    page, found = findings(items, values, tmp_path, **(CHOICE | {"factors": (system,)}))
    assert "Left out, because both texts have the same system: 2 choices on overall." in page
    assert [row["choices"] for row in found["choices by system"]] == [96, 96]


def test_categories_have_shares_by_level(tmp_path: Path) -> None:
    """Ten workers sort 40 independent texts; the shares by hand, the test near Welch's where nothing is clustered."""
    rng = np.random.default_rng(5)
    sort = Scale("sort", "nominal", (Point(1.0, "joke"), Point(2.0, "fact"), Point(3.0, "nobody says this")))
    question = QuestionDescription("sort", "What is it?", sort, "choice")
    items = [a_set(f"i{at}", cells={"system": ("one", "two")[at % 2]}) for at in range(400)]
    values: Values = {
        (f"i{at}", f"w{at // 2 % 100}"): 1.0 if rng.random() < (0.4, 0.6)[at % 2] else 2.0 for at in range(400)
    }
    page, found = findings(items, values, tmp_path, questions=(question,), scores=(), sections=())
    jokes = [[float(value == 1) for (item, _), value in values.items() if int(item[1:]) % 2 == at] for at in (0, 1)]
    shares = {(row["answer"], row["level"]["name"]): row["level"]["mean"]["value"]
              for row in found["shares of sort by system"]}  # fmt: skip
    expected = {("joke", "one"): np.mean(jokes[0]), ("joke", "two"): np.mean(jokes[1])}
    expected |= {("fact", system): 1 - expected["joke", system] for system in ("one", "two")}
    assert shares == pytest.approx(expected)
    joke, fact = (row["pair"] for row in found["differences of sort by system"])
    welch = stats.ttest_ind(*jokes, equal_var=False).confidence_interval()
    assert (joke["first"], joke["second"]) in (("one", "two"), ("two", "one"))
    ends = sorted(abs(joke["difference"][end]) for end in ("low", "high"))
    assert ends == pytest.approx(sorted([abs(welch.low), abs(welch.high)]), abs=0.02)
    assert joke["p_corrected"] == pytest.approx(2 * joke["p"]) and fact["p"] == pytest.approx(joke["p"])
    assert "“joke”, two − one: 0." in next(
        row["sentence"] for row in found["sentences"] if row["criterion"] == "sort by system"
    )
    assert "“nobody says this”" not in page


def test_a_mean_in_which_every_item_counts_the_same_says_so() -> None:
    """Items with one and with three answers: 2 and 4 give 3, and all answers 3.5."""
    uneven = Answers.of(np.array([2.0, 4.0, 4.0, 4.0]), items=["a", "b", "b", "b"], workers=["w", "x", "y", "z"])
    assert mean_sentence(uneven)[0] == "Mean of items 3.00, from 4 answers; every item counts the same."
    even = Answers.of(np.array([2.0, 4.0]), items=["a", "b"], workers=["w", "x"])
    assert mean_sentence(even)[0] == "Mean 3.00, over 2 answers."


def test_the_reason_why_no_mean_has_an_interval_is_said_once() -> None:
    few = Answers.of(np.array([2.0, 4.0]), items=["a", "b"], workers=["w", "x"])
    reason = "an interval needs at least 5 items, and there are only 2."
    assert mean_sentences([("clear", few), ("odd", few)]) == [
        ("clear", "Mean 3.00, over 2 answers."),
        ("odd", "Mean 3.00, over 2 answers."),
        ("intervals", f"There are none: {reason}"),
    ]
    assert mean_sentences([("clear", few)]) == [("clear", f"Mean 3.00, over 2 answers. There is no interval: {reason}")]


def test_every_table_says_how_far_its_intervals_hold(tmp_path: Path) -> None:
    """In its note, or in the row: what simulations show of intervals with few items or workers, and of agreement."""
    _, sections = built(study_data(*rated((1.0, 0.0, 0.0)), **LIKERT), tmp_path)
    columns_with_remarks = set()
    for table in (table for section in sections.values() for table in section["tables"]):
        for row in table["rows"]:
            texts = [table["note"], *(cell for cell in row if isinstance(cell, str))]
            for title, cell in zip(table["columns"], row, strict=True):
                if isinstance(cell, dict) and (remark := re.search(r"\d+ to \d+% of such 95%", cell["method"])):
                    columns_with_remarks.add(title)
                    assert any(remark.group() in text for text in texts), (table["caption"], title)
    assert columns_with_remarks >= {"Mean", "Krippendorff’s α"}
