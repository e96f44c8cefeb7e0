"""Mail about what needs a person: once for each cause, again after a day, once when it is over."""

from __future__ import annotations

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import Any

import pytest
from django.core import mail
from django.utils import timezone

from hitserver.models import Alarm
from hitserver.watch import alarms
from hitserver.watch.checks import BAD, GOOD, Line

pytestmark = pytest.mark.django_db
DISK = Line("disk", "Disk", BAD, "2 MB are free.", "Add space.", mails=True)
BACKUP = Line("backup", "Latest backup", BAD, "9 days old.", "Run it.", mails=True)
Check = Callable[..., list[str]]


@pytest.fixture
def check(settings: Any, monkeypatch: pytest.MonkeyPatch) -> Check:
    """Checks a server on which ``wrong`` is wrong, ``after`` so much time. Returns the subjects of the new mails."""
    settings.ALARM_MAIL = ["lab@example.org"]
    begin = timezone.now()

    def run(*wrong: Line, after: timedelta = timedelta(0)) -> list[str]:
        causes = {line.cause for line in wrong}
        right = [
            Line(line.cause, line.title, GOOD, "", mails=True) for line in (DISK, BACKUP) if line.cause not in causes
        ]
        monkeypatch.setattr(alarms, "watched", lambda figures: [*wrong, *right])
        monkeypatch.setattr(alarms, "timezone", Clock(begin + after))
        before = len(mail.outbox)
        alarms.check()
        return [message.subject.partition(": ")[2] for message in mail.outbox[before:]]

    return run


class Clock:
    def __init__(self, now: datetime) -> None:
        self.moment = now

    def now(self) -> datetime:
        return self.moment


def test_a_cause_is_mailed_once_then_after_a_day_then_when_it_is_over(check: Check) -> None:
    minute, day = timedelta(minutes=1), timedelta(days=1)

    assert check(DISK) == ["1 thing to fix"]
    assert "2 MB are free.\nTo do: Add space." in mail.outbox[0].body
    assert mail.outbox[0].to == ["lab@example.org"]
    assert check(DISK, after=5 * minute) == []
    assert check(DISK, after=day - minute) == []
    assert check(DISK, after=day) == ["1 thing to fix"]
    assert "This began 24 h 00 min ago." in mail.outbox[1].body
    assert check(after=day + 5 * minute) == []
    assert check(after=day + 20 * minute) == ["over: disk"]
    assert check(after=2 * day) == []
    assert not Alarm.objects.exists()


def test_what_is_right_for_a_moment_only_is_the_same_alarm(check: Check) -> None:
    minute = timedelta(minutes=1)
    subjects = [check(*([DISK] if number % 2 == 0 else []), after=5 * number * minute) for number in range(12)]

    assert [subject for new in subjects for subject in new] == ["1 thing to fix"]


def test_several_causes_are_one_mail(check: Check) -> None:
    assert check(DISK, BACKUP) == ["2 things to fix"]
    assert "9 days old." in mail.outbox[0].body
    assert "2 MB are free." in mail.outbox[0].body


def test_a_new_cause_does_not_repeat_the_old_one(check: Check) -> None:
    check(DISK)

    assert check(DISK, BACKUP, after=timedelta(minutes=5)) == ["1 thing to fix"]
    assert "2 MB are free." not in mail.outbox[1].body


def test_a_mail_that_could_not_be_sent_is_sent_by_the_next_check(check: Check, settings: Any) -> None:
    settings.EMAIL_BACKEND = "hitserver.mail.NoMail"
    assert check(DISK) == []
    settings.EMAIL_BACKEND = "django.core.mail.backends.locmem.EmailBackend"

    assert check(DISK, after=timedelta(minutes=5)) == ["1 thing to fix"]


def test_without_addresses_alarms_are_noted_and_nothing_is_sent(check: Check, settings: Any) -> None:
    settings.ALARM_MAIL = []

    assert check(DISK) == []
    assert Alarm.objects.get().cause == "disk"
