"""A whole participation with questions before, a comprehension check and questions after, and the console's page."""

from __future__ import annotations

import os
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Participant, QuestionnaireDraft, QuestionnaireReply, Study, Submission
from annotation.tokens import participant_token
from tests.annotation.questionnaire_helpers import COUNT, REMARK, asking_study
from tests.browser.conftest import NARROW, WIDE, NewPage
from tests.browser.work_helpers import check_looks, open_start, start_work
from tests.factories import make_researcher, make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def picture(page: Page, name: str) -> None:
    """Saves pictures for a person to look at, if HITSERVER_TEST_PICTURES names a folder."""
    folder = os.environ.get("HITSERVER_TEST_PICTURES")
    for viewport, scheme in ((NARROW, "dark"), (WIDE, "light")) if folder else ():
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.screenshot(path=f"{folder}/{name}-{viewport['width']}.png", full_page=True)


def study_with_everything(**settings: Any) -> Study:
    return asking_study(
        study={"title": "How different are these replies?", "contact": "lab@example.org"},
        before=["demographics"],
        comprehension=[COUNT],
        after=[REMARK],
        screen_out={"age": ["Under 18"]},
        **settings,
    )


def answer_about_oneself(page: Page, *, age: str) -> None:
    page.locator("fieldset.question", has_text="How old are you?").get_by_text(age, exact=True).click()
    page.locator("fieldset.question", has_text="What is your gender?").get_by_text("Prefer not to say").click()
    page.locator("fieldset.question", has_text="early childhood").get_by_text("Greek").click()
    page.locator("fieldset.question", has_text="level of education").get_by_text("Doctorate").click()
    page.locator("fieldset.question", has_text="read English").get_by_text("Fluent").click()
    page.locator("fieldset.question", has_text="judging or improving").get_by_text("Some:").click()


def test_a_participation_with_questionnaires_from_start_to_code(
    live_server: Any, new_page: NewPage, axe_core: Path
) -> None:
    study_with_everything()
    page = new_page(viewport=NARROW)
    open_start(page, live_server, Study.objects.get())
    start_work(page)
    expect(page.get_by_role("heading", level=1)).to_have_text("Before you start")
    check_looks(page, axe_core, "before")
    picture(page, "before")
    # Nothing is sent while something is missing, and what is typed is saved.
    page.get_by_label("In which country do you live?").fill("Greece")
    page.locator(".send button").click()
    expect(page.locator("#summary")).to_contain_text("Please check 6 answers")
    expect(page.locator("#saved")).to_have_text("Saved")
    assert QuestionnaireDraft.objects.get().answers["country"] == "Greece"
    page.reload()
    expect(page.get_by_label("In which country do you live?")).to_have_value("Greece")
    answer_about_oneself(page, age="25 to 34")
    page.locator(".send button").click()

    expect(page.get_by_role("heading", level=1)).to_have_text("Have you understood the task?")
    expect(page.locator("main")).to_contain_text("You have 2 tries")
    picture(page, "check")
    page.get_by_text("Three", exact=True).click()
    page.locator(".send button").click()
    expect(page.locator("#notice")).to_contain_text("A page shows one set of five replies.")
    expect(page.locator("main")).to_contain_text("This is your last try.")
    check_looks(page, axe_core, "comprehension check")
    picture(page, "check-again")
    page.get_by_text("Five", exact=True).click()
    page.locator(".send button").click()

    page.get_by_label("reply").first.fill("I would ask the neighbours.")
    page.locator(".send button").click()
    for _ in range(2):
        page.locator(".points label").nth(2).click()
        page.locator(".send button").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("A few last questions")
    check_looks(page, axe_core, "after")
    picture(page, "after")
    page.get_by_label("What was hard?").fill("Nothing.")
    page.get_by_role("button", name="Send and finish").click()
    expect(page.locator("#code")).to_have_text(Participant.objects.get().completion_code)
    assert Submission.objects.count() == 1
    times = QuestionnaireReply.objects.get(questionnaire="before").timing
    assert times["age"]["seconds"] > 0
    assert [reply.passed for reply in QuestionnaireReply.objects.order_by("pk")] == [True, False, True, None]


def test_who_is_screened_out_reads_why_without_javascript(live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    study_with_everything(screen_out_reward="0.10")
    page = new_page(viewport=NARROW, java_script_enabled=False)
    open_start(page, live_server, Study.objects.get())
    start_work(page)
    answer_about_oneself(page, age="Under 18")
    page.locator(".send button").click()
    expect(page.get_by_role("heading", level=1)).to_have_text("Thank you. You cannot take part in this study")
    expect(page.locator("main")).to_contain_text("You get $0.10 for your answers.")
    picture(page, "screened-out")
    page.get_by_role("link", name="What is recorded about you").click()
    expect(page.locator("main")).to_contain_text("Your answers before the first task")
    picture(page, "own-record")


def test_a_researcher_sets_up_questionnaires_and_sees_them(live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    user = make_researcher("ann", password="a long enough password")
    study = make_study(items=1, live=False, owner=user, title="Replies", reward="0.50")
    page = new_page()
    page.goto(f"{live_server.url}/console/login/")
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill("a long enough password")
    page.get_by_role("button", name="Sign in").click()
    page.goto(live_server.url + reverse("console_questionnaires", args=[study.slug]))
    check_looks(page, axe_core, "questionnaires")
    page.get_by_text("Native languages and English").click()
    page.locator("#id_screen_out").fill("native_language: {unless: [english]")
    page.get_by_role("button", name="Save").click()
    expect(page.locator(".notice.bad")).to_contain_text("This is not valid YAML")
    picture(page, "console-refused")
    page.locator("#id_screen_out").fill("native_language: {unless: [english]}")
    page.get_by_role("button", name="Save").click()
    expect(page.locator("main")).to_contain_text("Saved.")
    picture(page, "console")
    with page.expect_popup() as opened:
        page.get_by_role("link", name="See “Before you start”").click()
    expect(opened.value.locator("main")).to_contain_text("Which languages have you spoken since early childhood?")
    expect(opened.value.locator("main")).to_contain_text("This is a preview")
    picture(opened.value, "console-preview")
    study.refresh_from_db()
    assert study.questionnaires["screen_out"] == {"native_language": {"unless": ["english"]}}


def test_the_workers_page_in_the_console_shows_the_answers(live_server: Any, new_page: NewPage) -> None:
    study = study_with_everything()
    page = new_page(viewport=NARROW)
    open_start(page, live_server, study)
    start_work(page)
    answer_about_oneself(page, age="Under 18")
    page.locator(".send button").click()
    participant = Participant.objects.get()
    assert participant_token(participant.pk) in page.url
    user = make_researcher("ann", password="a long enough password", is_superuser=True)
    page.goto(f"{live_server.url}/console/login/")
    page.get_by_label("Name").fill(user.username)
    page.get_by_label("Password").fill("a long enough password")
    page.get_by_role("button", name="Sign in").click()
    page.goto(live_server.url + reverse("console_worker", args=[study.slug, participant.pseudonym]))
    expect(page.locator("#h-around + h4")).to_contain_text("Before the first task")
    expect(page.locator("main")).to_contain_text("Screened out")
    picture(page, "console-worker")
