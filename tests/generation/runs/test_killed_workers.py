"""A run on the real server survives kill -9 of its workers and of brokers: every sample it should have, each once."""

from __future__ import annotations

import json
import shutil
import signal
import subprocess
import sys
import time
import uuid
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import psutil
import pytest
from kombu.connection import Connection

from generation.decoding.seeds import sample_seed
from tests import services
from tests.generation.support.toy_runs import toy_text
from tests.integration.studies import BOTH, database
from tests.services import wait_for
from tests.support import Server

pytestmark = pytest.mark.slow

MAKE = """
from pathlib import Path
from generation.runs.run_files import read_run
from generation.registry import registration as models
from generation.runs import lifecycle
models.register_model(name="toy", backend="transformers", source="toy")
file = read_run({"name": "kill", "models": ["toy"], "decoders": ["greedy", "top_p=0.9", "temperature=0.5"],
    "contexts": ["Once upon a time", "It rained all day long", "A letter came"],
    "samples": 66, "limits": {"exact": 5}, "chunk_size": 10, "seed": 3}, folder=Path())
lifecycle.start_run(run_id=lifecycle.create_run(file=file)[0].pk)
"""
PROMPTS = {"1": "Once upon a time", "2": "It rained all day long", "3": "A letter came"}
N_WANTED = 3 * (1 + 66 + 66)
EXPECTED = {
    (context, decoder, number, seed, toy_text(prompt, decoder, seed))
    for context, prompt in PROMPTS.items()
    for decoder, count in (("greedy", 1), ("top_p=0.9", 66), ("temperature=0.5", 66))
    for number in range(count)
    for seed in [sample_seed(3, context, "toy", decoder, number)]
}
QUICK = {
    "DJANGO_SETTINGS_MODULE": "tests.generation.support.toy_settings",
    "HITSERVER_CHUNK_LEASE_SECONDS": "2",
    "HITSERVER_WAKE_SECONDS": "1",
    "HITSERVER_PARTS": "studies",
    "HITSERVER_SUGGESTER_PROCESSES": "0",
    "HITSERVER_WEB_WORKERS": "1",
}


def count(server: Server) -> int:
    return int(server.ask("SELECT count(*) FROM generation_sample")[0][0])


def begin(server: Server) -> None:
    server.manage("shell", "-v", "0", "-c", MAKE)


def wait_for_samples(server: Server, least: int, seconds: float = 120) -> int:
    """Waits until this many are stored. Returns how many there are then."""
    deadline = time.monotonic() + seconds
    while (n_stored := count(server)) < least:
        assert time.monotonic() < deadline, server.said()[-5000:]
        time.sleep(0.05)
    return n_stored


def model_worker(server: Server) -> psutil.Process:
    """The worker of the queue gpu; the process that computes is its child."""
    children = psutil.Process(server.process.pid).children()
    parent = next(child for child in children if any(part.startswith("gpu@") for part in child.cmdline()))
    wait_for(parent.children, "the process that computes")
    return parent


def at_work(server: Server) -> bool:
    return bool(server.ask("SELECT 1 FROM generation_chunk WHERE leased_by <> '' AND state = 'waiting'"))


def kill_model_worker(server: Server) -> None:
    """SIGKILL to both processes of the worker while it has chunks in hand."""
    parent = model_worker(server)
    doomed = [*parent.children(recursive=True), parent]
    wait_for(lambda: at_work(server), "chunks in hand")
    for process in doomed:
        process.send_signal(signal.SIGKILL)


def kill_model_process(server: Server) -> None:
    """SIGKILL to the process that computes alone: its parent starts another."""
    doomed = model_worker(server).children()[0]
    wait_for(lambda: at_work(server), "chunks in hand")
    doomed.send_signal(signal.SIGKILL)


def check_whole(server: Server) -> None:
    """Waits for the end of the run: exactly the samples it should have, each once, each as its seed gives it."""
    wait_for_samples(server, N_WANTED)
    state = "SELECT state, message FROM generation_generationrun"
    wait_for(lambda: server.ask(state)[0][0] != "running", "the end of the run")
    assert server.ask(state) == [("done", "")]
    rows = server.ask(
        "SELECT c.external_id, s.decoder, s.number, s.seed, s.text FROM generation_sample s "
        "JOIN generation_runcontext c ON c.id = s.context_id",
    )
    assert len(rows) == len(EXPECTED) == N_WANTED
    assert set(rows) == EXPECTED


@BOTH
def test_kill_9_of_the_worker_loses_only_what_it_has_in_hand(
    kind: str, request: pytest.FixtureRequest, live_processes: Callable[..., Server]
) -> None:
    with database(kind, request) as env:
        server = live_processes(worker=True, env=QUICK | env)
        begin(server)
        for kill, least in ((kill_model_worker, 30), (kill_model_process, 150)):
            before = wait_for_samples(server, least)
            kill(server)
            assert count(server) >= before
        check_whole(server)
        losses = sum(row[0] for row in server.ask("SELECT losses FROM generation_chunk"))
    assert 1 <= losses <= 2 * 3  # what each of the two had in hand


def test_kill_9_of_every_process_and_a_new_start(live_processes: Callable[..., Server]) -> None:
    server = live_processes(worker=True, env=QUICK)
    begin(server)
    wait_for_samples(server, 50)
    server.kill_all()
    check_whole(live_processes(var=server.var, worker=True, env=QUICK))


class Redis:
    """A Redis server that saves nothing, to be killed and started again on its port."""

    def __init__(self, program: str, folder: Path) -> None:
        self.command = [program, "--port", str(services.free_port()), "--bind", "127.0.0.1", "--save", ""]
        self.port, self.folder = int(self.command[2]), folder
        self.start()

    def start(self) -> None:
        self.process = subprocess.Popen(self.command, cwd=self.folder, stdout=subprocess.DEVNULL)
        wait_for(lambda: services.listens("127.0.0.1", self.port), "Redis")

    def kill(self) -> None:
        self.process.kill()
        self.process.wait(timeout=10)


@pytest.fixture
def redis_to_kill(tmp_path: Path) -> Iterator[Redis]:
    program = shutil.which("redis-server")
    if program is None:
        services.skip_or_fail("no redis-server is installed")
    redis = Redis(str(program), tmp_path)
    yield redis
    redis.kill()


@pytest.mark.redis
def test_kill_9_of_the_worker_and_of_redis(redis_to_kill: Redis, live_processes: Callable[..., Server]) -> None:
    env = QUICK | {"CELERY_BROKER_URL": f"redis://127.0.0.1:{redis_to_kill.port}/0"}
    server = live_processes(worker=True, env=env)
    begin(server)
    wait_for_samples(server, 30)
    redis_to_kill.kill()
    kill_model_worker(server)
    redis_to_kill.start()
    wait_for_samples(server, 130)
    redis_to_kill.kill()
    time.sleep(1.5)  # the run continues meanwhile: the chunk in hand needs no queue
    redis_to_kill.start()
    check_whole(server)


@contextmanager
def second_worker(server: Server, queue: str = "gpu") -> Iterator[subprocess.Popen[bytes]]:
    """Beside the server's own, with the same settings."""
    celery = (sys.executable, "-m", "celery", "--app", "hitserver", "--quiet", "worker")
    alone = ("--without-gossip", "--without-mingle", "--without-heartbeat")
    other = subprocess.Popen(
        [*celery, "--queues", queue, "--concurrency", "1", "--hostname", "other@%h", *alone],
        env=server.environment,
        cwd=services.ROOT,
    )
    try:
        yield other
    finally:
        other.send_signal(signal.SIGQUIT)
        other.wait(timeout=services.PATIENCE_SECONDS)


def shares_of(server: Server) -> Counter[str]:
    """How many chunks each process has made."""
    origins = server.ask("SELECT made_with FROM generation_chunk WHERE state = 'done'")
    return Counter(json.loads(row[0])["worker"] for row in origins)


@pytest.mark.long
def test_two_workers_share_a_run(live_processes: Callable[..., Server]) -> None:
    """The second joins as soon as the first has taken a chunk and there is more."""
    server = live_processes(worker=True, env=QUICK)
    with second_worker(server):
        begin(server)
        check_whole(server)
    shares = shares_of(server)
    assert len(shares) == 2
    assert min(shares.values()) >= 5, shares


@pytest.fixture
def own_queues(amqp_url: str) -> Iterator[str]:
    """The start of the queues' names on RabbitMQ, which others use too. The queues are deleted at the end."""
    mark = f"test-{uuid.uuid4().hex[:8]}"
    yield mark
    with Connection(amqp_url) as connection:
        for name in (f"{mark}-default", f"{mark}-gpu"):
            connection.default_channel.queue_delete(name)
            connection.default_channel.exchange_delete(name)


def holds_chunks(server: Server, process: psutil.Process) -> bool:
    leases = server.ask("SELECT leased_by FROM generation_chunk WHERE state = 'waiting'")
    return any(f":{process.pid}#" in row[0] for row in leases)


def kill_with_chunks_in_hand(server: Server, worker: subprocess.Popen[bytes]) -> None:
    """SIGKILL to the worker and the process that computes, which has made chunks and has more in hand."""
    parent = psutil.Process(worker.pid)
    wait_for(parent.children, "the process that computes")
    doomed = [parent.children()[0], parent]

    def killed() -> bool:
        if not any(name.endswith(f":{doomed[0].pid}") for name in shares_of(server)):
            return False
        doomed[0].suspend()
        held = holds_chunks(server, doomed[0])
        for process in doomed:
            process.kill() if held else process.resume()
        return held

    wait_for(killed, "chunks in hand")
    worker.wait(timeout=10)


def test_a_run_over_rabbitmq_loses_one_of_its_two_workers(
    own_queues: str, amqp_url: str, live_processes: Callable[..., Server]
) -> None:
    queues = {
        "DJANGO_SETTINGS_MODULE": "tests.generation.support.own_queues_settings",
        "CELERY_BROKER_URL": amqp_url,
        "HITSERVER_TEST_QUEUES": own_queues,
        "HITSERVER_WORKER_QUEUES": f"{own_queues}-default,{own_queues}-gpu",
    }
    server = live_processes(worker=True, env=QUICK | queues)
    with second_worker(server, f"{own_queues}-gpu") as other:
        begin(server)
        kill_with_chunks_in_hand(server, other)
        assert count(server) < N_WANTED
        check_whole(server)
    assert len(shares_of(server)) == 2
    assert 1 <= sum(row[0] for row in server.ask("SELECT losses FROM generation_chunk")) <= 3
    with Connection(amqp_url) as connection:
        assert connection.default_channel.queue_declare(f"{own_queues}-gpu", passive=True).consumer_count == 1
