"""The page of a generation run in a real browser, while the run continues and when it ends."""

from __future__ import annotations

from datetime import timedelta
from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.test import Client
from django.utils import timezone
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from generation.models import Chunk, GenerationRun, LanguageModel
from tests.browser.conftest import NARROW, NEXT_UPDATE, WIDE, NewPage, axe_problems
from tests.factories import make_researcher
from tests.generation.support.finished_runs import make_run

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

TEXT = {"context": "c0", "model": "tiny", "decoder": "top_p=0.9", "text": "Nobody on the pier knew why."}


@pytest.fixture
def run() -> GenerationRun:
    """A run of ada's with two stored samples, two more drawn, and six to come."""
    decoders = {"top_p=0.9": [["The boat was empty when it came back.", "She had counted the lamps twice."]]}
    run = make_run(decoders, name="pilot", n_wanted=10)
    GenerationRun.objects.filter(pk=run.pk).update(state="running", created_by="ada")
    Chunk.objects.create(
        run=run,
        number=1,
        model=LanguageModel.objects.get(),
        places=[],
        n_samples=8,
        leased_by="worker#1",
        leased_until=timezone.now() + timedelta(minutes=5),
        preview={"n": 2, "tokens": 14, "seconds": 3.0, "texts": [TEXT]},
    )
    return run


def open_run(page: Page, live_server: LiveServer, path: str = "/console/runs/pilot/") -> None:
    """As ada, without going through the form."""
    client = Client()
    client.force_login(User.objects.filter(username="ada").first() or make_researcher("ada"))
    cookie: Any = {"name": "sessionid", "value": client.cookies["sessionid"].value, "url": live_server.url}
    page.context.add_cookies([cookie])
    page.goto(live_server.url + path)


def end(run: GenerationRun) -> None:
    Chunk.objects.filter(run=run).update(state="done", preview={}, leased_by="", ended_at=timezone.now())
    GenerationRun.objects.filter(pk=run.pk).update(state="done", ended_at=timezone.now())


def test_the_page_follows_a_run_to_its_end_and_then_stops_asking(
    live_server: LiveServer, new_page: NewPage, run: GenerationRun
) -> None:
    page = new_page()
    page.clock.install()
    open_run(page, live_server)
    expect(page.get_by_text("2 of 10 stored")).to_be_visible()
    expect(page.get_by_text("Not stored yet")).to_be_visible()
    page.get_by_text("All decoders").click()

    texts = [TEXT | {"text": "A second text came while the page was open."}, TEXT]
    Chunk.objects.filter(run=run, number=1).update(preview={"n": 3, "tokens": 21, "seconds": 4.0, "texts": texts})
    page.clock.fast_forward(NEXT_UPDATE)
    expect(page.get_by_text("A second text came while the page was open.")).to_be_visible()
    expect(page.get_by_text("3 more texts are written")).to_be_visible()
    expect(page.locator("details[open]")).to_have_count(1)  # what was opened stays open

    end(run)
    page.clock.fast_forward(NEXT_UPDATE)
    expect(page.get_by_text("10 of 10 stored")).to_be_visible()
    expect(page.get_by_role("button", name="Cancel the run")).to_have_count(0)
    asked: list[str] = []
    page.on("request", lambda request: asked.append(request.url))
    for _ in range(2):
        page.clock.fast_forward(NEXT_UPDATE)
    page.wait_for_timeout(500)  # a question that was sent would be noted by now
    assert asked == []


def test_without_javascript_the_page_loads_itself_again_until_the_end(
    live_server: LiveServer, new_page: NewPage, run: GenerationRun
) -> None:
    page = new_page(java_script_enabled=False)
    open_run(page, live_server)
    expect(page.get_by_text("2 of 10 stored")).to_be_visible()
    end(run)
    expect(page.get_by_text("10 of 10 stored")).to_be_visible()
    assert page.locator("noscript meta").count() == 0


def test_a_check_s_result_appears_by_itself(live_server: LiveServer, new_page: NewPage, run: GenerationRun) -> None:
    page = new_page()
    page.clock.install()
    soon = timezone.now().timestamp() + 60
    LanguageModel.objects.update(check_state="waiting")
    open_run(page, live_server, f"/console/models/?until={soon:.0f}")
    expect(page.get_by_text("Not checked yet")).to_be_visible()
    LanguageModel.objects.update(check_state="passed")
    page.clock.fast_forward(NEXT_UPDATE)
    expect(page.get_by_text("Works", exact=True)).to_be_visible()


@pytest.mark.parametrize("path", ["/console/runs/pilot/", "/console/runs/", "/console/runs/new/", "/console/models/"])
@pytest.mark.parametrize("viewport", [WIDE, NARROW], ids=["wide", "narrow"])
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_pages_of_generation_have_no_barriers(
    live_server: LiveServer,
    new_page: NewPage,
    run: GenerationRun,
    axe_core: Path,
    path: str,
    viewport: dict[str, int],
    scheme: str,
) -> None:
    page = new_page(viewport=viewport, color_scheme=scheme)
    open_run(page, live_server, path)
    assert axe_problems(page, axe_core) == []
    assert page.evaluate("document.documentElement.scrollWidth <= window.innerWidth")
