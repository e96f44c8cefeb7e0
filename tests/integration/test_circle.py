"""A whole study on the marketplace while everything goes wrong: no HIT twice, no rating lost, everyone paid once."""

from __future__ import annotations

import os
import time
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import pytest
from celery._state import _set_task_join_will_block

from annotation.frames import study_data
from annotation.models import OutsideAssignment, Payment, PlatformCall, Posting, Study, Submission
from annotation.queries.platforms import differences
from marketplace import clock, faults
from marketplace.models import Assignment as MarketAssignment
from marketplace.models import Hit as MarketHit
from marketplace.services import accounts, payments
from tests.factories import make_study
from tests.integration.circle import (
    SECONDS,
    SLUG,
    Crowd,
    Mailbox,
    Requester,
    mailbox,
    order_faults,
    rewards_paid,
    same_data,
)
from tests.marketplace.support.checks import check_all
from tests.marketplace.support.clients import Key, boto3_client
from tests.marketplace.support.factories import make_worker
from tests.support import Server

DEPOSIT = Decimal("1000.00")


@pytest.fixture
def events(settings: Any) -> Iterator[Mailbox]:
    with mailbox() as made:
        settings.MARKETPLACE_CALLBACK_URL = made.url
        yield made
    # Celery notes for the whole process whether a task runs; threads that run tasks at once may leave that set.
    _set_task_join_will_block(False)


@pytest.fixture
def key(transactional_db: None) -> Key:
    lab = accounts.create_requester(name="Lab", email="lab@example.org", actor="test")
    payments.deposit(requester=lab, amount=DEPOSIT, actor="test")
    made = accounts.create_access_key(requester=lab, actor="test")
    return Key(made.key.access_key_id, made.secret)


@pytest.fixture
def server(key: Key, live_processes: Callable[..., Server], tmp_path: Path, settings: Any) -> Server:
    """The marketplace, whose faults and clock can be ordered here too."""
    folder = tmp_path / "server"
    env = {"HITSERVER_MARKETPLACE_TEST_CONTROLS": "1", "HITSERVER_WEB_WORKERS": "1"}
    made = live_processes(var=folder, env=same_data(folder) | env)
    settings.BASE_URL, settings.VAR, settings.MARKETPLACE_TEST_CONTROLS = made.base_url, folder, True
    return made


@pytest.fixture
def requester(server: Server, key: Key, tmp_path: Path) -> Requester:
    return Requester.of(server, tmp_path / "requester", key)


def until(due: Callable[[], bool], what: str, seconds: float = 120) -> None:
    deadline = time.monotonic() + seconds
    while not due():
        assert time.monotonic() < deadline, f"not within {seconds:g} s: {what}"
        time.sleep(0.05)


AS_PUBLISHED = (
    pytest.mark.slow,
    pytest.mark.skipif(
        os.environ.get("HITSERVER_TEST_PUBLISHED_SIZE") != "1",
        reason="takes over five minutes: set HITSERVER_TEST_PUBLISHED_SIZE=1",
    ),
)


@pytest.mark.parametrize(
    ("sets", "ratings"),
    [
        pytest.param(8, 3, id="small", marks=pytest.mark.slow),
        pytest.param(200, 10, id="as published", marks=AS_PUBLISHED),
    ],
)
def test_the_whole_workflow_survives_every_fault(
    sets: int, ratings: int, events: Mailbox, requester: Requester, server: Server, key: Key
) -> None:
    """Tevet & Berant 2021, §6.2: 200 sets with 10 ratings each, at $0.18."""
    total = sets * ratings
    make_study(
        slug=SLUG,
        items=sets,
        ratings_per_item=ratings,
        live=False,
        hits_per_worker=None,
        reward=Decimal("0.18"),
        config={"write_first": False, "rate_first": False},
    )
    order_faults()
    marks = [time.monotonic()]

    def mark(name: str) -> None:
        marks.append(time.monotonic())
        print(f"{name:<20} {marks[-1] - marks[-2]:6.1f} s", flush=True)

    publish = ("publish", SLUG, "--platform", "mturk", "--set", "split=")
    requester.kill_when(lambda: posted() >= sets // 4, *publish)
    mark("publish, killed")
    crowd = Crowd(server.base_url, subscribe(server.base_url, key), crowd_of(ratings + 4), seed=1)
    threads = crowd.start()
    requester.kill_when(lambda: posted() >= sets // 2, *publish)
    mark("publish, killed")
    assert f"the platform has {sets} of {sets} HITs" in requester.run(*publish)
    mark("publish")
    until(lambda: events.got.total() > 0, "a notification")
    requester.kill_when(lambda: OutsideAssignment.objects.count() >= total // 20, "sync", SLUG)
    mark("sync, killed")
    crowd.finished.set()
    for thread in threads:
        thread.join(SECONDS)
    assert not crowd.problems
    mark("workers")
    requester.run("sync", SLUG)
    mark("sync")

    some = max(3, total // 30)
    requester.kill_when(lambda: Payment.objects.count() >= some, "approve", SLUG)
    mark("approve, killed")
    requester.kill_when(lambda: Payment.objects.count() >= 3 * some, "approve", SLUG, times=2)
    mark("approve at once")
    # Nobody decides on the rest for 72 hours, so the marketplace approves it. The last poll must find every payment.
    faults.set_faults([])
    clock.set_offset(timedelta(hours=73))
    requester.run("sync", SLUG)
    requester.run("approve", SLUG)
    mark("sync, approve")
    check(sets, ratings, key, server.base_url)


def posted() -> int:
    return Posting.objects.filter(state="open").count()


def crowd_of(number: int) -> list[Any]:
    return [make_worker(with_user=True) for _ in range(number)]


def subscribe(base_url: str, key: Key) -> str:
    """Ask for notifications about the study's HITs, which all have one type. Its id is that of their group."""
    from marketplace.models import HITType

    hit_type = HITType.objects.get()
    boto3_client(base_url, key, attempts=10).update_notification_settings(
        HITTypeId=hit_type.type_id,
        Notification={
            "Destination": "https://sqs.us-east-1.amazonaws.com/123456789012/events",
            "Transport": "SQS",
            "Version": "2014-08-15",
            "EventTypes": ["AssignmentSubmitted", "AssignmentReturned"],
        },
        Active=True,
    )
    return hit_type.type_id


def check(sets: int, ratings: int, key: Key, base_url: str) -> None:
    total = sets * ratings
    # No HIT twice.
    assert MarketHit.objects.count() == Posting.objects.count() == sets
    assert len(set(MarketHit.objects.values_list("annotation", flat=True))) == sets
    assert set(PlatformCall.objects.values_list("state", flat=True)) == {"done"}
    # No rating lost or double.
    study = Study.objects.get()
    found = differences(study)
    assert not (found.here_only or found.there_only or found.other_worker)
    assert Submission.objects.count() == OutsideAssignment.objects.count() == total
    rated = study_data(study).ratings
    assert set(Counter(rated["item"]).values()) == {ratings}
    # Everyone paid once, to the cent: 0.18 for each, and 0.07 of fees (40 % of it is 0.072, rounded to the cent).
    assert MarketAssignment.objects.filter(state="Approved").count() == total
    ours = dict(Payment.objects.values_list("platform_id", "amount"))
    assert ours == rewards_paid()
    # Added up here: SQLite would do it in floating point.
    assert sum(ours.values()) == total * Decimal("0.18")
    check_all()
    fee = Decimal("0.07") if ratings > 9 else Decimal("0.04")
    balance = boto3_client(base_url, key, attempts=10).get_account_balance()["AvailableBalance"]
    assert Decimal(balance) == DEPOSIT - total * (Decimal("0.18") + fee)
