"""Coding in a real Chromium: a coder from the console to the pages and back, and differences side by side."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from django.contrib.auth.models import User
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Adjudication, Item, Study, Submission
from annotation.work.member_work import start_member_work
from tests.annotation.coding_helpers import LABELS, code, coder
from tests.browser.conftest import NewPage
from tests.browser.work_helpers import check_looks
from tests.factories import make_study

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def sign_in(page: Page, live_server: Any, user: User, address: str) -> None:
    user.set_password("correct horse battery")
    user.save()
    page.goto(live_server.url + address)
    page.get_by_label("Username").fill(user.username)
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Sign in").click()


def two_comments(**values: Any) -> Study:
    terms = {"ratings_per_item": 2, "hits_per_worker": None, "config": {"labels": LABELS}}
    return make_study(task_type="comment_coding", items=2, title="What do they mention?", **(terms | values))


def test_a_coder_starts_in_the_console_and_comes_back(live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    study = make_study(task_type="comment_coding", items=2, items_per_hit=2, hits_per_worker=None, title="Coding")
    anna = coder("anna", study, role="owner")
    page = new_page()
    sign_in(page, live_server, anna, reverse("console_coding", args=[study.slug]))
    expect(page.locator("h2").first).to_have_text("Your part")
    check_looks(page, axe_core, "coding, nobody yet")
    page.get_by_role("button", name="Start coding").click()
    for place in (1, 2):
        expect(page.locator(".kicker").first).to_have_text(f"{place} of 2")
        if place == 1:
            check_looks(page, axe_core, "a comment")
        page.get_by_text("The text that it is about").click()
        page.get_by_role("checkbox", name="Grammar").check()
        page.get_by_role("checkbox", name="Repetition").check()
        page.locator(".send button").click()
    expect(page.locator("h1")).to_have_text("Thank you")
    check_looks(page, axe_core, "done")
    page.get_by_role("link", name="Back to the console").click()
    expect(page.locator("#h-yours ~ p").first).to_have_text("You have coded 2 of 2 items.")
    assert Submission.objects.count() == 1


def test_differences_are_settled_side_by_side(live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    study = two_comments()
    anna, ben = coder("anna", study, role="owner"), coder("ben", study)
    code(start_member_work(study=study, user=anna), s0="grammar facts", s1="vague")
    code(start_member_work(study=study, user=ben), s0="grammar", s1="vague")
    page = new_page()
    sign_in(page, live_server, anna, reverse("console_coding", args=[study.slug]))
    check_looks(page, axe_core, "coding, one difference")
    page.get_by_role("link", name="Settle the next difference").click()
    expect(page.get_by_role("checkbox", name="Grammar is final")).to_be_checked()
    expect(page.get_by_role("checkbox", name="Facts is final")).not_to_be_checked()
    check_looks(page, axe_core, "a difference")
    page.get_by_role("checkbox", name="Facts is final").check()
    page.get_by_label("Note").fill("Both, on second reading")
    page.get_by_role("button", name="Save the final labels").click()
    expect(page.get_by_text("There is nothing to settle now.")).to_be_visible()
    made = Adjudication.objects.get()
    assert (made.chosen, made.user, made.item) == (["grammar", "facts"], anna, Item.objects.get(external_id="s0"))


def test_a_coder_at_work_is_kept_from_the_report(live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    study = two_comments()
    ben = coder("ben", study)
    code(start_member_work(study=study, user=coder("anna", study, role="owner")), s0="grammar", s1="vague")
    start_member_work(study=study, user=ben)
    page = new_page()
    sign_in(page, live_server, ben, reverse("report", args=[study.slug]))
    expect(page.locator("h2").first).to_have_text("You see this when you have coded all your items")
    check_looks(page, axe_core, "not before you are done")
    page.get_by_role("link", name="Go to your coding").click()
    expect(page.locator("#h-coders")).to_be_visible()
    expect(page.get_by_text("Differences between coders")).to_have_count(0)
    check_looks(page, axe_core, "coding, blind")
