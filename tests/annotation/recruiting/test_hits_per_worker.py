"""How many hits one worker can do where each hit is a separate HIT: at the platform, on arrival, and at once."""

from __future__ import annotations

import time
from datetime import timedelta
from typing import Any

import pytest
from django.test import Client
from django.utils import timezone

from annotation.models import Assignment, Participant, PlatformCall, Posting, QualificationType, Study
from annotation.platforms.mturk.config import study_requirements
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import arrivals, qualifications, syncing
from annotation.studies.storing import change_study
from tests.annotation.recruiting.helpers import accept_there, finish_assignment, posted_study, send_here, send_there
from tests.annotation.recruiting.separate_hits import address, arrive, arrive_at_once, offered, refusal, send_last_step
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db
# --- the rule ---


def test_who_has_sent_all_that_one_person_can_do_gets_no_more() -> None:
    one, two, three = offered(hits_per_worker=2)
    for posting, name in ((one, "A1"), (two, "A2")):
        finish_assignment(arrive(posting, name))
    assert refusal(three, "A3") == "limit"
    assert arrive(three, "A3", worker="AOTHER").state == "accepted"


def test_open_hits_count_until_their_time_is_up() -> None:
    one, two, _ = offered()
    first = arrive(one, "A1")
    assert refusal(two, "A2") == "limit_open"
    Assignment.objects.filter(pk=first.pk).update(expires_at=timezone.now() - timedelta(seconds=1))
    assert arrive(two, "A2").state == "accepted"


def test_the_same_hit_again_is_no_further_one() -> None:
    one, _, _ = offered()
    first = arrive(one, "A1")
    again = arrive(one, "A2")
    first.refresh_from_db()
    assert (first.state, again.state) == ("returned", "accepted")


def test_without_a_maximum_a_worker_does_as_many_as_there_are() -> None:
    for number, posting in enumerate(offered(hits_per_worker=None)):
        finish_assignment(arrive(posting, f"A{number}"))
    assert Assignment.objects.filter(state="submitted").count() == 3


@pytest.mark.django_db(transaction=True)
def test_two_hits_accepted_at_once_become_one(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two frames of one worker, opened in the same moment; the first has counted and not yet taken its place."""
    counts = arrivals._refuse_at_limit_of_hits

    def slowly(participant: Participant, posting: Posting) -> None:
        counts(participant, posting)
        time.sleep(0.5)

    one, two, three = offered(hits_per_worker=2)
    finish_assignment(arrive(three, "A0"))
    monkeypatch.setattr(arrivals, "_refuse_at_limit_of_hits", slowly)
    assert arrive_at_once(one, two) == ["accepted", "limit_open"]
    assert Assignment.objects.count() == 2


# --- what workers see ---


def test_the_preview_and_the_start_page_say_how_many() -> None:
    one, _, _ = offered(hits_per_worker=2)
    preview = Client().get(address(one, "ASSIGNMENT_ID_NOT_AVAILABLE"), follow=True).content.decode()
    assert "Each person can do at most 2 of these in this study." in preview
    assert "If you have done that many, please do not accept another one." in preview
    assert "Each person can do at most 2 of these in this study." in Client().get(address(one, "A1")).content.decode()


def test_nothing_is_said_where_nobody_can_do_too_many() -> None:
    for values in ({"hits_per_worker": None}, {"hits_per_worker": 3}):
        one = offered(**values)[0]
        preview = Client().get(address(one, "ASSIGNMENT_ID_NOT_AVAILABLE"), follow=True).content.decode()
        assert "Each person can do at most" not in preview


def test_who_has_done_all_is_told_to_return_the_hit_before_any_work() -> None:
    one, two, _ = offered()
    finish_assignment(arrive(one, "A1"))
    answer = Client().get(address(two, "A2"))
    page = answer.content.decode()
    assert answer.status_code == 403
    assert "You have done all the tasks that one person can do here" in page
    assert "Please return this HIT." in page
    assert Assignment.objects.count() == 1


def test_who_returned_another_hit_says_so_and_starts_this_one() -> None:
    one, two, _ = offered()
    first = arrive(one, "A1")
    client, here = Client(), address(two, "A2")
    page = client.get(here).content.decode()
    assert "You have another HIT of this study open" in page
    assert "Each person can do at most 1 of these in this study, and what you have open counts." in page
    assert f'value="{first.pk}"' in page
    answer = client.post(here, {"returned": str(first.pk)})
    assert (answer.status_code, answer["Location"]) == (303, here)
    assert client.post(here).status_code == 303
    first.refresh_from_db()
    assert first.state == "abandoned"
    assert Assignment.objects.get(posting=two).state == "accepted"


def test_nobody_returns_the_hit_of_another_worker() -> None:
    one, two, _ = offered()
    theirs = arrive(one, "A1", worker="AOTHER")
    for value in (str(theirs.pk), "x", "", "9" * 30):
        assert Client().post(address(two, "A2"), {"returned": value}).status_code == 303
    theirs.refresh_from_db()
    assert theirs.state == "accepted"


def test_a_lie_about_a_returned_hit_gives_nobody_more_than_their_share() -> None:
    one, two, _ = offered()
    first = arrive(one, "A1")
    Client().post(address(two, "A2"), {"returned": str(first.pk)})
    finish_assignment(arrive(two, "A2"))
    assert send_last_step(first) == "late"
    assert Assignment.objects.filter(state="submitted").count() == 1


def test_a_stranger_who_says_it_for_a_worker_costs_them_nothing() -> None:
    """The worker's id is only a claim, so what somebody else says in their name must not lose their work."""
    one, two, _ = offered()
    first = arrive(one, "A1")
    Client().post(address(two, "A-FORGED"), {"returned": str(first.pk)})
    assert send_last_step(first) == "submitted"


# --- the platform ---


def work_there(study: Study, api: Mturk, worker: Any, posting: Posting) -> None:
    accepted = accept_there(posting, worker)
    send_here(posting, worker.worker_id, accepted.assignment_id)
    send_there(accepted)
    syncing.sync_study(study=study, platform=api)


def grant(api: Mturk) -> int:
    return qualifications.grant_all(kind=QualificationType.objects.select_related("study").get(), platform=api)


def test_the_platform_stops_who_has_done_all(api: Mturk) -> None:
    study = posted_study(api, items=3, hits_per_worker=1)
    one, two, _ = study.postings.order_by("pk")
    [asked] = study_requirements(study)
    kind = QualificationType.objects.get()
    assert (kind.study, kind.purpose, asked["Comparator"]) == (study, "limit", "DoesNotExist")
    worker = make_market_worker()
    work_there(study, api, worker, one)
    assert (grant(api), grant(api)) == (1, 0)
    with pytest.raises(Exception, match="ualification"):
        accept_there(two, worker)
    assert accept_there(two, make_market_worker())


def test_a_claim_that_the_platform_does_not_confirm_bars_nobody(api: Mturk) -> None:
    study = posted_study(api, items=3, hits_per_worker=1)
    one, two, _ = study.postings.order_by("pk")
    worker = make_market_worker()
    send_here(one, worker.worker_id, "A-FORGED")
    syncing.sync_study(study=study, platform=api)
    assert grant(api) == 0
    assert accept_there(two, worker)


def test_a_higher_maximum_lets_workers_in_again(api: Mturk) -> None:
    study = posted_study(api, items=3, hits_per_worker=1)
    one, two, three = study.postings.order_by("pk")
    worker = make_market_worker()
    work_there(study, api, worker, one)
    grant(api)
    change_study(study=study, values={"hits_per_worker": 2}, actor="ada")
    grant(api)
    work_there(study, api, worker, Posting.objects.get(pk=two.pk))
    grant(api)
    with pytest.raises(Exception, match="ualification"):
        accept_there(three, worker)
    calls = PlatformCall.objects.filter(operation__contains="qualification_").order_by("pk")
    assert [each.partition("_")[0] for each in calls.values_list("operation", flat=True)] == [
        *("create", "associate", "disassociate", "associate")
    ]


def test_a_study_that_nobody_can_do_too_often_asks_for_nothing(api: Mturk) -> None:
    for most in (None, 3):
        study = posted_study(api, items=3, hits_per_worker=most)
        assert study_requirements(study) == []
    assert not QualificationType.objects.exists()
    assert not Participant.objects.exists()
