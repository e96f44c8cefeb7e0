"""Marking many hits as paid: in batches, each stored once, whatever ends or happens in between."""

from __future__ import annotations

import sqlite3
import threading
from collections.abc import Iterator
from decimal import Decimal
from typing import Any

import pytest
from django.db import connection, connections
from django.test import Client
from django.test.utils import CaptureQueriesContext
from django.urls import reverse
from django.utils import timezone

from annotation.models import (
    ApiJob,
    Assignment,
    AuditEntry,
    BulkAction,
    Participant,
    PartPayment,
    Payment,
    Study,
    Submission,
)
from annotation.review import paying, tasks
from annotation.review.paying import (
    Expected,
    continue_marking,
    count_owed,
    mark_paid,
    marking_of,
    running_marking,
    start_marking,
)
from annotation.review.payments_due import due
from common.problems import Invalid
from tests.annotation.api.running_helpers import get, post
from tests.annotation.console_helpers import as_role, make_user
from tests.annotation.review.test_payments import command, page_of, paid_study, worker_with
from tests.factories import make_assignment

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def two_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(paying, "AT_ONCE", 2)
    monkeypatch.setattr(paying, "OTHERS", 0.0)


@pytest.fixture
def study() -> Study:
    """Five hits of three workers: four at $0.18 and one at $0.25, so $0.97 in three batches."""
    study = paid_study()
    for hits in (2, 1, 2):
        worker_with(study, hits)
    assert (due(study).hits, due(study).workers, due(study).total) == (5, 3, Decimal("0.97"))
    return study


def begun(study: Study, **values: Any) -> BulkAction:
    _, bulk = start_marking(study=study, actor="ada", **values)
    assert bulk is not None
    return bulk


def paid() -> tuple[int, Decimal]:
    amounts = list(Payment.objects.values_list("amount", flat=True))
    assert len(set(Payment.objects.values_list("submission", "part"))) == len(amounts)
    return len(amounts), sum(amounts, Decimal(0))


def entries(action: str) -> list[dict[str, Any]]:
    return list(AuditEntry.objects.filter(action=action).order_by("pk").values_list("detail", flat=True))


def test_many_hits_are_listed_first_and_then_paid_batch_by_batch(study: Study) -> None:
    started: list[int] = []
    bulk = begun(study, expected=Expected(5, Decimal("0.97")), start=started.append)
    assert paid() == (0, Decimal(0))
    done = continue_marking(bulk)
    assert (done.state, done.position, len(done.rows), paid()) == ("done", 3, 3, (5, Decimal("0.97")))
    assert due(study).hits == 0
    assert set(Payment.objects.values_list("actor", "platform", "kind")) == {("ada", "link", "reward")}
    assert entries("begin to mark as paid") == [{"workers": 3, "hits": 5, "total": "$0.97", "number": bulk.pk}]
    assert entries("mark as paid") == [{"hits": 5, "total": "$0.97", "number": bulk.pk}]


def test_each_batch_is_a_transaction_of_its_own(study: Study) -> None:
    bulk = begun(study)
    with CaptureQueriesContext(connection) as seen:
        continue_marking(bulk)
    stored = [query["sql"] for query in seen.captured_queries if query["sql"].startswith('INSERT INTO "annotation_pay')]
    assert len(stored) == 3
    assert sum(query["sql"].startswith("SAVEPOINT") for query in seen.captured_queries) >= 3


@pytest.mark.parametrize("failing", [0, 1, 2])
@pytest.mark.parametrize("after", [True, False])
def test_a_process_that_dies_leaves_nothing_half_done(
    study: Study, failing: int, after: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    bulk, store, calls = begun(study), paying._store, iter(range(100))

    def dies(*arguments: Any) -> int:
        dying = next(calls) == failing
        if dying and not after:
            raise SystemExit
        n_before = store(*arguments)
        if dying:
            raise SystemExit
        return n_before

    monkeypatch.setattr(paying, "_store", dies)
    with pytest.raises(SystemExit):
        continue_marking(bulk)
    assert paid()[0] == 2 * failing
    seen = marking_of(BulkAction.objects.get())
    assert (seen.hits_paid, seen.hits_left) == (2 * failing, 5 - 2 * failing)
    assert running_marking(study) == bulk
    assert tasks.continue_bulk() == 1  # what the scheduler does every minute
    assert paid() == (5, Decimal("0.97"))
    assert entries("mark as paid") == [{"hits": 5, "total": "$0.97", "number": bulk.pk}]


def test_what_is_excluded_or_sent_after_the_confirmation_changes_nothing(study: Study) -> None:
    """What was confirmed is what was paid, so it is recorded. New hits were not in the total."""
    from annotation.work.excluding import review_submission

    bulk = begun(study)
    excluded = study.submissions.order_by("pk")[0]
    review_submission(submission=excluded, decision="exclude", note="", user=make_user("rev"))
    worker_with(study, 1)
    continue_marking(bulk)
    assert paid() == (5, Decimal("0.97"))
    assert excluded.payments.count() == 1
    assert due(study).hits == 1


def test_what_somebody_else_paid_in_between_is_not_paid_again_and_said(study: Study) -> None:
    bulk = begun(study)
    long = Submission.objects.get(assignment__hit__reward=Decimal("0.25"))
    values: dict[str, Any] = {"actor": "eve", "created_at": timezone.now(), "platform": "link"}
    Payment.objects.create(study=study, submission=long, amount=Decimal("0.25"), **values)
    done = continue_marking(bulk)
    assert paid() == (5, Decimal("0.97"))
    seen = marking_of(done)
    assert (seen.hits, seen.total) == (5, Decimal("0.97"))
    assert (seen.hits_paid, seen.usd_paid) == (4, Decimal("0.72"))
    assert (seen.hits_before, seen.usd_before, seen.hits_left) == (1, Decimal("0.25"), 0)
    assert entries("mark as paid") == [{"hits": 4, "total": "$0.72", "number": bulk.pk}]
    page = as_role("editor", study).get(reverse("console_action", args=[study.slug, bulk.pk])).content.decode()
    assert "Check that you have not paid for it twice" in page


def test_nothing_else_of_the_study_is_marked_meanwhile(study: Study) -> None:
    bulk = begun(study)
    worker = Participant.objects.order_by("pk")[0]
    for whose in ({}, {"pseudonym": worker.pseudonym}):
        with pytest.raises(Invalid, match="are being marked as paid at the moment"):
            start_marking(study=study, actor="eve", **whose)  # type: ignore[arg-type]
    other = paid_study()
    worker_with(other, 1)
    assert mark_paid(study=other, actor="eve").hits == 1
    continue_marking(bulk)
    with pytest.raises(Invalid, match="nothing to pay"):
        start_marking(study=study, actor="eve")


def test_what_was_paid_since_it_was_counted_is_counted_again(study: Study) -> None:
    counted, worker = count_owed(study), Participant.objects.order_by("pk")[0]
    mark_paid(study=study, actor="eve", pseudonym=worker.pseudonym)  # $0.36
    with pytest.raises(Invalid, match=r"It is 3 hits and \$0.61 now"):
        start_marking(study=study, actor="ada", expected=Expected(5, Decimal("0.97")), owed_before=counted)
    owed, bulk = start_marking(study=study, actor="ada", owed_before=counted)
    assert (owed.hits, owed.total) == (3, Decimal("0.61"))
    assert bulk is not None
    assert (marking_of(bulk).hits, marking_of(bulk).total) == (3, Decimal("0.61"))


def test_part_pay_is_in_batches_too(study: Study) -> None:
    participant = worker_with(study, 0)
    stopped = []
    for _ in range(3):
        assignment = make_assignment(participant=participant)
        Assignment.objects.filter(pk=assignment.pk).update(state="stopped")
        stopped.append(
            PartPayment.objects.create(
                assignment=assignment, amount=Decimal("0.05"), steps_done=1, created_at=timezone.now()
            )
        )
    bulk = begun(study)
    assert marking_of(bulk).total == Decimal("1.12")
    assert paying.workers_of(bulk) == 4
    continue_marking(bulk)
    assert paid() == (8, Decimal("1.12"))
    parts = Payment.objects.filter(kind="partial").order_by("pk").values_list("part", "key", "reason", "amount")
    assert list(parts) == [(one.pk, f"part/{one.pk}", "Stopped early.", Decimal("0.05")) for one in stopped]


@pytest.fixture
def many() -> Iterator[Study]:
    study = paid_study(arms=({},), items=20)
    worker_with(study, 15)
    yield study


def at_once(acts: list[Any]) -> list[Any]:
    """What functions return, or the Invalid that they raise, when they run at the same time."""
    outcomes: list[Any] = []
    start = threading.Barrier(len(acts))

    def run(act: Any) -> None:
        try:
            start.wait(20)
            outcomes.append(act())
        except Invalid as refused:
            outcomes.append(refused)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=run, args=[act]) for act in acts]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    return outcomes


@pytest.mark.django_db(transaction=True)
def test_two_clicks_at_once_are_one_marking(many: Study) -> None:
    expected = Expected(15, Decimal("2.70"))
    outcomes = at_once([lambda: start_marking(study=many, actor="ada", expected=expected)] * 4)
    assert sum(isinstance(outcome, Invalid) for outcome in outcomes) == 3
    assert BulkAction.objects.count() == 1
    assert tasks.continue_bulk() == 1
    assert paid() == (15, Decimal("2.70"))


@pytest.mark.django_db(transaction=True)
def test_several_processes_share_the_batches_of_a_marking(many: Study) -> None:
    bulk = begun(many)
    outcomes = at_once([lambda: continue_marking(BulkAction.objects.get(pk=bulk.pk)).state] * 3)
    assert outcomes == ["done"] * 3
    assert paid() == (15, Decimal("2.70"))
    assert entries("mark as paid") == [{"hits": 15, "total": "$2.70", "number": bulk.pk}]


def pay_everybody(client: Client, study: Study) -> Any:
    return client.post(reverse("console_pay", args=[study.slug]), {"hits": "5", "total": "0.97"})


def test_the_pages_say_what_is_done_and_what_remains(
    study: Study, monkeypatch: pytest.MonkeyPatch, django_capture_on_commit_callbacks: Any
) -> None:
    client = as_role("editor", study)
    sent: list[int] = []
    monkeypatch.setattr("annotation.review.pages.payments.start_bulk_action", sent.append)
    with django_capture_on_commit_callbacks(execute=True):
        response = pay_everybody(client, study)
    [bulk] = BulkAction.objects.all()
    assert sent == [bulk.pk]
    address = reverse("console_action", args=[study.slug, bulk.pk])
    assert response.headers["Location"] == address
    paying._mark_batch(bulk)
    page = client.get(address).content.decode()
    assert "<dt>Marked as paid</dt><dd>2 hits, $0.36</dd>" in page
    assert "<dt>Left</dt><dd>3 hits, $0.61</dd>" in page
    assert "<dt>Confirmed</dt><dd>5 hits, $0.97</dd>" in page
    payments = page_of(client, study)
    assert address in payments
    assert "Mark all as paid" not in payments
    confirmation = page_of(client, study, "console_pay")
    assert address in confirmation
    assert "<button" not in confirmation.partition("<main")[2]
    again = client.post(reverse("console_pay", args=[study.slug]), {"hits": "3", "total": "0.61"}, follow=True)
    assert "are being marked as paid at the moment" in again.content.decode()
    tasks.run_bulk(bulk.pk)
    page = client.get(address).content.decode()
    assert "<dt>Marked as paid</dt><dd>5 hits, $0.97</dd>" in page
    assert "Left" not in page.partition("<main")[2]
    assert "http-equiv" not in page
    assert paid() == (5, Decimal("0.97"))


def test_the_api_answers_with_a_job(study: Study) -> None:
    client = as_role("owner", study)
    owed = get(client, "api_payments_due", study.slug)
    body = {"hits": owed["hits"], "total": owed["total"]}
    answers = [post(client, "api_mark_paid", study.slug, key="pay-1", **body) for _ in range(2)]
    assert [answer.status_code for answer in answers] == [202, 202]
    [job] = ApiJob.objects.all()
    assert paid() == (0, Decimal(0))
    state = get(client, "api_job", job.pk)
    assert (state["state"], state["progress"]) == ("queued", {"done": 0, "total": 5, "unit": "hits"})
    tasks.continue_bulk()
    for _ in range(2):  # the second time, from what was stored about it
        state = get(client, "api_job", job.pk)
        assert (state["state"], state["progress"]["done"]) == ("done", 5)
        assert state["message"] == "5 hits marked as paid: $0.97."
        assert state["result"] == {
            "hits": 5, "workers": 3, "total": "0.970", "hits_paid_before": 0, "paid_before": "0.000"
        }  # fmt: skip
    assert paid() == (5, Decimal("0.97"))


def test_the_command_marks_in_batches_and_completes_what_was_interrupted(study: Study) -> None:
    bulk = begun(study)
    paying._mark_batch(bulk)
    worker_with(study, 1)
    newest = study.submissions.order_by("-pk").select_related("assignment__hit")[0]
    usd = f"${newest.assignment.hit.reward:.2f}"
    assert command(study.slug, "--mark-paid") == f"{study.slug}: 1 hit of 1 worker, {usd}, marked as paid.\n"
    assert BulkAction.objects.get(pk=bulk.pk).state == "done"
    assert paid()[0] == 6


def test_more_hits_than_a_query_may_list(monkeypatch: pytest.MonkeyPatch) -> None:
    """SQLite takes up to 32,766 values in a query; here, 1,000."""
    monkeypatch.setattr(paying, "AT_ONCE", 50)
    study = paid_study(arms=({},), items=4)
    worker = worker_with(study, 1)
    model = Assignment.objects.get()
    values = {"participant": worker, "state": "returned", "slot": 0, "seed": 0, "order": model.order, "ordinal": 1}
    values |= {"accepted_at": model.accepted_at, "expires_at": model.expires_at, "hit_id": model.hit_id}
    made = Assignment.objects.bulk_create(Assignment(attempt=n + 2, **values) for n in range(1_100))
    sent = {"study": study, "participant": worker, "answers": [], "seconds": 1, "received_at": model.accepted_at}
    Submission.objects.bulk_create(Submission(assignment=each, **sent) for each in made)
    if connection.vendor == "sqlite":
        connection.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 1_000)
    try:
        bulk = begun(study, expected=Expected(1_101, Decimal("198.18")))
        assert len(bulk.rows) == 23
        continue_marking(bulk)
        assert paid() == (1_101, Decimal("198.18"))
        assert (due(study).hits, paying.workers_of(bulk)) == (0, 1)
    finally:
        if connection.vendor == "sqlite":
            connection.connection.setlimit(sqlite3.SQLITE_LIMIT_VARIABLE_NUMBER, 32_766)
    assert entries("mark as paid") == [{"hits": 1_101, "total": "$198.18", "number": bulk.pk}]
