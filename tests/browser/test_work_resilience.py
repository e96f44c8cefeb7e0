"""What a worker typed survives: a reload, a lost connection, a server that cannot save, a closed tab."""

from __future__ import annotations

import json
import re
from pathlib import Path
from typing import Any

import pytest
from django.db import OperationalError
from playwright.sync_api import Page, expect

from annotation.models import Draft, Participant, Step, Study
from annotation.tokens import participant_token
from annotation.work import answers
from tests.browser.conftest import NARROW, NewPage
from tests.browser.work_helpers import check_looks
from tests.factories import make_participant, make_study
from tests.services import wait_for

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
TEXT = "Did you lock it, I wonder?"


@pytest.fixture
def participant() -> Participant:
    return make_participant(study=make_study(items=1))


@pytest.fixture
def page(new_page: NewPage, live_server: Any, participant: Participant) -> Page:
    """A worker's page on the first step."""
    page = new_page()
    page.goto(f"{live_server.url}/w/{participant_token(participant.pk)}/")
    return page


def fail(*args: object, **kwargs: object) -> Any:
    raise OperationalError("database or disk is full")


def kept_here(page: Page) -> list[Any]:
    return [json.loads(text) for text in page.evaluate("Object.values(localStorage)")]


def test_typed_text_is_saved_by_itself_and_back_after_a_reload(page: Page) -> None:
    page.locator("textarea").press_sequentially(TEXT, delay=5)
    expect(page.locator("#saved")).to_have_text("Saved")
    assert Draft.objects.get().answers["own"] == TEXT
    assert kept_here(page) == []
    page.reload()
    expect(page.locator("textarea")).to_have_value(TEXT)
    page.locator(".send button").click()
    expect(page.locator("h1")).to_have_text("Rate one reply")
    page.get_by_role("radio", name="2 Poor").check()
    expect(page.locator("#saved")).to_have_text("Saved")
    page.reload()
    expect(page.get_by_role("radio", name="2 Poor")).to_be_checked()


def test_a_reload_before_anything_was_saved_loses_nothing(page: Page) -> None:
    page.locator("textarea").fill(TEXT)
    page.reload()
    expect(page.locator("textarea")).to_have_value(TEXT)


def test_closing_the_tab_at_once_still_saves(page: Page) -> None:
    page.locator("textarea").fill(TEXT)
    url = page.url
    context = page.context
    page.close(run_before_unload=True)
    again = context.new_page()
    again.goto(url.replace("/w/", "/nothing/"))
    again.evaluate("localStorage.clear()")
    wait_for(Draft.objects.exists, "the draft of the closed tab")
    again.goto(url)
    expect(again.locator("textarea")).to_have_value(TEXT)


def test_without_a_connection_a_banner_says_so_and_the_page_saves_later(page: Page) -> None:
    page.context.set_offline(True)
    page.locator("textarea").fill(TEXT)
    expect(page.locator("#trouble")).to_contain_text("You are offline")
    expect(page.locator("#trouble")).to_contain_text("Your answers are safe on this device. Keep this page open")
    page.locator(".send button").click()
    expect(page.locator("#trouble")).to_contain_text("Nothing was sent")
    expect(page.locator("#trouble")).to_contain_text("Press the button again in a minute")
    expect(page.locator("#trouble")).to_be_in_viewport()
    expect(page.locator(".send button")).to_be_enabled()
    assert kept_here(page)[0]["own"] == TEXT
    page.context.set_offline(False)
    expect(page.locator("#saved")).to_have_text("Saved")
    expect(page.locator("#trouble")).to_be_empty()
    page.locator(".send button").click()
    expect(page.locator("h1")).to_have_text("Rate one reply")
    assert Step.objects.get().answers == {"own": TEXT}
    assert kept_here(page) == []


def test_going_offline_is_named_before_anything_is_typed(page: Page) -> None:
    page.context.set_offline(True)
    expect(page.locator("#trouble")).to_contain_text("You are offline")
    page.context.set_offline(False)
    expect(page.locator("#trouble")).to_be_empty()


def test_the_banner_stays_in_sight_on_a_long_page_and_passes_axe(
    new_page: NewPage, live_server: Any, axe_core: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    study = make_study(task_type="sim_hds", items=1, config={"write_first": False, "rate_first": False})
    page = new_page(viewport=NARROW)
    page.goto(f"{live_server.url}/w/{participant_token(make_participant(study=study).pk)}/")
    monkeypatch.setattr("annotation.work.pages.task.save_draft", fail)
    page.get_by_role("radio").first.check()
    expect(page.locator("#trouble h2")).to_have_text("Your answers are not saved yet")
    expect(page.locator("#trouble h2")).to_be_in_viewport()
    check_looks(page, axe_core, "banner")


def test_where_nothing_can_be_stored_on_the_device_the_banner_does_not_claim_it(
    new_page: NewPage, live_server: Any, participant: Participant
) -> None:
    page = new_page()
    page.add_init_script("Object.defineProperty(window, 'localStorage', {get() { throw new Error('blocked'); }})")
    page.goto(f"{live_server.url}/w/{participant_token(participant.pk)}/")
    page.context.set_offline(True)
    expect(page.locator("#trouble")).to_contain_text("only on this page: do not close or reload it")


def test_when_the_server_cannot_save_the_page_says_so_and_a_second_press_works(
    page: Page, monkeypatch: pytest.MonkeyPatch
) -> None:
    with monkeypatch.context() as patch:
        patch.setattr("annotation.work.pages.task.save_draft", fail)
        patch.setattr(answers, "_store", fail)
        page.locator("textarea").fill(TEXT)
        page.locator(".send button").click()
        expect(page.locator("#notice")).to_contain_text("could not be saved just now")
        expect(page.locator("textarea")).to_have_value(TEXT)
        expect(page.locator("#trouble")).to_contain_text("The server does not answer")
        page.locator(".send button").click()
        expect(page.locator("#trouble")).to_contain_text("Nothing was sent")
    page.locator(".send button").click()
    expect(page.locator("h1")).to_have_text("Rate one reply")
    assert Step.objects.get().answers == {"own": TEXT}


def test_a_double_click_sends_once(page: Page) -> None:
    posts: list[str] = []
    page.on("request", lambda request: posts.append(request.url) if request.method == "POST" else None)
    page.locator("textarea").fill(TEXT)
    page.locator(".send button").dblclick()
    expect(page.locator("h1")).to_have_text("Rate one reply")
    assert len([url for url in posts if not url.endswith("draft")]) == 1
    assert Step.objects.count() == 1


def test_the_button_waits_for_an_answer_but_not_for_ever(page: Page) -> None:
    page.clock.install()
    page.reload()
    # The browser gives up and stays on the page, as after the stop button.
    page.route(re.compile(r"/w/[^/]+/$"), lambda route: route.abort("aborted"))
    page.locator("textarea").fill(TEXT)
    page.locator(".send button").click(no_wait_after=True)
    expect(page.locator(".send button")).to_be_disabled()
    page.clock.fast_forward(9_000)
    expect(page.locator(".send button")).to_be_enabled()
    page.unroute_all()
    page.locator(".send button").click()
    expect(page.locator("h1")).to_have_text("Rate one reply")


def test_going_back_shows_the_step_that_is_due(page: Page) -> None:
    page.locator("textarea").fill(TEXT)
    page.locator(".send button").click()
    expect(page.locator("h1")).to_have_text("Rate one reply")
    page.go_back()
    expect(page.locator("h1")).to_have_text("Rate one reply")


def test_an_old_tab_shows_that_its_step_was_sent(page: Page) -> None:
    other = page.context.new_page()
    other.goto(page.url)
    other.locator("textarea").fill("From the other tab.")
    other.locator(".send button").click()
    expect(other.locator("h1")).to_have_text("Rate one reply")
    page.locator("textarea").fill("From the old tab.")
    expect(page.locator("#trouble")).to_contain_text("This step was already sent")
    expect(page.locator("#trouble")).to_contain_text("What you type here is not saved")
    page.locator(".send button").click()
    expect(page.locator("h1")).to_have_text("Rate one reply")
    expect(page.get_by_text("What you just sent was not saved")).to_be_visible()
    assert Step.objects.get().answers == {"own": "From the other tab."}


def test_words_are_counted_as_they_are_typed(page: Page) -> None:
    counter = page.locator(".counter")
    expect(counter).to_have_text("0 of 15 words")
    page.locator("textarea").fill("one two\nthree ")
    expect(counter).to_have_text("3 of 15 words")
    page.locator("textarea").fill("word " * 16)
    expect(counter).to_have_class(re.compile("over"))
    expect(page.locator("#say")).to_have_text("16 words; at most 15")


def test_time_per_question_and_pastes_are_measured(page: Page) -> None:
    page.wait_for_timeout(400)
    page.locator("textarea").dispatch_event("paste")
    page.locator("textarea").fill(TEXT)
    page.locator(".send button").click()
    expect(page.locator("h1")).to_have_text("Rate one reply")
    timing = Step.objects.get().timing["own"]
    assert timing["pastes"] == 1
    assert 0.4 <= timing["seconds"] <= 60
    assert timing["at"] == pytest.approx(timing["seconds"], abs=0.2)


def test_time_left_ticks_and_warns_two_minutes_before_the_end(
    new_page: NewPage, live_server: Any, participant: Participant
) -> None:
    page = new_page()
    page.clock.install()
    page.goto(f"{live_server.url}/w/{participant_token(participant.pk)}/")
    expect(page.locator("#left")).to_have_text("Time left: 30 min")
    page.clock.fast_forward(25 * 60_000)
    expect(page.locator("#left")).to_have_text(re.compile(r"Time left: [45]:\d\d"))
    expect(page.locator("#say")).to_be_empty()
    page.clock.fast_forward(3 * 60_000 + 5_000)
    expect(page.locator("#say")).to_have_text("Two minutes left for this task.")
    page.clock.fast_forward(3 * 60_000)
    expect(page.locator("#left")).to_have_text("The time is up")
    expect(page.locator("#notice")).to_contain_text("Send it now: it still counts")
    page.locator("textarea").fill(TEXT)
    page.locator(".send button").click()
    expect(page.locator("h1")).to_have_text("Rate one reply")


def test_a_closed_study_accepts_work_in_progress(page: Page) -> None:
    Study.objects.update(status=Study.Status.CLOSED)
    page.locator("textarea").fill(TEXT)
    page.locator(".send button").click()
    expect(page.locator("h1")).to_have_text("Rate one reply")
