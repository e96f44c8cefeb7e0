"""The list of items: what tells one from another, and score heads that leave room for it."""

from __future__ import annotations

import re

import pytest
from django.urls import reverse

from annotation.studies.item_texts import Line, lines_of
from annotation.task_types.items import ItemFacts, Row
from annotation.task_types.registry import get_type
from tests.annotation.console_helpers import as_role
from tests.factories import default_config, make_study

CONTEXT = "My bicycle was stolen from outside the library this afternoon."
STATEMENTS = [
    {"topic": "creative", "question": "The story is creative."},
    {"topic": "liked_it", "question": "I like the story & its end."},
]


def facts(*texts: str, context: str = CONTEXT) -> ItemFacts:
    return ItemFacts(context, None, [list(texts)] if texts else [])


def shown(*items: ItemFacts, room: int = 40) -> list[str]:
    return [line.text for line in lines_of([(each, {}) for each in items], room)]


def test_an_item_is_shown_by_its_text_with_the_context_beside_it() -> None:
    [line] = lines_of([(facts("Did you call the police?"), {})])
    assert line == Line("Did you call the police?", CONTEXT)


def test_an_item_without_texts_is_shown_by_its_context() -> None:
    assert lines_of([(facts(), {})]) == [Line(CONTEXT, "")]


def test_an_item_without_either_is_shown_by_its_first_cell_in_words() -> None:
    assert shown(ItemFacts()) == [""]
    assert [line.text for line in lines_of([(ItemFacts(), {"id": "a1", "about": "a red bus", "more": "b c"})])] == [
        "a red bus"
    ]


def test_each_text_of_a_set_gets_its_share_of_the_room() -> None:
    # 40 characters for two texts and a separator of 3: 18 each, cut at a word.
    assert shown(facts("one two three four five six", "short")) == ["one two three… · short"]
    assert shown(facts("a b", " ", "c")) == ["a b · (empty) · c"]


def test_texts_that_begin_alike_are_shown_from_where_they_differ() -> None:
    same = "The ferry between the two islands will stop running for three weeks "
    first, second, other = shown(facts(same + "in March."), facts(same + "in May."), facts("Nothing like it."))
    assert (first, second, other) == ("… three weeks in March.", "… three weeks in May.", "Nothing like it.")


def test_the_same_text_twice_is_shown_from_its_beginning() -> None:
    text = "The ferry between the two islands will stop running for three weeks"
    assert shown(facts(text), facts(text)) == ["The ferry between the two islands will…"] * 2


def test_a_text_that_another_continues_is_told_from_it() -> None:
    text = "The ferry between the two islands will stop running"
    short, long = shown(facts(text), facts(text + " for weeks."))
    assert short != long
    assert (short, long) == ("… will stop running", "… will stop running for weeks.")


pages = pytest.mark.django_db


def list_page(task_type: str, rows: list[dict[str, str]], **config: object) -> str:
    task = get_type(task_type)
    values = default_config(task) | config
    items, problems = task.read_items([Row(at, row) for at, row in enumerate(rows, 1)], values)
    assert not problems
    study = make_study(task_type=task_type, payloads=items, config=config)
    return str(as_role("viewer", study).get(reverse("console_items", args=[study.slug])).content.decode())


@pages
def test_sets_of_one_context_are_told_apart_by_their_responses() -> None:
    one = {"sample_id": "s1", "context": CONTEXT, "resp_0": "Oh no.", "resp_1": "Call the police."}
    two = one | {"sample_id": "s2", "resp_0": "A new one?", "resp_1": "Walk home."}
    page = list_page("abs_hds", [one, two])
    assert "Oh no. · Call the police." in page
    assert "A new one? · Walk home." in page


@pages
def test_statements_have_short_heads_and_their_wording_on_demand() -> None:
    row = {"sample_id": "brass-key", "context": "", "text": "She found a key."}
    page = list_page("likert", [row], statements=STATEMENTS)
    heads = re.findall(r'<th scope="col"[^>]*>(.*?)</th>', page)
    assert heads == ["Item", "Text", "Submissions", "creative", "liked it"]
    assert "The story is creative." in page.partition("<summary>")[2].partition("</details>")[0]
    assert "I like the story &amp; its end." in page


@pages
def test_each_of_several_scores_has_one_column() -> None:
    row = {"sample_id": "brass-key", "context": "", "text": "She found a key."}
    page = list_page("likert", [row], statements=STATEMENTS)
    first = page.partition("<tbody>")[2].partition("</tr>")[0]
    assert first.count("<td") == 4  # text, submissions, two scores


@pages
def test_a_short_title_of_a_score_is_its_head() -> None:
    row = {"sample_id": "s1", "context": CONTEXT, "resp_0": "Oh no.", "resp_1": "Call the police."}
    page = list_page("abs_hds", [row])
    assert '<th scope="col" class="number nowrap">absHDS</th>' in page
    assert "wording of the column heads" not in page


@pages
def test_a_short_statement_is_no_head_either() -> None:
    row = {"sample_id": "brass-key", "context": "", "text": "She found a key."}
    page = list_page("likert", [row], statements=[{"topic": "liked", "question": "I like the text."}])
    assert re.findall(r'<th scope="col"[^>]*>(.*?)</th>', page)[3] == "liked"
