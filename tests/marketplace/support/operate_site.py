"""A small marketplace for tests of its operator's and requesters' pages."""

from __future__ import annotations

import csv
import io
import itertools
import re
from decimal import Decimal
from html import unescape
from typing import Any

from django.contrib.auth.models import User
from django.http import HttpResponseBase, StreamingHttpResponse
from django.test import Client

from marketplace import access
from marketplace.models import Assignment, AuditRow, Hit, Message, Requester, Worker
from marketplace.services import disputes
from marketplace.services.accounts import requester_accounts, worker_accounts
from marketplace.services.hits import assignments, posting
from marketplace.services.messages import worker_messages
from marketplace.services.money import payments

PASSWORD = "correct horse battery"
_numbers = itertools.count(1)

QUESTION = (
    '<HTMLQuestion xmlns="http://mechanicalturk.amazonaws.com/AWSMechanicalTurkDataSchemas/2011-11-11/HTMLQuestion.xsd">'
    "<HTMLContent><![CDATA[<!doctype html><p>Is it fluent?</p>]]></HTMLContent><FrameHeight>0</FrameHeight>"
    "</HTMLQuestion>"
)


def make_user(name: str = "") -> User:
    return User.objects.create_user(name or f"user-{next(_numbers)}", password=PASSWORD)


def make_operator(name: str = "olga") -> User:
    user = make_user(name)
    access.add_operator(user)
    return user


def make_requester(
    *, name: str = "", balance: str = "100.00", user: User | None = None, email: str = "lab@example.org"
) -> Requester:
    made = requester_accounts.create_requester(
        name=name or f"Lab {next(_numbers)}", email=email, user=user or make_user(), actor="test"
    )
    if Decimal(balance):
        payments.deposit(requester=made, amount=Decimal(balance), actor="test")
    return made


def make_worker(*, name: str = "", country: str = "NL") -> Worker:
    return worker_accounts.create_worker(user=make_user(), name=name, country=country, actor="test")


def make_hit(
    *, requester: Requester | None = None, reward: str = "0.50", assignments: int = 3, title: str = "Rate replies"
) -> Hit:
    properties = posting.Properties(
        title=title, description="Read and rate.", reward=Decimal(reward), assignment_duration=600
    )
    work = posting.Work(question=QUESTION, lifetime=86400, max_assignments=assignments)
    return posting.create_hit(requester=requester or make_requester(), hit_type=properties, work=work)


def make_submitted(
    *, hit: Hit | None = None, worker: Worker | None = None, answer: str = "yes", reward: str = "0.50"
) -> Assignment:
    worker = worker or make_worker()
    taken = assignments.accept(worker=worker, hit=hit or make_hit(reward=reward))
    return assignments.submit(assignment_id=taken.assignment_id, worker=worker, answers={"fluent": answer})


def make_paid(*, worker: Worker | None = None, reward: str = "0.50", requester: Requester | None = None) -> Assignment:
    """Approved work; the worker is owed the reward."""
    hit = make_hit(requester=requester, reward=reward)
    return assignments.approve(assignment=make_submitted(hit=hit, worker=worker))


def make_dispute(*, requester: Requester | None = None, comment: str = "I read every one of them.") -> Assignment:
    """Rejected work to which the worker objects."""
    done = make_submitted(hit=make_hit(requester=requester))
    assignments.reject(assignment=done, feedback="Too fast.")
    disputes.object_to(assignment_id=done.assignment_id, worker=done.worker, text=comment)
    done.refresh_from_db()
    return done


def make_reply(worker: Worker, requester: Requester | None, text: str = "Which page do you mean?") -> Message:
    """A worker's reply to a message from the requester, or from the marketplace."""
    letter = worker_messages.send(
        worker=worker, requester=requester, subject="About your work", text="Please look again."
    )
    return worker_messages.reply(message=letter, text=text)


def sure(client: Client, address: str, data: dict[str, Any] | None = None) -> HttpResponseBase:
    """Posts a form that asks first, and answers yes. Nothing may have happened before."""
    before = AuditRow.objects.count()
    asked = client.post(address, data or {})
    assert asked.status_code == 200
    page = asked.content.decode()
    assert 'name="confirmed" value="yes"' in page
    assert AuditRow.objects.count() == before
    kept = re.findall(r'<input type="hidden" name="([^"]+)" value="([^"]*)">', page)
    again: dict[str, list[str]] = {}
    for name, value in kept:
        again.setdefault(name, []).append(unescape(value))
    return client.post(address, again)


def read_csv(answer: object) -> list[dict[str, str]]:
    assert isinstance(answer, StreamingHttpResponse)
    text = b"".join(answer.streaming_content).decode("utf-8-sig")  # type: ignore[arg-type]
    return list(csv.DictReader(io.StringIO(text)))


def signed_in(user: User | None) -> Client:
    assert user is not None
    client = Client()
    client.force_login(user)
    return client
