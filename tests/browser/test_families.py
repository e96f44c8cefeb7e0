"""Statements, pairs and written sets in a real Chromium: in every size and colour, by keyboard, without JavaScript."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Locator, Page, expect

from analysis.description import Point, Scale
from annotation.models import Output, Rating, Study
from annotation.task_types.items import ItemData, Json
from annotation.task_types.kinds.choice import ChoiceQuestion
from annotation.task_types.kinds.choices import ChoicesQuestion
from annotation.task_types.kinds.ranking import RankingQuestion
from annotation.task_types.kinds.scale import ScaleQuestion
from annotation.task_types.kinds.text import TextQuestion
from annotation.task_types.questions import Option, Question, ShownIf
from tests.browser.conftest import NARROW, WIDE, NewPage
from tests.browser.one_page import OnePage, one_item, with_type
from tests.browser.work_helpers import check_looks, open_start, send, start_work, tab_to
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

CONTEXT = "The owl had been sitting in the same tree since the rain began. Nobody in the village knew why."
STORY = (
    "On the third day a boy climbed up to her with half a sandwich. She looked at it, then at him, and decided that "
    "the rain could not last for ever.\n\nBy evening they were both gone, and so was the sandwich."
)
OTHER = "The owl flew away. It rained again. The owl came back and the rain stopped, and everybody was happy."


def story_study() -> Study:
    payload: Json = {"sample_id": "s", "text": STORY, "context": CONTEXT, "label_name": "", "label_value": ""}
    return study_of("likert", payload | {"columns": ["sample_id", "text", "context"], "extra": []}, comment=True)


def pair_study(**config: Any) -> Study:
    payload: Json = {"sample_id": "p", "text_1": STORY, "text_2": OTHER, "context": CONTEXT}
    payload |= {"system_1": "gpt2", "system_2": "human", "columns": ["sample_id", "text_1", "text_2"], "extra": []}
    return study_of("pairwise", payload, ties=True, **config)


def writing_study(**config: Any) -> Study:
    payload = {"sample_id": "c", "context": CONTEXT, "columns": ["sample_id", "context"], "extra": []}
    return study_of("con_test", payload, generation_task="story", **config)


def study_of(task_type: str, payload: Json, **config: Any) -> Study:
    return make_study(
        task_type=task_type, payloads=[ItemData("one", payload)], config=config, title="Stories about owls"
    )


def begin(page: Page, live_server: Any, study: Study) -> None:
    open_start(page, live_server, study)
    start_work(page)
    expect(page.locator("#task")).to_be_visible()


def values() -> dict[str, float | None]:
    return {row.question: row.value for row in Rating.objects.exclude(value=None)}


def try_to_send(page: Page) -> Locator:
    page.locator(".send button").click()
    expect(page.locator("#summary")).to_be_focused()
    return page.locator("#summary li")


# --- statements ---


def test_statements_from_start_to_end(live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    page = new_page()
    begin(page, live_server, story_study())
    check_looks(page, axe_core, "statements")
    page.get_by_role("radiogroup", name="The text is creative.").get_by_role("radio", name="6", exact=True).check()
    expect(try_to_send(page)).to_have_count(4)
    check_looks(page, axe_core, "statements with mistakes")
    for group in page.get_by_role("radiogroup").all()[:5]:
        if not group.get_by_role("radio", checked=True).count():
            group.get_by_role("radio", name="7 Strongly agree").check()
    page.get_by_label("Do you want to add anything?").fill("A lovely sandwich.")
    send(page, "Thank you")
    assert values() == dict.fromkeys(("coherent", "entertaining", "grammatical", "liked"), 7.0) | {"creative": 6.0}


def test_statements_are_a_table_on_a_wide_screen_and_follow_each_other_on_a_narrow_one(
    live_server: Any, new_page: NewPage
) -> None:
    page = new_page()
    begin(page, live_server, story_study())
    row = page.locator(".grid-row").first
    for viewport, beside in ((WIDE, True), (NARROW, False)):
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        expect(page.locator(".grid-head")).to_be_visible(visible=beside)
        statement, first = row.locator(".asked").bounding_box(), row.locator("input").first.bounding_box()
        assert statement and first
        assert (first["y"] < statement["y"] + statement["height"]) is beside
        expect(row.locator("p.ends")).to_be_visible(visible=not beside)


def test_points_of_a_narrow_grid_are_large_enough_to_touch(live_server: Any, new_page: NewPage) -> None:
    page = new_page(viewport=NARROW)
    begin(page, live_server, story_study())
    for point in page.locator(".point").all():
        box = point.bounding_box()
        assert box is not None
        assert box["height"] >= 44 and box["width"] >= 44


# --- pairs ---


def test_a_pair_from_start_to_end(live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    page = new_page()
    begin(page, live_server, pair_study())
    check_looks(page, axe_core, "pair")
    expect(try_to_send(page)).to_have_count(2)
    check_looks(page, axe_core, "pair with mistakes")
    page.get_by_role("radio", name="No difference").check()
    page.get_by_label("Why did you choose").fill("Both are")
    expect(try_to_send(page)).to_have_text(
        "Why did you choose this answer? Please write at least 3 words; you wrote 2."
    )
    page.get_by_label("Why did you choose").fill("Both are about an owl.")
    assert "gpt2" not in page.content() and "human" not in page.content()
    send(page, "Thank you")
    assert values() == {"better": 0.0}


# --- written sets ---


def write(page: Page, texts: Sequence[str]) -> None:
    for box, text in zip(page.get_by_role("textbox").all(), texts, strict=False):
        box.fill(text)


DIFFERENT = [
    "She moved to Spain.",
    "The tree fell over.",
    "Nobody ever asked.",
    "It was a statue.",
    "The rain stopped.",
]
ALIKE = [
    "It was only a statue.",
    "A statue, that is all it was.",
    "She was made of stone.",
    "The owl was carved.",
    "Just stone.",
]


def test_written_sets_from_start_to_end(live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    page = new_page()
    begin(page, live_server, writing_study())
    write(page, [*DIFFERENT[:4], "she moved to spain"])
    expect(page.locator(".counter").first).to_have_text("4 of 15 words")
    check_looks(page, axe_core, "five different")
    page.locator(".send button").click()
    expect(page.locator("#summary li")).to_have_text(
        "Ending 5 This is the same as “Ending 1”. Please write something else."
    )
    check_looks(page, axe_core, "five with a mistake")
    write(page, DIFFERENT)
    send(page, "Choose one of your endings")
    check_looks(page, axe_core, "choose")
    page.get_by_role("radio", name="It was a statue.").check()
    send(page, "Rephrase it 5 times")
    expect(page.locator(".said")).to_have_text("It was a statue.")
    check_looks(page, axe_core, "rephrase")
    write(page, ALIKE)
    send(page, "Thank you")
    made = {output.label_value: output.texts for output in Output.objects.all()}
    assert made == {1.0: DIFFERENT, 0.0: ALIKE}


# --- by keyboard alone, and without JavaScript ---


def test_the_keyboard_alone_is_enough_for_statements(live_server: Any, new_page: NewPage) -> None:
    page = new_page()
    begin(page, live_server, story_study())
    for topic in ("creative", "coherent", "entertaining", "grammatical", "liked"):
        page.locator("h1").evaluate("node => { node.tabIndex = -1; node.focus(); }")
        tab_to(page, f"[name={topic}]")
        page.keyboard.press("Space")
        page.keyboard.press("ArrowRight")
    tab_to(page, ".send button")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Thank you")
    assert set(values().values()) == {2.0}


def test_the_keyboard_alone_is_enough_for_a_pair(live_server: Any, new_page: NewPage) -> None:
    page = new_page()
    begin(page, live_server, pair_study())
    tab_to(page, "[name=better]")
    page.keyboard.press("ArrowDown")
    tab_to(page, "textarea")
    page.keyboard.type("They are equally good.")
    tab_to(page, ".send button")
    page.keyboard.press("Enter")
    expect(page.locator("h1")).to_have_text("Thank you")
    assert values() == {"better": 0.0}


def test_the_keyboard_alone_is_enough_for_written_sets(live_server: Any, new_page: NewPage) -> None:
    page = new_page()
    begin(page, live_server, writing_study(responses=2))
    for texts, then in ((DIFFERENT, "Choose one"), ((), "Rephrase"), (ALIKE, "Thank you")):
        for number, text in enumerate(texts[:2], start=1):
            tab_to(page, f"textarea[name$='-{number}']")
            page.keyboard.type(text)
        if not texts:
            tab_to(page, "[name=chosen]")
            page.keyboard.press("Space")
        tab_to(page, ".send button")
        page.keyboard.press("Enter")
        expect(page.locator("h1")).to_contain_text(then)


@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_javascript_is_not_needed(viewport: dict[str, int], live_server: Any, new_page: NewPage) -> None:
    page = new_page(viewport=viewport, java_script_enabled=False)
    begin(page, live_server, story_study())
    page.locator(".send button").click()
    assert page.locator("#summary li").count() == 5
    for group in page.get_by_role("radiogroup").all():
        group.get_by_role("radio").nth(3).check()
    page.locator(".send button").click()
    assert page.locator("h1").inner_text() == "Thank you"
    begin(page, live_server, pair_study(reason="none"))
    page.get_by_role("radio", name="Text B").check()
    page.locator(".send button").click()
    assert page.locator("h1").inner_text() == "Thank you"
    begin(page, live_server, writing_study(responses=2))
    write(page, ["One.", "one"])
    page.locator(".send button").click()
    assert "the same as “Ending 1”" in page.locator("#summary").inner_text()
    assert page.get_by_role("textbox").first.input_value() == "One."
    write(page, DIFFERENT[:2])
    page.locator(".send button").click()
    page.get_by_role("radio").first.check()
    page.locator(".send button").click()
    write(page, ALIKE[:2])
    page.locator(".send button").click()
    assert page.locator("h1").inner_text() == "Thank you"
    assert values() == dict.fromkeys(("creative", "coherent", "entertaining", "grammatical", "liked"), 4.0) | {
        "better": values()["better"],
        "chosen": 1.0,
    }
    assert abs(values()["better"] or 0) == 1


# --- every kind of question ---

OPTIONS = (
    Option("plot", "The plot"),
    Option("style", "The style", "Words and sentences."),
    Option("end", "The ending"),
)
YES_NO = Scale("yes or no", "nominal", (Point(1.0, "Yes"), Point(0.0, "No")))


class Survey(OnePage):
    """Every kind of question on one page."""

    name = "survey"
    title = "Survey"
    summary = "Every kind of question."

    def questions(self, config: Json, texts: Mapping[str, str]) -> Sequence[Question]:
        scale = Scale.of(
            "liking", "ordinal", ["Very much", "A little", "Not at all"], descriptions=["Great.", "Fine.", "Bad."]
        )
        return [
            ScaleQuestion("liking", "How did you like it?", "liking", scale),
            ChoiceQuestion("again", "Would you read it again?", "again", YES_NO),
            TextQuestion("why", "Why not?", "why", min_chars=5, max_chars=40, shown_if=ShownIf("again", (0.0,))),
            ChoicesQuestion("good", "What was good?", "good", options=OPTIONS, least=1, most=2),
            RankingQuestion("order", "Rank the three.", "order", options=OPTIONS),
        ]


@pytest.fixture
def survey(monkeypatch: pytest.MonkeyPatch) -> Study:
    with_type(Survey(), monkeypatch)
    return make_study(task_type="survey", payloads=[one_item()], title="Survey")


def test_every_kind_of_question(survey: Study, live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    page = new_page()
    begin(page, live_server, survey)
    check_looks(page, axe_core, "survey")
    expect(page.get_by_label("Why not?")).to_be_hidden()
    expect(try_to_send(page)).to_have_count(4)
    page.get_by_role("radio", name="2 A little").check()
    page.get_by_role("radio", name="No", exact=True).check()
    page.get_by_label("Why not?").fill("🦉👨‍👩‍👧‍👦")
    expect(page.locator(".counter:visible")).to_have_text("2 characters; 5 to 40 needed")
    for name in ("The plot", "The style", "The ending"):
        page.get_by_role("checkbox", name=name).check()
    page.get_by_role("button", name="Move The ending up").click()
    expect(page.locator(".rank .name")).to_have_text(["The plot", "The ending", "The styleWords and sentences."])
    page.get_by_role("combobox", name="Rank of The style").select_option("1")
    check_looks(page, axe_core, "survey, half filled in")
    expect(try_to_send(page)).to_have_text(
        [
            "Why not? Please write at least 5 characters; you wrote 2.",
            "What was good? Please choose at most 2; you chose 3.",
            "Rank the three. Please use each rank from 1 to 3 exactly once.",
        ]
    )
    page.get_by_label("Why not?").fill("🦉" * 5)
    page.get_by_role("checkbox", name="The plot").uncheck()
    page.get_by_role("combobox", name="Rank of The plot").select_option("3")
    expect(page.locator(".rank .name").first).to_contain_text("The style")
    send(page, "Thank you")
    found = {(row.question, row.target): row.text or row.value for row in Rating.objects.all()}
    assert found == {
        ("liking", ""): 2.0,
        ("again", ""): 0.0,
        ("why", ""): "🦉" * 5,
        ("good", "plot"): 0.0,
        ("good", "style"): 1.0,
        ("good", "end"): 1.0,
        ("order", "style"): 1.0,
        ("order", "end"): 2.0,
        ("order", "plot"): 3.0,
    }


def test_a_question_that_is_not_asked_asks_for_nothing(survey: Study, live_server: Any, new_page: NewPage) -> None:
    page = new_page()
    begin(page, live_server, survey)
    page.get_by_role("radio", name="Very much").check()
    page.get_by_role("radio", name="No", exact=True).check()
    expect(page.get_by_label("Why not?")).to_be_visible()
    page.get_by_role("radio", name="Yes").check()
    expect(page.get_by_label("Why not?")).to_be_hidden()
    page.get_by_role("checkbox", name="The plot").check()
    page.get_by_role("button", name="Move The plot down").click()
    send(page, "Thank you")
    assert not Rating.objects.filter(question="why").exists()


def test_ticked_answers_survive_a_reload(survey: Study, live_server: Any, new_page: NewPage) -> None:
    page = new_page()
    begin(page, live_server, survey)
    page.get_by_role("checkbox", name="The style").check()
    page.get_by_role("button", name="Move The ending up").click()
    expect(page.locator("#saved")).to_have_text("Saved")
    page.reload()
    expect(page.get_by_role("checkbox", name="The style")).to_be_checked()
    expect(page.get_by_role("checkbox", name="The plot")).not_to_be_checked()
    expect(page.locator(".rank .name").nth(1)).to_have_text("The ending")
