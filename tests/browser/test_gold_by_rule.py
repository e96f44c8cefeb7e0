"""Gold items with rules in a real Chromium: what a worker reads after one, and the shares of right answers."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Assignment
from annotation.tokens import participant_token
from annotation.work.answers import submit_step
from tests.annotation.studies.test_answer_rules import RIGHT, WRONG, answer, live_study
from tests.browser.conftest import NARROW, NewPage
from tests.browser.test_console import sign_in
from tests.browser.test_quality_control import owned
from tests.browser.work_helpers import check_looks
from tests.factories import make_assignment, make_participant

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]


@pytest.mark.parametrize("width", [390, 1280])
def test_a_worker_reads_what_the_rules_expected(
    live_server: LiveServer, new_page: NewPage, axe_core: Path, width: int
) -> None:
    study = live_study(quality_control={"gold_feedback": True})
    participant = make_participant(study=study)
    assignment = make_assignment(participant=participant)
    roles = [place.item.role for place in assignment.hit.places.select_related("item")]
    order = {"items": sorted(range(len(roles)), key=lambda at: roles[at] != "gold")}
    Assignment.objects.filter(pk=assignment.pk).update(order=assignment.order | order)
    submit_step(assignment_id=assignment.pk, participant_id=participant.pk, number=0, data=RIGHT | WRONG, timing={})
    page = new_page(viewport={"width": width, "height": 900})
    page.goto(live_server.url + reverse("work", args=[participant_token(participant.pk)]))
    expect(page.get_by_text("The right answer: “from 2 to 3”.")).to_be_visible()
    if folder := os.environ.get("PICTURES"):
        page.screenshot(path=f"{folder}/gold-feedback-{width}.png")
    check_looks(page, axe_core, "feedback by rule")


def test_shares_of_right_answers_fit_on_a_phone(live_server: LiveServer, new_page: NewPage, axe_core: Path) -> None:
    study = owned(live_study())
    answer(make_participant(study=study), RIGHT)
    answer(make_participant(study=study), RIGHT | WRONG)
    page = new_page(viewport=NARROW)
    sign_in(page, live_server)
    page.goto(live_server.url + reverse("console_quality", args=[study.slug]))
    row = page.get_by_role("row").filter(has_text="gold")
    expect(row.get_by_text("50%")).to_be_visible()
    if folder := os.environ.get("PICTURES"):
        page.get_by_role("heading", name="Excluded by rule").scroll_into_view_if_needed()
        page.screenshot(path=f"{folder}/gold-shares-390.png")
    check_looks(page, axe_core, "right answers by item")
