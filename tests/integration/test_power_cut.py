"""What the server has acknowledged is there after every one of its processes was killed."""

from __future__ import annotations

import random
import threading
import time
from collections.abc import Callable
from http.client import HTTPException
from urllib.parse import urlencode

import psycopg2
import pytest

from annotation.work.bots import Browser
from bench.load import fill
from tests.integration.racing import start
from tests.integration.studies import BOTH, count, database, make_study
from tests.support import Server

WORKERS = 12


def send_once(browser: Browser, path: str, form: dict[str, str]) -> int:
    """Without trying again: what is not acknowledged at once does not count."""
    connection = browser.connection
    assert connection is not None
    connection.request("POST", path, urlencode(form), {"Content-Type": "application/x-www-form-urlencoded"})
    response = connection.getresponse()
    response.read()
    return response.status


@BOTH
def test_kill_9_of_all_processes_loses_and_doubles_nothing(
    kind: str,
    request: pytest.FixtureRequest,
    live_processes: Callable[..., Server],
) -> None:
    with database(kind, request) as env:
        server = live_processes(env=env)
        path = make_study(server, items=200, ratings=20)
        acknowledged: list[str] = []
        stop = threading.Event()

        def work(seed: int) -> None:
            rng = random.Random(seed)
            browser, address = start(server, path, seed)
            number = 0
            try:
                while not stop.is_set():
                    form = fill(browser.get(address).body.encode(), rng)
                    number += 1
                    form["feedback"] = f"worker {seed} number {number}"
                    if send_once(browser, address, form) == 303:
                        acknowledged.append(form["feedback"])
            except (OSError, HTTPException, KeyError):
                return  # the server is gone

        threads = [threading.Thread(target=work, args=(seed,), daemon=True) for seed in range(WORKERS)]
        for thread in threads:
            thread.start()
        while len(acknowledged) < 100:
            time.sleep(0.02)
        server.kill_all()
        stop.set()
        for thread in threads:
            thread.join(30)
        again = live_processes(var=server.var, env=env)
        found = count(again)
    sure = list(acknowledged)
    assert len(sure) >= 100
    assert len(set(found["codes"])) == len(found["codes"]) == found["submissions"]
    assert set(sure) <= set(found["codes"])
    # A submission whose answer was cut off may be stored too: at most one for each worker.
    assert len(found["codes"]) - len(sure) <= WORKERS
    assert sum(found["ratings per item"]) == found["submissions"]
    assert sum(n_submitted for _, n_submitted in found["hits"]) == found["submissions"]


@pytest.mark.postgres
def test_a_worker_does_not_notice_that_the_database_closed_all_connections(
    postgres_url: str, live_processes: Callable[..., Server]
) -> None:
    server = live_processes(env={"DATABASE_URL": postgres_url, "HITSERVER_WEB_WORKERS": "1"})
    path = make_study(server, items=5, ratings=3)
    browser, address = start(server, path, 1)
    form = fill(browser.get(address).body.encode(), random.Random(1))
    close_connections(postgres_url)
    assert send_once(browser, address, form) == 303
    close_connections(postgres_url)
    connection = browser.connection
    assert connection is not None
    connection.request("GET", address)
    assert connection.getresponse().status == 200
    assert count(server)["submissions"] == 1


def close_connections(url: str) -> None:
    """As a restart of the server does, seen from its clients."""
    own = psycopg2.connect(url)
    try:
        own.cursor().execute(
            "SELECT pg_terminate_backend(pid) FROM pg_stat_activity "
            "WHERE datname = current_database() AND pid <> pg_backend_pid()"
        )
    finally:
        own.close()
