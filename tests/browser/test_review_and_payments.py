"""Reviewing and paying in a real Chromium: from flag to flag by key, excluding a worker, paying, formatted texts."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.db import transaction
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Flag, Membership, Participant, Payment, Study, Submission
from hitserver.retention import unprotected
from tests.annotation.console_helpers import make_user
from tests.browser.conftest import NewPage
from tests.browser.test_console import sign_in
from tests.browser.work_helpers import check_looks
from tests.factories import make_participant, make_study, make_submission

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.fixture
def study() -> Study:
    """Five submissions by two workers, three of them flagged."""
    study = make_study(items=3, ratings_per_item=3, hits_per_worker=None, reward="0.18", owner=make_user("ada"))
    first, second = make_participant(study=study), make_participant(study=study)
    for number in range(5):
        submission = make_submission(participant=second if number % 2 else first, seed=number)
        if number % 2 == 0:
            Flag.objects.create(submission=submission, reason="too_short", detail="“ok” has 1 word.")
    with transaction.atomic(), unprotected(Flag):
        Flag.objects.exclude(reason="too_short").delete()
    return study


def open_page(page: Page, live_server: LiveServer, name: str, study: Study, *args: object) -> None:
    page.goto(live_server.url + reverse(name, args=[study.slug, *args]))


def test_j_and_k_go_from_flag_to_flag(live_server: LiveServer, new_page: NewPage, study: Study) -> None:
    page = new_page()
    sign_in(page, live_server)
    newest = Submission.objects.order_by("-pk")[0]
    open_page(page, live_server, "console_submission", study, newest.pk)
    for key, number in (("j", 2), ("j", 3), ("j", 3), ("k", 2)):
        page.keyboard.press(key)
        expect(page.get_by_text(f"Flagged {number} of 3")).to_be_visible()
    page.get_by_label("Note").fill("jk")
    expect(page.get_by_text("Flagged 2 of 3")).to_be_visible()
    page.get_by_role("button", name="Exclude", exact=True).click()
    expect(page.get_by_text("“jk”")).to_be_visible()
    page.get_by_role("link", name="Next flagged").click()
    expect(page.get_by_text("Flagged 3 of 3")).to_be_visible()


def test_a_worker_is_excluded_with_the_effect_in_view_and_included_again(
    live_server: LiveServer, new_page: NewPage, axe_core: Path, study: Study
) -> None:
    page = new_page()
    sign_in(page, live_server)
    worker = Participant.objects.order_by("pk")[0]
    open_page(page, live_server, "console_worker", study, worker.pseudonym)
    check_looks(page, axe_core, "worker")
    page.get_by_role("link", name="Exclude this worker").click()
    expect(page.get_by_text("3 submissions with")).to_be_visible()
    check_looks(page, axe_core, "exclude")
    expect(page.get_by_label("Reason")).to_have_value("Flagged: too short (3).")
    page.get_by_label("Reason").fill("")
    page.get_by_role("button", name=f"Exclude {worker.pseudonym}").click()
    expect(page.get_by_text("Say why")).to_be_visible()
    page.get_by_label("Reason").fill("A script.")
    page.get_by_label("Release 3 places").check()
    page.get_by_role("button", name=f"Exclude {worker.pseudonym}").click()
    expect(page.get_by_role("status")).to_contain_text("is excluded, with 3 submissions. Their places are open")
    check_looks(page, axe_core, "excluded worker")
    page.get_by_role("button", name="Include this worker again").click()
    expect(page.get_by_role("status")).to_contain_text(
        "can take hits again, and 3 submissions of theirs are used again"
    )


def test_a_code_is_looked_up_and_paid_on_a_phone_and_then_all(
    live_server: LiveServer, new_page: NewPage, axe_core: Path, study: Study
) -> None:
    page = new_page(viewport={"width": 390, "height": 844})
    sign_in(page, live_server)
    worker = Participant.objects.order_by("pk")[0]
    open_page(page, live_server, "console_payments", study)
    check_looks(page, axe_core, "payments")
    page.get_by_label("Completion code", exact=True).fill(worker.completion_code.lower())
    page.get_by_role("button", name="Look up").click()
    expect(page.get_by_text(worker.pseudonym).first).to_be_visible()
    page.get_by_role("link", name="Mark as paid").click()
    expect(page.get_by_text("0.54").first).to_be_visible()
    check_looks(page, axe_core, "pay")
    page.get_by_role("button", name="as paid").click()
    expect(page.get_by_role("status")).to_contain_text(f"3 hits of {worker.pseudonym} marked as paid: $0.54.")
    page.get_by_role("link", name="Mark all as paid").click()
    page.get_by_role("button", name="as paid").click()
    expect(page.get_by_role("status")).to_contain_text("2 hits of 1 worker marked as paid: $0.36.")
    assert Payment.objects.count() == 5
    check_looks(page, axe_core, "paid")


def test_a_long_text_is_previewed_as_workers_will_see_it(
    live_server: LiveServer, new_page: NewPage, axe_core: Path
) -> None:
    user = make_user("ada")
    draft = make_study(live=False)
    Membership.objects.create(study=draft, user=user, role="owner")
    page = new_page()
    sign_in(page, live_server)
    open_page(page, live_server, "console_settings", draft)
    page.get_by_label("Consent text").fill("# Your rights\n\n- **stop** at any time\n<script>alert(1)</script>")
    page.locator("[data-format=id_consent]").click()
    shown = page.locator("#id_consent-formatted")
    expect(shown.get_by_role("heading")).to_have_text("Your rights")
    expect(shown.locator("strong")).to_have_text("stop")
    expect(shown).to_contain_text("<script>")
    check_looks(page, axe_core, "settings with a preview")
