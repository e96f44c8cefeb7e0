"""Suggester processes as real processes: two at once, killed, stopped."""

from __future__ import annotations

import signal
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import ExitStack

import psutil
import pytest

from generation.models import ModelWorker, Suggester, Suggestion
from generation.suggestions.asking import ask_suggesters, read_suggestions
from tests.generation.support.toy_suggestions import ask_for, make_pool, make_suggester, toy_process
from tests.services import PATIENCE_SECONDS, wait_for

pytestmark = pytest.mark.django_db(transaction=True)
# A text that takes this many steps is not finished when its process is killed.
LEASE = 1.5
DEFAULT_LEASE = 5.0
LONG_LEASE = 20.0
LONG_WAIT = 30


@pytest.fixture
def processes() -> Iterator[ExitStack]:
    with ExitStack() as stack:
        yield stack


def answered() -> int:
    return Suggestion.objects.filter(state="done").count()


def test_two_processes_share_the_work_and_answer_each_request_once(processes: ExitStack) -> None:
    a, b = make_suggester("a"), make_suggester("b", decoder="top_p=0.9")
    for name in ("p", "q"):
        processes.enter_context(toy_process(name, step=0.02))

    for number in range(40):
        ask_suggesters(suggesters=[a, b], key=f"{number}", story_fields={"story": f"{number}"}, round=1, seed=number)
        time.sleep(0.01)
    wait_for(lambda: answered() == 80, "all answers")

    time.sleep(0.3)  # a second answer to the same request would be here by now
    rows = list(Suggestion.objects.all())
    assert Counter((row.tries, row.late_text, row.from_pool) for row in rows) == {(1, "", False): 80}
    wait_for(lambda: counts() == 80, "the heartbeats")
    assert min(count_of(name) for name in ("p", "q")) > 0


def count_of(name: str) -> int:
    """How many the process says that it has answered."""
    return int(ModelWorker.objects.get(name=name).message.split(" answered")[0].split()[-1])


def counts() -> int:
    return count_of("p") + count_of("q")


def test_kill_9_and_another_process_answers_when_the_lease_has_run_out(processes: ExitStack) -> None:
    suggester = make_suggester(wait_seconds=LONG_WAIT)
    doomed = processes.enter_context(toy_process("doomed", step=5, lease=LEASE))
    rows = [ask_for(suggester, f"{number}") for number in range(3)]
    wait_for(lambda: Suggestion.objects.filter(leased_by="doomed").count() == 3, "the leases")
    processes.enter_context(toy_process("other", step=0.01, lease=LEASE))
    time.sleep(0.3)
    assert Suggestion.objects.filter(leased_by="doomed").count() == 3

    doomed.send_signal(signal.SIGKILL)
    killed = time.monotonic()
    wait_for(lambda: answered() == 3, "the other's answers")
    seconds = time.monotonic() - killed

    assert seconds < LONG_WAIT / 2  # when the lease has run out, long before the deadline
    # A suggestion that was begun twice is the one that its seed decides.
    assert {row.parameters["seed"] == row.seed and row.tries for row in Suggestion.objects.all()} == {2}
    assert [answer.from_pool for answer in read_suggestions(suggestions=[row.pk for row in rows])] == [False] * 3


def test_a_process_that_is_told_to_stop_gives_its_requests_back_immediately(processes: ExitStack) -> None:
    suggester = make_suggester(wait_seconds=LONG_WAIT)
    stopped = processes.enter_context(toy_process("stopped", step=0.2, lease=LONG_LEASE))
    ask_for(suggester)
    wait_for(lambda: Suggestion.objects.filter(leased_by="stopped").count() == 1, "the lease")
    processes.enter_context(toy_process("other", step=0.01, lease=LONG_LEASE))

    stopped.send_signal(signal.SIGTERM)
    stopped_at = time.monotonic()
    wait_for(lambda: answered() == 1, "the other's answer")

    assert time.monotonic() - stopped_at < LONG_LEASE / 2
    assert stopped.wait(timeout=PATIENCE_SECONDS) == 0
    assert Suggestion.objects.get().tries == 1
    assert not ModelWorker.objects.filter(name="stopped").exists()


def test_when_the_only_process_is_killed_the_pool_steps_in_at_the_deadline(processes: ExitStack) -> None:
    suggester = make_suggester(wait_seconds=1.5)
    make_pool(suggester, "A bell rang in the distance.")
    doomed = processes.enter_context(toy_process("doomed", step=5))
    row = ask_for(suggester)
    wait_for(lambda: Suggestion.objects.filter(leased_by="doomed").exists(), "the lease")

    doomed.send_signal(signal.SIGKILL)
    wait_for(lambda: not read_suggestions(suggestions=[row.pk])[0].waiting, "the pool")

    answer = read_suggestions(suggestions=[row.pk])[0]
    assert (answer.text, answer.from_pool) == ("A bell rang in the distance.", True)
    assert 1.5 <= answer.waited < DEFAULT_LEASE  # the deadline, not the lease


def test_an_idle_process_costs_next_to_nothing(processes: ExitStack) -> None:
    make_suggester()
    idle = processes.enter_context(toy_process("idle"))
    watched = psutil.Process(idle.pid)
    before = watched.cpu_times()

    time.sleep(3)

    after = watched.cpu_times()
    share = (after.user + after.system - before.user - before.system) / 3
    assert share < 0.10
    assert Suggester.objects.count() == 1
