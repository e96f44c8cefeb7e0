"""What tasks written for MTurk do in their frame: ask with a dialog, and send workers to a survey in another window."""

from __future__ import annotations

from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Thread

import pytest
from django.urls import reverse
from playwright.sync_api import Dialog, Page, expect
from pytest_django.live_server_helper import LiveServer

from marketplace.models import Assignment
from marketplace.questions.answers_xml import read_answers
from tests.browser.conftest import NARROW, NewPage
from tests.browser.test_marketplace_work import sign_in
from tests.marketplace.support.work_site import external, html_question, make_assignment, make_worker

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

SURVEY = """<!doctype html><html lang="en"><title>Survey</title><h1>Survey</h1><p id="code"></p>
<script>document.cookie = "started=yes";
const code = document.cookie ? "Your code: 4711" : "Cookies are off.";
document.getElementById("code").textContent = code;</script></html>"""
#: A typical survey link: a window for the survey, a field for its code, and a dialog before the form is sent.
LINK = """<!doctype html><html lang="en"><title>Task</title>
<p><a href="SITE/survey" target="_blank">Open the survey</a></p>
<form id="mturk_form" method="post" action="https://www.mturk.com/mturk/externalSubmit"
 onsubmit="return confirm('Is the code right?')">
<input type="hidden" name="assignmentId" id="assignmentId"><label>Code <input name="code"></label>
<input type="submit" id="submitButton" value="Submit"></form>SCRIPT</html>"""
MTURKS_SCRIPT = """<script src="https://s3.amazonaws.com/mturk-public/externalHIT_v1.js"></script>
<script>turkSetAssignmentID();</script>"""
#: On a requester's own server the form's address comes from the page's.
OWN_SCRIPT = """<script>
const given = new URLSearchParams(location.search), form = document.getElementById("mturk_form");
form.action = given.get("turkSubmitTo") + "/mturk/externalSubmit";
form.assignmentId.value = given.get("assignmentId");</script>"""


def survey_link(site: str, script: str) -> str:
    return LINK.replace("SITE", site).replace("SCRIPT", script)


class _Site(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        page = survey_link(f"http://{self.headers['Host']}", OWN_SCRIPT)
        body = (SURVEY if self.path.startswith("/survey") else page).encode()
        self.send_response(200)
        self.send_header("Content-Type", "text/html; charset=utf-8")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Site)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://127.0.0.1:{server.server_port}"
    server.shutdown()
    server.server_close()
    thread.join()


@pytest.mark.parametrize("kind", ["HTMLQuestion", "ExternalQuestion"])
def test_a_survey_link_with_a_code(kind: str, site: str, live_server: LiveServer, new_page: NewPage) -> None:
    own = kind == "ExternalQuestion"
    question = external(f"{site}/task") if own else html_question(survey_link(site, MTURKS_SCRIPT))
    worker = make_worker("robin")
    assignment = make_assignment(worker, question=question)
    page: Page = new_page(viewport=NARROW)
    asked: list[str] = []

    def accept(dialog: Dialog) -> None:
        asked.append(dialog.message)
        dialog.accept()

    page.on("dialog", accept)
    sign_in(page, live_server, "robin")
    page.goto(live_server.url + reverse("market_task", args=[assignment.assignment_id]))
    frame = page.frame_locator("iframe")

    with page.expect_popup() as opened:
        frame.get_by_role("link", name="Open the survey").click()
    expect(opened.value.locator("#code")).to_have_text("Your code: 4711")
    opened.value.close()
    frame.get_by_label("Code").fill("4711")
    frame.get_by_role("button", name="Submit").click()
    expect(page).to_have_url(live_server.url + reverse("market_done", args=[assignment.assignment_id]))

    assert asked == ["Is the code right?"]
    assert read_answers(Assignment.objects.get(pk=assignment.pk).answer)["code"] == ["4711"]
