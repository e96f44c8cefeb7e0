"""``manage.py generate work``: a model worker without the task queue. Asked to end, it gives back what it has."""

from __future__ import annotations

import os
import signal
import threading
import time

import pytest
from django.core.management import CommandError, call_command
from django.db import connection

from generation.models import Chunk, GenerationRun, ModelWorker, Sample
from generation.registry import open_models
from generation.runs import chunks, standing_worker
from generation.runs.lifecycle import cancel_run
from tests.generation.support.run_factories import make_model, make_run
from tests.generation.support.toy_runs import Toy

pytestmark = pytest.mark.django_db(transaction=True)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> Toy:
    toy = Toy()
    monkeypatch.setattr(open_models, "backend_of", toy.backend_of)
    monkeypatch.setattr("generation.runs.run_worker.runnable", lambda: ("transformers",))
    monkeypatch.setattr(standing_worker, "runnable", lambda: ("transformers",))
    monkeypatch.setattr(standing_worker, "IDLE_SECONDS", 0.05)
    return toy


def work(*names: str) -> None:
    call_command("generate", "work", *names, until_empty=True)


def test_it_makes_all_runs_and_ends(toy: Toy, capsys: pytest.CaptureFixture[str]) -> None:
    runs = [make_run(), make_run()]
    work()
    assert [GenerationRun.objects.get(pk=run.pk).state for run in runs] == ["done", "done"]
    assert Sample.objects.count() == 2 * 18
    assert "Nothing is left to do. 10 chunks stored by this worker." in capsys.readouterr().out
    assert not ModelWorker.objects.exists()


def test_it_makes_only_the_runs_that_it_is_given(toy: Toy) -> None:
    wanted, other = make_run(), make_run()
    work(wanted.name)
    assert not Sample.objects.filter(run=other).exists()
    with pytest.raises(CommandError):
        work("no-such-run")


def test_it_leaves_what_this_machine_cannot_make_to_others(toy: Toy) -> None:
    make_model(name="large", backend="vllm")
    make_run(models=["large"])
    work()
    assert not Sample.objects.exists()


def test_it_waits_for_what_another_worker_may_lose(toy: Toy) -> None:
    run = make_run()
    (held,) = chunks.claim(run_id=run.pk, worker="other", backends=("transformers",))

    def lose() -> None:
        time.sleep(0.5)
        Chunk.objects.filter(pk=held.chunk.pk).update(leased_until=chunks.database_now())
        connection.close()

    losing = threading.Thread(target=lose)
    losing.start()
    work(run.name)
    losing.join()
    assert Sample.objects.filter(run=run).count() == 18


@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGUSR1])
def test_a_signal_gives_chunks_back_with_their_finished_texts_stored(toy: Toy, number: signal.Signals) -> None:
    run = make_run(samples=10, chunk_size=8)

    def ask_to_end(count: int) -> None:
        if count == 12:
            os.kill(os.getpid(), number)

    toy.before = ask_to_end
    before = signal.getsignal(number)
    with pytest.raises(CommandError, match=f"Stopped by {number.name}") as stopped:
        work(run.name)
    assert stopped.value.returncode == os.EX_TEMPFAIL
    assert Sample.objects.filter(run=run).count() == 11
    assert not Chunk.objects.exclude(leased_by="").exists()
    assert not Chunk.objects.filter(losses__gt=0).exists()
    assert signal.getsignal(number) is before
    toy.before = lambda count: None
    work(run.name)
    run.refresh_from_db()
    assert (run.state, Sample.objects.filter(run=run).count()) == ("done", 60)


def test_a_chunk_that_was_claimed_and_not_begun_is_released_too(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    run, real = make_run(), chunks.claim

    def claim_and_be_asked_to_end(**values: object) -> object:
        real(**values)  # type: ignore[arg-type]
        os.kill(os.getpid(), signal.SIGTERM)
        raise AssertionError("the signal did not end it")

    monkeypatch.setattr(chunks, "claim", claim_and_be_asked_to_end)
    with pytest.raises(CommandError, match="Stopped by SIGTERM"):
        work(run.name)
    assert not Chunk.objects.exclude(leased_by="").exists()


def test_a_signal_while_a_complete_chunk_is_being_stored(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    run, real, calls = make_run(), chunks.store, list[int]()

    def be_asked_to_end_once(*arguments: object, **values: object) -> bool:
        calls.append(1)
        if len(calls) == 2:
            os.kill(os.getpid(), signal.SIGTERM)
        return real(*arguments, **values)  # type: ignore[arg-type]

    monkeypatch.setattr(chunks, "store", be_asked_to_end_once)
    with pytest.raises(CommandError, match="Stopped by SIGTERM"):
        work(run.name)
    assert Sample.objects.filter(run=run).count() == 8
    assert not Chunk.objects.filter(run=run, n_samples=0).exists()
    work(run.name)
    run.refresh_from_db()
    assert (run.state, Sample.objects.filter(run=run).count()) == ("done", 18)


def test_it_survives_a_database_that_goes_away(toy: Toy, monkeypatch: pytest.MonkeyPatch) -> None:
    from django.db import OperationalError

    run, real = make_run(), standing_worker._next_run
    failures: list[int] = []

    def fail_twice(names: list[str]) -> int | None:
        if len(failures) < 2:
            failures.append(1)
            raise OperationalError("server closed the connection")
        return real(names)

    monkeypatch.setattr(standing_worker, "_next_run", fail_twice)
    monkeypatch.setattr(standing_worker, "LOST_SECONDS", 0.01)
    work(run.name)
    assert Sample.objects.filter(run=run).count() == 18


def test_a_cancelled_run_is_nothing_to_wait_for(toy: Toy) -> None:
    run = make_run()
    cancel_run(run_id=run.pk)
    work(run.name)
    assert not Sample.objects.exists()


def test_without_libraries_it_says_what_to_install(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generation.management.commands.generate.runnable", tuple)
    with pytest.raises(CommandError, match="requirements for models are not installed"):
        work()
