"""Factors that cannot be compared, or only in part: what the report says, and what suggestions leave out."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from analysis.description import ArmDescription, Factor
from analysis.factor_checks import design_problems, named
from analysis.factors import factors_of, level_names, suggested_factors
from tests.analysis.support.pages import built
from tests.analysis.support.studies import LIKERT, Values, a_set, arm, study_data

SYSTEMS = ("human", "large", "small")


def items_of(count: int = 12, **more: Any) -> list[dict[str, Any]]:
    cells = [{"system": SYSTEMS[at % 3], "one": "same", "prompt": f"p{at}"} for at in range(count)]
    return [a_set(f"i{at}", cells=of_item | more) for at, of_item in enumerate(cells)]


def rated(count: int = 12, workers: int = 6) -> Values:
    return {
        (f"i{item}", f"w{worker}"): float(1 + (3 * item + 5 * worker + item * worker) % 7)
        for item in range(count)
        for worker in range(workers)
    }


def page_of(folder: Path, factors: tuple[Factor, ...], *, items: Any = None, values: Any = None, **study: Any) -> str:
    data = study_data(items or items_of(), values or rated(), **(LIKERT | {"factors": factors} | study))
    return built(data, folder)[0].replace("&#x27;", "’")


@pytest.mark.parametrize(
    ("factor", "message"),
    [
        (Factor("sistem"), "By sistem: No item has anything in a column sistem. Did you mean “system”?"),
        (Factor("one"), "By one: All items have the same level of one, same, so there is nothing to compare."),
        (Factor("training", "arm"), "By training: No arm has a level of training. Give the arms levels."),
        (
            Factor("side", "part", parts={"1": "system"}),
            "By side: Only one part has a column, system, so there is nothing to compare it with. "
            "Name the column of every part.",
        ),
        (
            Factor("side", "part", parts={"1": "system", "2": "system_2"}),
            "By side: No item has anything in a column system_2. Did you mean “system”?",
        ),
        (Factor("mood", "worker"), "By mood: No question has the topic mood, so workers have no level of it."),
        (
            Factor("system", reference="nobody"),
            "no answer has the reference nobody: all levels are compared with each other",
        ),
    ],
)
def test_what_cannot_be_compared_is_said_and_the_rest_stands(tmp_path: Path, factor: Factor, message: str) -> None:
    page = page_of(tmp_path, (factor, Factor("prompt2")), items=items_of(prompt2="x"))
    assert message in page
    assert "could not be made" not in page


def test_two_hundred_levels_are_said_once(tmp_path: Path) -> None:
    page = page_of(tmp_path, (Factor("prompt"), Factor("system")), items=items_of(200), values=rated(200, 5))
    assert page.count("prompt has 200 levels, and at most 30 can be compared.") == 1
    assert "Levels of system" in page and "Levels of prompt" not in page


def test_a_level_that_nobody_rated_is_named(tmp_path: Path) -> None:
    values = {key: value for key, value in rated().items() if int(key[0][1:]) % 3 != 2}
    page = page_of(tmp_path, (Factor("system"),), values=values)
    assert "By system, without answers on creative, so not compared: small." in page
    assert "Levels of system" in page


def test_a_question_about_items_gives_workers_no_levels(tmp_path: Path) -> None:
    page = page_of(tmp_path, (Factor("coherent", "worker"),))
    assert "By coherent: Nobody who rated has answered coherent, or it is a question about items" in page


def test_items_and_arms_without_a_level_are_counted(tmp_path: Path) -> None:
    items = items_of()
    items[0]["cells"]["system"] = " "
    arms = (arm("a", factors={"training": "none"}), arm("b", factors={"training": "pairs"}), arm("c"))
    arm_of = {f"w{n}": "abc"[n % 3] for n in range(6)}
    page = page_of(tmp_path, (Factor("system"), Factor("training", "arm")), items=items, arms=arms, arm_of=arm_of)
    assert "By system: 1 item of 12 has no level of system and is in no comparison by system." in page
    assert "By training: c has no level of training, so the answers there are in no comparison by training." in page


# --- suggestions ---


def suggested(*offered: Factor, items: Any = None, **study: Any) -> list[Factor]:
    data = study_data(items or items_of(), {}, **(LIKERT | {"suggested_factors": offered} | study))
    return factors_of(data)


def test_the_types_suggestions_come_first_and_need_two_levels() -> None:
    other = {"pool": "left"}
    items = items_of()
    for at, item in enumerate(items):
        item["cells"] |= {"pool": "left" if at < 6 else "right", "void": ""}
    names = [factor.name for factor in suggested(Factor("pool"), Factor("one"), Factor("void"), items=items)]
    assert names == ["pool", "system"], other


def test_a_reference_that_is_no_level_is_left_out_of_a_suggestion() -> None:
    assert suggested(Factor("system", reference="human")) == [Factor("system", reference="human")]
    assert suggested(Factor("system", reference="gold")) == [Factor("system")]


def test_parts_that_say_the_same_are_suggested_once() -> None:
    items = [
        a_set(f"p{at}", cells={"system_1": "x", "system_2": "y", "from:arm:1": "left", "from:arm:2": "right"})
        for at in range(4)
    ]
    pairs = [
        Factor(name, "part", parts={n: f"{column}{n}" for n in "12"})
        for name, column in (("system", "system_"), ("from:arm", "from:arm:"), ("model", "model_"))
    ]
    assert suggested(*pairs, items=items) == pairs[:1]


def test_a_setting_in_which_arms_differ_is_suggested_instead_of_the_arms() -> None:
    arms = [
        ArmDescription(name, study_data([], {}, **LIKERT).description.reward, config={"training": name})
        for name in ("none", "pairs")
    ]
    training = Factor("training", "arm", "none")
    assert suggested(training, arms=tuple(arms))[-1] == training
    assert suggested(arms=tuple(arms))[-1] == Factor("arm", "arm")
    same = tuple(replace(of, config={"training": "none"}) for of in arms)
    assert suggested(training, arms=same)[-1] == Factor("arm", "arm")


def test_what_somebody_declared_replaces_suggestions_of_its_sort() -> None:
    arms = (arm("a"), arm("b"))
    assert suggested(arms=arms) == [Factor("system"), Factor("arm", "arm")]
    assert suggested(arms=arms, factors=(Factor("one"),)) == [Factor("one"), Factor("arm", "arm")]
    assert suggested(arms=arms, factors=(Factor("arm", "arm"),)) == [Factor("arm", "arm"), Factor("system")]


def test_the_level_of_a_part_can_be_the_label_in_its_target() -> None:
    values: Values = {("i0", "w"): {"0/accuracy": 5.0, "1/fluency": 1.0, "2": 3.0}}
    data = study_data(items_of(1), values, **LIKERT)
    assert level_names(data, Factor("category", "part"), data.ratings).tolist() == ["accuracy", "fluency", "2"]


def test_no_items_yet_are_no_problem() -> None:
    data = study_data([], {}, **LIKERT)
    assert design_problems(Factor("system", reference="human"), data.description, data.items) == []
    assert suggested_factors(data.description, data.items) == []


def test_many_names_are_cut() -> None:
    assert named([f"n{n}" for n in range(10)]) == "n0, n1, n2, n3, n4, n5, n6, n7 and 2 more"


# --- designs ---


def test_levels_without_common_workers_or_items_are_said_to_differ_by_these_too(tmp_path: Path) -> None:
    """Two halves of a study that nothing connects: system 0 and 1 have other items, and other workers."""
    items = [a_set(f"i{at}", cells={"system": "ab"[at % 2]}) for at in range(12)]
    values: Values = {
        (f"i{at}", f"w{worker}"): float(1 + (at + 2 * worker) % 7)
        for at in range(12)
        for worker in range(12)
        if at % 2 == worker % 2
    }
    page = page_of(tmp_path, (Factor("system"),), items=items, values=values)
    assert "No worker rated two levels, so how workers differ is part of every difference." in page
    assert (
        "No item or context has two levels either: a difference between levels may be one between their items." in page
    )


def test_only_the_pairs_of_levels_that_no_worker_connects_are_named(tmp_path: Path) -> None:
    """Human and large share workers, as do large and small; nobody rated both human and small."""
    values = {
        (item, worker): value
        for (item, worker), value in rated(24, 12).items()
        if int(item[1:]) % 3 == 1 or (int(item[1:]) % 3 == 0) == (int(worker[1:]) < 6)
    }
    page = page_of(tmp_path, (Factor("system"),), items=items_of(24), values=values)
    assert "No worker rated both levels of some pairs" in page
    named = page.partition("is part of their differences: ")[2].partition(".")[0]
    assert {*named.split(" – ")} == {"human", "small"}


def test_in_an_unbalanced_study_every_item_counts_the_same(tmp_path: Path) -> None:
    """One item has twelve answers of 7, another two of 1: their level's mean is 4, not 6.1."""
    items = [a_set(f"i{at}", cells={"system": "ab"[at // 2]}) for at in range(4)]
    values: Values = {
        **{("i0", f"w{worker}"): 7.0 for worker in range(12)},
        ("i1", "w0"): 1.0,
        ("i1", "w1"): 1.0,
        ("i2", "w2"): 2.0,
        ("i3", "w3"): 4.0,
    }
    data = study_data(items, values, **(LIKERT | {"factors": (Factor("system"),)}))
    _, sections = built(data, tmp_path)
    levels = {row["level"]["name"]: row["level"] for row in sections["findings"]["levels by system"]}
    assert {name: level["mean"]["value"] for name, level in levels.items()} == {"a": 4.0, "b": 3.0}
    assert [levels["a"][key] for key in ("answers", "items", "workers")] == [14, 2, 12]


@pytest.mark.parametrize(
    ("values", "reason"),
    [
        (rated(12, 1), "an interval needs at least 5 workers, and there is only 1"),
        (dict.fromkeys(rated(), 4.0), "all answers agree, so they do not show how uncertain the figure is"),
    ],
)
def test_one_worker_and_equal_answers_have_means_with_the_reason_for_no_interval(
    tmp_path: Path, values: Values, reason: str
) -> None:
    page = page_of(tmp_path, (Factor("system"),), values=values)
    assert "Levels of system" in page and reason in page.replace("Based", "based").replace(
        "All answers agree", "all answers agree"
    )
    assert "could not be made" not in page


def test_one_item_has_no_levels_to_compare(tmp_path: Path) -> None:
    page = page_of(tmp_path, (Factor("system"),), items=items_of(1), values=rated(1, 6))
    assert "All items have the same level of system, human, so there is nothing to compare." in page
