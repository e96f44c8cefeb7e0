"""Stopping early, the worker's own record and its deletion in a real Chromium, the worker's part without JavaScript."""

from __future__ import annotations

import os
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect

from annotation.models import Assignment, Participant, PartPayment, Posting
from annotation.tokens import participant_token
from annotation.work.part_pay import stop_for_part_pay
from tests.annotation.recruiting.helpers import finish_assignment
from tests.browser.conftest import NARROW, WIDE, NewPage
from tests.browser.work_helpers import check_looks, open_start, start_work
from tests.factories import make_assignment, make_participant, make_researcher, make_study, make_submission

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def picture(page: Page, name: str) -> None:
    """Saves pictures for a person to look at, if HITSERVER_TEST_PICTURES names a folder."""
    folder = os.environ.get("HITSERVER_TEST_PICTURES")
    for viewport, scheme in ((NARROW, "dark"), (WIDE, "light")) if folder else ():
        page.set_viewport_size(viewport)  # type: ignore[arg-type]
        page.emulate_media(color_scheme=scheme)  # type: ignore[arg-type]
        page.screenshot(path=f"{folder}/{name}-{viewport['width']}.png", full_page=True)


def test_a_worker_stops_reads_their_record_and_asks_for_deletion_without_javascript(
    live_server: Any, new_page: NewPage
) -> None:
    study = make_study(items=2, reward=Decimal("0.90"), part_pay="steps", title="How different are these replies?")
    page = new_page(viewport=NARROW, java_script_enabled=False)
    open_start(page, live_server, study)
    expect(page.locator("main")).to_contain_text("If you stop in the middle of a task")
    picture(page, "start")
    start_work(page)
    page.get_by_label("reply").first.fill("I would ask the neighbours.")
    page.locator(".send button").click()
    page.locator("details.foot summary").click()
    picture(page, "step")
    page.get_by_role("button", name="Stop here and get $0.30").click()
    expect(page.locator("main")).to_contain_text("You get $0.30 for what you did before you stopped.")
    picture(page, "stopped")
    assert PartPayment.objects.get().amount == Decimal("0.30")

    page.get_by_role("link", name="What is recorded about you").click()
    picture(page, "record")
    page.get_by_role("button", name="Ask for deletion").click()
    expect(page.locator("#deletion ~ .notice")).to_contain_text("You asked for the deletion on")
    picture(page, "asked")
    assert page.context.cookies() == []


def test_an_owner_sees_time_pay_and_comments_and_deletes_a_workers_data(
    live_server: Any, new_page: NewPage, axe_core: Path, tmp_path: Path, settings: Any
) -> None:
    settings.VAR = tmp_path
    user = make_researcher("ann", password="a long enough password")
    arms: list[dict[str, Any]] = [{"name": "control"}, {"name": "careful", "reward": Decimal("1.25")}]
    study = make_study(items=1, ratings_per_item=2, reward=Decimal("0.05"), arms=arms, owner=user, title="Replies")
    made = [make_submission(study=study, feedback="The second page was hard to read.") for _ in range(3)]
    worker = Participant.objects.get(pk=made[0].participant_id)
    page = new_page()
    page.goto(f"{live_server.url}/console/login/")
    page.get_by_label("Name").fill("ann")
    page.get_by_label("Password").fill("a long enough password")
    page.get_by_role("button", name="Sign in").click()

    page.goto(f"{live_server.url}/console/studies/{study.slug}/")
    expect(page.get_by_role("table", name="Time and pay of people")).to_contain_text("careful")
    check_looks(page, axe_core, "the study with its time and pay")
    picture(page, "overview")
    page.goto(f"{live_server.url}/console/studies/{study.slug}/workers/{worker.pseudonym}/")
    page.get_by_role("link", name="Delete this worker's data").click()
    check_looks(page, axe_core, "the preview of a deletion")
    picture(page, "preview")
    page.get_by_role("button", name="Delete this worker's data").click()
    expect(page.locator("#sure-error")).to_be_visible()
    page.get_by_label("Delete this worker's data for good").check()
    page.get_by_role("button", name="Delete this worker's data").click()
    expect(page.locator("main")).to_contain_text("This worker's data were deleted on")
    check_looks(page, axe_core, "a worker whose data were deleted")
    picture(page, "deleted")


def test_the_record_of_a_worker_looks_right_in_every_size_and_colour(
    live_server: Any, new_page: NewPage, axe_core: Path
) -> None:
    participant = make_participant(study=make_study(items=1))
    make_submission(participant=participant)
    page = new_page()
    page.goto(live_server.url + reverse("work_record", args=[participant_token(participant.pk)]))
    check_looks(page, axe_core, "what is recorded")


def test_an_owner_sees_who_stopped_on_a_platform(live_server: Any, new_page: NewPage, axe_core: Path) -> None:
    study = make_study(items=2, reward=Decimal("0.90"), part_pay="steps", title="How different are these replies?")
    work = finish_assignment(make_assignment(study=study), pages=1)
    posting = Posting.objects.create(study=study, platform="mturk", external_id="3HIT", hit=work.hit)
    Assignment.objects.filter(pk=work.pk).update(posting=posting, platform_assignment_id="3ASSIGNMENT")
    stop_for_part_pay(assignment_id=work.pk, participant_id=work.participant_id)
    page = new_page()
    page.goto(f"{live_server.url}{reverse('console_reconcile', args=[study.slug])}")
    user = make_researcher("olga", password="correct horse battery", is_superuser=True)
    page.get_by_label("Username").fill(user.username)
    page.get_by_label("Password").fill("correct horse battery")
    page.get_by_role("button", name="Sign in").click()
    expect(page.locator("#h-stopped ~ ul")).to_contain_text("3ASSIGNMENT: $0.30")
    page.locator("#h-stopped ~ ul summary").click()
    expect(page.locator("#h-stopped ~ ul").get_by_label("Amount in USD")).to_have_value("0.30")
    check_looks(page, axe_core, "who stopped")
