"""Review and pay against this server's own marketplace: both sides' books agree to the cent."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db.models import Sum
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import BulkAction, OutsideAssignment, Participant, Payment, Study, Submission
from annotation.platforms.mturk import api as api_module
from annotation.platforms.mturk.platform import Mturk
from annotation.recruiting import deciding_on_platform, syncing
from annotation.recruiting.pay_states import with_pay_state
from annotation.review import bulk_decisions
from annotation.review.decision_file_export import AFTER, BEFORE, batch_csv
from annotation.review.decision_files import read_decisions
from annotation.review.pay_decisions import decide_pay
from annotation.review.paying import mark_paid
from annotation.review.payment_lists import totals
from annotation.review.payments_due import due
from annotation.review.review_queue import preview_of
from annotation.table_files import read_table
from common.problems import Invalid
from marketplace.models import Assignment as MarketAssignment
from marketplace.models import LedgerEntry, WorkerBlock
from tests.annotation.console_helpers import as_role, make_user
from tests.annotation.recruiting.helpers import accept_there, posted_study, send_both, send_here, send_there
from tests.marketplace.support.factories import make_worker as make_market_worker

pytestmark = pytest.mark.django_db


@pytest.fixture(autouse=True)
def own_marketplace(api: Mturk, monkeypatch: pytest.MonkeyPatch, settings: Any) -> None:
    """The server's own client, in process."""
    settings.MTURK_ACCESS_KEY_ID, settings.MTURK_SECRET_ACCESS_KEY = "AKIA", "secret"
    monkeypatch.setattr(api_module, "client_for", lambda account: api._client)


@pytest.fixture
def study(api: Mturk) -> Study:
    return posted_study(api, items=3, ratings_per_item=3)


def send(study: Study, api: Mturk, count: int) -> list[Submission]:
    """Work by ``count`` workers on the first hits, known to both sides."""
    postings = list(study.postings.order_by("hit__position"))
    for number in range(count):
        send_both(postings[number % len(postings)])
    syncing.sync_study(study=study, platform=api)
    return list(Submission.objects.filter(study=study).order_by("pk"))


def states(study: Study) -> list[str]:
    return list(with_pay_state(study).order_by("pk").values_list("pay", flat=True))


def run(study: Study, api: Mturk, action: str, found: Any, **terms: Any) -> BulkAction:
    made = bulk_decisions.plan_action(study=study, action=action, chosen=found, actor="ada")
    bulk_decisions.set_terms(bulk=made, **{"note": "Because."} | terms)
    bulk_decisions.confirm_action(bulk=made, actor="ada", start=lambda pk: None)
    done = bulk_decisions.run_action(bulk_id=made.pk, connect=lambda name, study: api)
    assert done is not None
    return done


def workers_earned() -> Decimal:
    """What the marketplace's workers got, from its ledger."""
    earned = LedgerEntry.objects.filter(account__kind="worker", kind__in=["reward", "bonus"])
    return Decimal(earned.aggregate(usd=Sum("amount"))["usd"] or 0)


def test_the_ledger_of_the_marketplace_equals_the_payments_here(study: Study, api: Mturk) -> None:
    sent = send(study, api, 4)
    run(study, api, "approve", Submission.objects.filter(pk__in=[sent[0].pk, sent[1].pk]))
    run(study, api, "reject", Submission.objects.filter(pk=sent[2].pk))
    run(study, api, "bonus", Submission.objects.filter(pk=sent[0].pk), amount=Decimal("0.37"))
    assert states(study) == ["paid", "paid", "rejected", "to_approve"]
    # two rewards of 0.18 and a bonus of 0.37, by hand
    assert workers_earned() == sum(Payment.objects.values_list("amount", flat=True)) == Decimal("0.73")
    decide_pay(submission=sent[2], decision="approve", feedback="", actor="ada", connect=lambda name, study: api)
    assert workers_earned() == sum(Payment.objects.values_list("amount", flat=True)) == Decimal("0.91")
    assert totals(study)["paid"] == Decimal("0.91")


def test_what_the_platform_approves_by_itself_becomes_a_payment_too(study: Study, api: Mturk) -> None:
    send(study, api, 2)
    nobody_here = make_market_worker()
    send_there(accept_there(study.postings.order_by("pk")[1], nobody_here))
    syncing.sync_study(study=study, platform=api)
    assert OutsideAssignment.objects.count() == 3
    for each in MarketAssignment.objects.filter(state="Submitted"):
        api.call("approve_assignment", AssignmentId=each.assignment_id)  # as somebody else, or its clock, would
    for _ in range(2):
        syncing.sync_study(study=study, platform=api)
    assert workers_earned() == sum(Payment.objects.values_list("amount", flat=True)) == Decimal("0.54")
    alone = Payment.objects.get(submission=None)
    assert (alone.worker_id, alone.actor) == (nobody_here.worker_id, "mturk")
    assert states(study) == ["paid", "paid"]


def test_work_on_a_platform_is_never_to_be_paid_by_hand(study: Study, api: Mturk) -> None:
    send(study, api, 2)
    assert due(study).hits == 0
    assert due(study, with_excluded=True).hits == 0
    assert totals(study)["open"].total == Decimal("0.36")
    with pytest.raises(Invalid, match="nothing to pay"):
        mark_paid(study=study, actor="ada")


def test_unconfirmed_work_is_neither_approved_nor_rejected(study: Study, api: Mturk) -> None:
    posting, worker = study.postings.order_by("pk")[0], make_market_worker()
    accepted = accept_there(posting, worker)
    here = send_here(posting, worker.worker_id, accepted.assignment_id)
    for decision in ("approve", "reject"):
        with pytest.raises(Invalid, match="has not confirmed"):
            decide_pay(
                submission=here.submission,
                decision=decision,
                feedback="x",
                actor="ada",
                connect=lambda name, study: api,
            )
    done = run(study, api, "approve", Submission.objects.all())
    assert "has not confirmed this work" in done.refused[0]
    assert states(study) == ["unconfirmed"]


def test_the_cost_in_the_preview_is_what_the_marketplace_charges(study: Study, api: Mturk) -> None:
    send(study, api, 3)
    made = bulk_decisions.plan_action(study=study, action="approve", chosen=Submission.objects.all(), actor="ada")
    found = preview_of(made, lambda name, study: api.fees())
    assert (found.approved, found.rewards, found.fees) == (3, Decimal("0.54"), Decimal("0.12"))
    run(study, api, "approve", Submission.objects.all())
    fees = LedgerEntry.objects.filter(account__kind="fees").aggregate(usd=Sum("amount"))["usd"]
    assert fees == found.fees


def test_one_query_finds_what_to_approve(
    study: Study, api: Mturk, django_assert_num_queries: Callable[[int], Any]
) -> None:
    send(study, api, 5)
    with django_assert_num_queries(1):
        assert len(deciding_on_platform.to_approve(study)) == 5


def test_a_blocked_worker_is_blocked_there_and_excluded_here(study: Study, api: Mturk) -> None:
    [sent, other] = send(study, api, 2)
    make_user("ada")
    for _ in range(2):
        run(study, api, "block", Submission.objects.filter(pk=sent.pk))
    blocked = WorkerBlock.objects.get()
    assert blocked.worker.worker_id == sent.participant.worker.platform_id
    excluded = Participant.objects.filter(excluded_at__isnull=False)
    assert list(excluded) == [sent.participant]
    assert other.participant not in excluded


# --- the results file ---


def rows_of(study: Study) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(b"".join(batch_csv(study)).decode())))


def test_the_results_file_has_the_columns_of_amazons_site(study: Study, api: Mturk) -> None:
    [first, second] = send(study, api, 2)
    run(study, api, "reject", Submission.objects.filter(pk=second.pk), note="=Same text")
    rows = rows_of(study)
    columns = list(rows[0])
    # The order of the fixed columns is that of files that Amazon's site wrote: see docs/reviewing.md.
    assert tuple(columns[: len(BEFORE)]) == BEFORE
    assert tuple(columns[-2:]) == AFTER
    assert {name.partition(".")[0] for name in columns[len(BEFORE) : -2]} == {"Input", "Answer"}
    outside = OutsideAssignment.objects.order_by("pk")[0]
    assert rows[0]["AssignmentId"] == outside.external_id
    assert rows[0]["HITId"] == outside.posting.external_id
    assert rows[0]["WorkerId"] == first.participant.worker.platform_id
    assert (rows[0]["Reward"], rows[0]["AssignmentStatus"], rows[0]["Approve"]) == ("$0.18", "Submitted", "")
    item = first.assignment.hit.items.get()
    assert rows[0]["Input.sample_id"] == item.external_id
    rating = first.ratings.get(question="diversity")
    assert rows[0]["Answer.diversity"] == f"{rating.value:g}"
    assert rows[0]["LifetimeApprovalRate"] == "0% (0/0)"
    assert rows[1]["LifetimeApprovalRate"] == "0% (0/1)"
    assert (rows[1]["AssignmentStatus"], rows[1]["Reject"]) == ("Rejected", "'=Same text")


def edited(study: Study, changes: dict[int, dict[str, str]]) -> bytes:
    rows = rows_of(study)
    for at, change in changes.items():
        rows[at] |= change
    out = io.StringIO()
    writer = csv.DictWriter(out, list(rows[0]))
    writer.writeheader()
    writer.writerows(rows)
    return out.getvalue().encode()


def upload(client: Client, study: Study, content: bytes) -> Any:
    file = io.BytesIO(content)
    file.name = "batch.csv"
    return client.post(reverse("console_batch", args=[study.slug]), {"file": file})


def test_a_file_with_decisions_is_shown_then_done(
    study: Study, api: Mturk, django_capture_on_commit_callbacks: Any
) -> None:
    send(study, api, 4)
    client = as_role("owner", study)
    content = edited(study, {0: {"Approve": "x"}, 1: {"Approve": "X"}, 2: {"Reject": "One text for all."}})
    where = upload(client, study, content)["Location"]
    page = client.get(where).content.decode()
    assert "2 submissions will be approved." in page
    assert "1 submission will be rejected" in page
    assert "$0.36" in page
    assert states(study) == ["to_approve"] * 4
    with django_capture_on_commit_callbacks(execute=True):
        client.post(where)
    assert states(study) == ["paid", "paid", "rejected", "to_approve"]
    assert MarketAssignment.objects.get(state="Rejected").requester_feedback == "One text for all."
    again = upload(client, study, edited(study, {}))  # earlier decisions do not count again
    assert "has no decisions" in client.get(again["Location"]).content.decode()
    undo = upload(client, study, edited(study, {2: {"Approve": "x", "Reject": ""}}))
    with django_capture_on_commit_callbacks(execute=True):
        client.post(undo["Location"])
    assert states(study) == ["paid", "paid", "paid", "to_approve"]


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"AssignmentId": "3ABCDEF"}, "This study has no assignment 3ABCDEF."),
        ({"AssignmentId": ""}, "There is no assignment id."),
        ({"WorkerId": "A2OTHER"}, "“A2OTHER” does not belong to assignment"),
        ({"HITId": "3OTHER"}, "“3OTHER” does not belong to assignment"),
        ({"Approve": "x", "Reject": "Bad."}, "Approve and Reject are both filled."),
        ({"Approve": "perhaps"}, "“perhaps” is no mark."),
        ({"Reject": "x"}, "This is not a reason."),
        ({"Reject": "x" * 1025}, "1,025 characters long"),
    ],
)
def test_nothing_is_done_until_every_row_is_right(study: Study, api: Mturk, change: dict[str, str], says: str) -> None:
    send(study, api, 2)
    client = as_role("owner", study)
    response = upload(client, study, edited(study, {0: {"Approve": "x"}, 1: change}))
    assert response.status_code == 422
    page = response.content.decode()
    assert says in page
    assert 'data-label="Row">2<' in page
    assert not BulkAction.objects.exists()
    assert states(study) == ["to_approve"] * 2


def test_paid_work_in_a_file_cannot_be_rejected_and_a_row_counts_once(study: Study, api: Mturk) -> None:
    [first, _] = send(study, api, 2)
    run(study, api, "approve", Submission.objects.filter(pk=first.pk))
    client = as_role("owner", study)
    page = upload(client, study, edited(study, {0: {"Approve": "", "Reject": "No."}})).content.decode()
    assert "This work has been paid." in page
    rows = edited(study, {}).splitlines(keepends=True)
    page = upload(client, study, b"".join([*rows, rows[-1]])).content.decode()
    assert "is in row 2 already" in page
    page = upload(client, study, b"HITId,WorkerId\n1,2\n").content.decode()
    assert "There is no column “AssignmentId”." in page


def test_an_assignment_of_which_nothing_arrived_here_can_be_decided_by_file(study: Study, api: Mturk) -> None:
    send_there(accept_there(study.postings.order_by("pk")[0], make_market_worker()))
    syncing.sync_study(study=study, platform=api)
    [row] = rows_of(study)
    assert (row["AssignmentStatus"], row.get("Answer.diversity", "")) == ("Submitted", "")
    table = read_table(io.BytesIO(edited(study, {0: {"Approve": "x"}})), name="batch.csv")
    made = bulk_decisions.plan_rows(study=study, rows=read_decisions(study=study, table=table), actor="ada")
    bulk_decisions.confirm_action(bulk=made, actor="ada", start=lambda pk: None)
    bulk_decisions.run_action(bulk_id=made.pk, connect=lambda name, study: api)
    assert workers_earned() == Payment.objects.get().amount == Decimal("0.18")


# --- the command line ---


def command(*arguments: str) -> str:
    out = io.StringIO()
    call_command("study", *arguments, stdout=out, stderr=out)
    return out.getvalue()


def test_the_commands_reject_pay_a_bonus_and_take_a_file(study: Study, api: Mturk, tmp_path: Path) -> None:
    sent = send(study, api, 3)
    names = [each.participant.pseudonym for each in sent]
    tried = command("reject", study.slug, "--worker", names[0], "--reason", "No.", "--dry-run")
    assert tried.startswith(f"{study.slug}: 1 submission to reject.\n")
    assert "The rejected work stays in the analysis. To leave it out, add --exclude." in tried
    assert not BulkAction.objects.exists()
    assert "Done: 1 of 1." in command("reject", study.slug, "--worker", names[0], "--reason", "No.")
    give = [
        "bonus",
        study.slug,
        "--code",
        sent[1].participant.completion_code,
        "--amount",
        "0.50",
        "--reason",
        "Thanks",
    ]
    assert "a bonus for 1 submission, $0.50 and $0.10 in fees." in command(*give)
    with pytest.raises(CommandError, match="paid before"):
        command(*give)
    assert Payment.objects.filter(kind="bonus").count() == 1
    command(*give, "--again")
    assert workers_earned() == Decimal("1.00")
    file = tmp_path / "batch.csv"
    file.write_bytes(edited(study, {2: {"Approve": "x"}}))
    assert "1 submission to approve, $0.18" in command("batch-import", study.slug, str(file), "--dry-run")
    assert states(study)[2] == "to_approve"
    assert "Done: 1 of 1." in command("batch-import", study.slug, str(file))
    assert states(study) == ["rejected", "to_approve", "paid"]
    file.write_bytes(edited(study, {1: {"WorkerId": "A1"}}))
    with pytest.raises(CommandError, match="1 problem"):
        command("batch-import", study.slug, str(file))
    with pytest.raises(CommandError, match="no worker “w-none” with submissions"):
        command("reject", study.slug, "--worker", "w-none", "--reason", "No.")
    assert timezone.now() > sent[0].received_at
