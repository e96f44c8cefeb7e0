"""A task queue that is away: nobody waits for it, and the log says so once."""

from __future__ import annotations

import time

import pytest
from kombu.exceptions import OperationalError

from common import task_queue
from common.task_queue import handed_over


class Queue:
    """Counts what it is asked to take."""

    def __init__(self) -> None:
        self.is_away, self.asked = True, 0

    def send(self) -> None:
        self.asked += 1
        if self.is_away:
            raise OperationalError("Connection refused")


def test_a_queue_that_failed_a_moment_ago_is_not_asked_again(caplog: pytest.LogCaptureFixture) -> None:
    queue = Queue()

    assert [handed_over(queue.send) for _ in range(20)] == [False] * 20
    assert queue.asked == 1
    assert [record.levelname for record in caplog.records] == ["WARNING"]


def test_after_some_seconds_one_caller_tries_again(monkeypatch: pytest.MonkeyPatch) -> None:
    queue, now = Queue(), time.monotonic()
    handed_over(queue.send)
    monkeypatch.setattr(time, "monotonic", lambda: now + 60)
    handed_over(queue.send)
    handed_over(queue.send)
    assert queue.asked == 2

    monkeypatch.setattr(time, "monotonic", lambda: now + 120)
    queue.is_away = False
    assert [handed_over(queue.send) for _ in range(3)] == [True] * 3
    assert queue.asked == 5


def test_while_one_caller_tries_the_others_do_not_wait(monkeypatch: pytest.MonkeyPatch) -> None:
    now = time.monotonic()
    handed_over(Queue().send)
    monkeypatch.setattr(time, "monotonic", lambda: now + 60)
    queue, answers = Queue(), []

    def slow_try() -> None:
        answers.append(handed_over(queue.send))
        queue.send()

    assert not handed_over(slow_try)
    assert (answers, queue.asked) == ([False], 1)


def test_a_full_disk_under_the_folder_is_a_queue_that_is_away() -> None:
    def full() -> None:
        raise OSError(28, "No space left on device")

    assert not handed_over(full)
    task_queue.outage.forget()
    assert handed_over(lambda: None)
