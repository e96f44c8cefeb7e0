"""Stories sentence by sentence: who gets suggestions, what can be sent, what happens to a suggestion, who judges it."""

from __future__ import annotations

import json
from random import Random
from typing import Any

import pytest

from analysis.report import report_numbers
from annotation.models import Assignment, Item, Offer, Output, Rating, Step, Study
from annotation.results.frames import study_data
from annotation.studies.launching import publish
from annotation.studies.outputs import set_feed
from annotation.task_types.base import ArmPlan, Design, Shown
from annotation.task_types.items import ItemData
from annotation.task_types.registry import get_type
from annotation.work.allocation import NothingLeft, accept_next, enrol
from generation.models import Suggester, Suggestion
from tests.annotation.offers_helpers import answer, asked, is_waiting, pass_time
from tests.annotation.pages import WorkerBrowser, fields
from tests.annotation.task_types import walking
from tests.factories import make_participant, make_study, make_submission
from tests.generation.support.toy_suggestions import make_pool, make_suggester

FAMILY = "👨‍👩‍👧"  # one character of five code points
ACCENT = "e\u0301"  # one character of two
FIRST = "Nobody else stood at the stop."
SECOND = "The bus was late again that evening."


def story_study(*, pool: int = 3, **values: Any) -> Study:
    """Stories of four sentences, with a suggester whose pool has ``pool`` texts."""
    suggester = make_suggester("model-a", wait_seconds=10.0)
    make_pool(suggester, *(f"A sentence from the pool, number {at}." for at in range(pool)))
    config = {"sentences": 4} | values.pop("config", {})
    return make_study(task_type="mil_story", ratings_per_item=20, config=config, **{"items": 1} | values)


def writer(study: Study, *, begun: bool = True) -> WorkerBrowser:
    """Somebody on the first page, or with ``begun`` on the second, which has a suggestion."""
    browser = WorkerBrowser(make_participant(study=study))
    if begun:
        assert browser.send(sentence=FIRST).status_code == 303
    return browser


def box(browser: WorkerBrowser) -> str:
    return fields(browser.get()).values["sentence"]


# --- the box ---


@pytest.mark.django_db
def test_every_second_sentence_begins_as_a_suggestion_and_the_others_do_not() -> None:
    browser = writer(story_study())
    assert is_waiting(browser)
    answer(asked("1"), SECOND)
    assert box(browser) == SECOND
    browser.send(sentence=f"{SECOND} So was she.")

    assert box(browser) == ""
    browser.send(sentence="She read the timetable twice.")
    assert is_waiting(browser)
    assert asked("1").prompt == f"{FIRST} {SECOND} So was she. She read the timetable twice."


@pytest.mark.django_db
@pytest.mark.parametrize(
    ("sent", "fate", "chosen"),
    [
        (SECOND, 1, True),
        (f"  {SECOND.replace(' ', '  ')}", 1, True),
        ("The bus was early, which it never is.", 2, True),
        ("She walked home through the snow.", 3, False),
    ],
)
def test_what_became_of_a_suggestion_is_stored(sent: str, fate: int, chosen: bool) -> None:
    study = story_study(config={"sentences": 2})
    browser = writer(study)
    is_waiting(browser)
    answer(asked("1"), SECOND)
    assert box(browser) == SECOND
    assert browser.send(sentence=sent).status_code == 303
    answers = dict.fromkeys((row["topic"] for row in study.config["statements"]), "4")
    browser.send(**answers)
    about = dict.fromkeys((row["topic"] for row in study.config["suggestion_statements"]), "4")
    opened = dict.fromkeys(("interface", "difficulty", "improvements"), "Nothing much.")
    assert browser.send(enjoyed="4", use_again="2", **about, **opened).status_code == 303

    rows = {(row.question, row.target): row.value or row.text for row in Rating.objects.all()}
    assert (rows["fate", "2"], rows["source", "2"], rows["suggested", "2"]) == (fate, 1, SECOND)
    assert rows["sentence", "2"] == sent.strip()
    offer = Offer.objects.get()
    assert (offer.chosen, offer.text, offer.source) == (chosen, SECOND, "live")


@pytest.mark.django_db
def test_a_box_that_was_emptied_stays_empty_after_a_reload() -> None:
    browser = writer(story_study())
    is_waiting(browser)
    answer(asked("1"), SECOND)
    form = browser.form()

    browser.draft(form, sentence="")

    assert box(browser) == ""
    assert browser.post(form, sentence="").status_code == 422
    assert browser.post(form, sentence="My own words.").status_code == 303


@pytest.mark.django_db
def test_after_the_deadline_the_pool_is_in_the_box_and_after_the_pool_nothing() -> None:
    browser = writer(story_study(pool=1))
    is_waiting(browser)
    pass_time(11)
    assert box(browser) == "A sentence from the pool, number 0."
    browser.send(sentence="Something else altogether.")
    browser.send(sentence="And a third sentence.")
    is_waiting(browser)
    pass_time(11)

    page = fields(browser.get())

    assert page.values["sentence"] == ""
    assert "There is no suggestion this time" in page.text
    assert browser.send(sentence="Written alone, then.").status_code == 303
    assert list(Offer.objects.order_by("step").values_list("source", "chosen")) == [("pool", False), ("none", False)]


@pytest.mark.django_db
@pytest.mark.parametrize("text", ["x" * 10_000, "<script>alert(1)</script> & so on", "…", f"{ACCENT}{FAMILY} it said."])
def test_whatever_a_suggester_says_is_in_the_box_as_it_is(text: str) -> None:
    browser = writer(story_study())
    is_waiting(browser)
    answer(asked("1"), text)

    assert box(browser) == text
    assert "<script>alert(1)" not in browser.get().content.decode()
    fits = 5 <= len(text) <= 300
    assert browser.send(sentence=text).status_code == (303 if fits else 422)
    if not fits:
        assert browser.send(sentence="Something shorter.").status_code == 303


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
        (" ".join(["A whole story was pasted here."] * 60), 1_859, False),
    ]


@pytest.mark.django_db
@pytest.mark.parametrize(("text", "length", "fits"), lengths())
def test_characters_are_counted_as_people_count_them(text: str, length: int, fits: bool) -> None:
    study = story_study(config={"least_characters": 20, "most_characters": 260})
    browser = writer(study, begun=False)

    response = browser.send(sentence=text)

    assert response.status_code == (303 if fits else 422)
    assert Step.objects.count() == fits
    if not fits:
        assert f"you wrote {length:,}." in fields(response).text
        assert fields(response).values["sentence"] == text, "nothing typed is lost"


# --- resuming, going back, two tabs ---


@pytest.mark.django_db
def test_a_sentence_is_final_and_another_tab_continues_where_the_story_is() -> None:
    browser = writer(story_study(), begun=False)
    form = browser.form()
    browser.post(form, sentence=FIRST)

    response = browser.post(form, sentence="Another beginning of the story.")

    assert (response.status_code, response["Location"]) == (303, f"{browser.url}?already")
    assert Step.objects.get().answers == {"sentence": FIRST}
    page = fields(browser.client.get(f"{browser.url}?already"))
    assert "You have already sent that step" in page.text
    assert FIRST in page.text


@pytest.mark.django_db
def test_two_tabs_have_the_same_suggestion() -> None:
    browser = writer(story_study())
    is_waiting(browser)
    answer(asked("1"), SECOND)
    assert box(browser) == SECOND
    Suggestion.objects.update(text="Another text than before.")

    assert box(browser) == SECOND


# --- arms and the order of prompts ---


@pytest.mark.django_db
def test_arms_differ_in_suggestions_texts_and_survey() -> None:
    study = story_study(
        config={"sentences": 2}, arms=[{"name": "mil"}, {"name": "solo", "config": {"suggestions": False}}]
    )
    Suggester.objects.update(active=False)  # pool texts come at once
    made = [make_submission(participant=make_participant(study=study)) for _ in range(2)]

    asked_in = {each.participant.arm.name: set(each.ratings.values_list("question", flat=True)) for each in made}
    assert asked_in["mil"] - asked_in["solo"] == {
        *("suggested", "fate", "source", "use_again"),
        *(row["topic"] for row in study.config["suggestion_statements"]),
    }
    assert asked_in["solo"] - asked_in["mil"] == {"tools"}
    instructions = {arm.name: arm.shown_texts["instructions"] for arm in study.arms.all()}
    assert "suggestion" in instructions["mil"]
    assert "suggestion" not in instructions["solo"]
    assert {offer.assignment.participant.arm.name for offer in Offer.objects.all()} == {"mil"}


@pytest.mark.django_db
def test_prompts_are_counterbalanced_over_the_writers_of_a_hit() -> None:
    study = story_study(items=3, items_per_hit=3, config={"suggestions": False})
    for _ in range(6):
        accept_next(participant_id=make_participant(study=study).pk)

    orders = [tuple(order["items"]) for order in Assignment.objects.values_list("order", flat=True)]

    # Three prompts have six orders. A Williams design for three conditions uses each once.
    assert len(set(orders)) == 6


def test_three_stories_are_one_hit_of_thirty_three_pages_and_a_survey() -> None:
    task = get_type("mil_story")
    config = walking.initial_config(task)
    items = [ItemData(name, {"prompt": name}) for name in "abc"]
    (hit,) = task.plan(items, Design([ArmPlan("", config)], items_per_hit=3), Random(1))
    assert len(hit.items) == 3
    order = task.arrange(items, config, slot=0, rng=Random(1))
    shown = walking.with_offers(task, Shown(items, config, walking.texts_of(task, config), order))

    pages, answers = walking.walk(task, shown)

    assert len(pages) == 3 * (10 + 1) + 1
    assert sum(bool(page.asks) for page in pages) == 3 * 5
    assert [page.asks[0].round for page in pages[:11] if page.asks] == [1, 2, 3, 4, 5]
    assert {page.asks[0].fields["story"] for page in pages if page.name == "sentence-2-2"} == {answers[11]["sentence"]}


# --- what happens to the stories ---


@pytest.mark.django_db
@pytest.mark.parametrize("judge", ["likert", "pairwise"])
def test_finished_stories_are_judged_by_others_never_by_their_writer(judge: str) -> None:
    study = story_study(config={"sentences": 2, "suggestions": False})
    writers = [make_participant(study=study) for _ in range(2)]
    for each in writers:
        make_submission(participant=each)
    judging = make_study(task_type=judge, items=0, live=False, hits_per_worker=None)
    set_feed(study=judging, source=study, actor="ann")
    publish(study=judging, actor="ann")

    stories = list(Output.objects.filter(kind="text").values_list("texts", flat=True))
    items = list(Item.objects.filter(study=judging))
    assert len(items) == (2 if judge == "likert" else 1)
    assert sum(str(text) in json.dumps([item.payload for item in items], ensure_ascii=False) for [text] in stories) == 2
    for each in writers:
        back = enrol(study=judging, worker=each.worker, consented=False)
        with pytest.raises(NothingLeft):
            while True:
                make_submission(participant=back)
        own = set(Item.objects.filter(study=judging, authors__worker=each.worker))
        judged = set(Item.objects.filter(places__hit__assignments__participant=back))
        assert (len(own), own & judged) == (1, set())
        assert len(judged) == len(items) - 1


@pytest.mark.django_db
def test_the_report_compares_the_arms() -> None:
    study = story_study(
        config={"sentences": 2}, arms=[{"name": "mil"}, {"name": "solo", "config": {"suggestions": False}}]
    )
    Suggester.objects.update(active=False)
    for seed in range(4):
        make_submission(participant=make_participant(study=study), seed=seed)

    told = json.dumps(report_numbers(study_data(study), draws=20), ensure_ascii=False)

    assert "The story is creative." in told
    assert "Statements by arm" in told
    assert "I was glad to have the suggestions." in told


@pytest.mark.parametrize(
    ("config", "field"),
    [
        ({"suggesters": []}, "suggesters"),
        ({"suggesters": ["a", "b"]}, "suggesters"),
        ({"least_characters": 301}, "least_characters"),
        ({"statements": [{"topic": "sentence", "question": "?"}]}, "statements"),
        ({"statements": [{"topic": "enjoyed", "question": "?"}]}, "survey_statements"),
        ({"survey_questions": [{"topic": "tools", "question": "?"}]}, "solo_questions"),
        ({"solo_questions": [{"topic": "use_again", "question": "?"}]}, "solo_questions"),
    ],
)
def test_invalid_settings_are_refused(config: dict[str, Any], field: str) -> None:
    task = get_type("mil_story")
    form = task.config_form(walking.initial_config(task) | config)
    assert field in form.errors
