"""A worker's path through the marketplace in a real browser, and axe-core on every page of the site."""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from datetime import UTC, datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from urllib.parse import parse_qs, urlsplit

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from marketplace.models import Assignment, Worker
from marketplace.questions.answers_xml import read_answers
from marketplace.services.accounts import worker_accounts
from marketplace.services.hits import assignments
from marketplace.services.messages import worker_messages
from tests.browser.conftest import NARROW, WIDE, NewPage, axe_problems
from tests.marketplace.support.work_site import (
    FORM,
    KEY,
    PASSWORD,
    TEST,
    external,
    html_question,
    make_assignment,
    make_hit,
    make_requester,
    make_type,
    make_worker,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

#: A folder for screenshots of every page.
PICTURES = os.environ.get("HITSERVER_TEST_PICTURES", "")
#: A page on a requester's own server: its form goes to where MTurk's parameters point.
REQUESTERS_PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Task</title>
<h1>How does it sound?</h1><p id="who"></p>
<form id="answer" method="post"><input type="hidden" name="assignmentId">
<label>Tone <input name="tone" required></label><button>Send</button></form>
<script>
const given = new URLSearchParams(location.search);
const form = document.getElementById("answer");
form.action = given.get("turkSubmitTo") + "/mturk/externalSubmit";
form.assignmentId.value = given.get("assignmentId");
document.getElementById("who").textContent = given.get("workerId") || "preview";
if (given.get("assignmentId") === "ASSIGNMENT_ID_NOT_AVAILABLE") form.querySelector("button").disabled = true;
</script></html>"""
MTURK_PAGE = """<!doctype html><html lang="en"><title>Task</title>
<script src="https://s3.amazonaws.com/mturk-public/externalHIT_v1.js"></script>
<form id="mturk_form" method="post" action="https://www.mturk.com/mturk/externalSubmit">
<input type="hidden" id="assignmentId" name="assignmentId" value="">
<label>Tone <input name="tone"></label>
<p id="reach"></p>
<input type="submit" id="submitButton" value="Submit"></form>
<script>turkSetAssignmentID();
let seen = "";
try { seen = document.cookie + parent.document.title; } catch { seen = "nothing"; }
document.getElementById("reach").textContent = "I see " + seen;</script></html>"""


class _Task(BaseHTTPRequestHandler):
    asked: list[dict[str, list[str]]]

    def do_GET(self) -> None:
        self.asked.append(parse_qs(urlsplit(self.path).query))
        body = REQUESTERS_PAGE.encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def requesters_site() -> Iterator[tuple[str, list[dict[str, list[str]]]]]:
    """The address of a requester's own page, and the parameters that it was asked with."""
    asked: list[dict[str, list[str]]] = []
    handler = type("Task", (_Task,), {"asked": asked})
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}/task", asked
    server.shutdown()
    server.server_close()
    thread.join()


def sign_in(page: Page, live_server: LiveServer, username: str) -> None:
    page.goto(live_server.url + reverse("market_home"))
    page.get_by_label("User name").fill(username)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("heading", name="Tasks", exact=True)).to_be_visible()


def test_from_the_invitation_to_the_history(
    live_server: LiveServer, new_page: NewPage, requesters_site: tuple[str, list[dict[str, list[str]]]]
) -> None:
    url, asked = requesters_site
    requester = make_requester("Reading Lab")
    wanted = make_type(requester, "Sums", test=TEST, answer_key=KEY, test_duration=300)
    rule = {"QualificationTypeId": wanted.type_id, "Comparator": "GreaterThanOrEqualTo", "IntegerValues": [80]}
    requirements = [rule | {"ActionsGuarded": "Accept"}]
    for _ in range(2):
        make_hit(requester, question=external(f"{url}?set=a"), requirements=requirements, title="Sound of sentences")

    page = new_page(viewport=NARROW)
    page.goto(live_server.url + reverse("market_join", args=[worker_accounts.invite(actor="test").token]))
    page.get_by_label("User name").fill("robin")
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Join").click()
    expect(page.get_by_text("You do not qualify")).to_be_visible()

    page.get_by_role("link", name="Request it").click()
    page.get_by_role("button", name="Start the test").click()
    page.get_by_label("Four").check()
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("status")).to_contain_text("with the value 100")

    page.get_by_role("link", name="Tasks", exact=True).click()
    page.get_by_role("link", name="Sound of sentences", exact=True).click()
    preview = page.frame_locator("iframe")
    expect(preview.locator("#who")).to_have_text("preview")
    expect(preview.get_by_role("button", name="Send")).to_be_disabled()
    page.get_by_role("button", name="Accept", exact=True).click()

    worker = Worker.objects.get(user__username="robin")
    frame = page.frame_locator("iframe")
    expect(frame.locator("#who")).to_have_text(worker.worker_id)
    assignment = Assignment.objects.get(worker=worker)
    assert asked[-1] == {
        "set": ["a"],
        "assignmentId": [assignment.assignment_id],
        "hitId": [assignment.hit.hit_id],
        "workerId": [worker.worker_id],
        "turkSubmitTo": [live_server.url],
    }
    expect(page.locator("[data-seconds-left]")).to_have_text(re.compile(r"^(10:00|9:\d\d)$"))
    frame.get_by_label("Tone").fill("sad, quiet")
    frame.get_by_role("button", name="Send").click()

    expect(page.get_by_role("heading", name="Submitted")).to_be_visible()
    page.get_by_role("button", name="Accept the next task").click()
    expect(page.frame_locator("iframe").locator("#who")).to_have_text(worker.worker_id)
    page.get_by_text("Return this task").click()
    page.get_by_role("button", name="Return it").click()
    page.get_by_role("link", name="My work").click()
    row = page.get_by_role("row").filter(has_text="Submitted")
    expect(row.get_by_role("link", name="Sound of sentences")).to_be_visible()
    assignment.refresh_from_db()
    assert read_answers(assignment.answer) == {"tone": ["sad, quiet"]}


def test_the_next_task_begins_by_itself_until_the_worker_says_no(
    live_server: LiveServer, new_page: NewPage, requesters_site: tuple[str, list[dict[str, list[str]]]]
) -> None:
    requester = make_requester("Reading Lab")
    for _ in range(3):
        make_hit(requester, question=external(requesters_site[0]), title="Sound of sentences")
    make_worker("robin")
    page = new_page()
    sign_in(page, live_server, "robin")
    page.get_by_role("button", name="Accept: Sound of sentences").click()
    page.get_by_text("About this task").click()
    with page.expect_response(lambda response: response.url.endswith("/next")) as saved:
        page.get_by_label("Accept the next task automatically").check()
    assert saved.value.status == 204
    for _ in range(2):
        frame = page.frame_locator("iframe")
        frame.get_by_label("Tone").fill("sad")
        before = page.url
        frame.get_by_role("button", name="Send").click()
        expect(page).not_to_have_url(before)
        expect(page.get_by_role("status").first).to_contain_text("Submitted. This is your next task.")
    page.get_by_text("About this task").click()
    with page.expect_response(lambda response: response.url.endswith("/next")):
        page.get_by_label("Accept the next task automatically").uncheck()
    page.frame_locator("iframe").get_by_label("Tone").fill("sad")
    page.frame_locator("iframe").get_by_role("button", name="Send").click()
    expect(page.get_by_text("There are no more tasks for you in this group.")).to_be_visible()
    assert Assignment.objects.filter(state="Submitted").count() == 3


def test_on_a_phone_the_task_begins_in_the_first_screen(
    live_server: LiveServer, new_page: NewPage, requesters_site: tuple[str, list[dict[str, list[str]]]]
) -> None:
    requester, worker = make_requester("Laboratory for Spoken and Written Language"), make_worker("robin")
    title = "Which of the two summaries is closer to the article, and why?"
    framed = make_assignment(worker, make_hit(requester, title=title, question=external(requesters_site[0])))
    form = make_assignment(worker, make_hit(requester, title=title, question=FORM))
    page = new_page(viewport=NARROW)
    sign_in(page, live_server, "robin")
    for assignment, task in ((framed, "iframe"), (form, "form.card")):
        page.goto(live_server.url + reverse("market_task", args=[assignment.assignment_id]))
        box = page.locator(task).bounding_box()
        assert box is not None and box["y"] < 844 / 3  # two thirds of the first screen are the task's


def test_times_are_the_workers_own(live_server: LiveServer, new_page: NewPage) -> None:
    worker = make_worker("robin")
    letter = worker_messages.send(
        worker=worker, subject="News", text="More.", now=datetime(2026, 1, 31, 23, 30, tzinfo=UTC)
    )
    page = new_page(timezone_id="Asia/Tokyo")
    sign_in(page, live_server, "robin")
    page.goto(live_server.url + reverse("market_message", args=[letter.message_id]))
    time = page.locator("time").first
    expect(time).to_contain_text("1 Feb 2026, 08:30")
    expect(time).to_have_attribute("title", "31 Jan 2026, 23:30 UTC")


def test_a_page_written_for_mturk_works_and_reaches_nothing_of_ours(live_server: LiveServer, new_page: NewPage) -> None:
    worker = make_worker("robin")
    assignment = make_assignment(worker, question=html_question(MTURK_PAGE, height=400))
    page = new_page()
    sign_in(page, live_server, "robin")
    page.goto(live_server.url + reverse("market_task", args=[assignment.assignment_id]))
    frame = page.frame_locator("iframe")
    expect(frame.locator("#reach")).to_have_text("I see nothing")
    frame.get_by_label("Tone").fill("glad")
    frame.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Submitted")).to_be_visible()
    assignment.refresh_from_db()
    assert read_answers(assignment.answer)["tone"] == ["glad"]


def test_the_next_task_has_the_focus_at_the_end(live_server: LiveServer, new_page: NewPage) -> None:
    worker, requester = make_worker("robin"), make_requester()
    assignment = make_assignment(worker, make_hit(requester, question=FORM))
    make_hit(requester, question=FORM)
    accept = "Accept the next task"
    for device, has_focus in (({}, True), ({"viewport": NARROW, "has_touch": True, "is_mobile": True}, False)):
        page = new_page(**device)
        sign_in(page, live_server, "robin")
        if has_focus:
            page.goto(live_server.url + reverse("market_task", args=[assignment.assignment_id]))
            page.get_by_label("Sad").check()
            page.get_by_label("Reason").fill("It says so.")
            page.get_by_role("button", name="Submit").click()
            expect(page.get_by_role("button", name=accept)).to_be_focused()
        else:
            page.goto(live_server.url + reverse("market_done", args=[assignment.assignment_id]))
            expect(page.get_by_role("button", name=accept)).not_to_be_focused()


def test_a_form_is_filled_in_with_the_keyboard_alone(live_server: LiveServer, new_page: NewPage) -> None:
    worker = make_worker("robin")
    assignment = make_assignment(worker, question=FORM)
    page = new_page()
    sign_in(page, live_server, "robin")
    page.goto(live_server.url + reverse("market_task", args=[assignment.assignment_id]))
    page.get_by_label("Sad").focus()
    for key in ("Space", "Tab", "Space", "Tab", "Tab", "Tab", "ArrowDown", "Tab", "3", "Tab"):
        page.keyboard.press(key)
    page.keyboard.type("Oh.")
    page.keyboard.press("Tab")
    page.keyboard.press("Enter")
    expect(page.get_by_role("alert")).to_contain_text("Reason: At least 5 characters.")
    page.get_by_role("alert").get_by_role("link", name="Reason").click()
    page.get_by_label("Reason").fill("It says so.")
    page.get_by_role("button", name="Submit").click()
    expect(page.get_by_role("heading", name="Submitted")).to_be_visible()
    assignment.refresh_from_db()
    assert read_answers(assignment.answer) == {
        "tone": ["sad"],
        "about": ["time"],
        "sure": ["1"],
        "words": ["3"],
        "why": ["It says so."],
    }


def everything_there_is(url: str) -> tuple[Worker, list[str]]:
    """A worker with something on every page, and the addresses of these pages."""
    requester, worker = make_requester("Reading Lab"), make_worker("robin", email="robin@mail.example")
    wanted = make_type(requester, "Sums", test=TEST, answer_key=KEY, test_duration=300)
    rule = {"QualificationTypeId": wanted.type_id, "Comparator": "Exists", "ActionsGuarded": "Accept"}
    guarded = make_hit(requester, requirements=[rule], title="For those who can add", question=external(url))
    make_hit(requester, title="Stories", keywords="fiction, short", question=FORM)
    form = make_assignment(worker, make_hit(requester, title="A form", question=FORM))
    framed = make_assignment(worker, make_hit(requester, title="A page", question=external(url)))
    rejected = make_assignment(worker, make_hit(requester, title="Rejected work"))
    assignments.submit(assignment_id=rejected.assignment_id, worker=worker, answers={"tone": "sad"})
    rejected.refresh_from_db()
    assignments.reject(assignment=rejected, feedback="Too short.")
    done = make_assignment(worker, make_hit(requester, title="Work that waits"))
    assignments.submit(assignment_id=done.assignment_id, worker=worker, answers={"tone": "sad"})
    letter = worker_messages.send(worker=worker, requester=requester, subject="New tasks", text="There are new tasks.")
    names: list[tuple[str, object]] = [
        ("market_group", guarded.hit_type.type_id),
        ("market_task", form.assignment_id),
        ("market_task", framed.assignment_id),
        ("market_done", done.assignment_id),
        ("market_assignment", rejected.assignment_id),
        ("market_qualification", wanted.type_id),
        ("market_message", letter.message_id),
    ]
    plain = ("home", "history", "earnings", "qualifications", "messages", "account")
    return worker, [reverse(f"market_{name}") for name in plain] + [reverse(n, args=[a]) for n, a in names]


@pytest.mark.parametrize("scheme", ["light", "dark"])
@pytest.mark.parametrize("size", [NARROW, WIDE], ids=["390", "1280"])
def test_every_page_is_accessible_and_fits(
    live_server: LiveServer,
    new_page: NewPage,
    axe_core: Path,
    requesters_site: tuple[str, list[dict[str, list[str]]]],
    size: dict[str, int],
    scheme: str,
) -> None:
    _, urls = everything_there_is(requesters_site[0])
    page = new_page(viewport=size, color_scheme=scheme)
    problems = []
    invitation = reverse("market_join", args=[worker_accounts.invite(actor="test").token])
    for url in (reverse("market_sign_in"), reverse("market_ask_link"), invitation):
        page.goto(live_server.url + url)
        problems += problems_of(page, axe_core, url)
    sign_in(page, live_server, "robin")
    for url in urls:
        page.goto(live_server.url + url)
        problems += problems_of(page, axe_core, url)
        if PICTURES:
            called = url.strip("/").replace("/", "-").removeprefix("marketplace-")[:40] or "home"
            page.screenshot(path=Path(PICTURES) / f"w-{called}-{size['width']}-{scheme}.png", full_page=True)
    assert not problems


def problems_of(page: Page, axe_core: Path, url: str) -> list[str]:
    found = [f"{url}: {problem}" for problem in axe_problems(page, axe_core)]
    if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
        found.append(f"{url}: wider than the screen")
    return found
