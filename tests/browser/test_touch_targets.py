"""Everything that workers press is large enough for a thumb: 44 × 44 CSS pixels (WCAG 2.2, success criterion 2.5.5)."""

from __future__ import annotations

from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Locator, Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Assignment, Study
from annotation.task_types.registry import all_types
from annotation.tokens import participant_token
from marketplace.services.accounts import worker_accounts
from tests.annotation.work.test_requested_offers import TEMPLATE
from tests.browser.conftest import NARROW, NewPage
from tests.browser.test_marketplace_work import everything_there_is, sign_in
from tests.browser.work_helpers import open_start
from tests.factories import make_participant, make_study, simulated_form
from tests.generation.support.toy_suggestions import make_pool, make_suggester

pytestmark = [pytest.mark.browser, pytest.mark.slow, pytest.mark.django_db(transaction=True)]

PHONE: dict[str, Any] = {"viewport": NARROW, "has_touch": True, "is_mobile": True, "device_scale_factor": 2}
#: Types whose pages show suggestions, with settings for a short task.
SUGGESTING: dict[str, dict[str, Any]] = {
    "cyoa": {"rounds": 2},
    "mil_story": {"sentences": 2},
    "slogan": {"suggesters": ["model-a", "model-b"]},
}
PROGRESS, STILL_WAITING = "**/offers?*", {"reload": False, "title": "Please wait", "text": ""}
TEMPLATES = {"slogan": {"template": TEMPLATE}}
#: Every visible, enabled target that is less than 44 pixels wide or high, as “what it says: width × height”. The target
#: of a tick box or radio button is its label. Links within running text are exempt, as in the success criterion.
TOO_SMALL = """() => {
    const LEAST = 44, SLACK = 0.05;  // sums of fractions of pixels
    const targets = 'a[href], button, summary, select, textarea, input:not([type=hidden])';
    const text = node => (node.textContent || '').replace(/\\s+/g, ' ').trim();
    function inRunningText(link) {
        if (!link.matches('a') || !['inline', 'inline-block'].includes(getComputedStyle(link).display)) return false;
        let block = link.parentElement;
        while (getComputedStyle(block).display === 'inline') block = block.parentElement;
        if (getComputedStyle(block).display.includes('flex')) return false;
        const around = block.cloneNode(true);
        around.querySelectorAll('a, button, .spoken, .badge').forEach(node => node.remove());
        return /\\p{L}/u.test(text(around));
    }
    function box(node) {
        const label = node.matches('[type=radio], [type=checkbox]') && node.labels[0];
        return (label || node).getBoundingClientRect();
    }
    document.querySelectorAll('details').forEach(node => { node.open = true; });
    const small = [];
    for (const node of document.querySelectorAll(targets)) {
        if (node.matches(':disabled') || !node.checkVisibility({visibilityProperty: true})) continue;
        if (inRunningText(node)) continue;
        const {width, height, bottom, right} = box(node);
        if (bottom + scrollY <= 0 || right + scrollX <= 0) continue;  // “Skip to the content”, until it has the focus
        if (width > LEAST - SLACK && height > LEAST - SLACK) continue;
        const name = node.getAttribute('aria-label') || text(node) || node.name || node.type;
        small.push(`${node.tagName.toLowerCase()} “${name.slice(0, 60)}”: ${width.toFixed(1)} × ${height.toFixed(1)}`);
    }
    return small;
}"""
#: Gives the answers of a simulated worker, as a hand would: the page's scripts notice.
FILL = """given => {
    for (const [name, value] of Object.entries(given)) {
        for (const field of document.querySelectorAll(`#task [name="${name}"]`)) {
            const ticks = field.type === 'radio' || field.type === 'checkbox';
            if (ticks && field.value !== value) continue;
            if (ticks) field.checked = true; else field.value = value;
            field.dispatchEvent(new Event('input', {bubbles: true}));
            field.dispatchEvent(new Event('change', {bubbles: true}));
        }
    }
}"""


def too_small(page: Page, where: str) -> list[str]:
    return [f"{where}: {target}" for target in page.evaluate(TOO_SMALL)]


def go(page: Page, link: Locator) -> None:
    """Tap a link or button that leads to another page, and wait for that."""
    with page.expect_navigation():
        link.tap()


def study_of(task_type: str) -> Study:
    """A study that asks for consent and pays for parts; with a pool of suggestions if its type shows them."""
    for name in ("model-a", "model-b") if task_type in SUGGESTING else ():
        pool = (f"The {thing} in the hall was open when we came." for thing in ("door", "window", "box", "cupboard"))
        make_pool(make_suggester(name, wait_seconds=1.0, **TEMPLATES.get(task_type, {})), *pool)
    return make_study(
        task_type=task_type,
        items=1,
        ratings_per_item=20,
        hits_per_worker=None,
        part_pay="steps",
        reward="2.00",
        consent="You can stop at any time.",
        config=SUGGESTING.get(task_type, {}),
    )


def walk(page: Page, live_server: Any, study: Study) -> list[str]:
    """From the start page to the last one. Returns what is too small on the way."""
    small: list[str] = []
    if all_types()[study.task_type].for_members:  # they start in the console
        page.goto(live_server.url + reverse("work", args=[participant_token(make_participant(study=study).pk)]))
    else:
        open_start(page, live_server, study)
        small += too_small(page, "start")
        go(page, page.get_by_role("link", name="Look at a task"))
        small += too_small(page, "preview")
        page.go_back()
        page.get_by_label("I have read this and agree").check()
        go(page, page.get_by_role("button", name="Start"))
    for number in range(60):
        page.locator("#task, #code, #waiting").first.wait_for()
        if page.locator("#waiting").count():
            small += too_small(page, "waiting")
            page.unroute(PROGRESS)
            page.locator("#task").wait_for()
        if page.locator("#code").count():
            return small + too_small(page, "done")
        page.unroute(PROGRESS)
        where = f"step {number + 1}"
        if number == 0:
            page.locator(".send button").tap()
            small += too_small(page, f"{where} with mistakes")
        if page.locator("#pull-ask").count():
            page.get_by_label("Keywords").fill("door, rain")
            page.get_by_label("Your slogan").fill("The door that stays dry")
            page.locator("#pull-ask").tap()
            expect(page.locator(".suggested button").first).to_be_visible()
            page.locator(".suggested button").first.tap()
        small += too_small(page, where)
        page.evaluate(FILL, simulated_form(assignment=Assignment.objects.get(), number=number))
        page.route(PROGRESS, lambda route: route.fulfill(json=STILL_WAITING))  # until it is measured
        go(page, page.locator(".send button"))
    raise AssertionError("The task never ended.")


# A conversation sends its pages by itself.
@pytest.mark.parametrize("task_type", sorted(all_types().keys() - {"chat"}))
def test_all_that_is_pressed_on_pages_of_a_type_is_large_enough(
    task_type: str, live_server: Any, new_page: NewPage
) -> None:
    page = new_page(**PHONE)
    small = walk(page, live_server, study_of(task_type))
    assert not small, "\n".join(small)


@pytest.mark.parametrize("points", [7, 8, 9, 10, 11])
def test_long_scales_are_large_enough_on_narrow_phones(points: int, live_server: Any, new_page: NewPage) -> None:
    study = make_study(task_type="likert", items=1, config={"points": points})
    page, small = new_page(**PHONE), []
    page.goto(live_server.url + reverse("work", args=[participant_token(make_participant(study=study).pk)]))
    expect(page.locator(".grid-row").first.get_by_role("radio")).to_have_count(points)
    for width in (390, 360, 320):
        page.set_viewport_size({"width": width, "height": 640})
        small += too_small(page, f"{points} points at {width}")
        assert page.evaluate("document.documentElement.scrollWidth") <= width
    assert not small, "\n".join(small)


def test_all_that_is_pressed_on_a_workers_other_pages_is_large_enough(live_server: Any, new_page: NewPage) -> None:
    """A full study, what is recorded, and pages without an address of the researchers."""
    study = make_study(items=1, ratings_per_item=1, identity="browser", contact="")
    page, late = new_page(**PHONE), new_page(**PHONE)
    open_start(page, live_server, study)
    small = too_small(page, "start, no contact")
    go(page, page.get_by_role("button", name="Start"))
    expect(page.locator("#task")).to_be_visible()
    small += too_small(page, "step 1, no contact")
    work = page.url
    go(page, page.get_by_role("link", name="What is recorded about you"))
    small += too_small(page, "record")
    open_start(page, live_server, study)
    small += too_small(page, "welcome back, in this browser")
    open_start(late, live_server, study)
    small += too_small(late, "full")
    page.goto(work)
    page.locator("summary").last.tap()
    go(page, page.get_by_role("button", name="Give this task back"))
    expect(page.locator("h1")).not_to_contain_text("Write")
    small += too_small(page, "given back")
    assert not small, "\n".join(small)


def test_all_that_is_pressed_in_the_marketplace_is_large_enough(live_server: LiveServer, new_page: NewPage) -> None:
    _, urls = everything_there_is("https://tasks.example/rate")
    page = new_page(**PHONE)
    page.route("https://tasks.example/**", lambda route: route.fulfill(body="A task", content_type="text/html"))
    small: list[str] = []
    invitation = reverse("market_join", args=[worker_accounts.invite(actor="test").token])
    for url in (reverse("market_sign_in"), reverse("market_ask_link"), invitation):
        page.goto(live_server.url + url)
        small += too_small(page, url)
    sign_in(page, live_server, "robin")
    for url in urls:
        page.goto(live_server.url + url)
        small += too_small(page, url)
    page.goto(live_server.url + reverse("market_home"))
    go(page, page.get_by_role("link", name="Stories", exact=True))
    small += too_small(page, "preview of a form")
    go(page, page.get_by_role("button", name="Accept", exact=True))
    go(page, page.get_by_role("button", name="Submit"))
    expect(page.locator("[data-problems]")).to_be_visible()
    small += too_small(page, "a form with mistakes")
    page.goto(live_server.url + next(url for url in urls if "qualification" in url and not url.endswith("ns/")))
    go(page, page.get_by_role("button", name="Start the test"))
    expect(page.get_by_role("heading", name="Test: Sums")).to_be_visible()
    small += too_small(page, "a test")
    assert not small, "\n".join(small)
