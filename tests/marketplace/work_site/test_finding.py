"""Finding tasks faster: accept from the list, the next one automatically, the least reward, approval rates, replies."""

from __future__ import annotations

import re
from datetime import timedelta
from decimal import Decimal

import pytest
from django.test import Client
from django.urls import reverse
from django.utils import timezone

from marketplace.models import Assignment, Message
from marketplace.services.hits import assignments
from marketplace.services.messages import worker_messages
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


def test_accept_leaves_out_tasks_that_the_worker_returned() -> None:
    worker, lab = make_worker(), make_requester()
    returned, other = make_hit(lab), make_hit(lab)
    client, group = signed_in(worker), returned.hit_type.type_id

    def accept(**chosen: str) -> Assignment | None:
        client.post(reverse("market_accept", args=[group]), chosen)
        return Assignment.objects.filter(worker=worker, state="Accepted").first()

    first = accept()
    assert first is not None and first.hit == returned
    client.post(reverse("market_return", args=[first.assignment_id]))
    second = accept()
    assert second is not None and second.hit == other
    client.post(reverse("market_return", args=[second.assignment_id]))
    assert accept() is None
    page = client.get(reverse("market_group", args=[group])).content.decode()
    assert "You returned the tasks that are left. If you want one of them now, accept it again below." in page
    assert ">Accept again<" in page and "There is no other one for you in this group." in page
    again = accept(hit=returned.hit_id)  # whoever asks for it gets it
    assert again is not None and again.hit == returned


def test_the_next_task_is_never_one_that_was_returned() -> None:
    worker, lab = make_worker(), make_requester()
    hits = [make_hit(lab) for _ in range(2)]
    first = assignments.accept(worker=worker, hit_type=hits[0].hit_type)
    assignments.return_(assignment_id=first.assignment_id, worker=worker)
    second = assignments.accept(worker=worker, hit_type=hits[0].hit_type)
    assignments.submit(assignment_id=second.assignment_id, worker=worker, answers={"tone": "sad"})
    page = signed_in(worker).get(reverse("market_done", args=[second.assignment_id])).content.decode()
    assert "There are no more tasks for you in this group." in page


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
    letter = worker_messages.send(worker=worker, requester=lab, subject="About your work", text="Please look again.")
    client, address = signed_in(worker), reverse("market_message", args=[letter.message_id])
    assert client.post(address, {"text": ""}).status_code == 422
    client.post(address, {"text": "Which page do you mean?"})
    reply = Message.objects.get(from_worker=True)
    assert (reply.requester, reply.reply_to, reply.subject) == (lab, letter, "Re: About your work")
    assert "Which page do you mean?" in client.get(address).content.decode()
    assert worker_messages.unread(worker) == 0 and reply not in worker_messages.inbox(worker)
    for _ in range(4):
        client.post(address, {"text": "More."})
    refused = client.post(address, {"text": "One too many."})
    assert refused.status_code == 422 and "You have replied 5 times." in refused.content.decode()
    assert signed_in(make_worker()).post(address, {"text": "Not mine."}).status_code == 404


def test_the_address_of_a_message_does_not_count_everybodys_messages() -> None:
    worker = make_worker()
    first, second = (worker_messages.send(worker=worker, subject="News", text="More.") for _ in range(2))
    assert not first.message_id.isdigit() and len({first.message_id, second.message_id}) == 2
    assert signed_in(worker).get(f"/marketplace/messages/{first.pk}/").status_code == 404


def test_every_accept_button_has_a_name_of_its_own() -> None:
    lab, client = make_requester(), signed_in(make_worker())
    for number in range(3):
        make_hit(
            lab,
            title="Judge a story",
            reward=Decimal("0.10" if number == 2 else "0.05"),
            description=f"Story {number}.",
        )
    page = home(client)
    names = re.findall(r'<button class="[^"]*" aria-label="([^"]*)">Accept</button>', page)
    assert len(names) == 3
    assert len(set(names)) == 3
    assert all(name.startswith("Accept: Judge a story, ") for name in names)
    assert sum("$0.10" in name for name in names) == 1
    previews = re.findall(r'>Preview<span class="spoken">: ([^<]*)</span>', page)
    assert len(set(previews)) == 3


def test_a_title_that_only_one_group_has_is_its_name() -> None:
    make_hit(title="Judge a story")
    assert 'aria-label="Accept: Judge a story"' in home(signed_in(make_worker()))
