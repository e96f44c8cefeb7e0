"""A researcher's work in a real browser, and axe-core on every page of the console."""

from __future__ import annotations

import re
from datetime import UTC, datetime
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Flag, Item, Membership, Review, Study, Submission
from annotation.studies.storing import close_study
from tests.annotation.console_helpers import PASSWORD, make_user
from tests.browser.conftest import NARROW, NEXT_UPDATE, WIDE, NewPage, axe_problems
from tests.browser.work_helpers import start_work
from tests.factories import make_participant, make_study, make_submission

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

ITEMS = """sample_id,context,resp_0,resp_1,resp_2
a,The train was late again.,Take the bus.,Walk there.,Complain to them.
b,I baked my first bread.,Well done!,Show a photo.,How did it taste?
"""
BAD = "sample_id,context,resp_0,resp_1\na,,one,two\n"


def sign_in(page: Page, live_server: LiveServer, name: str = "ada") -> None:
    page.goto(f"{live_server.url}/")
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Studies", exact=True)).to_be_visible()


def test_a_study_from_a_file_to_the_first_rating(live_server: LiveServer, new_page: NewPage, tmp_path: Path) -> None:
    make_user("ada")
    page = new_page()
    sign_in(page, live_server)
    page.get_by_role("link", name="Create your first study").click()
    page.get_by_role("link", name="Use absHDS").click()
    page.get_by_label("Title").fill("Replies to comments")
    page.get_by_label("Ratings wanted per item").fill("2")
    page.get_by_label("Reward per hit").fill("0.25")
    page.get_by_label("What the responses are").select_option("story")
    expect(page.locator("#id_text-instructions-standard")).to_contain_text("one ending of your own")
    page.get_by_role("button", name="Save the draft").click()

    upload(page, tmp_path / "broken.csv", BAD)
    expect(page.get_by_role("alert")).to_contain_text("1 problem in broken.csv; nothing was imported")
    upload(page, tmp_path / "items.csv", ITEMS)
    expect(page.get_by_role("status")).to_contain_text("2 items imported from items.csv")
    page.get_by_role("link", name="Continue to preview").click()

    frame = page.frame_locator("iframe")
    frame.get_by_role("button", name="Start").click()
    expect(frame.get_by_text("Step 1 of 3")).to_be_visible()
    frame.get_by_role("link", name="Next step").click()
    expect(frame.get_by_text("Step 2 of 3")).to_be_visible()
    page.get_by_role("link", name="Continue to launch").click()
    expect(page.get_by_text("$1.00")).to_be_visible()  # 2 hits × 2 ratings × 0.25
    page.get_by_role("button", name="Launch the study").click()
    expect(page.get_by_text("0 of 4", exact=True).first).to_be_visible()

    worker = new_page(viewport=NARROW)
    rate_one(worker, live_server.url + reverse("study_start", args=["replies-to-comments"]))
    # The page is not loaded again: it fetches its figures itself.
    expect(page.get_by_text("1 of 4", exact=True).first).to_be_visible()


def upload(page: Page, path: Path, content: str) -> None:
    path.write_text(content)
    page.get_by_label("File", exact=True).set_input_files(path)
    page.get_by_role("button", name=re.compile("^(Import|Replace)$")).click()


def rate_one(page: Page, url: str) -> None:
    page.goto(url)
    start_work(page)
    page.get_by_role("textbox").first.fill("They all laughed about it in the end.")
    page.locator("#task").get_by_role("button").first.click()
    for _ in range(2):
        page.locator("#task input[type=radio]").first.check(force=True)
        page.locator("#task .send").get_by_role("button").click()
    expect(page.get_by_text("Thank you").first).to_be_visible()


def test_the_study_link_is_copied(live_server: LiveServer, new_page: NewPage) -> None:
    study = full_study()
    page = new_page(permissions=["clipboard-read", "clipboard-write"])
    sign_in(page, live_server)
    page.goto(live_server.url + reverse("console_study", args=[study.slug]))
    page.get_by_role("button", name="Copy").click()
    expect(page.get_by_role("button", name="Copied")).to_be_visible()
    assert (
        page.evaluate("navigator.clipboard.readText()") == page.get_by_role("textbox", name="Study link").input_value()
    )


def test_progress_updates_without_taking_the_focus_and_says_when_it_is_old(
    live_server: LiveServer, new_page: NewPage
) -> None:
    study = full_study()
    page = new_page()
    page.clock.install()
    sign_in(page, live_server)
    page.goto(live_server.url + reverse("console_study", args=[study.slug]))
    flagged = page.get_by_role("link", name=re.compile("flagged submission"))
    flagged.focus()
    make_submission(study=study)
    page.clock.fast_forward(NEXT_UPDATE)
    expect(page.get_by_text("7 of 90", exact=True).first).to_be_visible()
    expect(flagged).to_be_focused()

    page.route("**/progress/*", lambda route: route.abort())
    page.clock.fast_forward(NEXT_UPDATE)
    expect(page.get_by_text("The server is not responding, so these figures are out of date.")).to_be_visible()
    page.unroute("**/progress/*")
    page.clock.fast_forward(NEXT_UPDATE)
    expect(page.get_by_text("The server is not responding, so these figures are out of date.")).to_be_hidden()


def test_a_file_that_is_too_large_is_reported_before_it_is_sent(
    live_server: LiveServer, new_page: NewPage, tmp_path: Path
) -> None:
    study = make_study(live=False, items=0)
    Membership.objects.create(study=study, user=make_user("ada"), role="editor")
    page = new_page()
    sign_in(page, live_server)
    page.goto(live_server.url + reverse("console_upload", args=[study.slug]))
    page.evaluate("document.querySelector('[data-limit]').dataset.limit = '10'")
    upload(page, tmp_path / "large.csv", ITEMS)
    expect(page.get_by_text("This file is larger than")).to_be_visible()
    assert not Item.objects.filter(study=study).exists()


def test_everything_works_without_scripts(live_server: LiveServer, new_page: NewPage, tmp_path: Path) -> None:
    study = make_study(live=False, items=0)
    Membership.objects.create(study=study, user=make_user("ada"), role="editor")
    page = new_page(java_script_enabled=False)
    sign_in(page, live_server)
    page.goto(live_server.url + reverse("console_upload", args=[study.slug]))
    upload(page, tmp_path / "items.csv", ITEMS)
    page.goto(live_server.url + reverse("console_publish", args=[study.slug]))
    page.get_by_role("button", name="Launch the study").click()
    page.get_by_text("Pause the study").click()
    page.get_by_role("button", name="Pause", exact=True).click()
    study.refresh_from_db()
    assert study.status == Study.Status.PAUSED


def full_study() -> Study:
    """A live study with a bit of everything in it, owned by ada, who also runs the server."""
    ada = make_user("ada", is_superuser=True)
    study = make_study(items=30, ratings_per_item=3, consent="Please agree.", owner=ada)
    for seed in range(6):
        worker = make_participant(study=study, synthetic=seed % 2 == 0)
        make_submission(study=study, participant=worker, seed=seed, profile="careless", feedback="Fine.")
    first = Submission.objects.filter(study=study).order_by("pk")[0]
    Flag.objects.create(submission=first, reason="too_fast", detail="Done in 3 s.")
    Review.objects.create(submission=first, decision="exclude", note="Too fast.", user=ada)
    return study


def pages(study: Study, draft: Study) -> list[str]:
    item = Item.objects.filter(study=study)[0]
    submission = Submission.objects.filter(study=study).order_by("pk")[0]
    live = ("study", "settings", "items", "submissions", "members", "activity", "links", "type", "preview")
    setting_up = ("study", "type", "settings", "upload", "preview", "publish", "items")
    return [
        *(reverse(f"console_{name}") for name in ("studies", "new", "password", "users")),
        reverse("console_new_settings", args=["abs_hds"]),
        *(reverse(f"console_{name}", args=[study.slug]) for name in live),
        *(reverse(f"console_{name}", args=[draft.slug]) for name in setting_up),
        reverse("console_item", args=[study.slug, item.pk]),
        reverse("console_submission", args=[study.slug, submission.pk]),
        reverse("console_submission_page", args=[study.slug, submission.pk]),
    ]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("viewport", [NARROW, WIDE], ids=["narrow", "wide"])
def test_axe_finds_nothing_and_no_page_is_wider_than_the_screen(
    live_server: LiveServer, new_page: NewPage, axe_core: Path, viewport: dict[str, int], scheme: str
) -> None:
    study = full_study()
    draft = make_study(live=False, items=3, title="A draft with a title of a length that people do write")
    page = new_page(viewport=viewport, color_scheme=scheme)
    blocked: list[str] = []
    page.on("console", lambda said: blocked.append(said.text) if "Content Security Policy" in said.text else None)
    page.goto(live_server.url + reverse("console_login"))
    found = {"login": axe_problems(page, axe_core)}
    sign_in(page, live_server)
    for path in pages(study, draft):
        page.goto(live_server.url + path)
        found[path] = axe_problems(page, axe_core)
        if page.evaluate("document.documentElement.scrollWidth > window.innerWidth"):
            found[path].append("wider than the screen")
    assert {path: problems for path, problems in found.items() if problems} == {}
    assert blocked == []


def test_times_are_those_of_the_readers_own_clock(live_server: LiveServer, new_page: NewPage) -> None:
    study = full_study()
    Study.objects.filter(pk=study.pk).update(live_at=datetime(2026, 1, 31, 23, 5, tzinfo=UTC))
    address = live_server.url + reverse("console_study", args=[study.slug])
    page = new_page(timezone_id="Asia/Tokyo")
    sign_in(page, live_server)
    page.goto(address)
    there = page.locator("#h-facts + dl time")
    expect(there).to_have_text("1 Feb 2026, 08:05")
    expect(there).to_have_attribute("title", "31 Jan 2026, 23:05 UTC")
    plain = new_page(java_script_enabled=False)
    sign_in(plain, live_server)
    plain.goto(address)
    expect(plain.locator("#h-facts + dl time")).to_have_text("31 Jan 2026, 23:05 UTC")


def test_the_overview_stops_asking_once_the_study_is_closed(live_server: LiveServer, new_page: NewPage) -> None:
    study = full_study()
    page = new_page()
    page.clock.install()
    sign_in(page, live_server)
    page.goto(live_server.url + reverse("console_study", args=[study.slug]))
    expect(page.get_by_text("updates automatically")).to_be_visible()
    close_study(study=study, actor="somebody else")
    page.clock.fast_forward(NEXT_UPDATE)
    expect(page.get_by_text("The study is closed: the link shows this")).to_be_visible()
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for _ in range(2):
        page.clock.fast_forward(NEXT_UPDATE)
    page.wait_for_timeout(500)  # a question that was sent would be noted by now
    assert asked == []
