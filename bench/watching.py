"""What it costs to watch a server: ``python -m bench.watching [--submissions 100000] [--requests 300]``.

Fills a database as ``bench.console_at_size`` does (SQLite, or ``--database URL``, an empty PostgreSQL database). Then
prints the processor time of reading the figures and of a whole scrape, with and without the cache, and what numbers,
counts and a JSON line add to each request.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

from bench.console_at_size import start_django
from bench.console_data import fill

TOKEN = "a-token-of-the-monitor-0123"  # noqa: S105 - of this bench alone


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=100_000)
    parser.add_argument("--requests", type=int, default=300, help="requests of each kind")
    parser.add_argument("--database", default="", metavar="URL", help="an empty PostgreSQL database")
    parser.add_argument("--task", choices=("fill", "measure"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task == "fill":
        fill(options.submissions, 1)
        return
    if options.task == "measure":
        print(json.dumps({**scrapes(), **requests(options.requests)}, indent=1))
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HITSERVER_VAR": folder, "DATABASE_URL": options.database}
        environment["HITSERVER_METRICS_TOKEN"] = TOKEN
        for task in ("fill", "measure"):
            arguments = ["--task", task, "--submissions", str(options.submissions), "--requests", str(options.requests)]
            subprocess.run([sys.executable, "-m", "bench.watching", *arguments], env=environment, check=True)


def milliseconds(call: Callable[[], Any], times: int) -> float:
    """Processor time of this process for one call, the median."""
    spent = []
    for _ in range(times):
        begin = time.process_time()
        call()
        spent.append(time.process_time() - begin)
    return round(1000 * statistics.median(spent), 2)


def scrapes() -> dict[str, float]:
    start_django()
    from django.conf import settings
    from django.db import connection
    from django.test import Client
    from django.test.utils import CaptureQueriesContext

    from hitserver.watch import figures

    settings.ALLOWED_HOSTS = ["testserver"]
    client = Client(headers={"Authorization": f"Bearer {TOKEN}"})
    client.get("/metrics")
    with CaptureQueriesContext(connection) as queries:
        figures.read()

    def fresh() -> None:
        figures._latest = None
        assert client.get("/metrics").status_code == 200

    return {
        "queries": len(queries),
        "figures ms": milliseconds(figures.read, 20),
        "scrape ms": milliseconds(fresh, 20),
        "cached scrape ms": milliseconds(lambda: client.get("/metrics"), 20),
    }


def requests(count: int) -> dict[str, float]:
    """Microseconds that the middleware adds to one request."""
    import logging
    from types import SimpleNamespace

    from django.conf import settings
    from django.http import HttpRequest, HttpResponse
    from django.test import RequestFactory

    from hitserver.logs import JsonFormatter
    from hitserver.watch.middleware import watch_requests

    nowhere: Any = Path(os.devnull).open("w")  # noqa: SIM115 - as long as the process
    handler: Any = logging.getLogger().handlers[0]
    handler.setStream(nowhere)
    handler.setFormatter(JsonFormatter())
    many = [RequestFactory().get("/w/token/") for _ in range(count)]

    def page(request: Any) -> HttpResponse:
        request.resolver_match = SimpleNamespace(view_name="work")
        return HttpResponse()

    def microseconds(answer: Callable[[HttpRequest], Any]) -> float:
        return 1000 * milliseconds(lambda: [answer(request) for request in many], 15) / count

    without, added = microseconds(page), {}
    kinds = {"numbered": (False, "text"), "counted": (True, "text"), "counted and logged": (True, "json")}
    for name, (settings.METRICS_OPEN, settings.LOG_FORMAT) in kinds.items():
        added[f"{name} µs"] = round(microseconds(watch_requests(page)) - without, 1)
    return added


if __name__ == "__main__":
    main()
