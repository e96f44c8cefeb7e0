"""Who is to be paid, found by completion code; marking as paid, once per submission; pages, CSV and command line."""

from __future__ import annotations

import csv
import io
import threading
from decimal import Decimal
from typing import Any

import pytest
from django.core.management import CommandError, call_command
from django.db import IntegrityError, connections, transaction
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from annotation.models import AuditEntry, Membership, Participant, Payment, Study
from annotation.review.paying import Expected, mark_paid
from annotation.review.payments_due import due, payable, payment_rows
from annotation.work.excluding import exclude_worker, review_submission
from common.problems import Invalid
from common.words import money
from tests.annotation.console_helpers import as_role, make_user, signed_in
from tests.factories import make_assignment, make_invitation, make_participant, make_study, make_submission

pytestmark = pytest.mark.django_db
SHORT = {"write_first": False, "rate_first": False}


def paid_study(**values: Any) -> Study:
    """$0.18 a hit, $0.25 in arm “long”."""
    defaults: dict[str, Any] = {"items": 3, "ratings_per_item": 4, "hits_per_worker": None, "reward": "0.18"}
    arms: list[dict[str, Any]] = [{"name": "short"}, {"name": "long", "reward": Decimal("0.25")}]
    return make_study(**defaults | {"arms": arms, "config": SHORT} | values)


def worker_with(study: Study, hits: int, **values: Any) -> Participant:
    participant = make_participant(study=study, **values)
    for _ in range(hits):
        make_submission(participant=participant)
    return participant


def row_of(study: Study, participant: Participant) -> Any:
    return payment_rows(study, list(payable(study).filter(pk=participant.pk)))[0]


def page_of(client: Client, study: Study, name: str = "console_payments", **query: str) -> str:
    response = client.get(reverse(name, args=[study.slug]), query)
    assert response.status_code == 200
    return str(response.content.decode())


# --- what is owed ---


def test_each_worker_is_owed_the_reward_of_their_arm_for_each_hit() -> None:
    study = paid_study()
    short, long = worker_with(study, 2), worker_with(study, 1)
    make_assignment(participant=short)  # not sent yet
    found = {row.pseudonym: row for row in payment_rows(study, list(payable(study)))}
    assert [found[each.pseudonym].arm for each in (short, long)] == ["short", "long"]
    assert (found[short.pseudonym].hits_done, found[short.pseudonym].due) == (2, Decimal("0.36"))
    assert (found[long.pseudonym].hits_done, found[long.pseudonym].due) == (1, Decimal("0.25"))
    assert {row.state for row in found.values()} == {"to_pay"}
    assert due(study).total == Decimal("0.61")


def test_excluded_submissions_are_not_owed_and_simulated_workers_are_not_listed() -> None:
    study = paid_study(arms=({},))
    user = make_user("rev")
    bad, half, fine = worker_with(study, 1), worker_with(study, 2), worker_with(study, 1)
    bot = worker_with(study, 1, synthetic=True)
    exclude_worker(participant=bad, note="", user=user)
    first = half.submissions.order_by("pk")[0]
    review_submission(submission=first, decision="exclude", note="", user=user, release=True)
    assert [row_of(study, each).state for each in (bad, half, fine)] == ["excluded", "to_pay", "to_pay"]
    assert (row_of(study, half).due, row_of(study, half).hits_excluded) == (Decimal("0.18"), 1)
    assert not payable(study).filter(pk=bot.pk).exists()
    assert (due(study).hits, due(study).workers, due(study).total) == (2, 2, Decimal("0.36"))
    review_submission(submission=first, decision="include", note="", user=user)
    assert row_of(study, half).due == Decimal("0.36")


def test_a_study_without_a_reward_has_nothing_to_pay() -> None:
    study = paid_study(arms=({},), reward=0)
    worker = worker_with(study, 1)
    assert row_of(study, worker).state == "no_reward"
    assert due(study).hits == 0


def test_many_small_rewards_add_up_to_the_tenth_of_a_cent() -> None:
    study = paid_study(items=7, arms=({},), reward="0.005")
    worker = worker_with(study, 7)
    assert row_of(study, worker).due == Decimal("0.035")
    assert mark_paid(study=study, actor="ada").total == Decimal("0.035")
    assert row_of(study, worker).paid == Decimal("0.035")


@pytest.mark.parametrize(
    ("amount", "text"), [("0.18", "$0.18"), ("1120", "$1,120.00"), ("0.125", "$0.125"), ("0", "$0.00")]
)
def test_money_in_words(amount: str, text: str) -> None:
    assert money(Decimal(amount)) == text


# --- marking as paid ---


def test_what_was_paid_is_not_owed_again_and_later_hits_are() -> None:
    study = paid_study(arms=({},))
    worker = worker_with(study, 1)
    assert mark_paid(study=study, actor="ada", pseudonym=worker.pseudonym).hits == 1
    payment = Payment.objects.get()
    assert (payment.amount, payment.platform, payment.platform_id, payment.actor) == (
        Decimal("0.18"),
        "link",
        "",
        "ada",
    )
    assert row_of(study, worker).state == "paid"
    with pytest.raises(Invalid, match="nothing to pay"):
        mark_paid(study=study, actor="ada", pseudonym=worker.pseudonym)
    make_submission(participant=worker)
    assert (row_of(study, worker).state, row_of(study, worker).due) == ("to_pay", Decimal("0.18"))
    mark_paid(study=study, actor="ada")
    assert Payment.objects.count() == 2
    entry = AuditEntry.objects.filter(action="mark as paid").latest("pk")
    assert entry.detail == {"workers": 1, "hits": 1, "total": "$0.18"}


def test_the_same_code_twice_pays_once() -> None:
    study = paid_study(arms=({},))
    worker, _ = worker_with(study, 2), worker_with(study, 1)
    code = worker.completion_code
    assert mark_paid(study=study, actor="ada", code=code).total == Decimal("0.36")
    for typed in (code, f"{code[:5]}-{code[5:]}".lower()):
        with pytest.raises(Invalid, match="nothing to pay"):
            mark_paid(study=study, actor="ada", code=typed)
    assert set(Payment.objects.values_list("submission__participant", flat=True)) == {worker.pk}
    assert Payment.objects.count() == 2


def test_nothing_is_paid_if_the_total_changed_after_it_was_shown() -> None:
    study = paid_study(arms=({},))
    worker_with(study, 1)
    shown = Expected(1, Decimal("0.18"))
    worker_with(study, 1)
    with pytest.raises(Invalid, match=r"the total changed while you looked. It is 2 hits and \$0.36 now"):
        mark_paid(study=study, actor="ada", expected=shown)
    assert not Payment.objects.exists()


def test_an_excluded_worker_is_paid_only_if_somebody_chooses_to() -> None:
    study = paid_study(arms=({},))
    worker = worker_with(study, 1)
    exclude_worker(participant=worker, note="", user=make_user("rev"))
    with pytest.raises(Invalid):
        mark_paid(study=study, actor="ada", pseudonym=worker.pseudonym)
    mark_paid(study=study, actor="ada", pseudonym=worker.pseudonym, with_excluded=True)
    assert row_of(study, worker).state == "paid"


@pytest.mark.parametrize(
    "change",
    [
        lambda payment: Payment.objects.filter(pk=payment.pk).update(amount=Decimal(1)),
        lambda payment: payment.delete(),
        lambda payment: Payment.objects.create(
            study=payment.study, submission=payment.submission, amount=0, actor="x", created_at=timezone.now()
        ),
    ],
)
def test_the_database_refuses_to_change_to_remove_and_to_repeat_a_payment(change: Any) -> None:
    study = paid_study(arms=({},))
    worker_with(study, 1)
    mark_paid(study=study, actor="ada")
    with pytest.raises(IntegrityError), transaction.atomic():
        change(Payment.objects.get())
    assert Payment.objects.get().amount == Decimal("0.18")


def test_a_payment_is_never_negative_and_a_platforms_payment_is_stored_once() -> None:
    study = paid_study(arms=({},))
    [one, two] = worker_with(study, 2).submissions.order_by("pk")
    values: dict[str, Any] = {"study": study, "actor": "ada", "created_at": timezone.now(), "platform": "mturk"}
    with pytest.raises(IntegrityError, match="payment_not_negative"), transaction.atomic():
        Payment.objects.create(submission=one, amount=Decimal("-0.1"), **values)
    Payment.objects.create(submission=one, amount=1, platform_id="A1", **values)
    with pytest.raises(IntegrityError), transaction.atomic():
        Payment.objects.create(submission=two, amount=1, platform_id="A1", **values)


@pytest.mark.django_db(transaction=True)
def test_two_people_who_pay_at_once_pay_once() -> None:
    study = paid_study(arms=({},))
    for _ in range(3):
        worker_with(study, 2)
    outcomes: list[int] = []
    start = threading.Barrier(4)

    def pay() -> None:
        try:
            start.wait(20)
            outcomes.append(mark_paid(study=study, actor="ada").hits)
        except Invalid:
            outcomes.append(0)
        finally:
            connections.close_all()

    threads = [threading.Thread(target=pay) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(60)
    assert sorted(outcomes) == [0, 0, 0, 6]
    assert Payment.objects.count() == 6


# --- pages ---


def test_a_code_is_looked_up_however_it_was_typed() -> None:
    study = paid_study(arms=({},))
    worker, other = worker_with(study, 1), worker_with(study, 1)
    client = as_role("editor", study)
    code = worker.completion_code
    for typed in (code, code.lower(), f" {code[:5]}-{code[5:]} "):
        page = page_of(client, study, code=typed)
        assert worker.pseudonym in page
        assert other.pseudonym not in page
    assert "No worker of this study has the code NOTACODE" in page_of(client, study, code="NOTACODE")


def test_a_code_of_another_study_is_found_there_by_those_who_may_see_it() -> None:
    study, other, hidden = (paid_study(arms=({},), title=f"Study called {name}") for name in ("one", "two", "three"))
    user = make_user("ada")
    for each in (study, other):
        Membership.objects.create(study=each, user=user, role="editor")
    Membership.objects.create(study=hidden, user=user, role="viewer")
    client = signed_in(user)
    assert "Study called two" in page_of(client, study, code=worker_with(other, 1).completion_code)
    assert "Study called three" not in page_of(client, study, code=worker_with(hidden, 1).completion_code)


def test_the_list_is_narrowed_by_state() -> None:
    study = paid_study(arms=({},))
    paid, open_, bad = (worker_with(study, 1) for _ in range(3))
    mark_paid(study=study, actor="ada", pseudonym=paid.pseudonym)
    exclude_worker(participant=bad, note="", user=make_user("rev"))
    client = as_role("editor", study)
    for state, expected in (("paid", {paid}), ("to_pay", {open_}), ("excluded", {bad}), ("", {paid, open_, bad})):
        page = page_of(client, study, show=state)
        assert {each for each in (paid, open_, bad) if each.completion_code in page} == expected


@pytest.mark.parametrize("one", [True, False])
def test_marking_as_paid_shows_the_total_first(one: bool) -> None:
    study = paid_study(arms=({},))
    worker = worker_with(study, 2)
    worker_with(study, 1)
    client = as_role("editor", study)
    query = {"worker": worker.pseudonym} if one else {}
    page = page_of(client, study, "console_pay", **query)
    hits, total = ("2", "0.36") if one else ("3", "0.54")
    assert total in page
    assert not Payment.objects.exists()
    url = reverse("console_pay", args=[study.slug])
    wrong = client.post(url, query | {"hits": hits, "total": "0.01"}, follow=True).content.decode()
    assert "the total changed while you looked" in wrong
    assert not Payment.objects.exists()
    done = client.post(url, query | {"hits": hits, "total": total}, follow=True).content.decode()
    assert f"{hits} hits of {worker.pseudonym if one else '2 workers'} marked as paid: ${total}." in done
    assert Payment.objects.count() == int(hits)
    again = client.post(url, query | {"hits": hits, "total": total}, follow=True).content.decode()
    assert "Nothing was marked as paid" in again
    assert Payment.objects.count() == int(hits)


def test_paying_an_excluded_worker_says_what_it_includes() -> None:
    study = paid_study(arms=({},))
    worker = worker_with(study, 1)
    exclude_worker(participant=worker, note="", user=make_user("rev"))
    client = as_role("editor", study)
    assert "Pay anyway" in page_of(client, study)
    page = page_of(client, study, "console_pay", worker=worker.pseudonym, excluded="1")
    assert "This includes 1 excluded hit." in page
    form = {"worker": worker.pseudonym, "excluded": "1", "hits": "1", "total": "0.180"}
    client.post(reverse("console_pay", args=[study.slug]), form)
    assert Payment.objects.count() == 1


@pytest.mark.parametrize("hits", ["", "x", "9" * 400])
def test_a_form_without_a_total_pays_nothing(hits: str) -> None:
    study = paid_study(arms=({},))
    worker_with(study, 1)
    response = as_role("editor", study).post(reverse("console_pay", args=[study.slug]), {"hits": hits, "total": "x"})
    assert response.status_code == 302
    assert not Payment.objects.exists()


@pytest.mark.parametrize("name", ["console_payments", "console_pay", "console_payments_file"])
@pytest.mark.parametrize(("role", "status"), [("viewer", 404), ("outsider", 404), ("editor", 200), ("owner", 200)])
def test_only_those_who_may_change_a_study_see_its_payments(name: str, role: str, status: int) -> None:
    study = paid_study(arms=({},))
    worker = worker_with(study, 1)
    client = as_role(role, study)
    assert client.get(reverse(name, args=[study.slug])).status_code == status
    overview = client.get(reverse("console_study", args=[study.slug])).content.decode()
    assert (reverse("console_payments", args=[study.slug]) in overview) is (status == 200)
    assert worker.completion_code not in overview
    if status == 404:
        assert client.post(reverse("console_pay", args=[study.slug]), {"hits": 1, "total": 1}).status_code == 404


# --- files and the command line ---


def rows_of(text: str) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(text)))


def test_the_csv_holds_one_row_per_worker() -> None:
    study = paid_study()
    short, long = worker_with(study, 2), worker_with(study, 1)
    mark_paid(study=study, actor="ada", pseudonym=long.pseudonym)
    client = as_role("editor", study)
    response: Any = client.get(reverse("console_payments_file", args=[study.slug]))
    rows = {row["completion_code"]: row for row in rows_of(response.getvalue().decode())}
    assert rows[short.completion_code] == {
        "completion_code": short.completion_code,
        "worker": short.pseudonym,
        "arm": "short",
        "state": "to_pay",
        "hits_done": "2",
        "hits_to_pay": "2",
        "usd_to_pay": "0.360",
        "hits_paid": "0",
        "usd_paid": "0.000",
        "usd_bonuses_and_compensations": "0.000",
        "hits_excluded": "0",
        "hits_unconfirmed": "0",
        "hits_partly_paid": "0",
        "last_paid_at": "",
    }
    assert (rows[long.completion_code]["state"], rows[long.completion_code]["usd_paid"]) == ("paid", "0.250")
    narrowed: Any = client.get(reverse("console_payments_file", args=[study.slug]), {"show": "paid"})
    assert [row["worker"] for row in rows_of(narrowed.getvalue().decode())] == [long.pseudonym]


def test_ids_on_the_platform_are_for_owners_and_leave_a_trace() -> None:
    study = paid_study(arms=({},))
    invitation = make_invitation(study=study, name="=anna")
    worker_with(study, 1, worker=invitation.worker)
    url = reverse("console_payments_file", args=[study.slug])
    assert as_role("editor", study).get(url, {"worker_ids": "1"}).status_code == 404
    response: Any = as_role("owner", study).get(url, {"worker_ids": "1"})
    [row] = rows_of(response.getvalue().decode())
    assert (row["platform"], row["worker_id"], row["name"]) == ("link", invitation.worker.platform_id, "'=anna")
    assert AuditEntry.objects.filter(action="export worker ids").count() == 1


def command(*arguments: str) -> str:
    out = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="")
    call_command("study", "payments", *arguments, stdout=out)
    out.seek(0)
    return out.read()


def test_the_command_lists_looks_up_and_marks_as_paid(tmp_path: Any) -> None:
    study = paid_study(arms=({},))
    worker = worker_with(study, 2)
    worker_with(study, 1)
    file = tmp_path / "payments.csv"
    command(study.slug, "--out", str(file), "--worker-ids")
    assert [row["state"] for row in rows_of(file.read_text())] == ["to_pay", "to_pay"]
    command(study.slug, "--code", worker.completion_code.lower(), "--out", str(file))
    assert [row["worker"] for row in rows_of(file.read_text())] == [worker.pseudonym]
    tried = command(study.slug, "--mark-paid", "--dry-run")
    assert tried == f"{study.slug}: 3 hits of 2 workers, $0.54, would be marked as paid.\n"
    assert not Payment.objects.exists()
    one = command(study.slug, "--code", worker.completion_code, "--mark-paid")
    assert one == f"{study.slug}: 2 hits of 1 worker, $0.36, marked as paid.\n"
    assert Payment.objects.filter(actor="manage.py study").count() == 2
    with pytest.raises(CommandError):
        command(study.slug, "--code", worker.completion_code, "--mark-paid")


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (["--code", "NOTACODE"], "No worker of .* has the completion code “NOTACODE”"),
        (["--dry-run"], "--dry-run needs --mark-paid"),
        (["--mark-paid", "--state", "paid"], "leave --state out"),
    ],
)
def test_the_command_says_what_is_wrong(arguments: list[str], says: str) -> None:
    study = paid_study(arms=({},))
    worker_with(study, 1)
    with pytest.raises(CommandError, match=says):
        command(study.slug, *arguments)
    assert not Payment.objects.exists()


def test_the_list_needs_the_same_number_of_queries_however_many_workers(django_assert_max_num_queries: Any) -> None:
    study = paid_study(arms=({},))
    client = as_role("editor", study)
    for _ in range(4):
        worker_with(study, 1)
    with django_assert_max_num_queries(23):
        page_of(client, study)


def test_a_study_for_credit_says_that_it_pays_no_money() -> None:
    study = make_study(reward=Decimal(0))
    page = page_of(as_role("owner", study), study)
    assert "This study pays no money." in page
    assert "Nobody to pay yet" not in page
    paid = make_study(reward=Decimal("0.18"))
    assert "Nobody to pay yet" in page_of(as_role("owner", paid), paid)
