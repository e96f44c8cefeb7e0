"""The operator's and the requester's work on the marketplace in a real browser, and axe-core on every page."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from django.urls import reverse
from playwright.sync_api import Page, expect
from pytest_django.live_server_helper import LiveServer

from marketplace import clock
from marketplace.models import Hit, WorkerBlock
from marketplace.services import disputes
from marketplace.services.accounts import requester_accounts, users, worker_accounts
from marketplace.services.messages import notification_delivery
from marketplace.services.money import payroll
from tests.browser.conftest import NARROW, WIDE, NewPage, axe_problems
from tests.marketplace.support.operate_site import (
    PASSWORD,
    make_dispute,
    make_hit,
    make_operator,
    make_paid,
    make_reply,
    make_requester,
    make_submitted,
    make_user,
    make_worker,
)

pytestmark = [pytest.mark.browser, pytest.mark.django_db(transaction=True)]

#: A folder for screenshots of every page.
PICTURES = os.environ.get("HITSERVER_TEST_PICTURES", "")


def sign_in(page: Page, live_server: LiveServer, name: str) -> None:
    page.goto(live_server.url + reverse("operate_home"))
    page.get_by_label("Username").fill(name)
    page.get_by_label("Password").fill(PASSWORD)
    page.get_by_role("button", name="Sign in").click()
    expect(page.get_by_role("button", name="Sign out")).to_be_visible()


def test_an_operator_sets_up_a_marketplace_and_pays(live_server: LiveServer, new_page: NewPage) -> None:
    make_operator("olga")
    page = new_page()
    sign_in(page, live_server, "olga")
    page.get_by_role("link", name="Create a requester").first.click()
    page.get_by_label("Name", exact=True).fill("Speech lab")
    page.get_by_label("First deposit in $").fill("20")
    page.get_by_role("button", name="Create").click()
    expect(page.get_by_role("status")).to_contain_text("Speech lab was created")

    page.get_by_role("button", name="Create access key").click()
    made = page.get_by_role("region", name="Your new access key")
    expect(made).to_contain_text("It is not shown again")
    key = made.locator("code").first.inner_text()
    page.get_by_role("link", name="Requesters").click()
    page.get_by_role("link", name="Speech lab").click()
    expect(made).to_have_count(0)
    page.get_by_role("button", name=f"Revoke {key}").click()
    expect(page.get_by_role("heading", name=f"Revoke {key}?")).to_be_visible()
    page.get_by_role("button", name="Revoke").click()
    expect(page.get_by_role("status")).to_contain_text(f"{key} is revoked")

    page.get_by_label("Amount in $").first.fill("5.50")
    page.get_by_role("button", name="Add to the balance").click()
    expect(page.get_by_text("$25.50", exact=False).first).to_be_visible()

    page.get_by_role("link", name="Invitations").click()
    page.get_by_label("How many links").fill("2")
    page.get_by_role("button", name="Create links").click()
    assert page.get_by_label("The new links").input_value().count("/join/") == 2

    worker = make_paid(reward="0.50").worker
    page.get_by_role("link", name="Payroll", exact=True).click()
    page.get_by_role("button", name="Create payroll").click()
    expect(page.get_by_role("status")).to_contain_text("Payroll 1 was created.")
    page.get_by_label(worker.worker_id).check()
    page.get_by_label("Reference").fill("Transfer 5")
    page.get_by_role("button", name="Mark as paid").click()
    expect(page.get_by_role("heading", name="Mark $0.50 as paid to 1 worker?")).to_be_visible()
    page.get_by_role("button", name="Mark as paid").click()
    expect(page.get_by_role("status")).to_contain_text("$0.50 marked as paid to 1 worker.")
    expect(page.get_by_text("Transfer 5")).to_be_visible()
    page.get_by_role("link", name="Ledger").click()
    expect(page.get_by_text("and so do all together: $0.00")).to_be_visible()


def test_a_requester_rejects_and_an_operator_overturns(live_server: LiveServer, new_page: NewPage) -> None:
    make_operator("olga")
    lab = make_requester(name="Speech lab", user=make_user("sue"))
    done = make_submitted(hit=make_hit(requester=lab, title="Rate replies"))
    page = new_page(viewport=NARROW)
    sign_in(page, live_server, "sue")
    page.get_by_role("link", name="Rate replies").click()
    page.get_by_role("link", name=done.assignment_id).click()
    page.get_by_label("Reject").check()
    page.get_by_role("button", name="Save the decision").click()
    expect(page.get_by_role("alert")).to_contain_text("Tell the worker why")
    page.get_by_label("Feedback to the worker").fill("All the same answer.")
    page.get_by_role("button", name="Save the decision").click()
    expect(page.get_by_role("status")).to_contain_text("Rejected.")

    disputes.object_to(assignment_id=done.assignment_id, worker=done.worker, text="They differ.")
    page.reload()
    page.get_by_label("Your answer to the objection").fill("Not by much.")
    page.get_by_role("button", name="Send").click()
    expect(page.get_by_role("status")).to_contain_text("Your answer is saved.")
    operator = new_page()
    sign_in(operator, live_server, "olga")
    operator.get_by_role("link", name="Disputes").click()
    operator.get_by_role("link", name=done.assignment_id).click()
    expect(operator.get_by_text("They differ.")).to_be_visible()
    expect(operator.get_by_text("Not by much.")).to_be_visible()
    operator.get_by_label("Overturned").check()
    operator.get_by_label("Reason").fill("Three different answers.")
    operator.get_by_role("button", name="Save the decision").click()
    expect(operator.get_by_role("status")).to_contain_text("overturned; the worker is paid")
    page.reload()
    expect(page.get_by_text("Approved", exact=True).first).to_be_visible()


def test_a_requester_runs_a_hit_without_a_program(live_server: LiveServer, new_page: NewPage) -> None:
    make_requester(name="Speech lab", balance="20.00", user=make_user("sue"))
    page = new_page()
    sign_in(page, live_server, "sue")
    page.get_by_role("link", name="New HIT").click()
    page.get_by_label("Title").fill("Rate a reply")
    page.get_by_label("Description").fill("Read and rate.")
    page.get_by_label("Reward in $").fill("0.25")
    page.get_by_label("Workers", exact=True).fill("2")
    page.get_by_label("A page typed here (HTML").check()
    page.locator("#id_html").fill("<!doctype html><p>Is it fluent?</p>")
    page.get_by_role("button", name="Continue").click()
    expect(page.get_by_text("It can cost up to $0.60")).to_be_visible()
    page.get_by_role("button", name="Create the HIT").click()
    expect(page.get_by_role("status")).to_contain_text("The HIT is on offer.")

    hit = Hit.objects.get()
    done = [make_submitted(hit=hit) for _ in range(2)]
    page.reload()
    page.get_by_label(f"Select {done[0].assignment_id}").check()
    page.get_by_role("button", name="Approve…").click()
    expect(page.get_by_role("heading", name="Approve 1 assignment and pay $0.25?")).to_be_visible()
    page.get_by_role("button", name="Approve", exact=True).click()
    expect(page.get_by_role("status")).to_contain_text("1 assignment approved. The workers earned $0.25.")
    assert page.url.endswith(reverse("operate_my_hit", args=[hit.hit_id]))

    page.get_by_role("link", name=done[0].assignment_id).click()
    page.get_by_text("Pay a bonus", exact=True).click()
    page.get_by_label("Bonus in $").fill("0.10")
    page.get_by_label("Reason").fill("Very careful.")
    page.get_by_role("button", name="Continue").click()
    page.get_by_role("button", name="Pay the bonus").click()
    expect(page.get_by_role("status")).to_contain_text("got a bonus of $0.10")

    page.get_by_role("link", name="Blocked workers").click()
    page.get_by_label("Worker ID").fill(done[1].worker.worker_id)
    page.get_by_label("Reason").fill("Copies answers.")
    page.get_by_role("button", name="Block", exact=True).click()
    page.get_by_role("button", name=f"Unblock {done[1].worker.worker_id}").click()
    expect(page.get_by_role("status")).to_contain_text("can work on your HITs again")


def fill_the_marketplace() -> dict[str, list[str]]:
    """Something on every page; the addresses of all pages by who sees them."""
    make_operator("olga")
    lab = make_requester(name="Laboratory for Spoken and Written Language", user=make_user("sue"))
    make_paid(requester=lab, worker=make_worker(name="Ann Example"))
    done = make_submitted(hit=make_hit(requester=lab, assignments=9), answer="Yes, and it reads well.\nBoth times.")
    dispute = make_dispute(requester=lab)
    key = requester_accounts.create_access_key(requester=lab, actor="olga").key
    requester_accounts.revoke_access_key(key=key, actor="olga")
    requester_accounts.create_access_key(requester=lab, actor="olga")
    worker_accounts.invite(email="ann@example.org", actor="olga")
    blocked = {"requester": lab, "worker": done.worker, "reason": "Copies answers."}
    WorkerBlock.objects.create(**blocked, created_at=clock.now())
    made = payroll.make_payroll(actor="olga")
    payroll.mark_paid(payroll=made, rows=None, reference="Transfer 5", actor="olga")
    make_paid(requester=lab)
    open_payroll = payroll.make_payroll(actor="olga")
    make_paid(requester=lab)
    alone = requester_accounts.create_requester(name="Nobody signs in for it", email="lab@example.org", actor="olga")
    plain = ("home", "requesters", "new_requester", "workers", "invitations", "balances", "ledger", "payrolls", "owed")
    operators = [reverse(f"operate_{name}") for name in (*plain, "disputes", "log", "password")]
    operators += [
        reverse("operate_requester", args=[lab.pk]),
        reverse("operate_worker", args=[done.worker.worker_id]),
        reverse("operate_dispute", args=[dispute.assignment_id]),
        reverse("operate_requester", args=[alone.pk]),
        reverse("operate_payroll", args=[made.number]),
        reverse("operate_payroll", args=[open_payroll.number]),
        reverse("operate_welcome", args=[users.invite_user(requester=alone, actor="olga")]),
    ]
    notification_delivery.send_test(
        requester=lab,
        transport="SNS",
        destination="arn:aws:sns:us-east-1:123456789012:events",
        event_type="HITReviewable",
        now=clock.now(),
    )
    operators += [reverse("operate_replies"), reverse("operate_reply", args=[make_reply(done.worker, None).message_id])]
    plain = ("hits", "new_hit", "assignments", "balance", "replies", "notifications", "keys", "blocks", "log")
    mine = [reverse(f"operate_my_{name}") for name in plain]
    mine += [
        reverse("operate_my_reply", args=[make_reply(done.worker, lab).message_id]),
        reverse("operate_my_hit", args=[done.hit.hit_id]),
        reverse("operate_my_assignment", args=[done.assignment_id]),
        reverse("operate_my_assignment", args=[dispute.assignment_id]),
    ]
    return {"olga": operators, "sue": mine}


@pytest.mark.parametrize(
    ("viewport", "scheme"),
    [
        pytest.param(NARROW, "dark", id="390-dark"),
        pytest.param(WIDE, "light", id="1280-light"),
        pytest.param(NARROW, "light", id="390-light", marks=pytest.mark.long),
        pytest.param(WIDE, "dark", id="1280-dark", marks=pytest.mark.long),
    ],
)
def test_every_page_is_accessible_and_fits(
    viewport: dict[str, int], scheme: str, live_server: LiveServer, new_page: NewPage, axe_core: Path
) -> None:
    problems: list[str] = []
    for name, addresses in fill_the_marketplace().items():
        page = new_page(viewport=viewport, color_scheme=scheme)
        page.goto(live_server.url + reverse("operate_login"))
        problems += [f"login: {problem}" for problem in axe_problems(page, axe_core)]
        sign_in(page, live_server, name)
        for address in addresses:
            answer = page.goto(live_server.url + address)
            assert answer is not None and answer.status == 200, address
            problems += [f"{address}: {problem}" for problem in axe_problems(page, axe_core)]
            if page.evaluate("document.documentElement.scrollWidth > document.documentElement.clientWidth"):
                problems.append(f"{address}: wider than the screen")
            if PICTURES:
                called = address.strip("/").replace("/", "-").removeprefix("marketplace-operate") or "home"
                path = Path(PICTURES) / f"{called}-{viewport['width']}-{scheme}.png"
                page.screenshot(path=path, full_page=True)
    assert not problems, "\n".join(problems)
