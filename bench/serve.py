"""How many ratings a second the server takes: ``python -m bench.serve [--seconds 15] [--workers 1,16,64]``.

Starts the real server with a separate database (SQLite in a temporary folder; with ``--postgres URL``, a PostgreSQL
database that is made and dropped) and publishes an absHDS study. N workers then fetch a page, rate and send for T
seconds from a second process on the same machine, counted from when all have started the study. One rating is one page
and one sent step (``--warm-up`` adds the two warm-up steps). Afterwards, checks that every acknowledged submission is
in the database.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from urllib.parse import urlsplit, urlunsplit

import psycopg2

from tests.integration.studies import count, make_study
from tests.support import Server, running_server

ROOT = Path(__file__).resolve().parent.parent
ITEMS = 4000
RATINGS = 50


@contextmanager
def server(url: str, *, warm_up: bool) -> Iterator[Server]:
    with tempfile.TemporaryDirectory(prefix="hitserver-bench-") as folder:
        env = {"HITSERVER_UNSENT_PER_ADDRESS": "0"}
        env |= {"DATABASE_URL": url} if url else {}
        with running_server(Path(folder), env=env) as running:
            make_study(running, items=ITEMS, ratings=RATINGS, warm_up=warm_up)
            yield running


@contextmanager
def own_database(url: str) -> Iterator[str]:
    """A new database on the same server as ``url``, dropped afterwards."""
    name = f"hitserver_bench_{os.getpid()}"
    connection = psycopg2.connect(url)
    connection.autocommit = True
    cursor = connection.cursor()
    cursor.execute(f"CREATE DATABASE {name}")
    try:
        yield urlunsplit(urlsplit(url)._replace(path=f"/{name}"))
    finally:
        cursor.execute(f"DROP DATABASE {name} WITH (FORCE)")
        connection.close()


def percentile(values: Sequence[float], share: float) -> float:
    return statistics.quantiles(values, n=100)[round(share) - 1] * 1000 if len(values) > 1 else float("nan")


def measure(running: Server, *, workers: int, seconds: float, steps: int) -> tuple[dict[str, float], int]:
    command = [
        sys.executable,
        "-m",
        "bench.load",
        running.base_url,
        "/s/load/",
        str(workers),
        str(seconds),
        str(steps),
    ]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    found = json.loads(done.stdout)
    for error in sorted(set(found["errors"]))[:3]:
        print(f"  error: {error}", file=sys.stderr)
    figures = {
        "ratings/s": found["submissions"] / found["seconds"],
        **{f"page p{share}": percentile(found["pages"], share) for share in (50, 95, 99)},
        **{f"submit p{share}": percentile(found["sends"], share) for share in (50, 95, 99)},
        "starts/s": workers / found["starts"],
        "errors": float(len(found["errors"])),
    }
    return figures, found["submissions"]


def run(name: str, url: str, options: argparse.Namespace) -> None:
    steps = 3 if options.warm_up else 1
    with server(url, warm_up=options.warm_up) as running:
        expected = 0
        for workers in options.workers:
            figures, submissions = measure(running, workers=workers, seconds=options.seconds, steps=steps)
            expected += submissions
            cells = "  ".join(f"{value:10.1f}" for value in figures.values())
            print(f"{name:<11}{workers:>8}  {cells}", flush=True)
        stored = count(running)["submissions"]
    print(f"{name:<11}{'':>8}  acknowledged {expected}, stored {stored}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--seconds", type=float, default=15)
    parser.add_argument("--workers", type=lambda text: [int(part) for part in text.split(",")], default=[1, 16, 64])
    parser.add_argument("--postgres", default="", help="address of a server on which to make a database")
    parser.add_argument("--only-postgres", action="store_true")
    parser.add_argument("--warm-up", action="store_true", help="use the three published steps per rating")
    options = parser.parse_args()
    heads = [
        "ratings/s",
        *(f"{kind} p{share}" for kind in ("page", "submit") for share in (50, 95, 99)),
        "starts/s",
        "errors",
    ]
    print(f"{'database':<11}{'workers':>8}  " + "  ".join(f"{head:>10}" for head in heads) + "   (ms)")
    if not options.only_postgres:
        run("SQLite", "", options)
    if options.postgres:
        with own_database(options.postgres) as url:
            run("PostgreSQL", url, options)


if __name__ == "__main__":
    main()
