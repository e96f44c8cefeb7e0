"""What workers read about time and pay, before they start and at the end. Without pay, nothing about money."""

from __future__ import annotations

import re
from decimal import Decimal
from typing import Any

import pytest
from django.db import transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import Assignment, PayDecision, Payment, Posting, Study, Submission
from annotation.platforms.mturk.platform import Mturk
from annotation.tokens import participant_token, posting_token
from annotation.work.pages.terms import roughly
from annotation.work.part_pay import stop_for_part_pay
from hitserver.retention import unprotected
from tests.annotation.pages import WorkerBrowser, fields
from tests.annotation.recruiting.helpers import posted_study, send_both
from tests.factories import make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db
MONEY = re.compile(r"\$|\bpa(?:y|id|ys|yment)\b|\breward|\bearn|\bowed|\bmoney", re.IGNORECASE)
CREDIT = "You get 0.5 course credits. We enter them on Friday."


def text_of(url: str, **query: str) -> str:
    response = Client().get(url, query, follow=True)
    assert response.status_code == 200, response.content
    return fields(response).text


def start_page(study: Study) -> str:
    return text_of(reverse("study_start", args=[study.slug]))


@pytest.mark.parametrize(
    ("seconds", "words"),
    [
        (3, "10 seconds"), (33, "40 seconds"), (59, "60 seconds"), (60, "1 minute"), (80, "1.5 minutes"),
        (150, "2.5 minutes"), (588, "10 minutes"), (870, "15 minutes"), (6000, "100 minutes"),
    ],
)  # fmt: skip
def test_an_expected_time_is_rounded(seconds: float, words: str) -> None:
    assert roughly(seconds) == words


def test_the_start_page_tells_the_expected_time_from_the_limit() -> None:
    """By hand: $0.18 in 2 minutes is $5.40 per hour."""
    study = make_study(reward=Decimal("0.18"), estimated_minutes=Decimal(2), time_limit_minutes=30)
    page = start_page(study)
    assert "Reward $0.18" in page
    assert "Expected time about 2 minutes" in page
    assert "Pay per hour about $5.40" in page
    assert "Time limit 30 minutes" in page
    assert "up to 30" not in page
    assert "The researchers pay you. Your completion code shows them which work is yours." in page


def test_the_median_of_peoples_work_replaces_the_estimate_from_the_fifth_submission() -> None:
    """By hand: the median of 30, 60, 240, 600 and 900 seconds is 4 minutes; $0.20 in 4 minutes is $3.00 per hour."""
    study = make_study(reward=Decimal("0.20"), estimated_minutes=Decimal(1), ratings_per_item=9)
    make_submission(participant=make_participant(study=study, synthetic=True))
    for seconds in (900, 30, 600, 60, 240):
        page = start_page(study)
        assert "Expected time about 1 minute" in page
        sent = make_submission(study=study)
        with transaction.atomic(), unprotected(Submission):
            Submission.objects.filter(pk=sent.pk).update(seconds=seconds)
    page = start_page(study)
    assert "Expected time about 4 minutes" in page
    assert "Pay per hour about $3.00" in page


def test_without_an_estimate_and_without_work_no_time_is_promised() -> None:
    page = start_page(make_study(reward=Decimal("0.18")))
    assert "Expected time" not in page
    assert "Pay per hour" not in page


def test_rewards_that_differ_between_arms_are_lower_bounds() -> None:
    arms: list[dict[str, Any]] = [{"name": "a"}, {"name": "b", "reward": Decimal("0.36")}]
    page = start_page(make_study(reward=Decimal("0.18"), estimated_minutes=Decimal(2), arms=arms))
    assert "Reward at least $0.18" in page
    assert "Pay per hour at least $5.40" in page


@pytest.mark.parametrize("note", ["", CREDIT])
def test_a_study_without_pay_never_mentions_money(note: str) -> None:
    study = make_study(pay_note=note, estimated_minutes=Decimal(2), hits_per_worker=None)
    worker = WorkerBrowser(make_participant(study=study))
    pages = [start_page(study), text_of(worker.url)]
    worker.finish()
    pages += [text_of(worker.done_url), text_of(reverse("work_record", args=[worker.token]))]
    told = pages[0].replace("Reward none", "") if not note else pages[0]
    assert (told != pages[0]) is not bool(note), "one of the two says what people get"
    assert [MONEY.findall(page) for page in [told, *pages[1:]]] == [[], [], [], []]
    assert [note in page for page in (pages[0], pages[2])] == [True, True]


def test_the_studys_own_words_replace_the_platforms() -> None:
    page = start_page(make_study(reward=Decimal("0.18"), pay_note="We transfer it\non the 1st of each month."))
    assert "How and when you are paid We transfer it on the 1st of each month." in page
    assert "completion code" not in page


# --- at the end ---


def sums(worker: WorkerBrowser) -> str:
    page = text_of(worker.done_url)
    return page[page.index("What you have earned") :]


def test_at_the_end_workers_see_what_they_earned_by_task_and_in_sum() -> None:
    """By hand: 3 × $0.18 = $0.54; without the rejected one $0.36; with a bonus of $0.10 $0.46."""
    study = make_study(items=4, reward=Decimal("0.18"), hits_per_worker=None)
    participant = make_participant(study=study)
    worker = WorkerBrowser(participant)
    make_submission(participant=participant)
    assert sums(worker).startswith("What you have earned Your task $0.18 The researchers pay you")
    second = make_submission(participant=participant)
    make_submission(participant=participant)
    assert sums(worker).startswith("What you have earned Your last task $0.18 All 3 tasks $0.54 The researchers")
    for decision in ("reject", "approve", "reject"):
        PayDecision.objects.create(submission=second, decision=decision, feedback="Copied.", actor="test")
    assert "All 2 tasks $0.36" in sums(worker)
    assert "1 task was not approved and will not be paid." in sums(worker)
    Payment.objects.create(
        study=study, kind="bonus", key="b", submission=second, amount=Decimal("0.10"), platform="link",
        actor="test", created_at=timezone.now(), reason="Thanks",
    )  # fmt: skip
    assert "All 2 tasks $0.36 Bonuses $0.10 In all $0.46" in sums(worker)
    record = text_of(reverse("work_record", args=[worker.token]))
    rows = record[record.index("What you have earned") :]
    assert re.findall(r"Task \d|not approved|to be paid|Bonus|\$\d\.\d\d", rows)[:12] == [
        *("Task 1", "to be paid", "$0.18", "Task 2", "not approved", "$0.18"),
        *("Task 3", "to be paid", "$0.18", "Bonus", "$0.10", "not approved"),
    ]
    assert "without what was not approved: $0.46" in rows


def test_part_pay_is_in_the_sum() -> None:
    study = make_study(items=3, reward=Decimal("0.30"), hits_per_worker=None, part_pay="steps")
    participant = make_participant(study=study)
    make_submission(participant=participant)
    worker = WorkerBrowser(participant)
    worker.send(own="I would ask the neighbours.")
    work = Assignment.objects.get(participant=participant, state="accepted")
    stop_for_part_pay(assignment_id=work.pk, participant_id=participant.pk)
    assert "Your task $0.30 Stopped tasks $0.10 In all $0.40" in sums(worker)


# --- on a platform ---


def test_on_mturk_the_preview_and_the_start_page_say_what_a_hit_takes_and_pays(api: Mturk) -> None:
    """By hand: $0.18 in 2 minutes is $5.40 per hour."""
    study = posted_study(api, estimated_minutes=Decimal(2), platforms={"mturk": {"approve_after_hours": 48}})
    posting = Posting.objects.all()[0]
    address, here = f"/p/{posting_token(posting.pk)}/", {"workerId": "A1EXAMPLE", "hitId": posting.external_id}
    preview = text_of(address, assignmentId="ASSIGNMENT_ID_NOT_AVAILABLE", **here)
    assert "One HIT takes about 2 minutes and pays $0.18, which is about $5.40 per hour." in preview
    assert "at the latest 2 days after you submit it, unless they reject it." in preview
    assert "start page" not in preview, "there is none to go back to"
    start = text_of(address, assignmentId="3EXAMPLE", **here)
    for words in (
        "Expected time per task about 2 minutes",
        "Pay per hour about $5.40",
        "Time limit per task 30 minutes",
    ):
        assert words in start
    assert "2 days after you submit it" in start
    assert study.pay_note == ""


def test_an_approval_delay_of_0_hours_means_at_once(api: Mturk) -> None:
    posted_study(api, platforms={"mturk": {"approve_after_hours": 0}})
    posting = Posting.objects.all()[0]
    here = {"workerId": "A1EXAMPLE", "hitId": posting.external_id, "assignmentId": "3EXAMPLE"}
    start = text_of(f"/p/{posting_token(posting.pk)}/", **here)
    assert "You are paid on the site where you accepted the HIT, as soon as you submit your work." in start
    assert "3 days" not in start and "0 days" not in start


def test_when_work_is_handed_in_the_page_says_what_it_earns(api: Mturk) -> None:
    posted_study(api)
    sent = send_both(Posting.objects.all()[0])
    Assignment.objects.filter(pk=sent.pk).update(submit_to="http://localhost:8000")
    url = reverse("work_done", args=[participant_token(sent.participant_id, sent.pk)])
    page = text_of(url)
    assert "submit the HIT, so that you can be paid for it." in page
    assert "You earn $0.18 for this HIT once it is approved." in page
    assert "at the latest 3 days after you submit it" in page
    Posting.objects.update(reward=Decimal(0))
    Study.objects.update(pay_note=CREDIT)
    page = text_of(url)
    assert MONEY.findall(page) == []
    assert CREDIT in page
