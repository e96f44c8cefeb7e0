"""The pages of quality control in a real Chromium: rules, what they found, feedback on a gold item."""

from __future__ import annotations

from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Membership, Study
from annotation.tokens import participant_token
from tests.annotation.console_helpers import make_user
from tests.annotation.quality_helpers import gold_study, rate, someone
from tests.browser.conftest import NARROW, NewPage
from tests.browser.test_console import sign_in
from tests.browser.work_helpers import check_looks
from tests.factories import make_assignment, make_participant

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


def owned(study: Study) -> Study:
    Membership.objects.create(study=study, user=make_user("ada"), role="owner")
    return study


def test_rules_are_changed_in_a_draft_and_read_after_the_launch(
    live_server: LiveServer, new_page: NewPage, axe_core: Path
) -> None:
    draft = owned(gold_study(live=False))
    page = new_page()
    sign_in(page, live_server)
    page.goto(live_server.url + reverse("console_quality", args=[draft.slug]))
    page.get_by_label("Workers with a lower share of right gold answers").fill("0.7")
    page.get_by_label("Too fast (seconds per question)").fill("1.5")
    check_looks(page, axe_core, "the rules")
    page.get_by_role("button", name="Save").click()
    expect(page.get_by_text("Saved.")).to_be_visible()
    draft.refresh_from_db()
    assert (draft.exclusion["gold_share_below"], draft.quality_control["too_fast"]) == (0.7, 1.5)


def test_what_the_rules_found_fits_on_a_phone(live_server: LiveServer, new_page: NewPage, axe_core: Path) -> None:
    study = owned(gold_study(exclusion={"gold_share_below": 0.7, "flags": ["too_fast"]}))
    rate(someone(study), gold=7)
    rate(someone(study))
    page = new_page(viewport=NARROW, color_scheme="dark")
    sign_in(page, live_server)
    page.goto(live_server.url + reverse("console_quality", args=[study.slug]))
    expect(page.get_by_text("Fewer than 70% of the worker's gold answers right: 1 submission")).to_be_visible()
    check_looks(page, axe_core, "what was found")


def test_a_worker_reads_the_right_answer_on_the_next_page(
    live_server: LiveServer, new_page: NewPage, axe_core: Path
) -> None:
    study = gold_study(quality_control={"gold_feedback": True})
    participant = make_participant(study=study)
    assignment = make_assignment(participant=participant)
    roles = [place.item.role for place in assignment.hit.places.select_related("item")]
    assignment.order = assignment.order | {"items": sorted(range(2), key=lambda at: roles[at] != "gold")}
    assignment.save(update_fields=["order"])
    page = new_page(viewport=NARROW)
    page.goto(live_server.url + reverse("work", args=[participant_token(participant.pk)]))
    page.locator("input[name=lively][value='7']").check(force=True)
    page.locator("input[name=dull][value='1']").check(force=True)
    page.get_by_role("button", name="Send and continue").click()
    expect(page.get_by_text("The right answer: “2”.")).to_be_visible()
    check_looks(page, axe_core, "feedback")
