"""A study in the frame of a marketplace on another site, with third-party cookies blocked.

The marketplace and the study are two servers, on ``localhost`` and ``127.0.0.1``, which browsers treat as two sites.
Their only link is the endpoint in the study's settings; everything else is the default.
"""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from tests.browser.conftest import ARGS, NARROW, PATIENCE, WIDE
from tests.integration.studies import make_study
from tests.support import Server, running_server

pytestmark = [pytest.mark.browser, pytest.mark.slow]
#: A folder for screenshots.
PICTURES = os.environ.get("HITSERVER_TEST_PICTURES", "")
NO_THIRD_PARTY_COOKIES = "--test-third-party-cookie-phaseout"
RATINGS = """
import json
from annotation.models import Rating, Study
from annotation.recruiting.confirmation_marks import Marks
marks = Marks(Study.objects.get())
print(json.dumps([[each.item.payload["context"], each.value, marks.confirmation(each.submission_id)]
    for each in Rating.objects.filter(question="diversity")]))
"""
PAID = "from annotation.models import Hit; Hit.objects.update(reward='0.18')"
KEY = re.compile(r"AWS_ACCESS_KEY_ID=(\S+)\nAWS_SECRET_ACCESS_KEY=(\S+)")


@dataclass(frozen=True)
class Sites:
    """The marketplace as its workers see it, and the two servers."""

    market_url: str
    market: Server
    study: Server


@pytest.fixture(scope="module")
def sites(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Sites]:
    """A study of two sets with two ratings each, published on the marketplace."""
    folder = tmp_path_factory.mktemp("sites")
    with running_server(folder / "market", env={"HITSERVER_PARTS": "marketplace"}) as market:
        market_url = market.base_url.replace("127.0.0.1", "localhost")
        market.manage("marketplace", "make-requester", "Lab", "--balance", "10")
        made = KEY.search(market.manage("marketplace", "make-key", "Lab"))
        assert made is not None
        env = {
            "HITSERVER_PARTS": "studies",
            "HITSERVER_MTURK_ENDPOINT": f"{market_url}/marketplace/api/",
            "HITSERVER_MTURK_ACCESS_KEY_ID": made[1],
            "HITSERVER_MTURK_SECRET_ACCESS_KEY": made[2],
        }
        with running_server(folder / "study", env=env) as study:
            make_study(study, items=2, ratings=2)
            study.manage("shell", "-v", "0", "-c", PAID)
            said = study.manage("study", "publish", "load", "--platform", "mturk")
            assert "the platform has 2 of 2 HITs" in said
            yield Sites(market_url, market, study)


@pytest.fixture
def page(browser: Browser, chromium: str) -> Iterator[Page]:
    """A page of a browser that blocks cookies in frames of another site."""
    strict = browser.browser_type.launch(executable_path=chromium, args=[*ARGS, NO_THIRD_PARTY_COOKIES])
    context = strict.new_context(viewport=NARROW, reduced_motion="reduce")  # type: ignore[arg-type]
    context.set_default_timeout(PATIENCE)
    yield context.new_page()
    strict.close()


def join(page: Page, sites: Sites, name: str) -> None:
    link = sites.market.manage("marketplace", "invite").strip().replace("127.0.0.1", "localhost")
    page.goto(link)
    page.get_by_label("User name").fill(name)
    page.get_by_label("Password").fill("a-long-enough-password")
    page.get_by_role("button", name=re.compile("Join|Create")).click()
    expect(page.get_by_role("heading", name="Tasks", exact=True)).to_be_visible(timeout=PATIENCE)


def come_to(page: Page) -> None:
    """Show the tab, as somebody who clicks in it has. Chromium draws a tab behind another one once a second, and does
    not know until then where a new frame of another site is: it gives clicks there to the page around the frame."""
    page.bring_to_front()


def accept(page: Page, *, first: bool = True) -> str:
    """Accept a HIT in the list of tasks, and start it in its frame. Returns the town that it asks about.

    Only a worker's ``first`` HIT of the study has a start page. The keyboard is in the frame, whose page has no clock.
    """
    come_to(page)
    page.get_by_role("button", name=re.compile("^Accept: ")).click()
    frame = page.frame_locator("iframe")
    if first:
        frame.get_by_role("button", name="Start").click()
    expect(frame.get_by_role("radio").first).to_be_attached(timeout=PATIENCE)
    town = re.search(r"weather in (town \d+)", frame.locator("body").inner_text())
    assert town is not None
    expect(page.locator("iframe")).to_be_focused()
    expect(page.get_by_text("Time left")).to_be_visible()
    expect(frame.get_by_text("Time left")).to_have_count(0)
    expect(frame.get_by_role("button", name="Start")).to_have_count(0)
    take_picture(page, "second" if not first else "first")
    return town[1]


def take_picture(page: Page, name: str) -> None:
    """A screenshot, on a phone and on a desk."""
    for viewport in (WIDE, NARROW) if PICTURES else ():
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        page.screenshot(path=Path(PICTURES) / f"frame-{name}-{viewport['width']}.png", full_page=True)


def rate(page: Page, value: str) -> None:
    """Answer in the frame. The work is handed in without a click, and the marketplace's page moves on."""
    come_to(page)
    frame = page.frame_locator("iframe")
    frame.get_by_role("radio", name=re.compile(f"^{value} ")).check()
    frame.locator(".send button").click()
    page.wait_for_url(re.compile(r"/marketplace/tasks/[A-Z0-9]+/done$"))
    expect(page.get_by_role("heading", level=1)).to_contain_text("Submitted", timeout=PATIENCE)


def arrived(sites: Sites) -> dict[str, list[Any]]:
    """By town: the rating, and whether the marketplace confirms its worker."""
    sites.study.manage("study", "sync", "load")
    found = json.loads(sites.study.manage("shell", "-v", "0", "-c", RATINGS).strip().splitlines()[-1])
    return {re.search(r"town \d+", context)[0]: rest for context, *rest in found}  # type: ignore[index]


def test_two_hits_open_at_once_in_two_tabs_each_keep_their_answers(page: Page, sites: Sites) -> None:
    said: list[str] = []
    page.context.on("console", lambda message: said.append(message.text) if message.type == "error" else None)
    join(page, sites, "robin")
    other = page.context.new_page()
    other.goto(page.url)  # both tabs list the tasks before one is accepted
    first, second = accept(page), accept(other, first=False)
    assert first != second
    rate(other, "2")
    rate(page, "5")
    assert arrived(sites) == {first: [5.0, "confirmed"], second: [2.0, "confirmed"]}
    assert {cookie["domain"] for cookie in page.context.cookies()} == {"localhost"}  # the study has set none
    assert said == []


class _OtherSite(BaseHTTPRequestHandler):
    def do_GET(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "text/html")
        self.end_headers()
        self.wfile.write(b"<!doctype html><title>Elsewhere</title><iframe></iframe>")

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture
def other_site() -> Iterator[str]:
    server = ThreadingHTTPServer(("127.0.0.1", 0), _OtherSite)
    thread = Thread(target=server.serve_forever, daemon=True)
    thread.start()
    yield f"http://localhost:{server.server_port}/"
    server.shutdown()
    server.server_close()
    thread.join()


def test_nobody_else_may_frame_the_study(page: Page, sites: Sites, other_site: str) -> None:
    join(page, sites, "sam")
    page.get_by_role("button", name=re.compile("^Accept: ")).click()
    expect(page.frame_locator("iframe").get_by_role("button", name="Start")).to_be_visible(timeout=PATIENCE)
    address = page.locator("iframe").get_attribute("src")
    page.goto(other_site)
    with page.expect_console_message(lambda message: "frame-ancestors" in message.text, timeout=PATIENCE):
        page.evaluate("address => { document.querySelector('iframe').src = address }", address)
