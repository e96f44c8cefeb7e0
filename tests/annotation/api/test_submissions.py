"""Submissions: filters, one in full, and decisions one by one and many at once."""

from __future__ import annotations

from typing import Any

import pytest
from django.test import Client
from django.urls import reverse

from annotation.models import ApiJob, AuditEntry, BulkAction, Flag, PayDecision, Payment, Review, Study, Submission
from annotation.review import bulk_decisions
from annotation.review.bulk_decisions import run_action
from annotation.work.excluding import review_submission
from tests.annotation.api.running_helpers import get, post, reasons
from tests.annotation.console_helpers import as_role, make_user
from tests.factories import make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    arms = [{"name": "short"}, {"name": "long"}]
    return make_study(items=2, ratings_per_item=4, hits_per_worker=None, reward="0.18", arms=arms)


@pytest.fixture
def sent(study: Study) -> list[Submission]:
    """Three by people, in different arms, the last one by a simulated worker."""
    people = [make_submission(study=study, seconds=seconds) for seconds in (5.0, 60.0)]
    simulated = make_submission(study=study, participant=make_participant(study=study, synthetic=True), seconds=90.0)
    return [*people, simulated]


def ids(client: Client, study: Study, **query: Any) -> list[int]:
    return [row["id"] for row in get(client, "api_submissions", study.slug, **query)["results"]]


def run(job: dict[str, Any]) -> None:
    """Do what a worker process does with the job."""
    bulk_id = ApiJob.objects.get(pk=job["id"]).bulk_id
    assert bulk_id is not None
    run_action(bulk_id=bulk_id, connect=lambda name, study: pytest.fail("nothing is on a platform"))


def ended(client: Client, response: Any) -> dict[str, Any]:
    """The job of the response after a worker process has done it."""
    assert response.status_code == 202, response.content
    run(response.json())
    job: dict[str, Any] = get(client, "api_job", response.json()["id"])
    return job


def test_the_list_has_the_newest_first(study: Study, sent: list[Submission]) -> None:
    rows = get(as_role("viewer", study), "api_submissions", study.slug)["results"]
    assert [row["id"] for row in rows] == [submission.pk for submission in reversed(sent)]
    first = rows[-1]
    assert (first["worker"], first["seconds"]) == (sent[0].participant.pseudonym, sent[0].seconds)
    assert (first["included"], first["pay"], first["review"], first["synthetic"]) == (True, "to_pay", None, False)
    assert {answer["topic"] for answer in first["answers"]} == {"own_response", "quality", "diversity"}


def test_the_list_is_narrowed(study: Study, sent: list[Submission]) -> None:
    client = as_role("viewer", study)
    a, b, simulated = (submission.pk for submission in sent)
    Flag.objects.create(submission=sent[0], reason="too_fast", place="whole", value=5.0, threshold=10.0)
    review_submission(submission=sent[1], decision="exclude", note="", user=make_user("reviewer"))
    of_arm = [pk for pk in (simulated, b, a) if Submission.objects.get(pk=pk).participant.arm.name == "short"]

    assert ids(client, study, worker=sent[0].participant.pseudonym) == [a]
    assert ids(client, study, flag="too_fast") == [a]
    assert ids(client, study, show="excluded") == [b]
    assert ids(client, study, show="people") == [b, a]
    assert ids(client, study, show="included") == [simulated, a]
    assert ids(client, study, arm="short") == of_arm
    assert ids(client, study, pay="no_reward") == [simulated]
    assert ids(client, study, since=a) == [simulated, b]
    assert ids(client, study, show="people", since=a) == [b]


@pytest.mark.parametrize(
    ("query", "field"),
    [
        ({"show": "everything"}, "show"),
        ({"arm": "medium"}, "arm"),
        ({"pay": "maybe"}, "pay"),
        ({"faster_than": "-1"}, "faster_than"),
        ({"since": "yesterday"}, "since"),
    ],
)
def test_a_filter_that_cannot_hold_is_refused(query: dict[str, str], field: str, study: Study) -> None:
    response = as_role("viewer", study).get(reverse("api_submissions", args=[study.slug]), query)
    assert response.status_code == 400
    assert [name for name, _ in reasons(response)] == [field]


def test_pages_of_the_list(study: Study, sent: list[Submission]) -> None:
    client = as_role("viewer", study)
    first = get(client, "api_submissions", study.slug, limit=2)
    second = client.get(first["next"]).json()
    assert [row["id"] for row in first["results"] + second["results"]] == [row.pk for row in reversed(sent)]
    assert second["next"] is None


def test_one_submission_has_its_pages_answers_and_times(study: Study, sent: list[Submission]) -> None:
    Flag.objects.create(submission=sent[0], reason="too_fast", place="whole", value=5.0, threshold=10.0)
    found = get(as_role("viewer", study), "api_submission", study.slug, sent[0].pk)

    steps = list(sent[0].assignment.steps.order_by("number"))
    assert [page["number"] for page in found["pages"]] == [step.number + 1 for step in steps]
    assert all(page["answers"] and page["received_at"] for page in found["pages"])
    assert [(flag["reason"], flag["value"], flag["threshold"]) for flag in found["flags"]] == [("too_fast", 5.0, 10.0)]
    assert found["items"][0]["columns"]["resp_0"]
    assert (found["reviews"], found["payments"], found["excluded_by"]) == ([], [], [])


def test_another_studys_submission_does_not_exist_here(study: Study) -> None:
    other = make_submission(study=make_study())
    response = as_role("owner", study).get(reverse("api_submission", args=[study.slug, other.pk]))
    assert response.status_code == 404
    refused = post(as_role("editor", study), "api_exclude_many", study.slug, ids=[other.pk])
    assert reasons(refused) == [("ids", "1 submission of the list is not in this study.")]
    assert str(other.pk) in refused.json()["errors"][0]["fix"]


def test_excluding_and_including_one(study: Study, sent: list[Submission]) -> None:
    client = as_role("editor", study)
    job = ended(client, post(client, "api_exclude", study.slug, sent[0].pk, note="nonsense"))
    assert (job["state"], job["kind"], job["progress"]) == ("done", "exclude", {"done": 1, "total": 1, "unit": "rows"})
    assert job["result"]["rows"] == [{"submission": sent[0].pk, "refused": ""}]
    review = Review.objects.get()
    assert (review.decision, review.note, review.user) == ("exclude", "nonsense", review.user)
    assert not get(client, "api_submission", study.slug, sent[0].pk)["included"]

    ended(client, post(client, "api_include", study.slug, sent[0].pk))
    assert get(client, "api_submission", study.slug, sent[0].pk)["included"]
    assert [entry.action for entry in AuditEntry.objects.filter(action__startswith="bulk").order_by("pk")] == [
        "bulk exclude",
        "bulk include",
    ]


def test_a_released_place_is_open_again(study: Study, sent: list[Submission]) -> None:
    client = as_role("editor", study)
    ended(client, post(client, "api_exclude", study.slug, sent[0].pk, release=True))
    sent[0].assignment.refresh_from_db()
    assert sent[0].assignment.state == "released"


def test_approving_and_rejecting(study: Study, sent: list[Submission]) -> None:
    client = as_role("owner", study)
    ended(client, post(client, "api_reject", study.slug, sent[0].pk, reason="All answers are the same."))
    assert get(client, "api_submission", study.slug, sent[0].pk)["pay"] == "rejected"
    assert not get(client, "api_submission", study.slug, sent[0].pk)["included"]
    ended(client, post(client, "api_approve", study.slug, sent[0].pk))
    assert get(client, "api_submission", study.slug, sent[0].pk)["pay"] == "to_pay"
    assert list(PayDecision.objects.order_by("pk").values_list("decision", "feedback")) == [
        ("reject", "All answers are the same."),
        ("approve", ""),
    ]


def test_a_bonus_is_paid_once_for_a_key(study: Study, sent: list[Submission]) -> None:
    client = as_role("owner", study)
    for _ in range(3):
        response = post(
            client, "api_bonus", study.slug, sent[0].pk, key="bonus-1", amount="0.50", reason="Very careful."
        )
        ended(client, response)
    payment = Payment.objects.get()
    assert (payment.kind, str(payment.amount), payment.reason) == ("bonus", "0.500", "Very careful.")
    [shown] = get(client, "api_submission", study.slug, sent[0].pk)["payments"]
    assert (shown["kind"], shown["amount"]) == ("bonus", "0.500")


def test_many_rows_each_have_their_result(study: Study, sent: list[Submission]) -> None:
    """Simulated workers are never paid, so their row is refused and the others are done."""
    client = as_role("owner", study)
    response = post(client, "api_approve_many", study.slug, ids=[submission.pk for submission in sent])
    job = ended(client, response)
    assert (job["state"], job["result"]["done"], job["result"]["refused"]) == ("done", 2, 1)
    assert [(row["submission"], bool(row["refused"])) for row in job["result"]["rows"]] == [
        (sent[0].pk, False),
        (sent[1].pk, False),
        (sent[2].pk, True),
    ]
    assert "simulated worker" in job["result"]["rows"][2]["refused"]


def test_an_action_that_was_interrupted_says_how_far_it_is(study: Study, sent: list[Submission]) -> None:
    client = as_role("editor", study)
    job = post(client, "api_exclude_many", study.slug, ids=[submission.pk for submission in sent]).json()
    assert (job["state"], job["progress"]["done"], job["progress"]["total"]) == ("queued", 0, 3)
    BulkAction.objects.update(position=1)
    job = get(client, "api_job", job["id"])
    assert (job["state"], job["progress"]["done"]) == ("running", 1)


@pytest.mark.parametrize(
    ("name", "body", "field"),
    [
        ("api_reject", {}, "reason"),
        ("api_reject", {"reason": ""}, "reason"),
        ("api_bonus", {"reason": "Thanks."}, "amount"),
        ("api_bonus", {"reason": "Thanks.", "amount": "0.005"}, "amount"),
        ("api_bonus", {"reason": "Thanks.", "amount": "0"}, "amount"),
        ("api_bonus", {"reason": "Thanks.", "amount": "many"}, "amount"),
        ("api_bonus", {"reason": "Thanks.", "amount": "1000.01"}, "amount"),
        ("api_exclude", {"note": "x" * 501}, "note"),
        ("api_exclude", {"release": "perhaps"}, "release"),
        ("api_exclude", {"not": "typed right"}, "not"),
    ],
)
def test_terms_that_cannot_be_are_refused(name: str, body: Any, field: str, study: Study, sent: list[Any]) -> None:
    response = post(as_role("owner", study), name, study.slug, sent[0].pk, **body)
    assert response.status_code == 422
    assert [where for where, _ in reasons(response)] == [field]
    assert not BulkAction.objects.exists()


@pytest.mark.parametrize("body", [{}, {"ids": []}, {"ids": ["a"]}, {"ids": "1"}, {"ids": list(range(1, 1_002))}])
def test_a_list_of_ids_that_cannot_be_is_refused(body: Any, study: Study) -> None:
    response = post(as_role("owner", study), "api_exclude_many", study.slug, **body)
    assert response.status_code == 422
    assert {where.partition(".")[0] for where, _ in reasons(response)} == {"ids"}


def test_a_body_that_is_no_object_is_refused(study: Study, sent: list[Submission]) -> None:
    address = reverse("api_exclude", args=[study.slug, sent[0].pk])
    client = as_role("owner", study)
    for body in ("[]", "3", '"x"', "null"):
        assert client.post(address, body, content_type="application/json").status_code == 422
    assert client.post(address, "{", content_type="application/json").status_code == 400


def test_the_console_shows_what_a_program_did(study: Study, sent: list[Submission]) -> None:
    client = as_role("owner", study)
    ended(client, post(client, "api_exclude", study.slug, sent[0].pk, note="nonsense"))
    page = client.get(reverse("console_submission", args=[study.slug, sent[0].pk])).content.decode()
    assert "nonsense" in page
    assert (
        bulk_decisions.ACTIONS["exclude"]
        in client.get(reverse("console_submissions", args=[study.slug])).content.decode()
    )
