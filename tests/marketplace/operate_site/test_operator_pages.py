"""What an operator does: requesters, keys, workers, invitations; and that all of it is in the log."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal
from html import unescape
from typing import Any

import pytest
from django.core import mail
from django.test import Client
from django.urls import reverse

from marketplace import clock
from marketplace.models import AccessKey, AuditRow, Invitation, Requester
from marketplace.services.accounts import requester_accounts, worker_accounts
from marketplace.services.hits import assignments
from marketplace.services.money import payments
from marketplace.services.secrets import unseal
from tests.marketplace.support.operate_site import (
    PASSWORD,
    make_operator,
    make_paid,
    make_requester,
    make_submitted,
    make_worker,
    signed_in,
    sure,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def operator() -> Client:
    return signed_in(make_operator("olga"))


def logged(action: str) -> AuditRow:
    return AuditRow.objects.get(action=action)


# --- requesters -------------------------------------------------------------------------------------------------


def test_a_new_requester_has_a_deposit_and_a_user_who_can_sign_in(operator: Client) -> None:
    form = {"name": "Speech lab", "email": "s@example.org", "balance": "20.00", "username": "s", "password": PASSWORD}
    answer = operator.post(reverse("operate_new_requester"), form)
    made = Requester.objects.get(name="Speech lab")
    assert answer["Location"] == reverse("operate_requester", args=[made.pk])
    assert payments.available(made) == Decimal("20.00")
    assert Client().login(username="s", password=PASSWORD)
    assert logged("requester created").actor == "olga"
    assert logged("deposit").detail["amount"] == "20.00"


@pytest.mark.parametrize(
    ("wrong", "said"),
    [
        ({"name": ""}, "This field is required"),
        ({"name": "Lab A"}, "There is a requester named “Lab A” already"),
        ({"balance": "1.005"}, "no more than 2 decimal places"),
        ({"balance": "-1"}, "greater than or equal to 0.01"),
        ({"username": "olga", "password": PASSWORD}, "The user name “olga” is taken."),
        ({"username": "new"}, "Enter a password for this user."),
        ({"password": PASSWORD}, "Enter a user name for this password"),
        ({"username": "new", "password": "12345"}, "too short"),
    ],
)
def test_an_invalid_requester_is_refused_in_words(wrong: dict[str, str], said: str, operator: Client) -> None:
    make_requester(name="Lab A")
    before = Requester.objects.count()
    answer = operator.post(reverse("operate_new_requester"), {"name": "Lab B"} | wrong)
    assert answer.status_code == 422
    assert said in unescape(answer.content.decode())
    assert Requester.objects.count() == before


def test_a_deposit_is_added_to_the_balance(operator: Client) -> None:
    lab = make_requester(balance="5.00")
    form = {"amount": "7.25", "note": "invoice 9", "once": "x"}
    operator.post(reverse("operate_deposit", args=[lab.pk]), form)
    assert payments.available(lab) == Decimal("12.25")
    assert payments.imbalance() == 0
    assert AuditRow.objects.get(action="deposit", actor="olga").detail == {"amount": "7.25", "note": "invoice 9"}


def test_a_deposit_with_an_invalid_amount_changes_nothing(operator: Client) -> None:
    lab = make_requester(balance="5.00")
    for amount in ("", "0", "-3", "abc", "1e9", "NaN", "0.001"):
        form = {"amount": amount, "once": "x"}
        assert operator.post(reverse("operate_deposit", args=[lab.pk]), form).status_code == 422
    assert payments.available(lab) == Decimal("5.00")


def test_a_deactivated_requester_can_be_activated_again(operator: Client) -> None:
    lab = make_requester()
    address = reverse("operate_requester_active", args=[lab.pk])
    sure(operator, address, {"active": "0"})
    assert not Requester.objects.get(pk=lab.pk).active
    operator.post(address, {"active": "1"})
    assert Requester.objects.get(pk=lab.pk).active
    assert logged("requester deactivated").actor == "olga"


def test_the_secret_of_a_key_is_shown_once(operator: Client) -> None:
    lab = make_requester()
    answer = operator.post(reverse("operate_make_key", args=[lab.pk]))
    key = AccessKey.objects.get(requester=lab)
    secret = unseal(key.secret_sealed)
    assert secret in answer.content.decode()
    assert "no-store" in answer["Cache-Control"]
    again = operator.get(reverse("operate_requester", args=[lab.pk])).content.decode()
    assert key.access_key_id in again
    assert secret not in again
    assert secret not in str(list(AuditRow.objects.values_list("detail", "about")))


def test_a_revoked_key_stays_in_the_list_as_revoked(operator: Client) -> None:
    lab = make_requester()
    key = requester_accounts.create_access_key(requester=lab, actor="test").key
    sure(operator, reverse("operate_revoke_key", args=[lab.pk, key.pk]))
    key.refresh_from_db()
    assert key.revoked_at is not None
    page = operator.get(reverse("operate_requester", args=[lab.pk])).content.decode()
    assert "Revoked" in page
    assert "Revoke AKIA" not in page


def test_a_key_is_revoked_only_under_its_own_requester(operator: Client) -> None:
    key = requester_accounts.create_access_key(requester=make_requester(), actor="test").key
    address = reverse("operate_revoke_key", args=[make_requester().pk, key.pk])
    assert operator.post(address).status_code == 404


# --- workers ----------------------------------------------------------------------------------------------------


def test_workers_are_found_by_id_name_country_and_status(operator: Client) -> None:
    ann, ben = make_worker(name="Ann", country="NL"), make_worker(name="Ben", country="US")
    worker_accounts.set_worker_active(worker=ben, active=False, actor="test")

    def found(**query: str) -> set[str]:
        page = operator.get(reverse("operate_workers"), query).content.decode()
        return {one.name for one in (ann, ben) if one.worker_id in page.split("<tbody>")[-1]}

    assert found() == {"Ann", "Ben"}
    assert found(q="ann") == {"Ann"}
    assert found(q=ben.worker_id[:9]) == {"Ben"}
    assert found(country="us") == {"Ben"}
    assert found(active="yes") == {"Ann"}
    assert found(active="no") == {"Ben"}
    assert found(q="ann", country="US") == set()


def test_a_workers_page_counts_what_they_did(operator: Client) -> None:
    worker = make_worker()
    assignments.approve(assignment=make_submitted(worker=worker, reward="0.50"))
    assignments.reject(assignment=make_submitted(worker=worker), feedback="Empty.")
    make_submitted(worker=worker)
    payments.pay_out(worker=worker, amount=Decimal("0.20"), actor="test")
    page = operator.get(reverse("operate_worker", args=[worker.worker_id])).content.decode()
    tiles = dict(re.findall(r"<div><dt>([^<]+)</dt><dd>([^<]+?)(?: <|</dd>)", page))
    assert tiles["Approved"] == "1"
    assert tiles["Rejected"] == "1"
    assert tiles["Waiting for review"] == "1"
    assert tiles["Earned"] == "$0.50"
    assert tiles["Paid out"] == "$0.20"
    assert tiles["Owed"] == "$0.30"
    assert "50% of decided" in page


def test_a_workers_country_is_changed_and_logged(operator: Client) -> None:
    worker = make_worker(country="NL")
    operator.post(reverse("operate_worker", args=[worker.worker_id]), {"country": "us"})
    worker.refresh_from_db()
    assert worker.country == "US"
    assert logged("worker changed").detail == {"what": "country", "was": "NL", "country": "US"}
    assert operator.post(reverse("operate_worker", args=[worker.worker_id]), {"country": "USA"}).status_code == 422


def test_a_deactivated_worker_may_come_back(operator: Client) -> None:
    worker = make_worker()
    address = reverse("operate_worker_active", args=[worker.worker_id])
    sure(operator, address, {"active": "0"})
    worker.refresh_from_db()
    assert not worker.active
    operator.post(address, {"active": "1"})
    worker.refresh_from_db()
    assert worker.active


def test_what_the_payroll_needs_is_typed_in_and_the_log_names_no_account(operator: Client) -> None:
    worker = make_worker(country="NL")
    form = {"name": "Ann Example", "payment_address": "NL00 TEST 0123", "country": "NL"}
    operator.post(reverse("operate_worker", args=[worker.worker_id]), form)
    worker.refresh_from_db()
    assert (worker.name, worker.payment_address) == ("Ann Example", "NL00 TEST 0123")
    row = logged("worker changed")
    assert row.detail == {"what": "name, payment address"}
    operator.post(reverse("operate_worker", args=[worker.worker_id]), form)
    assert AuditRow.objects.filter(action="worker changed").count() == 1


def test_a_worker_whose_user_is_gone_is_still_shown(operator: Client) -> None:
    done = make_paid()
    assert done.worker.user
    done.worker.user.delete()
    for address in (
        reverse("operate_workers"), reverse("operate_owed"), reverse("operate_worker", args=[done.worker.worker_id]),
    ):  # fmt: skip
        page = operator.get(address)
        assert page.status_code == 200
        assert done.worker.worker_id in page.content.decode()


# --- invitations ------------------------------------------------------------------------------------------------


def test_invitation_links_are_shown_once_and_work(operator: Client) -> None:
    answer = operator.post(reverse("operate_invitations"), {"count": "3", "days": "7"})
    links = re.findall(r"http\S+/\S+", unescape(answer.content.decode().split("<textarea")[1].split("</textarea>")[0]))
    assert len(links) == len(set(links)) == 3
    token = links[0].rstrip("/").rpartition("/")[2]
    worker = worker_accounts.redeem_invitation(token=token, username="w", password=PASSWORD, email="w@example.org")
    later = operator.get(reverse("operate_invitations")).content.decode()
    assert worker.worker_id in later
    assert token not in later
    assert len(re.findall(">Open<", later)) == 2
    assert mail.outbox == []


def test_an_invitation_is_sent_to_one_address(operator: Client) -> None:
    operator.post(reverse("operate_invitations"), {"email": "ann@example.org", "count": "1", "days": "7"})
    (letter,) = mail.outbox
    assert letter.to == ["ann@example.org"]
    assert "/join/" in letter.body
    refused = operator.post(reverse("operate_invitations"), {"email": "ann@example.org", "count": "2", "days": "7"})
    assert refused.status_code == 422
    assert Invitation.objects.count() == 1


def test_an_invitation_that_could_not_be_sent_is_still_there(operator: Client, settings: Any) -> None:
    settings.EMAIL_BACKEND = "tests.marketplace.operate_site.test_operator_pages.BrokenMail"
    form = {"email": "ann@example.org", "count": "1", "days": "7"}
    page = operator.post(reverse("operate_invitations"), form).content.decode()
    assert "The e-mail to ann@example.org could not be sent." in page
    assert "/join/" in page


class BrokenMail:
    def __init__(self, **options: object) -> None:
        pass

    def send_messages(self, messages: object) -> int:
        raise OSError("No mail server.")


def test_an_expired_invitation_says_so(operator: Client) -> None:
    worker_accounts.invite(days=1, actor="test")
    Invitation.objects.update(expires_at=clock.now() - timedelta(seconds=1))
    assert ">Expired<" in operator.get(reverse("operate_invitations")).content.decode()


# --- the log ----------------------------------------------------------------------------------------------------


def test_the_log_is_searched_and_escapes_what_people_wrote(operator: Client) -> None:
    make_requester(name="<b>Bold</b> lab")
    page = operator.get(reverse("operate_log"), {"q": "Bold"}).content.decode()
    assert "&lt;b&gt;Bold&lt;/b&gt; lab" in page
    assert "<b>Bold</b>" not in page
    assert "requester created" in page
    assert "No entries match" in operator.get(reverse("operate_log"), {"q": "nobody of this name"}).content.decode()
