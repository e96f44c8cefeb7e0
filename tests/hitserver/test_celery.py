"""A real worker and a real queue, for each of the three brokers."""

import os
import signal
import socket
import subprocess
import sys
import threading
import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

import pytest
from celery import Celery
from kombu.exceptions import OperationalError

from hitserver import celery_app, settings
from hitserver.supervisor import STOP_SECONDS
from tests.services import PATIENCE_SECONDS, ROOT, wait_for
from tests.support import clean_environment

SEND = (
    "import sys, django; django.setup();"
    "from tests.hitserver import probe_tasks;"
    "getattr(probe_tasks, sys.argv[1]).apply_async(args=sys.argv[3:], queue=sys.argv[2])"
)
DELETE = (
    "import sys, django; django.setup();"
    "from hitserver import celery_app; celery_app.connection_for_write().channel().queue_delete(sys.argv[1])"
)


class Queue:
    """A separate queue on one broker."""

    def __init__(self, var: Path, broker: str | None) -> None:
        self.name = f"test-{uuid.uuid4().hex[:8]}"
        self.environment = clean_environment(
            {"HITSERVER_VAR": str(var), "DJANGO_SETTINGS_MODULE": "hitserver.settings"}
        )
        if broker:
            self.environment["CELERY_BROKER_URL"] = broker

    def run(self, code: str, *arguments: str) -> None:
        command = [sys.executable, "-c", code, *arguments]
        subprocess.run(command, env=self.environment, cwd=ROOT, check=True, timeout=PATIENCE_SECONDS)

    def send(self, task: str, *arguments: str) -> None:
        self.run(SEND, task, self.name, *arguments)

    @contextmanager
    def worker(self) -> Iterator[subprocess.Popen[bytes]]:
        command = [
            *(sys.executable, "-m", "celery", "--app", "hitserver", "--quiet", "worker"),
            *("--include", "tests.hitserver.probe_tasks", "--queues", self.name, "--concurrency", "1"),
            *("--hostname", f"{self.name}@%h", "--without-gossip", "--without-mingle", "--without-heartbeat"),
        ]
        process = subprocess.Popen(command, env=self.environment, cwd=ROOT, start_new_session=True)
        try:
            yield process
        finally:
            end_worker(process, signal.SIGQUIT)


def end_worker(worker: subprocess.Popen[bytes], how: signal.Signals) -> None:
    """As the supervisor ends one: a signal, and for whatever is left of it after a while, the end."""
    if worker.poll() is None:
        worker.send_signal(how)
        with suppress(subprocess.TimeoutExpired):
            worker.wait(timeout=STOP_SECONDS)
    with suppress(ProcessLookupError):
        os.killpg(worker.pid, signal.SIGKILL)
    worker.wait(timeout=PATIENCE_SECONDS)


def text_of(path: Path) -> str:
    return path.read_text() if path.exists() else ""


def round_trip(queue: Queue, tmp_path: Path) -> None:
    result = tmp_path / "result"
    with queue.worker():
        queue.send("write", str(result), "grüße")
        wait_for(lambda: text_of(result) == "grüße", "the task")


def test_a_task_goes_through_the_folder(tmp_path: Path) -> None:
    round_trip(Queue(tmp_path / "var", None), tmp_path)

    assert list((tmp_path / "var" / "broker").rglob("*.msg")) == []


@pytest.mark.redis
def test_a_task_goes_through_redis(tmp_path: Path, redis_url: str) -> None:
    queue = Queue(tmp_path / "var", redis_url)
    round_trip(queue, tmp_path)
    queue.run(DELETE, queue.name)


def test_a_task_goes_through_rabbitmq(tmp_path: Path, amqp_url: str) -> None:
    queue = Queue(tmp_path / "var", amqp_url)
    round_trip(queue, tmp_path)
    queue.run(DELETE, queue.name)


def test_a_task_sent_before_there_is_a_worker_waits(tmp_path: Path) -> None:
    queue = Queue(tmp_path / "var", None)
    queue.send("write", str(tmp_path / "result"), "x")
    with queue.worker():
        wait_for((tmp_path / "result").exists, "the task")


@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGQUIT], ids=["killed", "stopped"])
def test_a_task_whose_worker_ends_is_begun_again(tmp_path: Path, end: signal.Signals) -> None:
    queue, trace = Queue(tmp_path / "var", None), tmp_path / "trace"
    queue.send("begin_and_wait_once", str(trace))
    with queue.worker() as worker:
        wait_for(lambda: text_of(trace) == "begun\n", "the first try")
        end_worker(worker, end)
    with queue.worker():
        wait_for(lambda: text_of(trace) == "begun\nbegun\ndone\n", "the second try")


def test_only_json_is_taken_from_a_queue() -> None:
    assert celery_app.conf.accept_content == ["json"]
    assert celery_app.conf.task_serializer == "json"


def test_a_task_is_done_before_it_is_forgotten() -> None:
    assert celery_app.conf.task_acks_late is True
    assert celery_app.conf.worker_prefetch_multiplier == 1
    assert settings.CELERY_TASK_SOFT_TIME_LIMIT < settings.CELERY_TASK_TIME_LIMIT


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["redis", "amqp"])
def test_nobody_waits_long_for_a_broker_that_hangs(scheme: str) -> None:
    """It takes connections, and then nothing happens. Otherwise only the client would end the wait."""
    shared = {name: getattr(settings, name) for name in dir(settings) if name.startswith("CELERY_")}
    quick = settings.REDIS_PATIENCE if scheme == "redis" else {}
    with socket.create_server(("127.0.0.1", 0)) as silent:
        address = {"CELERY_BROKER_URL": f"{scheme}://127.0.0.1:{silent.getsockname()[1]}//"}
        app = Celery("away", set_as_current=False)
        app.config_from_object(shared | address | {"CELERY_BROKER_TRANSPORT_OPTIONS": quick}, namespace="CELERY")
        seconds: list[float] = []

        def send() -> None:
            begin = time.monotonic()
            with pytest.raises(OperationalError):
                app.send_task("annotation.tasks.make_report", args=[1])
            seconds.append(time.monotonic() - begin)

        sender = threading.Thread(target=send, daemon=True)
        sender.start()
        sender.join(8)
    assert len(seconds) == 1
    assert seconds[0] < 5
