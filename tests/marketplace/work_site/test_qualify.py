"""Asking for qualifications and taking tests."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

import pytest
from django.urls import reverse
from django.utils import timezone

from marketplace.models import Qualification, QualificationRequest, QualificationType, Worker
from marketplace.services.qualifications import qualification_requests, qualification_types
from tests.marketplace.support.work_site import KEY, TEST, make_requester, make_type, make_worker, signed_in

pytestmark = pytest.mark.django_db


def with_test(**terms: Any) -> QualificationType:
    return make_type(test=TEST, answer_key=KEY, test_duration=300, **terms)


def ask(worker: Worker, wanted: QualificationType):  # type: ignore[no-untyped-def]
    return signed_in(worker).post(reverse("market_qualification", args=[wanted.type_id]), follow=True)


def hand_in(worker: Worker, wanted: QualificationType, **answers: str):  # type: ignore[no-untyped-def]
    return signed_in(worker).post(reverse("market_test", args=[wanted.type_id]), answers, follow=True)


def value(worker: Worker) -> int | None:
    return Qualification.objects.get(worker=worker, status="Granted").value


def test_a_test_is_taken_and_scored() -> None:
    worker, wanted = make_worker(), with_test()
    shown = ask(worker, wanted)
    assert shown.redirect_chain[-1][0] == reverse("market_test", args=[wanted.type_id])
    page = shown.content.decode()
    assert "Two and two?" in page and "data-seconds-left" in page and ">Submit<" in page
    assert "AnswerScore" not in page
    assert b"with the value 100" in hand_in(worker, wanted, q1="four").content
    assert value(worker) == 100
    assert "Sums" in signed_in(worker).get(reverse("market_qualifications")).content.decode()


def test_a_wrong_answer_scores_nothing_and_the_test_is_over() -> None:
    worker, wanted = make_worker(), with_test()
    ask(worker, wanted)
    assert b"with the value 0" in hand_in(worker, wanted, q1="five").content
    assert b"This test is not open" in hand_in(worker, wanted, q1="four").content
    assert value(worker) == 0
    assert b"only once" in ask(worker, wanted).content


def test_an_incomplete_test_continues() -> None:
    worker, wanted = make_worker(), with_test()
    ask(worker, wanted)
    response = hand_in(worker, wanted)
    assert response.status_code == 422 and b"Please answer this question." in response.content
    assert QualificationRequest.objects.get().state == "Started"
    hand_in(worker, wanted, q1="four")
    assert value(worker) == 100


def test_a_test_that_was_not_started_cannot_be_taken() -> None:
    worker, wanted = make_worker(), with_test()
    assert b"This test is not open" in hand_in(worker, wanted, q1="four").content
    assert not Qualification.objects.exists()


def test_a_late_test_is_not_taken() -> None:
    worker, wanted = make_worker(), with_test()
    ask(worker, wanted)
    QualificationRequest.objects.update(deadline=timezone.now() - timedelta(seconds=1))
    assert b"its time is up" in hand_in(worker, wanted, q1="four").content
    assert not Qualification.objects.exists()


def test_the_retry_delay_is_shown_and_enforced() -> None:
    worker, wanted = make_worker(), with_test(retry_delay=3600)
    ask(worker, wanted)
    hand_in(worker, wanted, q1="five")
    assert b"You can request it again from" in ask(worker, wanted).content
    QualificationRequest.objects.update(submitted_at=timezone.now() - timedelta(seconds=3601))
    ask(worker, wanted)
    hand_in(worker, wanted, q1="four")
    assert value(worker) == 100


def test_what_is_granted_at_once_and_what_somebody_decides() -> None:
    worker, requester = make_worker(), make_requester()
    at_once = make_type(requester, "At once", auto_granted=True, auto_value=7)
    decided = make_type(requester, "Decided")
    assert b"with the value 7" in ask(worker, at_once).content
    assert b"The requester will decide." in ask(worker, decided).content
    assert b"has not decided yet" in ask(worker, decided).content
    assert QualificationRequest.objects.filter(type=decided).count() == 1
    qualification_requests.reject_request(
        request=QualificationRequest.objects.get(type=decided), reason="Not this time"
    )
    assert b"Not this time" in signed_in(worker).get(reverse("market_qualifications")).content


def test_the_list_offers_the_available_exports() -> None:
    worker, requester = make_worker(), make_requester()
    make_type(requester, "Baking", keywords="bread")
    make_type(requester, "Closed", status="Inactive")
    page = signed_in(worker).get(reverse("market_qualifications")).content.decode()
    assert "Baking" in page and "Closed" not in page
    none = signed_in(worker).get(reverse("market_qualifications"), {"q": "chess"}).content.decode()
    assert "Baking" not in none and "No qualifications match." in none


def test_unknown_and_deleted_qualifications_are_not_found() -> None:
    wanted = make_type()
    qualification_types.delete_type(type=wanted)
    client = signed_in(make_worker())
    for type_id in ("3NONE", wanted.type_id):
        assert client.get(reverse("market_qualification", args=[type_id])).status_code == 404
