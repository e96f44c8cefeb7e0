"""Human or machine beyond the examples: halves, domains, arms, practice, what is hidden."""

from __future__ import annotations

import random
from collections import Counter
from typing import Any

import pytest

from annotation.task_types.base import ArmPlan, Design, Shown
from annotation.task_types.detection.detection import Detection
from annotation.task_types.items import ItemData, Json, Row
from common.problems import Invalid
from tests.annotation.task_types.walking import drawn, initial_config, texts_of, walk

TASK = Detection()


def config_of(**settings: Any) -> Json:
    form = Detection.config_form(initial_config(TASK) | settings)
    assert form.is_valid(), form.errors
    return dict(form.cleaned_data)


def items(*kinds: tuple[str, str, int], practice: int = 0, pairs: int = 0) -> list[ItemData]:
    """Texts by (source, domain, how many), and practice texts and pairs of the domain story."""
    rows = [
        {"sample_id": f"{domain}-{source}-{at}", "text": f"Text {at}.", "source": source, "domain": domain}
        for source, domain, many in kinds
        for at in range(many)
    ]
    for name, many in (("single", practice), ("pair", pairs)):
        rows += [
            {
                "sample_id": f"{name}-{at}",
                "text": f"Practice {at}.",
                "source": "gpt2" if at % 2 else "human",
                "domain": "story",
                "role": "practice",
                "explanation": f"Because of {at}.",
                "other_text": f"Other {at}." if name == "pair" else "",
            }
            for at in range(many)
        ]
    columns = dict.fromkeys(("role", "explanation", "other_text", "prompt"), "")
    found, problems = TASK.read_items([Row(at, columns | row) for at, row in enumerate(rows, 1)], config_of())
    assert problems == []
    return found


def design(*arms: ArmPlan, ratings: int = 1) -> Design:
    return Design(arms or [ArmPlan("", config_of())], 5, ratings)


@pytest.mark.parametrize("ratings", [1, 3])
def test_half_of_all_texts_are_by_people_and_hits_have_one_domain_and_one_model(ratings: int) -> None:
    """Clark 2021, §6.2.4."""
    kinds = [("human", d, 20) for d in ("story", "news")]
    found = items(*kinds, *((m, d, 10) for m in ("gpt2", "gpt3") for d in ("story", "news")))
    hits = TASK.plan(found, design(ratings=ratings), random.Random(1))
    source = {item.external_id: item.payload["source"] for item in found}
    domain = {item.external_id: item.payload["domain"] for item in found}
    shown: Counter[str] = Counter()
    for hit in hits:
        assert len(hit.items) == 5 and hit.wanted == 1
        assert len({domain[name] for name in hit.items}) == 1
        by_people = sum(source[name] == "human" for name in hit.items)
        assert by_people in (2, 3)
        assert len({source[name] for name in hit.items} - {"human"}) == 1
        shown.update(hit.items)
    assert set(shown) == set(source)
    people = sum(times for name, times in shown.items() if source[name] == "human")
    assert 2 * people == sum(shown.values())
    # Ten machine texts of each model and domain beside ten of the twenty human ones.
    assert set(shown.values()) == {ratings}


def test_arms_are_cells() -> None:
    found = items(("human", "story", 6), ("gpt2", "story", 6), ("gpt3", "story", 6), ("human", "news", 6), practice=3)
    cells = design(
        ArmPlan("gpt3", config_of(domain="story", model="gpt3")),
        ArmPlan("examples", config_of(domain="story", training="examples")),
    )
    hits = TASK.plan(found, cells, random.Random(1))
    for hit in hits:
        names = set(hit.items)
        assert not any(name.startswith("news") for name in names)
        if hit.arm == "gpt3":
            assert not any("gpt2" in name or "single" in name for name in names)
        else:
            assert hit.items[:3] == ["single-0", "single-1", "single-2"] and len(hit.items) == 8


def test_arms_that_cannot_work_are_refused() -> None:
    found = items(("human", "story", 6), ("gpt2", "story", 6), practice=3)
    with pytest.raises(Invalid, match="No text fits the domain “recipe” and the model “”"):
        TASK.plan(found, design(ArmPlan("", config_of(domain="recipe"))), random.Random(1))
    with pytest.raises(Invalid, match="needs practice pairs"):
        TASK.plan(found, design(ArmPlan("", config_of(training="comparison"))), random.Random(1))


def test_nothing_reveals_who_wrote_a_text_before_the_answer() -> None:
    found = items(("human", "story", 1), ("gpt2", "story", 1), practice=2)
    config = config_of(training="examples")
    shown = Shown(found, config, texts_of(TASK, config), {"practice": [3, 2], "items": [0, 1], "on_a": [1] * 4})
    first, second, third, last = (drawn(page) for page in TASK.pages(shown))
    assert "Because of" not in first
    assert "Because of 1." in second and "A machine generated it." in second
    assert "Because of 0." in third and "A person wrote it." in third
    assert "Because of" not in last
    assert not any("gpt2" in html or "story-" in html for html in (first, second, third, last))


def test_the_answer_to_a_pair_names_the_side_it_was_on() -> None:
    found = items(("human", "story", 1), ("gpt2", "story", 1), pairs=2)
    config = config_of(training="comparison")
    # Pair 0 has a text by a person, so the other one is the machine's; pair 1 the other way round.
    for on_a, sides in (([1, 1, 1, 1], "BA"), ([1, 1, 2, 2], "AB")):
        shown = Shown(found, config, texts_of(TASK, config), {"practice": [2, 3], "items": [0], "on_a": on_a})
        _, second, third = (drawn(page) for page in TASK.pages(shown))
        assert f"The machine generated Text {sides[0]}." in second
        assert f"The machine generated Text {sides[1]}." in third


@pytest.mark.parametrize(
    ("source", "pair", "answers", "verdict"),
    [
        ("human", False, {"judgement": 2.0}, "right"),
        ("human", False, {"judgement": 3.0}, "wrong"),
        ("gpt2", False, {"judgement": 4.0}, "right"),
        ("gpt2", False, {"judgement": 1.0}, "wrong"),
        # The pair's column text is on side A; its other text is by the other kind.
        ("human", True, {"machine_text": 2.0}, "right"),
        ("human", True, {"machine_text": 1.0}, "wrong"),
        ("gpt2", True, {"machine_text": 1.0}, "right"),
        ("gpt2", True, {"machine_text": 2.0}, "wrong"),
    ],
)
def test_the_page_after_practice_says_whether_the_answer_was_right(
    source: str, pair: bool, answers: dict[str, float], verdict: str
) -> None:
    payload = {"prompt": "", "text": "A text.", "source": source, "domain": "story", "role": "practice"}
    payload |= {"explanation": "It tells.", "other_text": "Another." if pair else ""}
    practice = ItemData("p", payload, role="practice")
    config = config_of(training="comparison" if pair else "examples")
    order = {"practice": [0], "items": [1], "on_a": [1, 1]}
    shown = Shown([practice, *items(("human", "story", 1))], config, texts_of(TASK, config), order)
    page = TASK.next_page(shown, [answers])
    assert page is not None
    assert f"Your answer was {verdict}." in drawn(page)


def test_sides_of_pairs_alternate() -> None:
    found = items(("human", "story", 1), pairs=4)
    for seed in range(10):
        order = TASK.arrange(found, config_of(), slot=0, rng=random.Random(seed))
        machine_on_a = [
            (order["on_a"][at] == 1) == (found[at].payload["source"] != "human") for at in order["practice"]
        ]
        assert machine_on_a in ([True, False, True, False], [False, True, False, True])


def test_simulated_workers_are_right_more_often_than_not() -> None:
    found = items(("human", "story", 30), ("gpt2", "story", 30))
    config = config_of()
    right = 0
    for name in ("w1", "w2"):
        shown = Shown(
            found, config, texts_of(TASK, config), {"practice": [], "items": list(range(60)), "on_a": [1] * 60}
        )
        pages, answers = walk(TASK, shown, name)
        for page, given in zip(pages, answers, strict=True):
            assert page.item is not None
            value = given["judgement"]
            assert isinstance(value, float)
            right += (value > 2) == (found[page.item].payload["source"] != "human")
    assert 65 <= right <= 110
