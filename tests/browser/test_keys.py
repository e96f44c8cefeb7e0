"""Keys answer every task type's pages in a real Chromium: what the page shows beside an answer is what is stored."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Page, expect

from analysis.description import Point, Scale
from annotation.instrument import live_instrument
from annotation.models import Assignment, Rating, Step, Study
from annotation.task_types import registry
from annotation.task_types.cyoa.turn_questions import LineQuestion, PickQuestion
from annotation.task_types.items import Json
from annotation.task_types.kinds.choice import ChoiceQuestion
from annotation.task_types.kinds.choices import ChoicesQuestion
from annotation.task_types.kinds.ranking import RankingQuestion
from annotation.task_types.kinds.scale import ScaleQuestion
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.questions import Option, Question
from annotation.tokens import participant_token
from annotation.work.offers import open_page
from generation.models import Suggestion
from tests.annotation.offers_helpers import answer, asked, story_study
from tests.browser.conftest import NARROW, NewPage
from tests.browser.one_page import OnePage, one_item, with_type
from tests.browser.work_helpers import check_looks
from tests.factories import make_participant, make_study
from tests.services import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
SHORT = {"write_first": False, "rate_first": False}

KINDS = "keys_of_every_kind"
OPTIONS = tuple(Option(f"o{number}", f"Option {letter}") for number, letter in enumerate("ABCDEFGHIJK", start=1))
TENTHS = Scale("tenths", "interval", tuple(Point(float(at), "") for at in range(11)))
SIDES = Scale("sides", "nominal", (Point(1.0, "Text 2"), Point(2.0, "Neither"), Point(3.0, "Text 1")))


class EveryKind(OnePage):
    """One page with every kind of question, twelve options, a scale to 10, and options that show other numbers."""

    name = KINDS
    title = "Every kind"
    summary = "Every kind of question."

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        half = Scale.of("half", "interval", ["High", "Middle", "Low"], half_steps=True)
        return [
            ScaleQuestion("tenths", "How many?", "tenths", TENTHS),
            ScaleQuestion("half", "How much?", "half", half),
            ChoiceQuestion("side", "Which side?", "side", SIDES),
            ChoicesQuestion("many", "Which ones?", "many", options=OPTIONS, least=2),
            RankingQuestion("order", "Rank them.", "order", options=OPTIONS[:3]),
            TextQuestion("why", "Why?", "why"),
        ]


@pytest.fixture
def every_kind(monkeypatch: pytest.MonkeyPatch) -> None:
    with_type(EveryKind(), monkeypatch)


def keyed_study(task_type: str, **config: Any) -> Study:
    if task_type == KINDS:
        return make_study(task_type=KINDS, payloads=[one_item()], feedback_box=False)
    return make_study(task_type=task_type, items=1, config=config, feedback_box=False)


def keys_for(question: Question, number: int) -> tuple[list[str], object]:
    """Which keys answer a question by the rule in docs/workers-guide.md, and the answer; ``number`` varies it."""
    if isinstance(question, PickQuestion):
        at = number % len(question.options)
        return [str(at + 1)], [question.options[at].key]
    if isinstance(question, ChoiceQuestion):
        at = (number + 1) % len(question.scale.points)
        keys = "abc" if question.scale is SIDES else "123456789"
        return [keys[at]], question.scale.points[at].value
    if isinstance(question, ScaleQuestion):
        value = question.scale.points[(3 * number + 1) % len(question.scale.points)].value
        return list(f"{value:g}"), value
    if isinstance(question, ChoicesQuestion):
        keys = "123456789" if len(question.options) <= 9 else "abcdefghijklmnopqrstuvwxyz"
        return [keys[0], keys[-1 % len(question.options)]], [question.options[0].key, question.options[-1].key]
    assert isinstance(question, RankingQuestion)
    count = len(question.options)
    presses = [key for rank in range(count, 0, -1) for key in (str(rank), "Enter")][:-1]
    return presses, [option.key for option in reversed(question.options)]


class KeyedWorker:
    """Somebody with a keyboard alone, who answers pages as the docs say."""

    def __init__(self, page: Page, live_server: Any, study: Study) -> None:
        self.page = page
        participant = make_participant(study=study)
        page.goto(f"{live_server.url}/w/{participant_token(participant.pk)}/")
        expect(page.locator("h1")).to_be_visible()
        self.work = Assignment.objects.get(participant=participant)

    def questions(self, number: int) -> Sequence[Question]:
        hit = {"hit_id": self.work.hit_id, "order": self.work.order, "number": number}
        instrument = live_instrument(self.work.participant.arm_id)
        due = open_page(instrument=instrument, assignment_id=self.work.pk, **hit).page
        return due.questions if due else ()

    def press(self, *keys: str) -> None:
        for key in keys:
            self.page.keyboard.press(key)

    def do_page(self, number: int) -> None:
        """Answers the page and sends it; what is stored must be what the keys stand for."""
        expected: dict[str, object] = {}
        before: Question | None = None
        for at, question in enumerate(self.questions(number)):
            node = self.page.locator(f"[data-question={question.key}]")
            if not node.count() or not node.is_visible():
                continue
            if isinstance(question, LineQuestion) and isinstance(before, PickQuestion):
                expected[question.key] = self.page.locator("#f-turn").input_value()
                continue
            if isinstance(before, TextQuestion) or (before is not None and not question.required):
                self.press("Tab")
            elif before is not None:
                self.press("Enter")
            elif isinstance(question, TextQuestion):
                node.locator("textarea").focus()
            if before is not None:
                expect(node.locator(":focus")).to_have_count(1)
            if isinstance(question, TextQuestion):
                expected[question.key] = f"This is what I think about {question.key}: 5 of 7."
                self.page.keyboard.type(str(expected[question.key]))
            else:
                keys, expected[question.key] = keys_for(question, at + number)
                self.press(*keys)
            before = question
        with self.page.expect_navigation():
            self.press("Control+Enter" if isinstance(before, TextQuestion) else "Enter")
        sent = Step.objects.get(assignment=self.work, number=number).answers
        assert {key: sent[key] for key in expected} == expected, (self.work.hit.study.task_type, number)

    def do_task(self) -> None:
        for number in range(20):
            if self.page.locator("#waiting").count():
                for side in "12":
                    answer(asked(side), f"Suggestion {side} for this line of the story.")
                expect(self.page.locator("#waiting")).to_have_count(0)
                self.page.wait_for_load_state()  # it has loaded again: before that, no script hears the keys
            if self.page.locator("h1").inner_text() == "Thank you":
                return
            self.do_page(number)
        raise AssertionError(f"{self.work.hit.study.task_type} has no end")


ALONE = {"suggestions": False}
WALKS: Sequence[tuple[str, dict[str, Any]]] = (
    ("abs_hds", {}),
    ("asp_hds", SHORT),
    ("sim_hds", SHORT),
    ("rnk_hds", SHORT),
    ("quality", {}),
    ("likert", {"points": 11, "comment": True}),
    ("likert", {"direction": "descending"}),
    ("form", {}),
    ("pairwise", {"ties": True}),
    ("detection", {}),
    ("comment_coding", {}),
    ("con_test", {}),
    ("production", {}),
    ("mil_story", ALONE),
    ("slogan", ALONE),
    (KINDS, {}),
)


def test_the_walks_are_through_all_types() -> None:
    """Stories with suggestions and conversations have tests of their own."""
    assert {task_type for task_type, _ in WALKS} | {"cyoa", "chat"} == {*registry.all_types(), KINDS}


def test_every_task_type_stores_what_the_keys_on_its_pages_show(
    live_server: Any, new_page: NewPage, every_kind: None
) -> None:
    page = new_page()
    for task_type, config in WALKS:
        KeyedWorker(page, live_server, keyed_study(task_type, **config)).do_task()


def test_a_story_with_suggestions_stores_what_the_keys_on_its_pages_show(
    live_server: Any, new_page: NewPage, every_kind: None
) -> None:
    KeyedWorker(new_page(), live_server, story_study(rounds=1)).do_task()


def checked(page: Page) -> list[str]:
    """The values of the checked answers, in the order of the page."""
    values: list[str] = page.locator("#task input:checked").evaluate_all("all => all.map(field => field.value)")
    return values


def test_a_half_step_is_typed_as_it_is_printed_and_can_be_corrected(
    live_server: Any, new_page: NewPage, axe_core: Path
) -> None:
    page = new_page()
    worker = KeyedWorker(page, live_server, make_study(items=1, config=SHORT))
    expect(page.locator(".point .key")).to_have_text(["4 .", "3 .", "2 .", "1 ."])
    hint = "Press the key of your answer, then Enter to send. For 4.5, press 4 and then the full stop."
    expect(page.locator(".keys")).to_contain_text(hint)
    check_looks(page, axe_core, "keys")
    for keys, value in (("5", "5"), ("4", "4"), (".", "4.5"), ("5", "4.5"), ("5", "5"), ("3.", "3.5"), ("2,5", "2.5")):
        worker.press(*keys)
        assert checked(page) == [value], keys
    worker.press("ArrowUp")  # the browser's own way through a group of radio buttons
    assert checked(page) == ["3"]
    worker.press(".", "6", "0", "x", "Control+1", "Alt+1", "Meta+1")
    page.keyboard.down("2")
    page.keyboard.down("2")
    page.keyboard.up("2")
    assert checked(page) == ["2"]
    page.evaluate("""() => document.activeElement.dispatchEvent(
        new KeyboardEvent("keydown", {key: "5", bubbles: true, repeat: true}))""")
    page.locator("#f-feedback").focus()
    page.keyboard.type("7 of 9, or 4.5")
    assert checked(page) == ["2"]
    worker.press("Shift+Enter", "Control+Enter")
    expect(page.locator("h1")).to_have_text("Thank you")
    assert Rating.objects.get().value == 2
    assert Rating.objects.get().seconds


def test_keys_are_for_the_question_in_focus_and_enter_goes_to_the_next(
    live_server: Any, new_page: NewPage, axe_core: Path
) -> None:
    page = new_page()
    worker = KeyedWorker(page, live_server, make_study(task_type="likert", items=1, config={"order": "fixed"}))
    check_looks(page, axe_core, "keys of statements")
    worker.press("3", "2", "Enter", "7")
    assert checked(page) == ["2", "7"], "a second key corrects the first; Enter goes on"
    page.get_by_role("radiogroup").nth(3).get_by_role("radio").nth(4).check()
    worker.press("Enter", "6")
    assert checked(page) == ["2", "7", "5", "6"], "after a click, the keys continue there"
    worker.press("Enter")
    expect(page.get_by_role("radiogroup").nth(2).locator(":focus")).to_have_count(1)
    ring = "getComputedStyle(document.activeElement.parentElement).outlineStyle"
    assert page.evaluate(ring) != "none"
    page.get_by_role("button", name="Turn off the keys").click()
    expect(page.get_by_role("button", name="Turn on the keys")).to_be_focused()
    page.reload()
    worker.press("4")
    assert checked(page) == ["2", "7", "5", "6"]
    page.get_by_role("button", name="Turn on the keys").click()
    worker.press("4")
    assert checked(page) == ["2", "7", "4", "5", "6"]


def test_keys_are_not_shown_on_a_touch_screen(live_server: Any, new_page: NewPage) -> None:
    page = new_page(viewport=NARROW, has_touch=True, is_mobile=True)
    KeyedWorker(page, live_server, make_study(items=1, config=SHORT))
    for hint in (page.locator(".keys"), page.locator(".key").first):
        expect(hint).to_be_hidden()
    assert page.locator(".value").first.evaluate("node => getComputedStyle(node).borderTopWidth") == "0px"


def test_one_suggestion_alone_has_one_key_and_cards_have_one_width(
    live_server: Any, new_page: NewPage, axe_core: Path
) -> None:
    texts = {"1": "Yes.", "2": "It was a long and winding story about a piano that nobody in the house could play."}
    study = story_study(rounds=1, pool=False)
    page = new_page()
    for sides in ("12", "1"):
        KeyedWorker(page, live_server, study).do_page(0)
        for side in texts:
            answer(asked(side), texts[side] if side in sides else "")
        if sides == "1":
            again = Suggestion.objects.filter(key__endswith="/2/again")
            wait_for(again.exists, "the second try")
            answer(again.get(), "")
        expect(page.locator(".suggestion")).to_have_count(len(sides))
        expect(page.locator(".suggestion .key")).to_have_text(list(sides))
        assert "1 to 1" not in page.locator("main").inner_text()
        boxes = [card.bounding_box() for card in page.locator(".suggestion").all()]
        assert len({round(box["width"]) for box in boxes if box}) == 1
        check_looks(page, axe_core, "suggestions")
