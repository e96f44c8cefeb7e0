"""A worker's way through a study in the frame of a marketplace on another site, with third-party cookies blocked.

The marketplace and the study are two servers, on ``localhost`` and ``127.0.0.1``, which browsers take for two sites.
Their only link is the endpoint in the study's settings; everything else is the default.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from playwright.sync_api import Browser, FrameLocator, Page, expect

from tests.browser.conftest import ARGS, NARROW, axe_problems
from tests.integration.studies import make_study
from tests.support import Server

pytestmark = [pytest.mark.browser, pytest.mark.slow]
NO_THIRD_PARTY_COOKIES = "--test-third-party-cookie-phaseout"
KEY = re.compile(r"AWS_ACCESS_KEY_ID=(\S+)\nAWS_SECRET_ACCESS_KEY=(\S+)")


@dataclass(frozen=True)
class Sites:
    """The marketplace as its workers see it, and the two servers."""

    market_url: str
    market: Server
    study: Server


@pytest.fixture
def sites(live_processes: Callable[..., Server], tmp_path: Path) -> Sites:
    """A study of two sets with two ratings each, published on the marketplace."""
    market = live_processes(var=tmp_path / "market", env={"HITSERVER_PARTS": "marketplace"})
    market_url = market.base_url.replace("127.0.0.1", "localhost")
    market.manage("marketplace", "make-requester", "Lab", "--balance", "10")
    made = KEY.search(market.manage("marketplace", "make-key", "Lab"))
    assert made is not None
    study = live_processes(
        var=tmp_path / "study",
        env={
            "HITSERVER_PARTS": "studies",
            "HITSERVER_MTURK_ENDPOINT": f"{market_url}/marketplace/api/",
            "HITSERVER_MTURK_ACCESS_KEY_ID": made[1],
            "HITSERVER_MTURK_SECRET_ACCESS_KEY": made[2],
        },
    )
    make_study(study, items=2, ratings=2)
    study.manage("shell", "-v", "0", "-c", "from annotation.models import Hit; Hit.objects.update(reward='0.18')")
    said = study.manage("study", "publish", "load", "--platform", "mturk")
    assert "the platform has 2 of 2 HITs" in said
    return Sites(market_url, market, study)


@pytest.fixture
def page(browser: Browser, chromium: str) -> Iterator[Page]:
    """A page of a browser that lets no frame of another site use cookies."""
    strict = browser.browser_type.launch(executable_path=chromium, args=[*ARGS, NO_THIRD_PARTY_COOKIES])
    context = strict.new_context(viewport=NARROW, reduced_motion="reduce")  # type: ignore[arg-type]
    context.set_default_timeout(60_000)
    yield context.new_page()
    strict.close()


def join(page: Page, sites: Sites) -> None:
    link = sites.market.manage("marketplace", "invite").strip().replace("127.0.0.1", "localhost")
    page.goto(link)
    page.get_by_label("User name").fill("robin")
    page.get_by_label("Password").fill("a-long-enough-password")
    page.get_by_role("button", name=re.compile("Join|Create")).click()
    expect(page.get_by_role("heading", name="Tasks", exact=True)).to_be_visible()


def start(frame: FrameLocator) -> None:
    frame.get_by_role("button", name="Start").click()
    expect(frame.get_by_role("radio").first).to_be_attached()


def rate(frame: FrameLocator, number: int) -> None:
    frame.locator("input[type=radio]").nth(number).check(force=True)
    frame.get_by_role("button", name=re.compile("Send|Submit|Next|Finish")).click()


def test_two_hits_at_once_in_a_frame_without_cookies(page: Page, sites: Sites, axe_core: Path) -> None:
    policies: dict[str, str] = {}
    page.context.on("response", lambda got: _note(policies, sites, got))
    join(page, sites)
    other = page.context.new_page()
    other.goto(f"{sites.market_url}/marketplace/")
    page.reload()
    for tab in (page, other):  # both show the list; each accepts a HIT of its own
        tab.get_by_role("button", name=re.compile("^Accept: ")).click()
        expect(tab).to_have_url(re.compile(r"/marketplace/tasks/\w+/$"))
    assert page.url != other.url
    tasks = [page.url, other.url]

    frames = [tab.frame_locator("iframe") for tab in (page, other)]
    for frame in frames:
        start(frame)
    inner = next(each for each in page.frames if each.url.startswith(sites.study.base_url))
    assert inner.evaluate("document.cookie = 'probe=1'; document.cookie") == ""
    assert axe_problems(page, axe_core) == []
    for tab, frame, number in ((other, frames[1], 6), (page, frames[0], 2)):
        rate(frame, number)
        expect(tab).to_have_url(re.compile(r"/marketplace/tasks/\w+/done$"))
    assert [page.url, other.url] == [f"{url}done" for url in tasks]

    ours, theirs = f"frame-ancestors {sites.market_url}", f"form-action 'self' {sites.market_url}"
    assert all(ours in policy for policy in policies.values())
    assert any(theirs in policy for path, policy in policies.items() if path.endswith("/done"))
    assert not [each for each in page.context.cookies() if each["domain"] != "localhost"]
    assert "2 new or changed" in sites.study.manage("study", "sync", "load")
    assert "Approved: 2, $0.36." in sites.study.manage("study", "approve", "load")


def _note(policies: dict[str, str], sites: Sites, got: Any) -> None:
    """The policy of every page of the study that was shown in a frame."""
    path = got.url.removeprefix(sites.study.base_url)
    if got.url != path and path.startswith(("/p/", "/w/")) and got.status == 200:
        policies[path.partition("?")[0]] = got.headers.get("content-security-policy", "")


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
    join(page, sites)
    page.get_by_role("button", name=re.compile("^Accept: ")).click()
    expect(page.frame_locator("iframe").get_by_role("button", name="Start")).to_be_visible()
    address = page.locator("iframe").get_attribute("src")
    said: list[str] = []
    page.on("console", lambda message: said.append(message.text))
    page.goto(other_site)
    page.evaluate("address => { document.querySelector('iframe').src = address }", address)
    page.wait_for_timeout(3000)
    assert [each for each in said if "frame-ancestors" in each], said
