"""Clients for the marketplace benchmark: boto3 in separate processes, and workers on open connections.

Each client counts its own processor time, to separate the cost of botocore (building and signing a request, parsing the
answer) from the cost of the server. Clients only use loopback and stop by themselves.
"""

from __future__ import annotations

import multiprocessing
import re
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from http.client import HTTPConnection, HTTPResponse
from multiprocessing.synchronize import Barrier
from threading import Thread
from typing import Any
from urllib.parse import urlencode, urlsplit

REGION = "us-east-1"
CSRF = "b" * 32
START_SECONDS = 60
_TASK = re.compile(r"/marketplace/tasks/([A-Z0-9]+)/$")


@dataclass(frozen=True)
class Target:
    """The endpoint and the caller's credentials."""

    base_url: str
    access_key_id: str
    secret: str


@dataclass
class Done:
    """What one client did: seconds of each call, seconds of its own processor time, and any errors."""

    times: list[float] = field(default_factory=list)
    cpu: float = 0.0
    errors: list[str] = field(default_factory=list)


def boto3_client(target: Target) -> Any:
    import boto3
    from botocore.config import Config

    return boto3.session.Session().client(
        "mturk",
        endpoint_url=f"{target.base_url}/marketplace/api/",
        region_name=REGION,
        aws_access_key_id=target.access_key_id,
        aws_secret_access_key=target.secret,
        config=Config(retries={"total_max_attempts": 1}),
    )


# --- boto3, a process for each client -----------------------------------------------------------------------


def calls_at_once(
    target: Target, operation: str, jobs: Sequence[Sequence[dict[str, Any]]], *, seconds: float
) -> tuple[list[Done], float]:
    """Run one client for each list of parameters, all started together. Also returns the time until the last one ended.

    ``operation`` is a method of boto3's client. A client stops at the end of its list or of the time.
    """
    context = multiprocessing.get_context("spawn")
    barrier = context.Barrier(len(jobs) + 1)
    results: multiprocessing.Queue[Done] = context.Queue()
    processes = [
        context.Process(target=_call, args=(target, operation, job, seconds, barrier, results)) for job in jobs
    ]
    for process in processes:
        process.start()
    barrier.wait(START_SECONDS)
    begin = time.perf_counter()
    done = [results.get(timeout=seconds + START_SECONDS) for _ in processes]
    elapsed = time.perf_counter() - begin
    for process in processes:
        process.join()
    return done, elapsed


def _call(
    target: Target, operation: str, job: Sequence[dict[str, Any]], seconds: float, barrier: Barrier, results: Any
) -> None:
    client = boto3_client(target)
    client.get_account_balance()  # opens the connection and makes botocore load everything it needs
    call, done = getattr(client, operation), Done()
    barrier.wait(START_SECONDS)
    begin, before = time.perf_counter(), time.process_time()
    for parameters in job:
        started = time.perf_counter()
        if started - begin > seconds:
            break
        try:
            call(**parameters)
        except Exception as error:  # reported at the end, with the figures
            done.errors.append(repr(error))
            continue
        done.times.append(time.perf_counter() - started)
    done.cpu = time.process_time() - before
    results.put(done)


# --- Workers, a thread for each -----------------------------------------------------------------------------


@dataclass
class Worked:
    """Seconds of every accepted task, by request, and any errors."""

    accepts: list[float] = field(default_factory=list)
    pages: list[float] = field(default_factory=list)
    submits: list[float] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)


class Visitor:
    """A signed-in worker on one connection."""

    def __init__(self, base_url: str, session: str) -> None:
        parts = urlsplit(base_url)
        self.connection = HTTPConnection(parts.hostname or "127.0.0.1", parts.port, timeout=60)
        self.headers = {"Cookie": f"sessionid={session}; csrftoken={CSRF}", "X-CSRFToken": CSRF}

    def ask(self, path: str, form: dict[str, str] | None = None) -> tuple[HTTPResponse, float]:
        """The complete response, and the seconds it took. Raises RuntimeError for an error status."""
        started = time.perf_counter()
        if form is None:
            self.connection.request("GET", path, headers=self.headers)
        else:
            headers = self.headers | {"Content-Type": "application/x-www-form-urlencoded"}
            self.connection.request("POST", path, urlencode(form), headers)
        response = self.connection.getresponse()
        response.read()
        if response.status >= 400:
            raise RuntimeError(f"{path} answered {response.status}")
        return response, time.perf_counter() - started


def work_at_once(base_url: str, sessions: Sequence[str], type_id: str, *, seconds: float) -> tuple[Worked, float]:
    """Every worker repeatedly accepts, opens and submits a task of the group. Also returns the time this took."""
    worked, begin = Worked(), time.perf_counter()

    def work(session: str) -> None:
        visitor = Visitor(base_url, session)
        try:
            while time.perf_counter() - begin < seconds and _one_task(visitor, type_id, worked):
                pass
        except Exception as error:
            worked.errors.append(repr(error))

    _in_threads(work, sessions)
    return worked, time.perf_counter() - begin


def _one_task(visitor: Visitor, type_id: str, worked: Worked) -> bool:
    response, seconds = visitor.ask(f"/marketplace/groups/{type_id}/accept", {})
    found = _TASK.search(response.headers.get("Location", ""))
    if not found:
        worked.errors.append("The group ran out of tasks.")
        return False
    worked.accepts.append(seconds)
    worked.pages.append(visitor.ask(found[0])[1])
    worked.submits.append(visitor.ask("/mturk/externalSubmit", {"assignmentId": found[1], "rating": "4"})[1])
    return True


def _in_threads(act: Callable[[str], None], arguments: Sequence[str]) -> None:
    threads = [Thread(target=act, args=(argument,)) for argument in arguments]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
