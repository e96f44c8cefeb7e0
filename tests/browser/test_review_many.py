"""Review in a real Chromium: 220 submissions of one worker excluded in three clicks, decisions on many, pictures."""

from __future__ import annotations

from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone
from playwright.sync_api import expect
from pytest_django.live_server_helper import LiveServer

from annotation.models import Assignment, Flag, Participant, Rating, Study, Submission
from annotation.review import bulk_decisions
from annotation.review.pay_decisions import decide_pay
from annotation.work.left_out import excluded_submissions
from tests.annotation.console_helpers import make_user
from tests.browser.conftest import NewPage
from tests.browser.test_console import sign_in
from tests.browser.test_review_and_payments import open_page
from tests.browser.work_helpers import check_looks
from tests.factories import make_participant, make_study, make_submission

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]
MANY = 220
ORDER = {"items": [0], "shown": [{"responses": [0, 1, 2, 3, 4]}]}


def careless_study() -> tuple[Study, Participant]:
    """220 submissions by one worker, too fast and all with the same answer, and two by others."""
    study = make_study(items=MANY, ratings_per_item=2, hits_per_worker=None, reward="0.18", owner=make_user("ada"))
    for seed in (1, 2):
        make_submission(study=study, seed=seed)
    careless = make_participant(study=study)
    now = timezone.now()
    made = [
        Assignment(hit=hit, participant=careless, state="submitted", slot=1, ordinal=at, seed=at, order=ORDER)
        for at, hit in enumerate(study.hits.filter(n_live__lt=2).order_by("position")[:MANY], start=1)
    ]
    for each in made:
        each.accepted_at = each.expires_at = now
    Assignment.objects.bulk_create(made)
    study.hits.filter(pk__in=[each.hit_id for each in made]).update(n_live=2, n_submitted=2)
    sent = Submission.objects.bulk_create(
        Submission(assignment=each, study=study, participant=careless, answers=[], seconds=2.0, received_at=now)
        for each in made
    )
    about: dict[str, Any] = {"study": study, "participant": careless, "question": "diversity", "scale": "diversity"}
    Rating.objects.bulk_create(
        Rating(submission=each, item=each.assignment.hit.items.get(), value=3.0, created_at=now, **about)
        for each in sent
    )
    why = {"reason": "too_fast", "detail": "3 steps in 2.0 seconds."}
    Flag.objects.bulk_create(Flag(submission=each, **why) for each in sent)
    return study, careless


def test_220_submissions_of_a_careless_worker_are_excluded_in_three_clicks(
    live_server: LiveServer, new_page: NewPage
) -> None:
    study, careless = careless_study()
    page = new_page()
    sign_in(page, live_server)
    open_page(page, live_server, "console_submissions", study)
    page.get_by_role("rowheader", name=careless.pseudonym).first.get_by_role("link").click()  # 1
    page.get_by_role("link", name="Exclude this worker").click()  # 2
    expect(page.get_by_text("The report will leave out 220 submissions with 220 ratings")).to_be_visible()
    expect(page.get_by_label("Reason")).to_have_value("Flagged: too fast (220).")
    page.get_by_role("button", name=f"Exclude {careless.pseudonym}").click()  # 3
    expect(page.get_by_role("status")).to_contain_text("is excluded, with 220 submissions")
    assert excluded_submissions(study).count() == MANY


def test_all_matching_submissions_are_rejected_after_showing_the_effect(
    live_server: LiveServer, new_page: NewPage, axe_core: Path
) -> None:
    study, careless = careless_study()
    page = new_page()
    sign_in(page, live_server)
    open_page(page, live_server, "console_submissions", study)
    page.get_by_text("More filters").click()
    page.get_by_label("Flag").select_option("too_fast")
    page.get_by_role("button", name="Filter", exact=True).click()
    check_looks(page, axe_core, "filtered submissions")
    page.get_by_label("All 220 submissions that match").check()
    page.get_by_role("button", name="Reject …").click()
    expect(page.get_by_text("220 submissions will be rejected")).to_be_visible()
    page.get_by_label("Reason").fill("All answers are the same.")
    page.get_by_role("button", name="Reject 220 submissions").click(timeout=60_000)  # all 220 are done while it waits
    expect(page.get_by_text("220 of 220 done")).to_be_visible(timeout=60_000)
    check_looks(page, axe_core, "done")
    assert careless.submissions.filter(pay_decisions__decision="reject").count() == MANY


def test_the_arrows_go_through_the_list_and_not_while_typing(live_server: LiveServer, new_page: NewPage) -> None:
    study = make_study(items=4, ratings_per_item=2, hits_per_worker=None, owner=make_user("ada"))
    worker = make_participant(study=study)
    sent = [make_submission(participant=worker, seed=seed) for seed in range(3)]
    page = new_page()
    sign_in(page, live_server)
    address = reverse("console_submission", args=[study.slug, sent[2].pk])
    page.goto(f"{live_server.url}{address}?worker={worker.pseudonym}")
    for key, number in (("ArrowRight", 2), ("j", 3), ("ArrowLeft", 2), ("k", 1)):
        page.keyboard.press(key)
        expect(page.get_by_text(f"{number} of 3 that match")).to_be_visible()
    page.get_by_label("Note").fill("x")
    page.keyboard.press("ArrowRight")
    page.keyboard.press("j")
    expect(page.get_by_text("1 of 3 that match")).to_be_visible()
    expect(page.get_by_text("Keys: j or → for the next")).to_be_visible()


def test_every_page_of_the_review_looks_right(live_server: LiveServer, new_page: NewPage, axe_core: Path) -> None:
    study = make_study(items=2, ratings_per_item=3, hits_per_worker=None, reward="0.18", owner=make_user("ada"))
    sent = [make_submission(study=study, seed=seed) for seed in range(4)]
    give: dict[str, Any] = {"actor": "ada", "connect": lambda name, study: None}
    decide_pay(submission=sent[0], decision="reject", feedback="All answers are the same.", **give)
    everything = Submission.objects.filter(study=study)
    actions = [name for name in bulk_decisions.ACTIONS if name != "file"]
    made = [bulk_decisions.plan_action(study=study, action=name, chosen=everything, actor="ada") for name in actions]
    bulk_decisions.set_terms(bulk=made[actions.index("bonus")], note="Thanks", amount=Decimal("0.50"))
    page = new_page()
    sign_in(page, live_server)
    worker = sent[1].participant.pseudonym
    pages: list[tuple[str, list[Any]]] = [
        *((name, []) for name in ("console_submissions", "console_payments", "console_batch")),
        *(("console_submission", [each.pk]) for each in sent[:2]),
        ("console_worker", [worker]),
        *(("console_action", [each.pk]) for each in made),
    ]
    for name, args in pages:
        open_page(page, live_server, name, study, *args)
        check_looks(page, axe_core, name)
