"""What runs on the queues, what a worker reports about itself, and a machine without the models' requirements."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

import pytest
from django.conf import settings as server
from kombu.exceptions import OperationalError

from generation import queueing, tasks
from generation.backends import requirements
from generation.models import GenerationRun, LanguageModel, ModelWorker
from generation.registry import presence
from hitserver import celery as queue
from hitserver import celery_app, supervisor
from tests.generation.support.run_factories import make_model, make_run
from tests.generation.support.toy_runs import Toy
from tests.services import wait_for


@pytest.fixture
def messages(monkeypatch: pytest.MonkeyPatch) -> list[int]:
    """Runs that a message was sent for; nothing is run."""
    run_ids: list[int] = []
    monkeypatch.setattr(queueing, "send_work", run_ids.append)
    return run_ids


@pytest.mark.django_db
def test_work_makes_the_run_and_calls_one_more_worker(toy: Toy, messages: list[int]) -> None:
    run = make_run()
    assert tasks.work(run.pk) == run.chunks.count()
    run.refresh_from_db()
    assert run.state == "done"
    assert messages == [run.pk]
    assert presence.of_this_process().models == ["toy"]
    assert presence.of_this_process().state == presence.IDLE


@pytest.mark.django_db
def test_work_that_comes_twice_or_too_late_does_nothing(toy: Toy, messages: list[int]) -> None:
    run = make_run()
    tasks.work(run.pk)
    assert tasks.work(run.pk) == 0
    assert run.samples.count() == run.n_wanted


@pytest.mark.django_db
def test_work_pauses_for_others_after_some_minutes(
    toy: Toy, messages: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tasks, "WORK_SECONDS", 1e-9)
    run = make_run()
    turns = [tasks.work(run.pk) for _ in range(run.chunks.count() + 1)]
    assert turns == [*([1] * run.chunks.count()), 0]
    assert messages == [run.pk] * (run.chunks.count() - 1)


@pytest.mark.django_db
def test_a_machine_without_requirements_says_so_and_leaves_the_run_alone(
    nothing_installed: None, messages: list[int], caplog: pytest.LogCaptureFixture
) -> None:
    run = make_run()
    with caplog.at_level(logging.WARNING):
        assert tasks.work(run.pk) == 0
    assert requirements.NONE_HERE in caplog.text
    run.refresh_from_db()
    assert (run.state, run.message) == ("waiting", "")
    assert not run.chunks.exclude(leased_by="", attempts=0).exists()
    assert (presence.of_this_process().state, messages) == (presence.WITHOUT, [])


@pytest.mark.django_db
def test_a_queue_that_does_not_respond_is_not_a_failure(
    toy: Toy, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def refuse(*_: Any, **__: Any) -> None:
        raise OperationalError("Error 111 connecting to 127.0.0.1:6379. Connection refused.")

    monkeypatch.setattr(tasks.work, "apply_async", refuse)
    monkeypatch.setattr(tasks.check, "apply_async", refuse)
    run = make_run()
    with caplog.at_level(logging.WARNING):
        assert queueing.send_work(run.pk) is False
        assert queueing.send_check(1) is False
        tasks.work(run.pk)
    assert caplog.text.count("The task queue does not work") == 1
    run.refresh_from_db()
    assert run.state == "done"


@pytest.mark.django_db
def test_the_check_of_a_model_as_a_task(use_toy: Callable[[Toy], Toy], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("generation.registry.open_models.backend_of", Toy().backend_of)
    use_toy(Toy())
    model = make_model()
    assert tasks.check(model.pk) == "passed"
    assert LanguageModel.objects.get().check_message == "float32 on cpu"


def test_models_are_loaded_on_the_queue_gpu_and_the_scheduler_wakes_them() -> None:
    routes = celery_app.conf.task_routes
    assert routes["generation.tasks.work"] == routes["generation.tasks.check"] == {"queue": "gpu"}
    assert "generation.tasks.wake" not in routes
    assert celery_app.conf.beat_schedule["generation.tasks.wake"]["task"] == "generation.tasks.wake"
    assert {"generation.tasks.work", "generation.tasks.check", "generation.tasks.wake"} <= set(celery_app.tasks)
    assert tasks.WORK_SECONDS < server.CELERY_TASK_SOFT_TIME_LIMIT / 2


# --- presence ---


@pytest.mark.django_db(transaction=True)
def test_a_worker_is_seen_idle_then_at_work_then_gone(everything_installed: None, presence_threads: None) -> None:
    process = presence.Presence()
    process.start()
    try:
        until(lambda: list(presence.alive().values_list("name", "state")) == [(process.name, presence.IDLE)])
        with process.working("run 7"):
            process.loaded("toy")
            until(lambda: ModelWorker.objects.get().state == presence.WORKING)
            until(lambda: ModelWorker.objects.get().message == "run 7")
        until(lambda: ModelWorker.objects.get().state == presence.IDLE)
        assert ModelWorker.objects.get().models_loaded == ["toy"]
    finally:
        process.stop()
    assert not ModelWorker.objects.exists()


def until(condition: Callable[[], bool]) -> None:
    wait_for(condition, "the worker's row")


def test_a_worker_of_the_model_queue_shows_itself_and_others_do_not(monkeypatch: pytest.MonkeyPatch) -> None:
    shown: list[int] = []
    monkeypatch.setattr(presence, "of_this_process", lambda: shown.append(1))
    for queues, seen in ((["gpu"], 1), (["default"], 0), (["default", "gpu"], 1), (None, 0)):
        shown.clear()
        queue.note_queues(options={"queues": queues})
        queue.show_that_it_is_there()
        assert len(shown) == seen
    queue.note_queues(options=None)


# --- the supervisor's part ---


def test_one_process_holds_the_models_however_many_tasks_run_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(server, "WORKER_PROCESSES", 5)
    concurrency = {
        queue: supervisor.worker(queue).command[supervisor.worker(queue).command.index("--concurrency") + 1]
        for queue in ("default", "gpu")
    }
    assert concurrency == {"default": "5", "gpu": "1"}


def test_no_model_worker_is_started_where_none_could_work(
    nothing_installed: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PARTS", ["studies", "marketplace"])
    assert supervisor.available_queues() == ["default"]
    errors = capsys.readouterr().err
    assert "This server runs no language models. The requirements for models are not installed" in errors


def test_a_marketplace_alone_needs_no_model_worker(
    nothing_installed: None, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PARTS", ["marketplace"])
    assert supervisor.available_queues() == ["default"]
    assert capsys.readouterr().err == ""


def test_with_a_model_s_requirements_there_is_a_worker(
    everything_installed: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(server, "PARTS", ["studies"])
    assert supervisor.available_queues() == ["default", "gpu"]


# --- requirements ---


def test_missing_things_are_named_and_nothing_is_imported(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(requirements.NEEDS, "transformers", ("json", "no_such_library"))
    assert requirements.missing("transformers") == ["no_such_library"]
    assert requirements.why_not("transformers").startswith(
        "transformers needs no_such_library, missing on this machine. Install them with: script/setup --models"
    )


@pytest.mark.django_db
def test_a_worker_with_one_backend_only_leaves_the_others_models_to_others(
    toy: Toy, messages: list[int], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(requirements.NEEDS, "transformers", ("no_such_library",))
    requirements.runnable.cache_clear()
    make_model(name="far", backend="openai", base_url="http://h/v1")
    run = make_run(models=["toy", "far"])
    assert tasks.work(run.pk) == run.chunks.count() / 2
    assert set(run.samples.values_list("model__name", flat=True)) == {"far"}
    assert GenerationRun.objects.get().state == "running"
