"""What tests of workers' pages share: opening a study, looking at a page in every size and colour, the Tab key."""

from __future__ import annotations

from pathlib import Path
from typing import Any

from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Study
from tests.browser.conftest import NARROW, WIDE, axe_problems

#: Each width and each colour scheme once: layout depends on the width and contrast on the scheme.
LOOKS = [(NARROW, "dark"), (WIDE, "light")]


def open_start(page: Page, live_server: Any, study: Study) -> None:
    page.goto(live_server.url + reverse("study_start", args=[study.slug]))


def start_work(page: Page) -> None:
    """From the start page to the first task with its scripts run: what is typed before that is only text."""
    with page.expect_navigation():
        page.get_by_role("button", name="Start").click()


def check_looks(page: Page, axe_core: Path, where: str) -> None:
    """No accessibility problem and no sideways scrolling, at both widths and in both colour schemes (see `LOOKS`)."""
    for viewport, scheme in LOOKS:
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        assert axe_problems(page, axe_core) == [], f"{where} at {viewport['width']} {scheme}"
        assert page.evaluate("document.documentElement.scrollWidth") <= viewport["width"], where


def send(page: Page, then: str) -> None:
    page.locator(".send button").click()
    expect(page.locator("h1")).to_contain_text(then)


def tab_to(page: Page, selector: str) -> None:
    """Presses Tab until the element has the focus. Every stop must show itself.

    Whoever begins below the element passes the end of the page, where nothing has the focus, once.
    """
    ends = 0
    for _ in range(30):
        page.keyboard.press("Tab")
        if page.evaluate("document.activeElement === document.body"):
            ends += 1
            assert ends < 2, f"Tab went through the whole page without reaching {selector}"
            continue
        ring = page.evaluate(
            """() => { const at = document.activeElement, seen = [at, at.parentElement];
                       return seen.some(node => getComputedStyle(node).outlineStyle !== 'none'); }"""
        )
        assert ring, page.evaluate("document.activeElement.outerHTML")
        if page.evaluate("selector => document.activeElement.matches(selector)", selector):
            return
    raise AssertionError(f"Tab never reached {selector}")
