"""``/mturk/externalSubmit``: what requesters' pages send."""

from __future__ import annotations

from datetime import timedelta

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from marketplace.models import Assignment, Hit
from marketplace.questions.answers_xml import read_answers
from marketplace.services.hits import assignments
from tests.marketplace.support.work_site import external, make_assignment, make_worker, signed_in

pytestmark = pytest.mark.django_db
URL = "/mturk/externalSubmit"


def stranger() -> Client:
    """A page of somebody else's in a frame: no cookie, no token."""
    return Client(enforce_csrf_checks=True)


def accepted() -> Assignment:
    return make_assignment(make_worker(), question=external("http://127.0.0.1:8765/task"))


def test_the_address_is_mturks() -> None:
    assert reverse("market_submit") == URL


@pytest.mark.parametrize("method", ["post", "get"])
def test_answers_arrive_without_any_cookie(method: str) -> None:
    assignment = accepted()
    fields = {
        "assignmentId": assignment.assignment_id,
        "tone": "sad",
        "about": ["time", "people"],
        "note": "ä <b> & \x01",
    }
    response = getattr(stranger(), method)(URL, fields)
    assert response.status_code == 200 and not response.cookies
    assignment.refresh_from_db()
    assert assignment.state == "Submitted"
    assert read_answers(assignment.answer) == {"tone": ["sad"], "about": ["time|people"], "note": ["ä <b> & "]}


def test_the_answer_may_name_the_assignment_in_the_address() -> None:
    assignment = accepted()
    assert stranger().post(f"{URL}?assignmentId={assignment.assignment_id}", {"tone": "sad"}).status_code == 200
    assignment.refresh_from_db()
    assert read_answers(assignment.answer) == {"tone": ["sad"]}


def test_the_page_that_answers_leads_the_top_window_on() -> None:
    assignment = accepted()
    response = stranger().post(URL, {"assignmentId": assignment.assignment_id, "tone": "sad"})
    page = response.content.decode()
    assert f'data-submitted="{assignment.assignment_id}"' in page and "marketplace.js" in page
    assert f"http://testserver{reverse('market_done', args=[assignment.assignment_id])}" in page
    policy = response.headers["Content-Security-Policy"]
    assert "frame-ancestors 'self' http://127.0.0.1:8765" in policy and "unsafe" not in policy
    assert "X-Frame-Options" not in response.headers


def test_sending_again_is_answered_as_the_first_time_and_changes_nothing() -> None:
    assignment = accepted()
    fields = {"assignmentId": assignment.assignment_id, "tone": "sad"}
    first = stranger().post(URL, fields)
    again = stranger().post(URL, fields | {"tone": "glad"})
    assert (again.status_code, again.content) == (first.status_code, first.content)
    assignment.refresh_from_db()
    assert read_answers(assignment.answer) == {"tone": ["sad"]}
    assignments.approve(assignment=assignment)
    assert stranger().post(URL, fields).content == first.content


def test_an_assignment_id_alone_is_not_an_answer() -> None:
    assignment = accepted()
    response = stranger().post(URL, {"assignmentId": assignment.assignment_id})
    assert response.status_code == 400 and b"only the assignment ID and no answer" in response.content
    assignment.refresh_from_db()
    assert assignment.state == "Accepted"


@pytest.mark.parametrize(
    ("assignment_id", "status"), [("", 404), ("3GUESS", 404), ("\x00", 404), ("ASSIGNMENT_ID_NOT_AVAILABLE", 403)]
)
def test_unknown_assignments_and_previews_are_refused(assignment_id: str, status: int) -> None:
    assert stranger().post(URL, {"assignmentId": assignment_id, "tone": "sad"}).status_code == status
    assert stranger().get(URL, {"assignmentId": assignment_id, "tone": "sad"}).status_code == status


def test_returned_work_is_not_accepted() -> None:
    assignment = accepted()
    assignments.return_(assignment_id=assignment.assignment_id, worker=assignment.worker)
    response = stranger().post(URL, {"assignmentId": assignment.assignment_id, "tone": "sad"})
    assert response.status_code == 409 and b"You returned this task" in response.content
    assignment.refresh_from_db()
    assert assignment.state == "Returned" and not assignment.answer


def test_late_work_is_not_accepted() -> None:
    assignment = accepted()
    past = timezone.now() - timedelta(minutes=1)
    Assignment.objects.update(deadline=past)
    Hit.objects.update(due_at=past)
    response = stranger().post(URL, {"assignmentId": assignment.assignment_id, "tone": "sad"})
    assert response.status_code == 409 and b"after the time limit" in response.content
    assignment.refresh_from_db()
    assert assignment.state == "Abandoned" and not assignment.answer


def test_an_entry_that_is_too_long_is_refused_in_words() -> None:
    assignment = accepted()
    fields = {"assignmentId": assignment.assignment_id} | {f"f{number}": "x" for number in range(1500)}
    refused = stranger().post(URL, fields)
    assert refused.status_code == 413 and b"at most 1,500 fields and 2 MB" in refused.content
    assert stranger().get(URL, fields).status_code == 413
    assert stranger().post(URL, {"assignmentId": assignment.assignment_id, "f": "x" * 4_000_000}).status_code == 413
    assignment.refresh_from_db()
    assert assignment.state == "Accepted"


def test_other_methods_are_refused() -> None:
    assert stranger().put(URL).status_code == 405


def test_the_worker_sees_it_in_their_history() -> None:
    assignment = accepted()
    stranger().post(URL, {"assignmentId": assignment.assignment_id, "tone": "sad"})
    client = signed_in(assignment.worker)
    done = client.get(reverse("market_task", args=[assignment.assignment_id]), follow=True)
    assert b"have arrived" in done.content
    assert b"Submitted" in client.get(reverse("market_history")).content
