"""A whole study on the marketplace while everything goes wrong: no HIT twice, no rating lost, everyone paid once."""

from __future__ import annotations

import csv
import io
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

from annotation.models import Compensation, OutsideAssignment, Payment, PlatformCall, Posting, Study, Submission
from annotation.recruiting.differences import differences
from annotation.results.frames import study_data
from marketplace import clock, faults
from marketplace.models import Assignment as MarketAssignment
from marketplace.models import Bonus, QualificationType
from marketplace.models import Hit as MarketHit
from marketplace.services.accounts import requester_accounts
from marketplace.services.hits import assignments
from marketplace.services.money import payments
from tests.annotation.recruiting.faults import paid_here, paid_there
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
    lab = requester_accounts.create_requester(name="Lab", email="lab@example.org", actor="test")
    payments.deposit(requester=lab, amount=DEPOSIT, actor="test")
    made = requester_accounts.create_access_key(requester=lab, actor="test")
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

    publish = ("publish", SLUG, "--platform", "mturk", "--set", "split=", "--yes")
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

    check_data(sets, ratings)
    money = MoneyPhase(requester, server.base_url)
    money.pay_bonuses()
    mark("bonuses, killed")
    money.reject_and_undo()
    mark("reject, undo, killed")
    money.compensate()
    mark("compensate, killed")

    some = max(3, total // 30)
    requester.kill_when(lambda: Payment.objects.filter(kind="reward").count() >= some, "approve", SLUG)
    mark("approve, killed")
    requester.kill_when(lambda: Payment.objects.filter(kind="reward").count() >= 3 * some, "approve", SLUG, times=2)
    mark("approve at once")
    # Nobody decides on the rest for 72 hours, so the marketplace approves it. The last poll must find every payment.
    faults.set_faults([])
    clock.set_offset(timedelta(hours=73))
    requester.run("sync", SLUG)
    requester.run("approve", SLUG)
    mark("sync, approve")
    check_money(total, ratings, money, boto3_client(server.base_url, key, attempts=10))


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


class MoneyPhase:
    """Moves money in every way but an approval, each killed in between and repeated, while faults strike.

    The amounts that must have moved are counted here: 0.05 for each bonus, 0.30 for the compensation.
    """

    def __init__(self, requester: Requester, base_url: str) -> None:
        self.requester, self.base_url = requester, base_url
        often = Counter(Submission.objects.values_list("participant__pseudonym", flat=True))
        (self.rewarded, self.bonuses), (self.rejected, self.rejections) = often.most_common(2)
        self.undone = self.rejections - 1

    def pay_bonuses(self) -> None:
        """To all submissions of one worker. Told again, the command says that they are paid, and pays nothing."""
        give = ("bonus", SLUG, "--worker", self.rewarded, "--amount", "0.05", "--reason", "Thank you.")
        self.requester.kill_when(lambda: Bonus.objects.exists(), *give)
        self.requester.kill_when(lambda: Bonus.objects.count() > self.bonuses // 2, *give)
        self.requester.run(*give)
        refused = self.requester.start(*give)
        assert "To pay it again, add --again" in refused.communicate(timeout=SECONDS)[0]
        assert refused.returncode == 1

    def reject_and_undo(self) -> None:
        """Reject all of one worker's work, then undo that for all but one, with a spreadsheet."""
        reject = ("reject", SLUG, "--worker", self.rejected, "--reason", "All answers are the same.")
        self.requester.kill_when(lambda: there("Rejected") >= 1, *reject)
        self.requester.run(*reject)
        self.requester.run("sync", SLUG)
        table = list(csv.DictReader(io.StringIO(self.requester.run("batch-export", SLUG))))
        undo = [row for row in table if row["AssignmentStatus"] == "Rejected"][: self.undone]
        file = Path(self.requester.environment["HITSERVER_VAR"]) / "undo.csv"
        with file.open("w", newline="") as opened:
            writer = csv.DictWriter(opened, fieldnames=list(table[0]))
            writer.writeheader()
            writer.writerows(row | {"Approve": "x", "Reject": ""} for row in undo)
        self.requester.kill_when(lambda: there("Approved") >= 1, "batch-import", SLUG, str(file))
        if there("Rejected") > self.rejections - self.undone:  # unless it was killed after its last decision
            self.requester.run("batch-import", SLUG, str(file))

    def compensate(self) -> None:
        """Pay the rejected worker apart from the work: its HIT is accepted and submitted, and a sync records that."""
        work = MarketAssignment.objects.select_related("worker").get(state="Rejected")
        terms = ("--amount", "0.30", "--reason", "We were wrong.")
        owed = ("compensate", SLUG, work.assignment_id, *terms)
        paying = MarketHit.objects.filter(annotation__contains="compensation")
        self.requester.kill_when(lambda: QualificationType.objects.exists(), *owed)
        self.requester.kill_when(lambda: paying.exists(), *owed)
        if not Compensation.objects.exclude(external_id="").exists():  # unless it was killed after its last step
            self.requester.run(*owed)
        only_theirs = assignments.accept(hit=paying.get(), worker=work.worker)
        assignments.submit(assignment_id=only_theirs.assignment_id, answers={})


def there(state: str) -> int:
    return MarketAssignment.objects.filter(state=state).count()


def check_data(sets: int, ratings: int) -> None:
    total = sets * ratings
    # No HIT twice.
    assert MarketHit.objects.count() == Posting.objects.count() == sets
    assert len(set(MarketHit.objects.values_list("annotation", flat=True))) == sets
    # No rating lost or double.
    study = Study.objects.get()
    found = differences(study)
    assert not (found.here_only or found.there_only or found.other_worker)
    assert Submission.objects.count() == OutsideAssignment.objects.count() == total
    rated = study_data(study).ratings
    assert set(Counter(rated["item"]).values()) == {ratings}


def check_money(total: int, ratings: int, money: MoneyPhase, client: Any) -> None:
    """Everyone paid once, to the cent, by both ledgers: the sums are added up by hand."""
    assert set(PlatformCall.objects.values_list("state", flat=True)) == {"done"}
    rejected = money.rejections - money.undone
    assert there("Approved") == total - rejected + 1  # the compensation's own assignment
    assert MarketHit.objects.filter(annotation__contains="compensation").count() == 1
    rewards = dict(Payment.objects.filter(kind="reward").values_list("platform_id", "amount"))
    paid = rewards_paid()
    assert {name: paid[name] for name in rewards} == rewards
    assert sum(rewards.values()) == (total - rejected) * Decimal("0.18")
    assert paid_here() == paid_there()
    assert sum(paid_here().values()) == (
        (total - rejected) * Decimal("0.18") + money.bonuses * Decimal("0.05") + Decimal("0.30")
    )
    check_all()
    # 40 % of 0.18 is 0.072 and 20 % is 0.036, both rounded to the cent; 0.01 for a bonus, 0.06 for the compensation.
    fee = Decimal("0.07") if ratings > 9 else Decimal("0.04")
    spent = (total - rejected) * (Decimal("0.18") + fee) + money.bonuses * Decimal("0.06") + Decimal("0.36")
    assert Decimal(client.get_account_balance()["AvailableBalance"]) == DEPOSIT - spent
