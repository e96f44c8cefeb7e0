"""What it costs to watch a server: ``python -m bench.watching [--submissions 100000] [--pages 400]``.

Fills a database as ``bench.console_at_size`` does (SQLite, or ``--database URL``, an empty PostgreSQL database). Then
prints the processor time of reading the figures and of a whole scrape without the cache, and of a worker's page without
the middleware, with it, and with counts and a JSON line for every request, in turns in one process.
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

from bench.console_at_size import fill, start_django

TOKEN = "a-token-of-the-monitor-0123"  # noqa: S105 - of this bench alone
BLOCK = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=100_000)
    parser.add_argument("--pages", type=int, default=400, help="worker's pages of each kind")
    parser.add_argument("--database", default="", metavar="URL", help="an empty PostgreSQL database")
    parser.add_argument("--task", choices=("fill", "measure"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task == "fill":
        fill(options.submissions)
        return
    if options.task == "measure":
        print(json.dumps({**scrapes(), **pages(options.pages)}, indent=1))
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HITSERVER_VAR": folder, "DATABASE_URL": options.database}
        environment["HITSERVER_METRICS_TOKEN"] = TOKEN
        for task in ("fill", "measure"):
            arguments = ["--task", task, "--submissions", str(options.submissions), "--pages", str(options.pages)]
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


def pages(count: int) -> dict[str, float]:
    import logging

    from django.conf import settings
    from django.test import Client
    from django.urls import reverse

    from annotation.models import Participant, Study
    from annotation.tokens import participant_token
    from annotation.work.allocation import accept_next

    nowhere: Any = Path(os.devnull).open("w")  # noqa: SIM115 - as long as the process
    handler: Any = logging.getLogger().handlers[0]
    handler.setStream(nowhere)
    participant = Participant.objects.filter(study=Study.objects.get()).order_by("-pk")[0]
    accept_next(participant_id=participant.pk)
    address = reverse("work", args=[participant_token(participant.pk)])
    middleware = list(settings.MIDDLEWARE)
    kinds = {"without": (middleware[1:], False, "text"), "numbered": (middleware, False, "text")}
    kinds["counted and logged"] = (middleware, True, "json")
    clients = {}
    for name, (settings.MIDDLEWARE, settings.METRICS_OPEN, settings.LOG_FORMAT) in kinds.items():
        clients[name] = Client()
        status = clients[name].get(address).status_code
        assert status == 200, status
    spent: dict[str, list[float]] = {name: [] for name in kinds}
    for _ in range(max(1, count // BLOCK)):
        for name, client in clients.items():
            begin = time.process_time()
            for _ in range(BLOCK):
                client.get(address)
            spent[name].append(1000 * (time.process_time() - begin) / BLOCK)
    return {f"page {name} ms": round(statistics.median(blocks), 3) for name, blocks in spent.items()}


if __name__ == "__main__":
    main()
