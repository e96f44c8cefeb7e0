"""The page *Server*: what is wrong is at its place, in words and with what to do."""

from __future__ import annotations

from datetime import datetime, timedelta
from decimal import Decimal
from importlib.metadata import version as version_of_package
from typing import Any

import pytest
from celery.beat import PersistentScheduler
from django.utils import timezone

from annotation.models import Commitment, PlatformJob, SpendingAccount, Webhook, WebhookDelivery
from hitserver.models import BackupNote, ProcessSign
from hitserver.watch import checks, figures, scheduler, setup_checks, signs
from hitserver.watch.checks import BAD, GOOD, WARN, Line
from tests.annotation.console_helpers import make_user, signed_in
from tests.factories import make_study

pytestmark = pytest.mark.django_db


def lines() -> dict[str, Line]:
    now = figures.read()
    parts = (checks.of_processes, checks.of_queues, checks.of_disk_and_backups, checks.of_platforms)
    every = [line for part in (*parts, setup_checks.of_database) for line in part(now)]
    return {line.cause: line for line in (*every, *setup_checks.of_settings())}


def make_sign(kind: str, *, queues: str = "", ago: float = 5, pid: int = 1) -> None:
    seen_at = timezone.now() - timedelta(seconds=ago)
    ProcessSign.objects.create(
        kind=kind, machine="web-1", pid=pid, queues=queues, version="1", started_at=seen_at, seen_at=seen_at
    )


def make_note(*, days_ago: float, works: bool | None = None) -> None:
    made_at = timezone.now() - timedelta(days=days_ago)
    BackupNote.objects.create(
        machine="web-1", path="/b", n_bytes=5, n_rows=1, made_at=made_at, tried_at=made_at, works=works, outcome="It."
    )


def test_only_administrators_see_it() -> None:
    assert signed_in(make_user("ada")).get("/console/server/").status_code == 404
    page = signed_in(make_user("root", is_superuser=True)).get("/console/server/")
    assert page.status_code == 200
    assert b"No backup was ever made." in page.content


def test_processes_that_live_are_counted_and_those_that_do_not_are_missed() -> None:
    for pid in (1, 2):
        make_sign("web", pid=pid)
    make_sign("scheduler", ago=101, pid=3)
    make_sign("worker", queues="gpu", pid=4)
    named = lines()

    assert named["web"].text.startswith("2 on web-1. Last sign of life 5")
    assert (named["scheduler"].level, named["worker-default"].level, named["worker-gpu"].level) == (BAD, BAD, GOOD)
    assert named["scheduler"].fix


def test_two_schedulers_are_one_too_many() -> None:
    for pid in (1, 2):
        make_sign("scheduler", pid=pid)

    assert lines()["scheduler"].level == WARN


@pytest.mark.parametrize(("seconds", "level"), [(200, GOOD), (400, WARN), (1900, BAD)])
def test_a_late_queue_says_how_late_and_what_to_do(seconds: int, level: str) -> None:
    webhook = Webhook.objects.create(study=make_study(items=1), address="https://x", nonce="n", created_by="ada")
    due_at = timezone.now() - timedelta(seconds=seconds)
    WebhookDelivery.objects.create(webhook=webhook, message_id="1", event="x", created_at=due_at, next_at=due_at)
    line = lines()["queue-webhooks"]

    assert (line.level, bool(line.fix), line.mails) == (level, level != GOOD, True)
    assert line.text.startswith("1 waiting, the oldest for ")


@pytest.mark.parametrize(
    ("days_ago", "works", "backup", "restore"),
    [(1, True, GOOD, GOOD), (3, True, BAD, GOOD), (1, False, GOOD, BAD), (10, True, BAD, WARN)],
)
def test_backups_grow_old_and_may_not_work(days_ago: float, works: bool, backup: str, restore: str) -> None:
    make_note(days_ago=days_ago, works=works)
    named = lines()

    assert (named["backup"].level, named["restore-test"].level) == (backup, restore)


def test_a_disk_below_the_limit_needs_somebody(settings: Any) -> None:
    settings.ALARM_DISK_MB = 10**8
    assert lines()["disk"].level == BAD
    settings.ALARM_DISK_MB = 0
    assert lines()["disk"].level == GOOD


@pytest.mark.parametrize(("amount", "level"), [("89.99", GOOD), ("90.00", BAD)])
def test_money_near_the_limit_of_a_month_needs_somebody(settings: Any, amount: str, level: str) -> None:
    settings.MONTHLY_BUDGET = Decimal(100)
    account = SpendingAccount.objects.create(name="mturk account of-somebody")
    Commitment.objects.create(
        study=make_study(items=1), account=account, key="k", amount=Decimal(amount), created_at=timezone.now()
    )
    line = lines()[f"budget-{account.pk}"]

    assert line.level == level
    assert figures.read().spent == {("mturk", "entered"): float(amount)}


def test_a_sync_that_fails_for_an_hour_needs_somebody() -> None:
    now = timezone.now()
    study = make_study(items=1)
    PlatformJob.objects.create(
        study=study, kind="sync", platform="mturk", actor="a", state="failed", said="No answer.", asked_at=now
    )
    line = lines()["platform-sync"]

    assert (line.level, line.mails) == (BAD, True)
    assert f"{study.slug}: No answer." in line.text


def test_risky_settings_are_named(settings: Any) -> None:
    settings.DEBUG = settings.MARKETPLACE_TEST_CONTROLS = True
    settings.EMAIL_HOST = ""
    named = lines()

    assert {"debug", "test-controls", "mail", "alarm-mail"} <= set(named)
    settings.DEBUG = settings.MARKETPLACE_TEST_CONTROLS = False
    assert not {"debug", "test-controls"} & {line.cause for line in setup_checks.of_settings()}


def test_the_scheduler_gives_a_sign_from_its_own_loop(monkeypatch: pytest.MonkeyPatch) -> None:
    given: list[str] = []
    monkeypatch.setattr(PersistentScheduler, "tick", lambda self: 0.5)
    monkeypatch.setattr(signs, "give_sign", given.append)
    loop = scheduler.Scheduler.__new__(scheduler.Scheduler)
    assert [loop.tick(), loop.tick()] == [0.5, 0.5]

    assert given == ["scheduler"]


def test_a_sign_renews_the_row_of_its_process() -> None:
    signs.give_sign("web")
    first: datetime = ProcessSign.objects.get().seen_at
    signs.give_sign("web")

    assert ProcessSign.objects.get().seen_at > first


def test_old_signs_are_forgotten() -> None:
    make_sign("web", ago=2 * 24 * 3600)
    make_sign("web", ago=3600, pid=2)
    signs.forget_old()

    assert ProcessSign.objects.get().pid == 2


def test_packages_are_compared_with_what_the_lock_file_has_for_this_python() -> None:
    number = version_of_package("packaging")
    lock = (
        "django==0.1 \\\n    --hash=sha256:00\n"
        "nobody-has-this==1.0\n"
        f"packaging=={number} ; python_full_version >= '3.0' \\\n    --hash=sha256:00\n"
        "packaging==0.1 ; python_full_version < '3.0'\n"
        "celery[redis]==0.1 ; sys_platform == 'none'\n"
    )
    assert setup_checks.not_as_locked(lock) == (f"django {version_of_package('django')} (not 0.1)",)
