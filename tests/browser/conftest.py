"""A real Chromium for every browser test; pages start without third parties, cookies or leftover storage."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, BrowserContext, Page, expect, sync_playwright

ARGS = [
    "--no-sandbox",
    "--headless",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]
NARROW = {"width": 390, "height": 844}
WIDE = {"width": 1280, "height": 900}
NewPage = Callable[..., Page]
#: Milliseconds until a test gives up. On a quiet machine nothing takes a tenth of it.
PATIENCE = 60_000
#: Milliseconds between two questions of a page that updates itself, and a little more.
NEXT_UPDATE = 4_500


@pytest.fixture(scope="session")
def browser(chromium: str) -> Iterator[Browser]:
    # Playwright's own event loop runs in this thread; Django would take the tests for asynchronous code.
    before = os.environ.get("DJANGO_ALLOW_ASYNC_UNSAFE")
    os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"] = "true"
    expect.set_options(timeout=PATIENCE)
    with sync_playwright() as playwright:
        found = playwright.chromium.launch(executable_path=chromium, args=ARGS)
        yield found
        found.close()
    if before is None:
        del os.environ["DJANGO_ALLOW_ASYNC_UNSAFE"]


@pytest.fixture
def new_page(browser: Browser) -> Iterator[NewPage]:
    """Opens a page in a fresh profile: `new_page(viewport=NARROW, color_scheme="dark")`. Script errors fail tests."""
    contexts: list[BrowserContext] = []
    errors: list[str] = []

    def make(*, viewport: dict[str, int] = WIDE, **options: Any) -> Page:
        # No animations: axe would measure the contrast of a button halfway between two colours.
        options = {"reduced_motion": "reduce"} | options
        context = browser.new_context(viewport=viewport, **options)  # type: ignore[arg-type]
        context.set_default_timeout(PATIENCE)
        contexts.append(context)
        page = context.new_page()
        page.on("pageerror", lambda error: errors.append(str(error)))
        return page

    yield make
    for context in contexts:
        context.close()
    assert not errors, errors


def axe_problems(page: Page, script: Path) -> list[str]:
    """What axe-core finds on the page in its current state: rule, help and the first place."""
    if not page.evaluate("typeof window.axe === 'object'"):
        # Evaluated, not added as a tag: the page's own policy would refuse an inline script.
        page.evaluate(script.read_text("utf-8"))
    found = page.evaluate("axe.run(document, {resultTypes: ['violations']}).then(result => result.violations)")
    return [f"{one['id']}: {one['help']} at {one['nodes'][0]['target']}" for one in found]
