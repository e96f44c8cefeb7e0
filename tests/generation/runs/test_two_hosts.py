"""Two hosts with a worker each, one PostgreSQL and one Redis: they share a run, and each can finish one alone."""

from __future__ import annotations

import secrets
import shutil
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psycopg2
import pytest

from generation.backends import open_backend
from generation.backends.base import Request
from generation.decoding.seeds import sample_seed
from generation.runs.run_files import read_run
from tests import services
from tests.generation.support.hosts import Host, hosts
from tests.generation.support.tiny_models import PROMPTS, spec, texts_of, tiny
from tests.services import wait_for
from tests.support import Server, clean_environment, running_server

pytestmark = [pytest.mark.slow, pytest.mark.long, pytest.mark.redis, pytest.mark.postgres]

#: One text at a time, so that a tiny model has work for some seconds.
OPTIONS = {"batch": 1, "threads": 1}
RUN: dict[str, Any] = {
    "models": ["tiny"],
    "decoders": ["greedy", "top_p=0.9", "temperature=0.7"],
    "contexts": list(PROMPTS),
    "samples": 12,
    "limits": {"exact": 16},
    "chunk_size": 4,
    "seed": 5,
}
LEASE_SECONDS = 3
#: What docs/generation.md asks of a database that hosts may lose sight of, only sooner.
NOTICE_LOST_HOSTS = (
    "tcp_keepalives_idle=1",
    "tcp_keepalives_interval=1",
    "tcp_keepalives_count=2",
    "tcp_user_timeout=3000",
)
NOTICE_LOST_SERVER = (
    "connect_timeout=5&tcp_user_timeout=3000&keepalives_idle=1&keepalives_interval=1&keepalives_count=2"
)
APPLY = """
from pathlib import Path
from generation.runs.run_files import read_run
from generation.registry import registration as models
from generation.runs import lifecycle
models.register_model(name="tiny", backend="transformers", source={source!r}, dtype="float32", device="cpu",
    options={options!r})
lifecycle.start_run(run_id=lifecycle.create_run(file=read_run({document!r}, folder=Path()))[0].pk)
"""
#: As a worker in the middle of storing a chunk: its row is locked, and the transaction never ends.
LOCK = """
import psycopg2, sys, time
cursor = psycopg2.connect(sys.argv[1]).cursor()
print("ready", flush=True)
while not cursor.rowcount > 0:
    cursor.execute("SELECT id FROM generation_chunk WHERE state = 'waiting' AND leased_by = '' "
        "ORDER BY number DESC LIMIT 1 FOR NO KEY UPDATE SKIP LOCKED")
    time.sleep(0.02)
print("locked", flush=True)
time.sleep(600)
"""
CHUNKS = "FROM generation_chunk WHERE run_id = (SELECT id FROM generation_generationrun WHERE name = %s)"
SAMPLES = """
SELECT c.external_id, s.decoder, s.number, s.seed, s.text FROM generation_sample s
JOIN generation_runcontext c ON c.id = s.context_id JOIN generation_generationrun r ON r.id = s.run_id WHERE r.name = %s
"""
Samples = set[tuple[str, str, int, int, str]]


@dataclass
class Laboratory:
    """``server`` runs here, without models; each of ``hosts`` has a worker."""

    server: Server
    hosts: list[Host]
    database: Any
    environment: dict[str, str]
    logs: Path
    source: str

    def start_worker(self, host: Host) -> None:
        """As docs/generation.md says."""
        command = (sys.executable, "-m", "celery", "--app", "hitserver", "worker", "--queues", "gpu")
        environment = clean_environment({**self.environment, "HITSERVER_VAR": str(self.logs / host.name)})
        with (self.logs / f"{host.name}.log").open("ab") as log:
            more = ("--concurrency", "1", "--hostname", "gpu0@%h")
            host.start(*command, *more, env=environment, stdout=log, stderr=log)

    def said(self) -> str:
        """The ends of all logs."""
        return "\n".join(f"--- {log.name}\n{log.read_text()[-3000:]}" for log in self.logs.rglob("*.log"))

    def apply(self, name: str) -> None:
        code = APPLY.format(source=self.source, options=OPTIONS, document={"name": name, **RUN})
        self.server.manage("shell", "-v", "0", "-c", code)

    def ask(self, query: str, *values: Any) -> list[tuple[Any, ...]]:
        with self.database.cursor() as cursor:
            cursor.execute(query, values)
            return list(cursor.fetchall())

    def losses(self, name: str) -> int:
        """How often a chunk of the run was taken from a host that was no longer heard from."""
        return int(self.ask(f"SELECT sum(losses) {CHUNKS}", name)[0][0])

    def made_by(self, name: str, after: object = "-infinity") -> Counter[str]:
        """How many of the run's chunks each host has made."""
        query = f"SELECT made_with->>'worker' {CHUNKS} AND state = 'done' AND ended_at > %s"
        return Counter(worker.partition(":")[0] for (worker,) in self.ask(query, name, after))

    def in_hand(self, name: str, host: Host) -> bool:
        query = f"SELECT 1 {CHUNKS} AND state = 'waiting' AND leased_by LIKE %s"
        return bool(self.ask(query, name, f"{host.name}:%"))

    def wait(self, condition: Callable[[], object], what: str, seconds: float = 90) -> None:
        try:
            wait_for(condition, what, seconds)
        except TimeoutError as error:
            pytest.fail(f"{error}\n{self.said()}", pytrace=False)

    def freeze_at_work(self, name: str, host: Host) -> None:
        """Stops the host in the middle of the run, with chunks made and chunks in hand."""

        def frozen() -> bool:
            if not self.made_by(name)[host.name] or not self.in_hand(name, host):
                return False
            host.signal(signal.SIGSTOP)
            time.sleep(0.1)  # what was on its way to the database arrives
            if self.in_hand(name, host):
                return True
            host.signal(signal.SIGCONT)
            return False

        self.wait(frozen, f"{host.name} with chunks in hand")

    def check_whole(self, name: str, expected: Samples) -> None:
        """Waits for the end: exactly the samples there should be, each once, each as one process alone makes it."""
        state = "SELECT state, message FROM generation_generationrun WHERE name = %s"
        self.wait(lambda: self.ask(state, name)[0][0] not in ("waiting", "running"), f"the end of the run {name}")
        assert self.ask(state, name) == [("done", "")]
        rows = self.ask(SAMPLES, name)
        assert len(rows) == len(expected)
        assert set(rows) == expected


@pytest.fixture
def laboratory(tmp_path: Path) -> Iterator[Laboratory]:
    redis = shutil.which("redis-server")
    if redis is None:
        services.skip_or_fail("no redis-server is installed")
    with ExitStack() as stack:
        address, other_hosts = stack.enter_context(hosts(2))
        source = str(tiny("llama"))
        try:
            database = stack.enter_context(services.private_postgres(address, *NOTICE_LOST_HOSTS))
        except services.Missing as reason:
            services.skip_or_fail(reason)
        shared = {
            "DATABASE_URL": f"{database}?{NOTICE_LOST_SERVER}",
            "CELERY_BROKER_URL": stack.enter_context(services.private_redis(str(redis), address, secrets.token_hex(8))),
            "HITSERVER_SECRET_KEY": secrets.token_hex(32),
            "HITSERVER_PARTS": "studies",
            "HITSERVER_CHUNK_LEASE_SECONDS": str(LEASE_SECONDS),
            "HITSERVER_WAKE_SECONDS": "1",
        }
        environment = {
            "HITSERVER_WORKER_QUEUES": "default",
            "HITSERVER_SUGGESTER_PROCESSES": "0",
            "HITSERVER_WEB_WORKERS": "1",
        }
        server = stack.enter_context(running_server(tmp_path / "here", worker=True, env={**shared, **environment}))
        connection = stack.enter_context(closing(psycopg2.connect(database)))
        connection.autocommit = True
        laboratory = Laboratory(server, other_hosts, connection, shared, tmp_path, source)
        for host in other_hosts:
            laboratory.start_worker(host)
        yield laboratory


def alone(source: str) -> Samples:
    """What one process makes of the run: of its file and the model, in one batch, without a database."""
    file = read_run({"name": "alone", **RUN}, folder=Path())
    requests = [
        Request((context.external_id, decoder.name, number, seed), context.prompt, decoder, file.limits, seed)
        for context in file.contexts
        for decoder in file.decoders
        for number in range(file.n_of(decoder))
        for seed in [sample_seed(file.seed, context.external_id, "tiny", decoder.name, number)]
    ]
    outcomes = texts_of(open_backend(spec(source)).generate(requests))
    # As it is stored: PostgreSQL takes every character but this one.
    return {
        (*request.key, outcome.text.replace("\x00", "\ufffd"))
        for request, outcome in zip(requests, outcomes, strict=True)
    }


def check_shared(laboratory: Laboratory, expected: Samples) -> None:
    laboratory.check_whole("shared", expected)
    shares = laboratory.made_by("shared")
    assert set(shares) == {host.name for host in laboratory.hosts}
    assert min(shares.values()) >= 3, shares


def check_cut_off(laboratory: Laboratory, expected: Samples) -> None:
    """The second host's cable is pulled while one of its transactions is open. Its processes keep running."""
    first, second = laboratory.hosts
    lock = (sys.executable, "-c", LOCK, laboratory.environment["DATABASE_URL"])
    locking = second.start(*lock, stdout=subprocess.PIPE)
    assert locking.stdout is not None
    assert locking.stdout.readline() == b"ready\n"
    laboratory.apply("cut-off")
    assert locking.stdout.readline() == b"locked\n"
    laboratory.freeze_at_work("cut-off", second)
    second.cut_off()
    second.signal(signal.SIGCONT)
    now = laboratory.ask("SELECT now()")[0][0]
    laboratory.check_whole("cut-off", expected)
    assert set(laboratory.made_by("cut-off", after=now)) == {first.name}
    assert laboratory.losses("cut-off") >= 1


def check_killed(laboratory: Laboratory, expected: Samples) -> None:
    """The second is back, and now the first is killed."""
    first, second = laboratory.hosts
    second.join()
    first.signal(signal.SIGSTOP)  # until the second has begun
    laboratory.apply("killed")
    laboratory.wait(lambda: laboratory.in_hand("killed", second), "the second host, which was cut off")
    first.signal(signal.SIGCONT)
    laboratory.freeze_at_work("killed", first)
    first.kill()
    now = laboratory.ask("SELECT now()")[0][0]
    laboratory.check_whole("killed", expected)
    assert set(laboratory.made_by("killed", after=now)) == {second.name}
    assert laboratory.losses("killed") >= 1


def test_two_hosts_share_a_run_and_each_ends_one_without_the_other(laboratory: Laboratory) -> None:
    laboratory.apply("shared")
    expected = alone(laboratory.source)
    check_shared(laboratory, expected)
    check_cut_off(laboratory, expected)
    check_killed(laboratory, expected)
