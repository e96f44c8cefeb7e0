"""The whole life of a task, as one journey: posted with boto3, done on a phone, approved, paid and in the books.

Apart from the operator's part, everything goes through the API and the pages: the requester has only boto3, the worker
has only a browser, and the task's own page is on another origin. The amounts are worked out by hand from MTurk's price
list: a fee of 20 percent on rewards and bonuses, at least $0.01, for HITs with fewer than ten assignments.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import UTC, datetime
from decimal import Decimal
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any
from urllib.parse import parse_qs, urlsplit
from xml.etree import ElementTree

import pytest
from django.urls import reverse
from playwright.sync_api import FrameLocator, Locator, Page, Response, expect
from pytest_django.live_server_helper import LiveServer

from marketplace.models import LedgerEntry
from marketplace.services.accounts import requester_accounts, worker_accounts
from marketplace.services.money import payments
from tests.browser.conftest import NARROW, NewPage
from tests.marketplace.support.clients import Key, boto3_client
from tests.marketplace.support.work_site import KEY, PASSWORD, TEST, external, make_requester

pytestmark = [pytest.mark.browser(on_every_database=True), pytest.mark.django_db(transaction=True)]

#: A folder for screenshots of every step.
PICTURES = os.environ.get("HITSERVER_TEST_PICTURES", "")
NOT_AVAILABLE = "ASSIGNMENT_ID_NOT_AVAILABLE"
#: A requester's page that follows MTurk's rules: it reads its address, and sends its form to where that points.
TASK = """<!doctype html><html lang="en"><meta charset="utf-8"><title>Which tone?</title>
<meta name="viewport" content="width=device-width, initial-scale=1">
<h1>It was late, and nobody spoke.</h1><p id="mode"></p><p id="reach"></p>
<form method="post"><input type="hidden" name="assignmentId">
<label>Tone <select name="tone"><option>glad</option><option>sad</option></select></label>
<label>Why <input name="why" required></label><button>Send</button></form>
<script>
const given = new URLSearchParams(location.search), form = document.querySelector("form");
const preview = given.get("assignmentId") === "ASSIGNMENT_ID_NOT_AVAILABLE";
form.action = given.get("turkSubmitTo") + "/mturk/externalSubmit";
form.assignmentId.value = given.get("assignmentId");
form.querySelector("button").disabled = preview;
document.getElementById("mode").textContent = preview ? "preview" : "work of " + given.get("workerId");
let seen = "nothing";
try { seen = parent.document.title; } catch {}
document.getElementById("reach").textContent = "I see " + seen;
</script></html>"""


@dataclass
class TaskSite:
    """Where the task's page is, and with which parameters it was asked for."""

    url: str
    asked: list[dict[str, list[str]]]


@pytest.fixture
def task_site() -> Iterator[TaskSite]:
    asked: list[dict[str, list[str]]] = []

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            asked.append(parse_qs(urlsplit(self.path).query))
            body = TASK.encode()
            self.send_response(200)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_: object) -> None:
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield TaskSite(f"http://127.0.0.1:{server.server_port}/task?set=7&arm=b", asked)
    server.shutdown()
    server.server_close()
    thread.join()


# --- The requester, with boto3 ------------------------------------------------------------------------------


def post_task(mturk: Any, url: str) -> dict[str, Any]:
    """A qualification with a test, and a HIT with two places for those who have passed it."""
    made = mturk.create_qualification_type(
        Name="Sums",
        Description="Can add two numbers.",
        QualificationTypeStatus="Active",
        Test=TEST,
        AnswerKey=KEY,
        TestDurationInSeconds=300,
    )
    requirement = {
        "QualificationTypeId": made["QualificationType"]["QualificationTypeId"],
        "Comparator": "GreaterThanOrEqualTo",
        "IntegerValues": [80],
        "ActionsGuarded": "Accept",
    }
    hit: dict[str, Any] = mturk.create_hit(
        Title="The tone of a sentence",
        Description="Read one sentence and say which tone it has.",
        Keywords="reading, tone",
        Reward="0.30",
        MaxAssignments=2,
        AssignmentDurationInSeconds=600,
        LifetimeInSeconds=3600,
        AutoApprovalDelayInSeconds=86_400,
        Question=external(url, height=300),
        QualificationRequirements=[requirement],
        UniqueRequestToken="tone-7b",
    )["HIT"]
    return hit


def balance(mturk: Any) -> tuple[str, str]:
    found = mturk.get_account_balance()
    return found["AvailableBalance"], found["OnHoldBalance"]


def answers_of(assignment: dict[str, Any]) -> dict[str, str]:
    """The answer's fields, read by the schema and not with the code that wrote them."""
    root = ElementTree.fromstring(assignment["Answer"])  # noqa: S314 - our own
    space = {"q": root.tag[1:].partition("}")[0]}
    names, texts = (root.findall(f"q:Answer/q:{name}", space) for name in ("QuestionIdentifier", "FreeText"))
    return {name.text or "": text.text or "" for name, text in zip(names, texts, strict=True)}


def review(mturk: Any, hit_id: str) -> dict[str, Any]:
    """Looks at the one submission, approves it, pays a bonus for it twice with one token, and writes to the worker."""
    listed = mturk.list_assignments_for_hit(HITId=hit_id, AssignmentStatuses=["Submitted"])
    assert listed["NumResults"] == 1
    found: dict[str, Any] = listed["Assignments"][0]
    mturk.approve_assignment(AssignmentId=found["AssignmentId"], RequesterFeedback="Carefully read.")
    bonus = {
        "WorkerId": found["WorkerId"],
        "AssignmentId": found["AssignmentId"],
        "BonusAmount": "0.25",
        "Reason": "The best reason of all.",
        "UniqueRequestToken": "bonus-7b",
    }
    mturk.send_bonus(**bonus)
    with pytest.raises(mturk.exceptions.RequestError):
        mturk.send_bonus(**bonus)
    failed = mturk.notify_workers(
        Subject="More sentences", MessageText="On Monday there are more.", WorkerIds=[found["WorkerId"]]
    )
    assert failed["NotifyWorkersFailureStatuses"] == []
    return found


# --- The worker, on a phone ---------------------------------------------------------------------------------


class Phone:
    """A worker's browser. Every page must fit, and is saved as a screenshot on request."""

    def __init__(self, page: Page, base_url: str) -> None:
        self.page = page
        self.base_url = base_url
        self.steps = 0
        self.errors: list[str] = []
        page.on("response", self._note)

    def _note(self, response: Response) -> None:
        if response.status >= 500:
            self.errors.append(f"{response.status} {response.url}")

    @property
    def task(self) -> FrameLocator:
        return self.page.frame_locator("iframe")

    def looks_right(self, name: str) -> None:
        self.steps += 1
        wide = "document.documentElement.scrollWidth > document.documentElement.clientWidth"
        assert not self.page.evaluate(wide), f"{name} is wider than the screen"
        assert not self.errors
        if PICTURES:
            self.page.screenshot(path=Path(PICTURES) / f"life-{self.steps:02}-{name}.png", full_page=True)

    def join(self, token: str) -> None:
        self.page.goto(self.base_url + reverse("market_join", args=[token]))
        self.page.get_by_label("User name").fill("robin")
        self.page.get_by_label("Password").fill(PASSWORD)
        self.looks_right("join")
        self.page.get_by_role("button", name="Join").click()
        expect(self.page.get_by_role("heading", name="Tasks", exact=True)).to_be_visible()

    def qualify(self) -> None:
        group = self.page.get_by_role("article", name="The tone of a sentence")
        expect(group).to_contain_text("The qualification “Sums” must be at least 80; you have none.")
        expect(group.get_by_text("You do not qualify")).to_be_visible()
        self.looks_right("not-qualified")
        group.get_by_role("link", name="Request it").click()
        self.page.get_by_role("button", name="Start the test").click()
        self.page.get_by_label("Four").check()
        self.looks_right("test")
        self.page.get_by_role("button", name="Submit").click()
        expect(self.page.get_by_role("status")).to_contain_text("with the value 100")

    def preview(self) -> None:
        self.page.get_by_role("link", name="Tasks", exact=True).click()
        expect(self.page.get_by_role("button", name="Accept: The tone of a sentence")).to_be_visible()
        self.page.get_by_role("link", name="The tone of a sentence", exact=True).click()
        expect(self.task.locator("#mode")).to_have_text("preview")
        expect(self.task.get_by_role("button", name="Send")).to_be_disabled()
        self.looks_right("preview")

    def work(self) -> str:
        """Accepts, answers in the frame and sends. Returns the worker's id as the task's page received it."""
        self.page.get_by_role("button", name="Accept", exact=True).click()
        expect(self.task.locator("#mode")).to_have_text(re.compile("^work of A"))
        expect(self.task.locator("#reach")).to_have_text("I see nothing")
        sandbox = (self.page.locator("iframe").get_attribute("sandbox") or "").split()
        assert "allow-top-navigation" not in sandbox
        assert "allow-forms" in sandbox
        self.task.get_by_label("Tone").select_option("sad")
        self.task.get_by_label("Why").fill("Nobody spoke – “late”")
        self.looks_right("work")
        worker_id = self.task.locator("#mode").inner_text().removeprefix("work of ")
        self.task.get_by_role("button", name="Send").click()
        expect(self.page.get_by_role("heading", name="Submitted")).to_be_visible()
        self.looks_right("submitted")
        return worker_id

    def waits_for_approval(self) -> None:
        self.page.get_by_role("link", name="Earnings").click()
        expect(self.tile("Waiting for approval")).to_have_text("$0.30")
        expect(self.tile("To be paid")).to_have_text("$0.00")

    def reads_what_became_of_it(self) -> None:
        self.page.get_by_role("link", name="My work").click()
        row = self.page.get_by_role("row").filter(has_text="The tone of a sentence")
        expect(row.get_by_text("Approved")).to_be_visible()
        self.looks_right("history")
        row.get_by_role("link", name="The tone of a sentence").click()
        for text in ("Carefully read.", "The best reason of all.", "$0.25"):
            expect(self.page.get_by_text(text).first).to_be_visible()
        self.looks_right("assignment")
        self.page.get_by_role("link", name="Earnings").click()
        expected = {"To be paid": "$0.55", "Approved rewards": "$0.30", "Bonuses": "$0.25"}
        for name, amount in expected.items():
            expect(self.tile(name)).to_have_text(amount)
        self.looks_right("earnings")

    def reads_messages(self) -> None:
        self.page.get_by_role("link", name="Messages").click()
        self.page.get_by_role("link", name="More sentences").click()
        expect(self.page.get_by_text("On Monday there are more.")).to_be_visible()
        expect(self.page.get_by_text("Reading Lab").first).to_be_visible()
        self.looks_right("message")

    def tile(self, name: str) -> Locator:
        return self.page.locator("dl.tiles > div").filter(has_text=name).locator("dd")


# --- The journey --------------------------------------------------------------------------------------------


def accounts_now() -> dict[str, Decimal]:
    """What each kind of account holds, added up from the entries in Python: SQLite adds in floating point."""
    sums: dict[str, Decimal] = {}
    for kind, amount in LedgerEntry.objects.values_list("account__kind", "amount"):
        sums[kind] = sums.get(kind, Decimal(0)) + amount
    return {kind: total for kind, total in sums.items() if total}


def test_a_whole_life(live_server: LiveServer, new_page: NewPage, task_site: TaskSite) -> None:
    requester = make_requester("Reading Lab", balance="20.00")
    made = requester_accounts.create_access_key(requester=requester, actor="test")
    mturk = boto3_client(live_server.url, Key(made.key.access_key_id, made.secret))
    hit = post_task(mturk, task_site.url)
    assert balance(mturk) == ("19.28", "0.72")  # two times 0.30 and its fee of 0.06

    phone = Phone(new_page(viewport=NARROW, has_touch=True), live_server.url)
    phone.join(worker_accounts.invite(actor="test").token)
    phone.qualify()
    assert not task_site.asked
    phone.preview()
    addressed = {"set": ["7"], "arm": ["b"], "hitId": [hit["HITId"]], "turkSubmitTo": [live_server.url]}
    assert task_site.asked == [addressed | {"assignmentId": [NOT_AVAILABLE]}]
    worker_id = phone.work()
    phone.waits_for_approval()

    found = review(mturk, hit["HITId"])
    assert task_site.asked[-1] == addressed | {"assignmentId": [found["AssignmentId"]], "workerId": [worker_id]}
    assert answers_of(found) == {"tone": "sad", "why": "Nobody spoke – “late”"}
    assert found["WorkerId"] == worker_id
    phone.reads_what_became_of_it()
    phone.reads_messages()

    # 20.00 − 0.36 (approved) − 0.36 (held for the place that nobody took) − 0.25 − 0.05 (the bonus and its fee)
    assert balance(mturk) == ("18.98", "0.36")
    mturk.update_expiration_for_hit(HITId=hit["HITId"], ExpireAt=datetime(2020, 1, 1, tzinfo=UTC))
    mturk.delete_hit(HITId=hit["HITId"])
    assert mturk.get_hit(HITId=hit["HITId"])["HIT"]["HITStatus"] == "Disposed"
    assert balance(mturk) == ("19.34", "0.00")
    books = {"requester": "19.34", "worker": "0.55", "fees": "0.11", "outside": "-20.00"}  # 0.11: 0.06 and 0.05
    assert accounts_now() == {kind: Decimal(amount) for kind, amount in books.items()}
    assert sum(accounts_now().values()) == payments.imbalance() == 0
