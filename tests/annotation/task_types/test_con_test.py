"""conTest beyond the examples: what the pages show of earlier answers, what must differ, the sets that come out."""

from __future__ import annotations

import random
from typing import Any

import pytest

from annotation.task_types.base import Answers, Shown
from annotation.task_types.con_test.con_test import ConTest
from annotation.task_types.items import Json, Row
from annotation.task_types.registry import get_type
from annotation.task_types.simulation import PROFILES, Profile
from tests.annotation.task_types.walking import drawn, findings, initial_config, stored, texts_of, walk

TASK = ConTest()


def shown(number: int = 1, **settings: Any) -> Shown:
    form = ConTest.config_form(initial_config(TASK) | settings)
    assert form.is_valid(), form.errors
    config: Json = dict(form.cleaned_data)
    rows = [Row(at, {"sample_id": f"c{at}", "context": f"Context {at}."}) for at in range(1, number + 1)]
    items, problems = TASK.read_items(rows, config)
    assert problems == []
    return Shown(items, config, texts_of(TASK, config), {"items": list(range(number))})


HIGH: Answers = {f"high-{number}": f"Response number {number}." for number in range(1, 6)}
CHOSEN: Answers = {"chosen": 4.0}


def errors(arranged: Shown, before: list[Answers], **typed: str) -> list[str]:
    page = TASK.next_page(arranged, before)
    assert page is not None
    given, wrong = page.clean({key.replace("_", "-"): text for key, text in typed.items()})
    assert wrong == {}
    return sorted(TASK.check(arranged, page, given, before))


# --- pages that follow the answers ---


def test_worker_chooses_among_their_own_responses() -> None:
    page = TASK.next_page(shown(), [HIGH])
    assert page is not None
    (question,) = page.questions
    assert [point.label for point in question.scale.points] == list(HIGH.values())


def test_chosen_response_is_shown_where_it_is_rephrased() -> None:
    page = TASK.next_page(shown(), [HIGH, CHOSEN])
    assert page is not None
    assert page.context["chosen"] == "Response number 4."
    html = drawn(page)
    assert "Response number 4." in html
    assert "Response number 3." not in html
    assert TASK.next_page(shown(), [HIGH, CHOSEN, HIGH]) is None


def test_responses_keep_their_numbers_whatever_order_a_database_gives_them_in() -> None:
    ten: Answers = {f"high-{number}": f"Response number {number}." for number in range(1, 11)}
    page = TASK.next_page(shown(responses=10), [stored(ten)])
    assert page is not None
    assert [point.label for point in page.questions[0].scale.points] == list(ten.values())


def test_second_context_begins_after_the_three_pages_of_the_first() -> None:
    page = TASK.next_page(shown(2), [HIGH, CHOSEN, HIGH])
    assert page is not None
    assert (page.name, page.item, page.context["context_text"]) == ("high-2", 1, "Context 2.")


# --- what must differ ---


@pytest.mark.parametrize(
    ("one", "two", "same"),
    [
        ("Buy a key ring.", "buy  a KEY-ring!", True),
        ("Buy a key ring.", "Buy two key rings.", False),
        ("🦉", "🦊", False),
        ("🦉", "🦉", True),
        ("Straße", "STRASSE", True),
    ],
)
def test_responses_differ_in_more_than_case_spacing_and_punctuation(one: str, two: str, same: bool) -> None:
    assert errors(shown(responses=2), [], high_1=one, high_2=two) == (["high-2"] if same else [])


def test_rephrasings_differ_from_the_chosen_response_but_may_equal_another_one() -> None:
    before: list[Answers] = [{"high-1": "One thing.", "high-2": "Another thing."}, {"chosen": 1.0}]
    arranged = shown(responses=2)
    assert errors(arranged, before, low_1="one thing", low_2="A thing.") == ["low-1"]
    assert errors(arranged, before, low_1="Another thing.", low_2="A thing.") == []
    page = TASK.next_page(arranged, before)
    assert page is not None
    wrong = TASK.check(arranged, page, {"low-1": "A thing.", "low-2": "a thing"}, before)
    assert wrong == {"low-2": "This is the same as “Reply 1”. Please write something else."}


# --- what comes out ---


@pytest.mark.parametrize("profile", PROFILES)
@pytest.mark.parametrize(("responses", "max_words"), [(5, 15), (10, 3), (2, 200)])
def test_simulated_workers_write_sets_that_an_hds_study_takes(profile: Profile, responses: int, max_words: int) -> None:
    arranged = shown(2, responses=responses, max_words=max_words)
    for name in ("w1", "w2", "w3"):
        pages, answers = walk(TASK, arranged, name, profile)
        outputs = TASK.outputs(arranged, pages, answers)
        assert [(each.kind, each.label, each.item) for each in outputs] == [
            ("set", ("content_diversity", 1.0), 0),
            ("set", ("content_diversity", 0.0), 0),
            ("set", ("content_diversity", 1.0), 1),
            ("set", ("content_diversity", 0.0), 1),
        ]
        assert all(len(each.texts) == responses for each in outputs)
    assert set(TASK.output_kinds) <= set(get_type("abs_hds").takes_outputs)


def test_low_set_holds_the_rephrasings_and_not_the_chosen_response() -> None:
    low: Answers = {f"low-{number}": f"Said again {number}." for number in range(1, 6)}
    arranged = shown()
    answers: list[Answers] = [HIGH, CHOSEN, low]
    pages = [page for at in range(3) if (page := TASK.next_page(arranged, answers[:at]))]
    high_set, low_set = TASK.outputs(arranged, pages, answers)
    assert (high_set.texts, low_set.texts) == (list(HIGH.values()), list(low.values()))
    assert high_set.context == "Context 1."


def test_contexts_come_in_an_order_that_depends_on_the_seed() -> None:
    items = shown(6).items
    orders = {str(TASK.arrange(items, {}, slot=0, rng=random.Random(seed))["items"]) for seed in range(6)}
    assert len(orders) == 6


def test_copied_and_pasted_texts_are_flagged() -> None:
    arranged = shown(responses=2)
    before: list[Answers] = [{"high-1": "Context 1", "high-2": "Something quite different."}]
    pages = [page for page in (TASK.next_page(arranged, []),) if page]
    flags = [flag.reason for flag in findings(TASK, arranged, pages, before, pastes=2)]
    assert flags == ["too_short", "copied", "pasted"]


@pytest.mark.parametrize(
    ("task", "heading"), [("response", "The reply that you chose"), ("story", "The ending that you chose")]
)
def test_an_error_names_the_chosen_response_as_the_page_does(task: str, heading: str) -> None:
    arranged = shown(generation_task=task)
    page = TASK.next_page(arranged, [HIGH, CHOSEN])
    assert page is not None
    assert page.context["chosen_heading"] == heading
    given, _ = page.clean(
        {f"low-{number}": f"Text {number}." for number in (1, 2, 3, 5)} | {"low-4": "Response number 4."}
    )
    errors = TASK.check(arranged, page, given, [HIGH, CHOSEN])
    assert errors == {"low-4": f"This is the same as “{heading}”. Please write something else."}
