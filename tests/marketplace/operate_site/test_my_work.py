"""What requesters do in the browser: create and end HITs, approve several at once, pay bonuses, block, answer."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal
from html import unescape

import pytest
from django.test import Client
from django.urls import reverse

from marketplace import clock
from marketplace.models import Assignment, Bonus, Hit, Message, NotificationDelivery, Requester, WorkerBlock
from marketplace.services.accounts import worker_accounts
from marketplace.services.hits import assignments
from marketplace.services.messages import notification_delivery, worker_messages
from marketplace.services.money import payments
from tests.marketplace.support.checks import check_all
from tests.marketplace.support.operate_site import (
    make_hit,
    make_operator,
    make_reply,
    make_requester,
    make_submitted,
    make_worker,
    signed_in,
    sure,
)

pytestmark = pytest.mark.django_db


@pytest.fixture
def lab() -> Requester:
    return make_requester(name="Speech lab", balance="50.00")


@pytest.fixture
def client(lab: Requester) -> Client:
    return signed_in(lab.user)


def shown(client: Client, name: str, *args: object) -> str:
    return unescape(client.get(reverse(f"operate_{name}", args=args)).content.decode())


def states() -> list[str]:
    return list(Assignment.objects.order_by("pk").values_list("state", flat=True))


# --- Several at once ----------------------------------------------------------------------------------------


def test_selected_assignments_are_approved_and_paid_once(lab: Requester, client: Client) -> None:
    hits = [make_hit(requester=lab, assignments=2, reward="0.35") for _ in range(2)]
    done = [make_submitted(hit=hit) for hit in hits for _ in range(2)]
    chosen = {"assignment": [each.assignment_id for each in done[:3]], "feedback": "Careful work."}
    asked = client.post(reverse("operate_my_approve"), chosen).content.decode()
    assert "Approve 3 assignments and pay $1.05?" in asked and "cannot be undone" in asked
    assert set(states()) == {"Submitted"}

    for _ in range(2):
        client.post(reverse("operate_my_approve"), {**chosen, "confirmed": "yes"})
    assert states() == ["Approved", "Approved", "Approved", "Submitted"]
    assert {each.requester_feedback for each in Assignment.objects.all()} == {"Careful work.", ""}
    assert [payments.owed(each.worker) for each in done] == [Decimal("0.35")] * 3 + [Decimal("0.00")]
    # 50.00 less four times 0.35 and a fee of 0.07
    assert (payments.available(lab), payments.held(lab)) == (Decimal("48.32"), Decimal("0.42"))
    check_all()


def test_all_means_the_ones_that_the_page_listed(lab: Requester, client: Client) -> None:
    hit = make_hit(requester=lab, assignments=3)
    make_submitted(hit=hit), make_submitted(hit=make_hit(requester=lab))
    asked = client.post(reverse("operate_my_approve"), {"all": "1", "hit": hit.hit_id}).content.decode()
    assert "Approve 1 assignment and pay $0.50?" in asked
    make_submitted(hit=hit)  # somebody submits while the requester reads
    sure_form = {
        "all": "1",
        "hit": hit.hit_id,
        "confirmed": "yes",
        "assignment": [Assignment.objects.order_by("pk")[0].assignment_id],
    }
    client.post(reverse("operate_my_approve"), sure_form)
    assert states() == ["Approved", "Submitted", "Submitted"]


def test_nobody_approves_another_requesters_work_or_work_decided_on(lab: Requester, client: Client) -> None:
    mine, others = make_submitted(hit=make_hit(requester=lab)), make_submitted()
    assignments.reject(assignment=mine, feedback="Empty.")
    chosen = {"assignment": [mine.assignment_id, others.assignment_id], "confirmed": "yes"}
    answer = client.post(reverse("operate_my_approve"), chosen, follow=True)
    assert states() == ["Rejected", "Submitted"]
    assert "2 assignments had already been decided on and did not change." in answer.content.decode()
    assert "Select at least one" in client.post(reverse("operate_my_approve"), follow=True).content.decode()
    too_long = client.post(reverse("operate_my_approve"), chosen | {"feedback": "x" * 1025}, follow=True)
    assert "at most 1,024 characters. Nothing was approved." in too_long.content.decode()
    check_all()


def test_the_way_back_stays_on_this_site(client: Client) -> None:
    for wanted in ("https://evil.example/", "//evil.example/", "javascript:alert(1)"):
        answer = client.post(reverse("operate_my_approve"), {"back": wanted})
        assert answer.headers["Location"] == reverse("operate_my_assignments")


# --- Bonus --------------------------------------------------------------------------------------------------


def test_a_bonus_is_paid_once_per_form_with_its_fee(lab: Requester, client: Client) -> None:
    done = make_submitted(hit=make_hit(requester=lab, assignments=1))
    address = reverse("operate_my_bonus", args=[done.assignment_id])
    form = {"amount": "0.18", "reason": "Very fast.", "once": "one-form"}
    asked = client.post(address, form).content.decode()
    assert f"Pay {done.worker.worker_id} a bonus of $0.18?" in asked
    assert "With the fee, $0.22 leave your balance." in asked  # 20 percent of 0.18 is 0.036, so 0.04
    assert not Bonus.objects.exists()

    client.post(address, form | {"confirmed": "yes"})
    again = client.post(address, form | {"confirmed": "yes"})
    assert again.status_code == 422 and "already sent this form" in again.content.decode()
    assert Bonus.objects.get().amount == Decimal("0.18")
    assert payments.owed(done.worker) == Decimal("0.18")
    assert payments.available(lab) == Decimal("50.00") - Decimal("0.60") - Decimal("0.22")
    check_all()


@pytest.mark.parametrize(("amount", "says"), [("0", "0.01"), ("500", "does not cover"), ("1.005", "2 decimal places")])
def test_a_bonus_that_cannot_be_paid_is_refused_with_the_reason(
    amount: str, says: str, lab: Requester, client: Client
) -> None:
    done = make_submitted(hit=make_hit(requester=lab))
    form = {"amount": amount, "reason": "Fast.", "once": "x", "confirmed": "yes"}
    answer = client.post(reverse("operate_my_bonus", args=[done.assignment_id]), form)
    assert answer.status_code == 422 and says in answer.content.decode()
    assert not Bonus.objects.exists()


# --- HITs ---------------------------------------------------------------------------------------------------

NEW = {
    "title": "Rate a reply",
    "description": "Read and rate.",
    "reward": "0.25",
    "assignments": "3",
    "minutes": "20",
    "days": "7",
    "approve_days": "3",
    "countries": "de, AT",
    "percent": "95",
    "source": "url",
    "url": "https://lab.example.org/rate?set=7&part=2",
    "height": "600",
    "once": "one-form",
}


def test_a_hit_is_created_once_after_its_cost_was_shown(lab: Requester, client: Client) -> None:
    asked = unescape(client.post(reverse("operate_my_new_hit"), NEW).content.decode())
    assert "It can cost up to $0.90: 3 × $0.25 in rewards and $0.15 in fees." in asked
    assert not Hit.objects.exists()

    answer = client.post(reverse("operate_my_new_hit"), NEW | {"confirmed": "yes"})
    again = client.post(reverse("operate_my_new_hit"), NEW | {"confirmed": "yes"})
    made = Hit.objects.get()
    assert answer.headers["Location"] == reverse("operate_my_hit", args=[made.hit_id])
    assert again.status_code == 422 and "already sent this form" in again.content.decode()
    assert "<ExternalURL>https://lab.example.org/rate?set=7&amp;part=2</ExternalURL>" in made.question
    assert (made.max_assignments, made.hit_type.assignment_duration) == (3, 1200)
    locale, percent = made.hit_type.requirements
    assert locale["LocaleValues"] == [{"Country": "DE"}, {"Country": "AT"}]
    assert (percent["Comparator"], percent["IntegerValues"]) == ("GreaterThanOrEqualTo", [95])
    assert payments.held(lab) == Decimal("0.90")
    check_all()


@pytest.mark.parametrize(
    ("wrong", "says"),
    [
        ({"url": ""}, "Enter the address."),
        ({"source": "html", "html": " "}, "Type the page."),
        ({"source": "layout"}, "Choose a layout."),
        ({"countries": "DE, XX"}, "Not a country code of ISO 3166: XX."),
        ({"reward": "100"}, "does not cover"),
        ({"minutes": "0"}, "greater than or equal to 1"),
        ({"source": "html", "html": "x" * 70_000}, "65,535"),
    ],
)
def test_an_invalid_hit_is_refused_with_the_reason(wrong: dict[str, str], says: str, client: Client) -> None:
    answer = client.post(reverse("operate_my_new_hit"), NEW | wrong | {"confirmed": "yes"})
    assert answer.status_code == 422 and says in unescape(answer.content.decode())
    assert not Hit.objects.exists()


def test_a_hit_is_expired_and_offered_again(lab: Requester, client: Client) -> None:
    hit = make_hit(requester=lab, assignments=1)
    client.post(reverse("operate_my_expire_hit", args=[hit.hit_id]))
    hit.refresh_from_db()
    assert (hit.state, payments.held(lab)) == ("Reviewable", Decimal("0.00"))
    day = (clock.now() + timedelta(days=2)).date()
    client.post(reverse("operate_my_reopen_hit", args=[hit.hit_id]), {"until": day.isoformat()})
    hit.refresh_from_db()
    assert (hit.state, payments.held(lab)) == ("Assignable", Decimal("0.60"))
    assert hit.expires_at.isoformat() == f"{day + timedelta(days=1)}T00:00:00+00:00"
    far = client.post(reverse("operate_my_reopen_hit", args=[hit.hit_id]), {"until": "2999-01-01"})
    assert far.status_code == 422 and "at most 365 days from now" in far.content.decode()
    check_all()


# --- Workers ------------------------------------------------------------------------------------------------


def test_a_worker_is_blocked_and_unblocked(lab: Requester, client: Client) -> None:
    worker = make_worker()
    wrong = client.post(reverse("operate_my_blocks"), {"worker": "A0", "reason": "Copies."})
    assert wrong.status_code == 422 and "There is no worker “A0”." in wrong.content.decode()
    client.post(reverse("operate_my_blocks"), {"worker": worker.worker_id, "reason": "Copies."})
    assert WorkerBlock.objects.get().worker == worker
    other = make_requester()
    worker_accounts.block(requester=other, worker=worker, reason="Theirs.")
    assert "Theirs." not in shown(client, "my_blocks")
    for _ in range(2):
        client.post(reverse("operate_my_unblock", args=[worker.worker_id]))
    assert WorkerBlock.objects.get().requester == other


def test_a_reply_is_read_and_answered_only_by_its_recipient(lab: Requester, client: Client) -> None:
    operator, worker = signed_in(make_operator()), make_worker()
    mine, theirs = make_reply(worker, lab, "To the lab."), make_reply(worker, None, "To the marketplace.")
    assert "To the lab." in shown(client, "my_replies") and "To the marketplace." not in shown(client, "my_replies")
    assert "To the lab." not in shown(operator, "replies") and "To the marketplace." in shown(operator, "replies")
    assert worker_messages.unread_replies(lab) == 1
    address = reverse("operate_my_reply", args=[mine.message_id])
    assert client.get(address).status_code == 200 and worker_messages.unread_replies(lab) == 0
    assert client.get(reverse("operate_my_reply", args=[theirs.message_id])).status_code == 404
    assert signed_in(make_requester().user).get(address).status_code == 404
    assert client.post(address, {"text": " "}).status_code == 422
    client.post(address, {"text": "The second one."})
    answer = Message.objects.latest("pk")
    assert (answer.subject, answer.text, answer.requester, answer.from_worker) == (
        "Re: About your work", "The second one.", lab, False,
    )  # fmt: skip
    assert worker_messages.inbox(worker).first() == answer


def test_a_requester_sees_what_was_not_delivered_and_why(lab: Requester, client: Client) -> None:
    arn = "arn:aws:sns:us-east-1:123456789012:events"
    notification_delivery.send_test(requester=lab, transport="SNS", destination=arn, event_type="Ping", now=clock.now())
    assert NotificationDelivery.objects.get().given_up
    page = shown(client, "my_notifications")
    assert "Not delivered" in page and arn in page and "HITSERVER_MARKETPLACE_SNS_URL" in page
    assert arn not in shown(signed_in(make_requester().user), "my_notifications")


def test_no_page_of_a_requester_counts_everybodys_transactions(lab: Requester, client: Client) -> None:
    operator = signed_in(make_operator())
    assert "no. " not in shown(client, "my_balance")
    assert "no. " in shown(operator, "ledger")


def test_an_approval_is_confirmed_by_the_form_that_the_page_shows(lab: Requester, client: Client) -> None:
    done = make_submitted(hit=make_hit(requester=lab))
    sure(client, reverse("operate_my_approve"), {"all": "1", "back": reverse("operate_my_assignments")})
    done.refresh_from_db()
    assert done.state == "Approved"
