"""A story is written in a real browser: suggestions come, come late, or come from the pool; nothing typed is lost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Offer, Output, Step, Study, Submission
from annotation.tokens import participant_token
from generation.models import Suggester, Suggestion
from generation.suggestions import suggester_process
from generation.suggestions.suggester_process import SuggesterProcess
from tests.annotation.offers_helpers import FIRST, story_study
from tests.browser.conftest import NARROW, NewPage
from tests.browser.work_helpers import check_looks, open_start, send, start_work
from tests.factories import make_participant
from tests.generation.support.toy_suggestions import ToyShop
from tests.services import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
Write = Callable[[], None]
#: As a browser pastes a text into the box.
PASTE = """text => {
    const box = document.getElementById("f-turn"), data = new DataTransfer();
    box.focus();
    data.setData("text/plain", text);
    box.dispatchEvent(new ClipboardEvent("paste", {clipboardData: data, bubbles: true}));
    document.execCommand("insertText", false, text);
}"""


@pytest.fixture
def study() -> Study:
    """Two rounds."""
    return story_study(rounds=2)


@pytest.fixture
def write(study: Study, monkeypatch: pytest.MonkeyPatch) -> Iterator[Write]:
    """Lets the suggester process, with a toy for a model, answer all that waits; until it is called, nothing comes."""
    monkeypatch.setattr(suggester_process, "REFRESH_SECONDS", 0.01)
    process = SuggesterProcess(open_backend=ToyShop(), poll=0)

    def turned(done: Callable[[], bool]) -> Callable[[], bool]:
        def turn() -> bool:
            process.turn()
            return done()

        return turn

    def loaded() -> bool:
        return bool(process.lanes) and all(lane.state == "ready" for lane in process.lanes.values())

    wait_for(turned(loaded), "the models")

    def write_all() -> None:
        wait_for(turned(lambda: not Suggestion.objects.filter(state="waiting").exists()), "the suggestions")

    yield write_all
    process._finish()


def open_story(new_page: NewPage, live_server: Any, study: Study, **options: Any) -> Page:
    page = new_page(**options)
    page.goto(live_server.url + reverse("work", args=[participant_token(make_participant(study=study).pk)]))
    return page


def first_line(page: Page) -> None:
    page.fill("#f-turn", FIRST)
    send(page, "Choose the next line")


def suggestions(page: Page) -> list[str]:
    expect(page.locator(".suggestion")).to_have_count(2)
    return page.locator(".suggestion .line").all_inner_texts()


def test_a_story_of_two_rounds_with_one_suggestion_late(
    new_page: NewPage, live_server: Any, study: Study, write: Write, axe_core: Path
) -> None:
    page = new_page()
    open_start(page, live_server, study)
    start_work(page)
    expect(page.locator("h1")).to_have_text("Write the first line of a story")
    check_looks(page, axe_core, "the first line")
    page.fill("#f-turn", "Too short")
    expect(page.locator(".counter")).to_have_text("9 characters; 20 to 260 needed")
    first_line(page)

    expect(page.locator("#waiting-title")).to_have_text("2 suggestions are being written")
    expect(page.locator(".story p")).to_have_text(FIRST)
    check_looks(page, axe_core, "waiting")
    write()
    texts = suggestions(page)
    expect(page.locator("#f-turn")).to_have_attribute("readonly", "")  # choose first
    check_looks(page, axe_core, "two suggestions")

    page.click(".suggestion >> nth=0")
    expect(page.locator("#f-turn")).to_have_value(texts[0])
    page.fill("#f-turn", f"{texts[0]} It was mine.")
    page.click(".suggestion >> nth=1")
    expect(page.locator("#f-turn")).to_have_value(texts[1])
    page.click(".suggestion >> nth=0")
    expect(page.locator("#f-turn")).to_have_value(f"{texts[0]} It was mine.")
    send(page, "Write the next line")
    expect(page.locator(".story p")).to_have_text(f"{FIRST} {texts[0]} It was mine.")
    assert {offer.side: (offer.chosen, offer.switches) for offer in Offer.objects.all()} == {
        "1": (True, 1),
        "2": (False, 1),
    }

    Suggester.objects.update(wait_seconds=4)
    page.fill("#f-turn", "Then the lights went out in the whole street.")
    send(page, "Choose the next line")
    expect(page.locator("#waiting-title")).to_have_text("This is taking longer than usual")
    expect(page.locator("#waiting-text")).to_contain_text("Your text is saved.")
    texts = suggestions(page)
    assert all("from the pool" in text for text in texts)
    expect(page.locator("#notice")).to_have_count(0)
    page.click(".suggestion >> nth=1")
    send(page, "Your story is finished")
    check_looks(page, axe_core, "the last page")

    for row in page.locator(".grid-row").all():
        row.locator("label").nth(3).click()
    for box in page.locator("textarea[id^=f-w], textarea[id^=f-l]").all():
        box.fill("It went on in a way I did not expect.")
    page.click(".send button")
    expect(page.locator("h1")).to_have_text("Thank you")
    assert Submission.objects.count() == 1
    assert Output.objects.get(kind="text").texts[0].endswith(texts[1])


def test_what_is_typed_survives_a_reload_and_going_back_is_harmless(
    new_page: NewPage, live_server: Any, study: Study, write: Write
) -> None:
    page = open_story(new_page, live_server, study, viewport=NARROW)
    first_line(page)
    write()
    texts = suggestions(page)
    page.click(".suggestion >> nth=1")
    page.fill("#f-turn", f"{texts[1]} And more")
    expect(page.locator("#saved")).to_have_text("Saved")

    page.reload()
    expect(page.locator("#f-turn")).to_have_value(f"{texts[1]} And more")
    assert page.locator(".suggestion input").nth(1).is_checked()
    page.go_back()
    expect(page.locator("h1")).to_have_text("Choose the next line")
    send(page, "Write the next line")
    page.go_back()
    expect(page.locator("h1")).to_have_text("Write the next line")
    assert Step.objects.count() == 2


def test_a_second_tab_shows_the_same_suggestions_and_moves_on_by_itself(
    new_page: NewPage, live_server: Any, study: Study, write: Write
) -> None:
    page = open_story(new_page, live_server, study)
    first_line(page)
    other = page.context.new_page()
    other.goto(page.url)
    write()
    texts = suggestions(page)
    assert suggestions(other) == texts

    page.click(".suggestion >> nth=0")
    send(page, "Write the next line")
    other.click(".suggestion >> nth=1")
    other.locator(".send button").click()
    expect(other.locator("h1")).to_have_text("Write the next line")
    assert Step.objects.get(number=1).answers["turn"] == texts[0]


def test_characters_are_counted_live_and_a_pasted_story_is_refused_with_every_word(
    new_page: NewPage, live_server: Any, study: Study
) -> None:
    page = open_story(new_page, live_server, study)
    box, counter = page.locator("#f-turn"), page.locator(".counter")
    for text, length in (("👨‍👩‍👧" * 19, 19), ("e\u0301" * 261, 261), ("🇳🇱👍🏽" * 10, 20)):
        box.fill(text)
        expect(counter).to_have_text(f"{length} characters; 20 to 260 needed")
    box.fill("")
    story = " ".join(f"This is sentence {number} of a story from elsewhere." for number in range(1, 41))
    page.evaluate(PASTE, story)
    expect(counter).to_have_text(f"{len(story):,} characters; 20 to 260 needed")
    page.locator(".send button").click()

    expect(page.locator("#summary")).to_contain_text(f"at most 260 characters; you wrote {len(story):,}.")
    expect(box).to_have_value(story)
    box.fill(FIRST)
    send(page, "Choose the next line")
    assert Step.objects.get().timing["turn"]["pastes"] == 1


def test_without_javascript_the_page_loads_again_and_a_suggestion_is_used_as_it_is(
    new_page: NewPage, live_server: Any, study: Study, write: Write
) -> None:
    page = open_story(new_page, live_server, study, java_script_enabled=False)
    first_line(page)
    expect(page.locator("#waiting")).to_be_visible()
    write()
    page.click("text=Check again")
    texts = suggestions(page)
    expect(page.locator("noscript p")).to_be_visible()

    page.click(".suggestion >> nth=1")
    send(page, "Write the next line")
    assert Step.objects.get(number=1).answers == {"pick": ["2"], "turn": None}
    expect(page.locator(".story p")).to_have_text(f"{FIRST} {texts[1]}")
