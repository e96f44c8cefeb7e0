"""Work of which this server has only a part becomes a submission, if the platform has all of it."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.utils import timezone

from annotation.models import Assignment, OutsideAssignment, Posting, Study, Submission
from annotation.platforms.base import Claim
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import syncing
from annotation.recruiting.arrivals import accept_hit
from annotation.recruiting.differences import differences
from annotation.recruiting.fetching_work import answer_fields, fetch_answer
from annotation.work.confirmation import confirmed
from annotation.work.drafts import keep_draft
from annotation.work.ending import reclaim_expired
from common.problems import Invalid
from marketplace.services.hits import assignments as market
from tests.annotation.recruiting.helpers import accept_there, posted_study
from tests.factories import simulated_form
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db


@pytest.fixture
def study(api: Mturk) -> Study:
    return posted_study(api, items=1, ratings_per_item=2, task_type="likert")


@pytest.fixture
def posting(study: Study) -> Posting:
    return study.postings.get()


def begun(posting: Posting) -> tuple[Assignment, Any]:
    """Somebody who has accepted on both sides, and sent nothing yet."""
    worker = make_market_worker()
    there = accept_there(posting, worker)
    claim = Claim("mturk", worker.worker_id, there.assignment_id)
    made = accept_hit(posting=posting, claim=claim, expires_at=timezone.now() + timedelta(hours=1), consented=False)
    return Assignment.objects.select_related("hit__study", "participant").get(pk=made.pk), there


def only(posting: Posting, api: Mturk) -> OutsideAssignment:
    syncing.sync_study(study=posting.study, platform=api)
    return OutsideAssignment.objects.select_related("posting__study", "posting__hit").get()


def time_is_up(work: Assignment) -> None:
    Assignment.objects.filter(pk=work.pk).update(expires_at=timezone.now() - timedelta(minutes=1))
    assert reclaim_expired() == 1


def test_a_last_page_that_came_too_late_counts_after_all(posting: Posting, api: Mturk) -> None:
    work, there = begun(posting)
    form = simulated_form(assignment=work, number=0)
    time_is_up(work)
    keep_draft(assignment_id=work.pk, number=0, data=form, late=True)
    market.submit(assignment_id=there.assignment_id, answers={"saved": ["here"]})
    outside = only(posting, api)
    assert list(differences(posting.study).there_only) == [outside]
    sent = fetch_answer(outside=outside, actor="test")
    assert sent.assignment_id == work.pk
    assert list(confirmed(posting.study)) == [work]
    work.hit.refresh_from_db()
    assert (work.hit.n_live, work.hit.n_submitted) == (1, 1)
    with pytest.raises(Invalid, match="already here"):
        fetch_answer(outside=outside, actor="test")


def test_the_answer_on_the_platform_is_enough_even_if_nothing_arrived_here(posting: Posting, api: Mturk) -> None:
    """As after a restored backup: the fields that the page posted are in the platform's answer."""
    example, _ = begun(posting)
    form = simulated_form(assignment=example, number=0)
    there = accept_there(posting, make_market_worker())
    market.submit(assignment_id=there.assignment_id, answers={name: [value] for name, value in form.items()})
    sent = fetch_answer(outside=only(posting, api), actor="test")
    assert Submission.objects.get() == sent
    assert sent.participant.consented_at is None


def test_an_incomplete_answer_changes_nothing(posting: Posting, api: Mturk) -> None:
    work, there = begun(posting)
    time_is_up(work)
    market.submit(assignment_id=there.assignment_id, answers={"saved": ["here"]})
    outside = only(posting, api)
    with pytest.raises(Invalid, match="page 1 is missing or not finished"):
        fetch_answer(outside=outside, actor="test")
    work.refresh_from_db()
    work.hit.refresh_from_db()
    assert (work.state, work.hit.n_live, work.hit.wanted, Submission.objects.count()) == ("abandoned", 0, 2, 0)


def test_a_completion_code_alone_is_no_answer(posting: Posting, api: Mturk) -> None:
    there = accept_there(posting, make_market_worker())
    market.submit(assignment_id=there.assignment_id, answers={"completionCode": ["ABCDEFGHIJ"]})
    with pytest.raises(Invalid, match="Neither this server nor the platform has any of this worker's answers"):
        fetch_answer(outside=only(posting, api), actor="test")
    assert not Assignment.objects.exists()


def test_a_full_hit_gets_one_place_more(posting: Posting, api: Mturk) -> None:
    work, there = begun(posting)
    form = simulated_form(assignment=work, number=0)
    time_is_up(work)
    keep_draft(assignment_id=work.pk, number=0, data=form, late=True)
    market.submit(assignment_id=there.assignment_id, answers={"saved": ["here"]})
    work.hit.__class__.objects.filter(pk=work.hit_id).update(n_live=2)
    fetch_answer(outside=only(posting, api), actor="test")
    work.hit.refresh_from_db()
    assert work.hit.wanted == 3


@pytest.mark.parametrize(
    "answer",
    [
        "",
        "not xml",
        "<a",
        '<!DOCTYPE a [<!ENTITY b "c">]><a><Answer><QuestionIdentifier>x</QuestionIdentifier>'
        "<FreeText>&b;</FreeText></Answer></a>",
        "<a><Answer><QuestionIdentifier>x</QuestionIdentifier></Answer></a>",
    ],
)
def test_an_empty_answer_has_no_fields(answer: str) -> None:
    assert answer_fields(answer) == {}
