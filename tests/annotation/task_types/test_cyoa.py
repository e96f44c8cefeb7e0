"""Choose Your Own Adventure: lengths as people count them, balanced sides, what is stored, what suggesters get."""

from __future__ import annotations

import json
from collections import Counter
from random import Random
from typing import Any

import pytest

from analysis.report import report_numbers
from annotation.models import Offer, Step
from annotation.results.frames import study_data
from annotation.task_types.base import Shown
from annotation.task_types.cyoa.cyoa import Cyoa, as_paragraphs
from annotation.task_types.items import ItemData
from annotation.task_types.registry import get_type
from annotation.task_types.simulation import PROFILES
from generation.models import Suggester
from tests.annotation.offers_helpers import TEXTS, answer_all, is_waiting, story_study, writer
from tests.annotation.pages import fields
from tests.annotation.task_types import walking
from tests.factories import make_study, make_submission

FAMILY = "👨‍👩‍👧"  # one character of five code points
ACCENT = "e\u0301"  # one character of two


def lengths() -> list[tuple[str, int, bool]]:
    return [
        ("x" * 19, 19, False),
        ("x" * 20, 20, True),
        ("x" * 260, 260, True),
        ("x" * 261, 261, False),
        (FAMILY * 19, 19, False),
        (FAMILY * 20, 20, True),
        (ACCENT * 260, 260, True),
        (ACCENT * 261, 261, False),
        (f"  {'x' * 19}  ", 19, False),
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(("text", "length", "fits"), lengths())
def test_a_turn_has_20_to_260_characters_as_people_count_them(text: str, length: int, fits: bool) -> None:
    browser = writer(story_study(), begun=False)

    response = browser.send(turn=text)

    assert response.status_code == (303 if fits else 422)
    assert Step.objects.count() == fits
    if not fits:
        assert f"you wrote {length}." in fields(response).text
        assert fields(response).values["turn"].strip() == text.strip(), "nothing typed is lost"


@pytest.mark.django_db
def test_a_suggestion_that_is_edited_too_long_is_refused_with_everything_typed() -> None:
    browser = writer(story_study())
    is_waiting(browser)
    answer_all()

    response = browser.send(pick="2", pick_history="1 2", turn="x" * 261, turn_edits='{"1": "y"}')

    page = fields(response)
    assert response.status_code == 422
    assert "Please use at most 260 characters; you wrote 261." in page.text
    assert (page.values["pick"], page.values["pick_history"], page.values["turn"]) == ("2", "1 2", "x" * 261)
    assert page.values["turn_edits"] == '{"1": "y"}'


@pytest.mark.parametrize("suggesters", [["a", "b"], ["a", "a"], ["a", "b", "c"]])
def test_each_suggester_is_on_each_side_equally_often(suggesters: list[str]) -> None:
    task, config = Cyoa(), walking.initial_config(Cyoa()) | {"suggesters": suggesters, "rounds": 5}
    item = ItemData("p", {"prompt": ""})
    count = len(suggesters)
    sides: Counter[tuple[int, int]] = Counter()
    for slot in range(2 * count):
        order = task.arrange([item], config, slot=slot, rng=Random(slot))
        for shown in order["sides"][0]:
            assert sorted(shown) == list(range(count))
            sides.update(enumerate(shown))

    assert set(sides.values()) == {5 * 2}


def test_one_suggester_behind_two_sides_is_asked_twice_with_the_same_story() -> None:
    task = get_type("cyoa")
    (example, *_) = task.examples()
    shown = walking.shown_of(task, example)
    page = task.next_page(shown, [{"turn": "The door was open\nwhen we came home."}])
    assert page is not None

    assert [ask.side for ask in page.asks] == ["1", "2"]
    assert [ask.suggester for ask in page.asks] == ["model-b", "model-a"]
    assert {ask.fields["story"] for ask in page.asks} == {"The door was open when we came home."}
    assert {ask.fields["prompt"] for ask in page.asks} == {"A door that nobody has opened for a hundred years."}
    (need,) = task.suggesters(shown.config | {"suggesters": ["x", "x"]})
    assert (need.name, need.rounds, need.per_round) == ("x", 1, 2)


def test_a_hit_can_contain_several_stories() -> None:
    task = Cyoa()
    config = walking.initial_config(task) | {"rounds": 1}
    items = [ItemData(name, {"prompt": name}, rows=(at,)) for at, name in enumerate(("first", "second"))]
    order = walking.stored(task.arrange(items, config, slot=0, rng=Random(1)))
    shown = walking.with_offers(task, Shown(items, config, walking.texts_of(task, config), order))

    pages, answers = walking.walk(task, shown)

    assert [page.name for page in pages] == ["turn-1-1", "turn-1-2", "final-1", "turn-2-1", "turn-2-2", "final-2"]
    assert {ask.story for ask in pages[4].asks} == {"1"}
    assert task.story(shown, answers[:3], 1) == []
    stories = [output for output in task.outputs(shown, pages, answers) if output.kind == "text"]
    assert [output.context for output in stories] == [items[at].external_id for at in order["items"]]
    assert stories[1].texts == [" ".join(as_paragraphs(task.story(shown, answers[:5], 1)))]


@pytest.mark.parametrize("profile", PROFILES)
def test_simulated_writers_choose_switch_and_edit_within_the_limits(profile: Any) -> None:
    task = get_type("cyoa")
    (example, *_) = task.examples()
    seen = set()
    for number in range(30):
        pages, answers = walking.walk(task, walking.shown_of(task, example), f"w{number}", profile)
        seen.add(len(answers[1]["pick"]))  # type: ignore[arg-type]
        assert task.uses(walking.shown_of(task, example), pages[1], answers[1])
    assert seen == {1} if profile == "careless" else len(seen) > 1


@pytest.mark.django_db
def test_meaningless_short_and_pasted_texts_are_flagged() -> None:
    task = get_type("cyoa")
    (example, *_) = task.examples()
    shown = walking.shown_of(task, example)
    answers: list[Any] = [
        {"turn": "xxxxxxxxxxxxxxxxxxxxxxxxx"},
        {"pick": ["1"], "turn": TEXTS["1"]},
        {"satisfied": 4.0, "why_chosen": "no"},
    ]
    pages = [task.next_page(shown, answers[:at]) for at in range(3)]

    found = walking.findings(task, shown, [page for page in pages if page], answers, pastes=2)

    assert [(flag.reason, flag.place) for flag in found] == [
        ("too_short", "0.turn"),
        ("too_short", "2.why_chosen"),
        ("pasted", "submission"),
        ("gibberish", "0.turn"),
    ]


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"suggesters": []}, "suggesters"),
        ({"suggesters": ["model a"]}, "suggesters"),
        ({"least_characters": 300}, "least_characters"),
        ({"statements": [{"topic": "turn", "question": "?"}]}, "statements"),
        ({"questions": [{"topic": "useful", "question": "?"}]}, "questions"),
    ],
)
def test_invalid_settings_are_refused(config: dict[str, Any], field: str) -> None:
    task = get_type("cyoa")
    form = task.config_form(walking.initial_config(task) | config)
    assert list(form.errors) == [field]


@pytest.mark.django_db
def test_the_preview_shows_examples_and_stores_nothing() -> None:
    study = make_study(task_type="cyoa", items=1)
    browser = writer(study, begun=False)
    url = f"/s/{study.slug}/preview/"

    page = fields(browser.client.get(url, {"step": "2"}))
    assert page.text.count("Here workers see a suggestion") == 2
    last = fields(browser.client.get(url, {"step": "11"}))
    assert "Your story is finished" in last.text
    assert not Offer.objects.exists()


@pytest.mark.django_db
def test_the_report_shows_statements_choices_and_texts() -> None:
    study = story_study(rounds=2)
    Suggester.objects.update(active=False)  # pool texts come at once
    for seed in range(4):
        make_submission(study=study, seed=seed)

    numbers = report_numbers(study_data(study), draws=20)

    told = json.dumps(numbers)
    assert "I am happy with the final story." in told
    assert "Which suggestion do you want to use?" in told
    assert "model-a" in told
