"""What workers meet in a platform's frame: one start page, one clock, and refusals before the start."""

from __future__ import annotations

from datetime import timedelta
from typing import Any
from urllib.parse import urlencode

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Assignment, PlatformCall, Posting, QualificationType
from annotation.recruiting.pages.arrival import GRACE
from annotation.tokens import arrival_token, posting_token, read_arrival_token
from tests.annotation.pages import fields
from tests.annotation.recruiting.helpers import finish_assignment
from tests.factories import make_study

pytestmark = pytest.mark.django_db
SHORT = {"write_first": False, "rate_first": False}


def offered(**values: Any) -> list[Posting]:
    defaults: dict[str, Any] = {"items": 2, "hits_per_worker": None, "config": SHORT}
    study = make_study(**defaults | values)
    return [
        Posting.objects.create(
            study=study, hit=hit, platform="mturk", wanted=hit.wanted, state="open", external_id=f"H{study.pk}-{hit.pk}"
        )
        for hit in study.hits.order_by("position")
    ]


def address(posting: Posting, assignment: str, worker: str = "AWORKER1") -> str:
    query = {"assignmentId": assignment, "workerId": worker, "turkSubmitTo": "http://testserver"}
    return f"/p/{posting_token(posting.pk)}/?{urlencode(query)}"


# --- the start page ---


def test_who_has_agreed_once_goes_straight_to_the_next_hit() -> None:
    one, two = offered(consent="You may stop at any time.")
    client = Client()
    assert "You may stop at any time." in client.get(address(one, "A1")).content.decode()
    client.post(address(one, "A1"), {"agree": "yes"})
    answer = client.get(address(two, "A2"))
    work = Assignment.objects.get(platform_assignment_id="A2")
    assert (answer.status_code, work.state) == (303, "accepted")
    assert "/w/" in answer["Location"]
    assert "You may stop at any time." in client.get(address(two, "B1", worker="ANEW")).content.decode()


def test_a_page_that_is_only_asked_about_takes_no_place() -> None:
    one, two = offered()
    Client().post(address(one, "A1"))
    assert Client().head(address(two, "A2")).status_code == 200
    assert Assignment.objects.count() == 1


def test_the_same_work_in_another_part_is_refused_before_the_start() -> None:
    [one] = offered(items=1)
    part = Posting.objects.create(
        study=one.study, hit=one.hit, platform="mturk", part=1, wanted=1, state="open", external_id="H-PART"
    )
    Client().post(address(one, "A1"))
    answer = Client().get(address(part, "A2"))
    assert (answer.status_code, "You are already doing this task in another HIT" in answer.content.decode()) == (
        403,
        True,
    )
    finish_assignment(Assignment.objects.get())
    answer = Client().get(address(part, "A2"))
    assert (answer.status_code, "You have already done this task in another HIT" in answer.content.decode()) == (
        403,
        True,
    )
    assert Assignment.objects.count() == 1


def test_who_took_part_in_a_related_study_is_refused_before_the_start() -> None:
    [before] = offered(items=1)
    Client().post(address(before, "A1"))
    [after] = offered(items=1)
    after.study.exclude_studies.add(before.study)
    answer = Client().get(address(after, "A2"))
    assert (answer.status_code, "a related study" in answer.text) == (403, True)


# --- one clock ---


def test_the_frame_shows_no_clock_of_its_own() -> None:
    [one] = offered(items=1)
    page = Client().post(address(one, "A1"), follow=True).content.decode()
    assert 'name="timing"' in page and "Time left" not in page and 'id="left"' not in page


def test_the_time_counts_from_the_arrival_and_not_from_the_start(monkeypatch: pytest.MonkeyPatch) -> None:
    """The platform's clock started when the worker accepted, before they read the start page."""
    [one] = offered(items=1)
    client = Client()
    start = fields(client.get(address(one, "A1"))).values["start"]
    came = read_arrival_token(start, one.pk, "A1")
    assert came is not None and came <= timezone.now()
    monkeypatch.setattr("django.utils.timezone.now", lambda: came + timedelta(minutes=10))
    client.post(address(one, "A1"), {"start": start})
    limit = timedelta(minutes=one.study.time_limit_minutes)
    assert Assignment.objects.get().expires_at == came + limit + GRACE


def test_a_token_of_another_assignment_says_nothing() -> None:
    token = arrival_token(7, "A1")
    assert read_arrival_token(token, 7, "A1") is not None
    for wrong in ((token, 8, "A1"), (token, 7, "A2"), ("x", 7, "A1"), ("", 7, "A1")):
        assert read_arrival_token(*wrong) is None


# --- handing in ---


def test_handing_in_waits_until_the_platform_knows_what_the_worker_cannot_accept(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    one, _ = offered(hits_per_worker=1)
    QualificationType.objects.create(study=one.study, platform="mturk", purpose="limit", external_id="Q1")
    asked: list[int] = []
    monkeypatch.setattr(
        "annotation.recruiting.qualifications.current_app.signature", lambda name, args: Queue(asked, args)
    )
    client = Client()
    client.post(address(one, "A1"))
    work = Assignment.objects.get()
    assert asked == []  # nothing is earned yet
    finish_assignment(work)
    page = client.get(address(one, "A1"), follow=True).content.decode()
    ready = page.partition('data-ready="')[2].partition('"')[0]
    assert (asked, client.get(ready).status_code) == ([work.pk], 202)
    make_granted(work)
    assert client.get(ready).status_code == 204
    assert "data-ready" not in client.get(address(one, "A1"), follow=True).content.decode()


class Queue:
    """A task's signature that only notes what it was asked to do."""

    def __init__(self, asked: list[int], args: tuple[int]) -> None:
        self.asked, self.args = asked, args

    def delay(self) -> None:
        self.asked.append(self.args[0])


def make_granted(work: Assignment) -> None:
    kind = QualificationType.objects.get()
    worker = work.participant.worker_id
    PlatformCall.objects.create(
        study=kind.study, key=f"grant/{kind.pk}/{worker}/1", operation="associate", params={}, state="done"
    )
