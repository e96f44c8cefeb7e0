"""Finding tasks faster: accept from the list, the next one automatically, the least reward, approval rates, replies."""

from __future__ import annotations

from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from marketplace.models import Assignment, Message
from marketplace.services import assignments, messages
from marketplace.sites.work import queries
from tests.marketplace.support.work_site import (
    FORM,
    GOOD,
    make_assignment,
    make_hit,
    make_requester,
    make_worker,
    signed_in,
)

pytestmark = pytest.mark.django_db


def home(client: Client, **query: str) -> str:
    return client.get(reverse("market_home"), query).content.decode()


def test_a_task_is_accepted_from_the_list() -> None:
    hit, client = make_hit(max_assignments=2), signed_in(make_worker())
    make_hit(hit.requester)
    address = reverse("market_accept", args=[hit.hit_type.type_id])
    assert f'action="{address}"' in home(client)
    client.post(address)
    assert Assignment.objects.get().hit == hit
    after = home(client)
    assert f'action="{address}"' not in after and ">Continue<" in after


def test_tasks_are_filtered_by_reward() -> None:
    make_hit(title="Short", reward=Decimal("0.10"))
    make_hit(title="Long", reward=Decimal("0.50"))
    client = signed_in(make_worker())
    assert "Short" in home(client, least="") and "Short" in home(client, least="0.10")
    for typed in ("0.5", "$0.50", " 0.11 "):
        assert "Short" not in home(client, least=typed) and "Long" in home(client, least=typed)
    wrong = home(client, least="<b>much")
    assert "Write an amount in dollars, such as 0.50." in wrong and "Short" in wrong and "<b>much" not in wrong
    assert "No tasks match" in home(client, least="0.51")


def test_the_share_that_a_requester_approves_is_shown() -> None:
    lab, nobody = make_requester("Lab"), make_requester("New")
    for number in range(3):
        done = make_assignment(make_worker(), make_hit(lab))
        assignments.submit(assignment_id=done.assignment_id, worker=done.worker, answers={"tone": "sad"})
        if number:
            assignments.approve(assignment=done)
        else:
            assignments.reject(assignment=done, feedback="No.")
    rates = queries.approval_rates([lab.pk, nobody.pk])
    assert str(rates[lab.pk]) == "66% of 3"  # two of three, rounded down
    assert str(rates[nobody.pk]) == "no decisions yet"
    hit, client = make_hit(lab), signed_in(make_worker())
    assert "66% of 3" in home(client)
    assert "66% of 3" in client.get(reverse("market_group", args=[hit.hit_type.type_id])).content.decode()


def test_the_next_task_is_accepted_automatically_if_the_worker_wants_that() -> None:
    lab, worker = make_requester(), make_worker()
    hits = [make_hit(lab, question=FORM) for _ in range(3)]
    client, group = signed_in(worker), hits[0].hit_type.type_id
    client.post(reverse("market_accept", args=[group]), {"next": "1"})

    def submit() -> str:
        task = Assignment.objects.get(worker=worker, state="Accepted")
        client.post(reverse("market_task", args=[task.assignment_id]), GOOD)
        return client.get(reverse("market_done", args=[task.assignment_id])).content.decode()

    assert "data-at-once" in submit()
    shown = client.post(reverse("market_accept", args=[group]), {"next": "1", "continued": "1"}, follow=True)
    assert "Submitted. This is your next task." in shown.content.decode()
    task = Assignment.objects.get(worker=worker, state="Accepted")
    assert client.post(reverse("market_accept_next", args=[task.assignment_id])).status_code == 204  # no longer
    assert "data-at-once" not in submit()


def test_coming_back_to_the_page_later_accepts_nothing() -> None:
    lab, worker = make_requester(), make_worker()
    hits = [make_hit(lab, question=FORM) for _ in range(2)]
    client = signed_in(worker)
    client.post(reverse("market_accept", args=[hits[0].hit_type.type_id]), {"next": "1"})
    task = Assignment.objects.get()
    client.post(reverse("market_task", args=[task.assignment_id]), GOOD)
    Assignment.objects.update(submitted_at=timezone.now() - timedelta(minutes=2))
    page = client.get(reverse("market_done", args=[task.assignment_id])).content.decode()
    assert "data-at-once" not in page and "Accept the next task<" in page


@pytest.mark.parametrize(
    "address",
    ["/projects/{}/tasks", "/projects/{}/tasks/", "/mturk/preview?groupId={}", "/mturk/previewandaccept?groupId={}"],
)
def test_addresses_that_tools_print_lead_to_the_tasks(address: str) -> None:
    hit, client = make_hit(title="Rate a reply"), signed_in(make_worker())
    answer = client.get(address.format(hit.hit_type.type_id), follow=True)
    assert answer.status_code == 200 and "Rate a reply" in answer.content.decode()
    assert client.get(address.format("3NOSUCHGROUP"), follow=True).status_code == 404
    assert not Assignment.objects.exists()


def test_an_address_without_a_group_is_not_found() -> None:
    for address in ("/mturk/preview", "/mturk/preview?groupId=../operate/", "/mturk/preview?groupId=%00"):
        assert Client().get(address).status_code == 404


def test_a_worker_replies_to_a_message() -> None:
    worker, lab = make_worker(), make_requester("Lab")
    letter = messages.send(worker=worker, requester=lab, subject="About your work", text="Please look again.")
    client, address = signed_in(worker), reverse("market_message", args=[letter.message_id])
    assert client.post(address, {"text": ""}).status_code == 422
    client.post(address, {"text": "Which page do you mean?"})
    reply = Message.objects.get(from_worker=True)
    assert (reply.requester, reply.reply_to, reply.subject) == (lab, letter, "Re: About your work")
    assert "Which page do you mean?" in client.get(address).content.decode()
    assert messages.unread(worker) == 0 and reply not in messages.inbox(worker)
    for _ in range(4):
        client.post(address, {"text": "More."})
    refused = client.post(address, {"text": "One too many."})
    assert refused.status_code == 422 and "You have replied 5 times." in refused.content.decode()
    assert signed_in(make_worker()).post(address, {"text": "Not mine."}).status_code == 404


def test_the_address_of_a_message_does_not_count_everybodys_messages() -> None:
    worker = make_worker()
    first, second = (messages.send(worker=worker, subject="News", text="More.") for _ in range(2))
    assert not first.message_id.isdigit() and len({first.message_id, second.message_id}) == 2
    assert signed_in(worker).get(f"/marketplace/messages/{first.pk}/").status_code == 404
