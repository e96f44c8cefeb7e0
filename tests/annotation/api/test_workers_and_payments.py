"""Workers, what they are owed, quality control and coding: the same figures as the console's pages."""

from __future__ import annotations

from decimal import Decimal
from typing import Any

import pytest
from django.urls import reverse

from annotation.api import jobs
from annotation.models import ApiJob, AuditEntry, Participant, Payment, QualityCheck, Study, Submission
from annotation.people.worker_figures import worker_figures
from annotation.review.payments_due import due
from annotation.work.member_work import start_member_work
from tests.annotation.api.running_helpers import get, post, reasons, send
from tests.annotation.coding_helpers import code, coder, coding_study
from tests.annotation.console_helpers import as_role, signed_in
from tests.factories import make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db


@pytest.fixture
def study() -> Study:
    study = make_study(items=2, ratings_per_item=4, hits_per_worker=None, reward="0.18")
    person = make_participant(study=study)
    make_submission(study=study, participant=person)
    make_submission(study=study, participant=person)
    make_submission(study=study, participant=make_participant(study=study, synthetic=True))
    return study


@pytest.fixture
def person(study: Study) -> Participant:
    return study.participants.get(synthetic=False)


# --- workers ---


def test_workers_are_listed_by_pseudonym(study: Study, person: Participant) -> None:
    rows = get(as_role("viewer", study), "api_workers", study.slug)["results"]
    assert [(row["worker"], row["submissions"], row["synthetic"]) for row in rows] == [
        (person.pseudonym, 2, False),
        (study.participants.get(synthetic=True).pseudonym, 1, True),
    ]
    assert person.worker.platform_id not in str(rows)


def test_a_worker_with_the_figures_of_the_page(study: Study, person: Participant) -> None:
    found = get(as_role("editor", study), "api_worker", study.slug, person.pseudonym)
    figures = worker_figures(person)
    assert found["figures"]["submissions"] == figures.submissions == 2
    assert found["figures"]["median_seconds"] == figures.median_seconds
    assert (found["if_excluded"]["submissions"], found["if_excluded"]["due"]) == (2, "0.360")
    assert (found["pay"]["state"], found["pay"]["due"]) == ("to_pay", "0.360")


def test_viewers_do_not_see_what_a_worker_is_owed(study: Study, person: Participant) -> None:
    assert get(as_role("viewer", study), "api_worker", study.slug, person.pseudonym)["pay"] is None


def test_excluding_a_worker_and_including_them_again(study: Study, person: Participant) -> None:
    client = as_role("editor", study)
    first = post(client, "api_exclude_worker", study.slug, person.pseudonym, key="k", note="A program.")
    assert first.json() == {"worker": person.pseudonym, "submissions": 2}
    assert post(client, "api_exclude_worker", study.slug, person.pseudonym, key="k", note="A program.").json() == (
        first.json()
    )
    assert AuditEntry.objects.filter(action="exclude worker").count() == 1
    excluded = get(client, "api_workers", study.slug, excluded="true")["results"]
    assert [row["worker"] for row in excluded] == [person.pseudonym]
    assert post(client, "api_include_worker", study.slug, person.pseudonym).json()["submissions"] == 2


def test_a_worker_that_is_not_there(study: Study) -> None:
    assert as_role("owner", study).get(reverse("api_worker", args=[study.slug, "W-nobody"])).status_code == 404


def test_nobody_can_be_written_to_without_a_platform(study: Study, person: Participant) -> None:
    client = as_role("owner", study)
    response = post(client, "api_message_worker", study.slug, person.pseudonym, subject="Hello", text="There.")
    assert (response.status_code, reasons(response)[0][0]) == (409, "status")
    assert not ApiJob.objects.exists()
    missing = post(client, "api_message_workers", study.slug, subject="Hello")
    assert (missing.status_code, reasons(missing)[0][0]) == (422, "text")


# --- payments ---


def test_payments_are_those_of_the_page(study: Study, person: Participant) -> None:
    client = as_role("editor", study)
    [row] = get(client, "api_payments", study.slug)["results"]
    assert (row["worker"], row["completion_code"], row["state"]) == (
        person.pseudonym,
        person.completion_code,
        "to_pay",
    )
    assert (row["hits_due"], row["due"], row["paid"]) == (2, "0.360", "0.000")
    assert get(client, "api_payments", study.slug, state="paid")["results"] == []
    assert len(get(client, "api_payments", study.slug, code=person.completion_code)["results"]) == 1
    totals = get(client, "api_payment_totals", study.slug)
    assert totals["due"] == {"hits": 2, "workers": 1, "total": "0.360"}


def test_what_is_due_is_marked_as_paid_once(study: Study) -> None:
    client = as_role("owner", study)
    owed = get(client, "api_payments_due", study.slug)
    assert owed == {"hits": 2, "workers": 1, "total": "0.360"}
    paid = [
        post(client, "api_mark_paid", study.slug, key="pay-1", hits=owed["hits"], total=owed["total"]) for _ in range(2)
    ]
    assert [answer.status_code for answer in paid] == [200, 200]
    assert Payment.objects.count() == 2
    assert sum(payment.amount for payment in Payment.objects.all()) == Decimal("0.360")
    assert due(study).hits == 0
    again = post(client, "api_mark_paid", study.slug, key="pay-2", hits=2, total="0.360")
    assert (again.status_code, reasons(again)[0][0]) == (422, "total")


@pytest.mark.parametrize("body", [{"hits": 1, "total": "0.360"}, {"hits": 2, "total": "0.350"}])
def test_a_total_that_has_changed_marks_nothing(body: dict[str, Any], study: Study) -> None:
    response = post(as_role("owner", study), "api_mark_paid", study.slug, **body)
    assert response.status_code == 422
    assert "It is 2 hits and $0.36 now" in reasons(response)[0][1]
    assert not Payment.objects.exists()


def test_the_payment_file_is_that_of_the_console(study: Study) -> None:
    client = as_role("owner", study)
    files = [
        b"".join(client.get(reverse(name, args=[study.slug]), query).streaming_content)  # type: ignore[attr-defined]
        for name, query in (("api_payment_file", {"worker_ids": "true"}), ("console_payments_file", {"worker_ids": 1}))
    ]
    assert files[0] == files[1]
    assert AuditEntry.objects.filter(action="export worker ids").count() == 2
    assert (
        as_role("editor", study).get(reverse("api_payment_file", args=[study.slug]), {"worker_ids": "true"}).status_code
        == 404
    )


def test_an_unknown_state_is_refused(study: Study) -> None:
    response = as_role("owner", study).get(reverse("api_payments", args=[study.slug]), {"state": "rich"})
    assert (response.status_code, reasons(response)[0][0]) == (400, "state")


# --- quality control ---


def test_rules_can_change_in_a_draft_only() -> None:
    draft = make_study(live=False)
    client = as_role("editor", draft)
    changed = send(
        client, "PUT", "api_quality_rules", draft.slug, quality_control={"too_fast": 3}, exclude={"flags": ["too_fast"]}
    )
    assert changed.status_code == 200
    rules = get(client, "api_quality_rules", draft.slug)
    assert (rules["quality_control"]["too_fast"], rules["exclude"]["flags"], rules["locked"]) == (
        3,
        ["too_fast"],
        False,
    )
    live = make_study()
    locked = send(as_role("owner", live), "PUT", "api_quality_rules", live.slug, quality_control={"too_fast": 3})
    assert locked.status_code == 409
    assert "Locked at launch" in locked.json()["detail"]


@pytest.mark.parametrize(
    "rules",
    [{"quality_control": {"too_fast": "soon"}}, {"quality_control": {"to_fast": 3}}, {"exclude": {"flags": ["x"]}}],
)
def test_rules_that_cannot_be_are_refused(rules: dict[str, Any]) -> None:
    draft = make_study(live=False)
    response = send(as_role("owner", draft), "PUT", "api_quality_rules", draft.slug, **rules)
    assert response.status_code == 422
    assert reasons(response)


def test_a_check_is_a_job_with_progress(study: Study) -> None:
    client = as_role("editor", study)
    job = post(client, "api_quality_check", study.slug).json()
    assert (job["state"], job["kind"]) == ("queued", "quality_check")
    assert jobs.do_job(job["id"])
    job = get(client, "api_job", job["id"])
    assert (job["state"], job["progress"]["total"], job["result"]["submissions"]) == ("done", 3, 3)
    assert QualityCheck.objects.get().actor == ApiJob.objects.get().user.get_username()
    quality = get(client, "api_quality", study.slug)
    assert (quality["submissions"], quality["unchecked"], quality["last"]["submissions"]) == (3, 0, 3)
    assert {"too_fast"} <= {rule["name"] for rule in quality["rules"]}


def test_the_queue_counts_what_is_to_review(study: Study) -> None:
    flagged = Submission.objects.filter(participant__synthetic=False).first()
    assert flagged is not None
    flagged.flags.create(reason="too_fast", place="whole")
    queue = get(as_role("viewer", study), "api_review_queue", study.slug)
    assert (queue["flagged"], queue["flagged_undecided"], queue["flags"]) == (1, 1, {"too_fast": 1})
    assert {state: n for state, n in queue["pay"].items() if n} == {"to_pay": 2}


# --- coding ---


def test_differences_are_listed_and_settled() -> None:
    study = coding_study(items=1)
    for name, labels in (("anna", "grammar"), ("ben", "facts")):
        code(start_member_work(study=study, user=coder(name, study, role="editor")), s0=labels)
    client = as_role("owner", study)
    [item] = get(client, "api_coding", study.slug, differ="true")["results"]
    assert (item["item"], item["state"], item["final"]) == ("s0", "differ", None)
    assert {entry["coder"]: entry["chosen"] for entry in item["codes"]} == {"anna": ["grammar"], "ben": ["facts"]}

    settled = post(client, "api_settle", study.slug, "s0", chosen=["facts"], note="It is about a date.")
    assert settled.status_code == 200
    assert (settled.json()["state"], settled.json()["final"], settled.json()["note"]) == (
        "settled",
        ["facts"],
        "It is about a date.",
    )
    assert get(client, "api_coding", study.slug, differ="true")["results"] == []
    refused = post(client, "api_settle", study.slug, "s0", chosen=["rhythm"])
    assert reasons(refused) == [("chosen", "There is no label “rhythm”.")]


def test_coders_see_others_labels_when_they_are_done() -> None:
    study = coding_study(items=2)
    anna = coder("anna", study)
    start_member_work(study=study, user=anna)
    response = signed_in(anna).get(reverse("api_coding", args=[study.slug]))
    assert (response.status_code, "when you have coded all" in response.json()["detail"]) == (403, True)
