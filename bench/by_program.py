"""How the Python client does on a large study: ``PYTHONPATH=client/src python -m bench.by_program``.

Starts a server with its own SQLite database in a temporary folder. A client uploads the items as rows and as a file,
then downloads all ratings of a filled study as a file, row by row and as a data frame. Each step runs in a separate
process and prints seconds and the client's peak memory beyond its imports; the server's is that of its largest process.
"""

from __future__ import annotations

import argparse
import csv
import json
import os
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import psutil

from bench.export import peak_megabytes
from common.csv_files import csv_text
from hitserver_client import Client
from tests.services import ROOT
from tests.support import Server, running_server

FILLED, NEW = "bench", "many-items"
SPEC = {
    "slug": NEW,
    "title": "Many items",
    "task_type": "likert",
    "reward": "0.10",
    "config": {"statements": [{"topic": "liked", "question": "I like the text."}]},
}
SET_UP = """
from annotation.models import Membership, Study
from accounts import tokens
from tests.factories import make_researcher
user = make_researcher("bench")
for study in Study.objects.all():
    Membership.objects.get_or_create(study=study, user=user, role="owner")
print(tokens.create_token(user=user, name="bench", scopes=["read", "collect", "pay"]).text)
"""


def rows_of_items(count: int) -> list[dict[str, str]]:
    return [{"sample_id": f"s{number}", "text": f"Text {number}. " * 20} for number in range(count)]


def upload_rows(hits: Client, folder: Path, count: int) -> int:
    return int(hits.study(NEW).upload(rows_of_items(count))["items"])


def upload_file(hits: Client, folder: Path, count: int) -> int:
    return int(hits.study(NEW).upload(folder / "items.csv")["items"])


def read_items(hits: Client, folder: Path, count: int) -> int:
    return sum(1 for _ in hits.study(NEW).items())


def download_file(hits: Client, folder: Path, count: int) -> int:
    path = hits.study(FILLED).download("long", folder / "long.csv", progress=False)
    with path.open(encoding="utf-8", newline="") as file:
        return sum(1 for _ in csv.reader(file)) - 1


def read_ratings(hits: Client, folder: Path, count: int) -> int:
    return sum(1 for _ in hits.study(FILLED).ratings())


def read_frame(hits: Client, folder: Path, count: int) -> int:
    return len(hits.study(FILLED).frame())


STEPS: dict[str, Callable[[Client, Path, int], int]] = {
    "upload items as rows": upload_rows,
    "upload items as a file": upload_file,
    "read items": read_items,
    "download ratings as a file": download_file,
    "read ratings row by row": read_ratings,
    "read ratings as a frame": read_frame,
}


def one_step(name: str, folder: Path, count: int) -> dict[str, float]:
    with Client(timeout=600) as hits:
        hits.studies()
        before, started = peak_megabytes(), time.perf_counter()
        rows = STEPS[name](hits, folder, count)
        return {"rows": rows, "seconds": time.perf_counter() - started, "client": peak_megabytes() - before}


@contextmanager
def watched(server: Server) -> Iterator[list[float]]:
    """The memory of the server's largest process in MB, every tenth of a second."""
    sizes, over = [0.0], threading.Event()

    def watch() -> None:
        while not over.wait(0.1):
            for process in server.processes():
                try:
                    sizes.append(process.memory_info().rss / 2**20)
                except psutil.NoSuchProcess:
                    continue

    watcher = threading.Thread(target=watch)
    watcher.start()
    try:
        yield sizes
    finally:
        over.set()
        watcher.join()


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--items", type=int, default=10_000)
    parser.add_argument("--ratings", type=int, default=100_000)
    parser.add_argument("--step", nargs=3, metavar=("NAME", "FOLDER", "ITEMS"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.step:
        name, folder, items = chosen.step
        print(json.dumps(one_step(name, Path(folder), int(items))))
        return
    with tempfile.TemporaryDirectory() as place:
        run(Path(place), chosen.items, chosen.ratings)


def run(folder: Path, items: int, ratings: int) -> None:
    table = [("sample_id", "text"), *((row["sample_id"], row["text"]) for row in rows_of_items(items))]
    (folder / "items.csv").write_text(csv_text(table), encoding="utf-8")
    fill = f"from bench import export; export.fill({ratings}, 3)"
    environment = {**os.environ, "HITSERVER_VAR": str(folder / "var"), "DATABASE_URL": ""}
    subprocess.run([sys.executable, "-c", fill], env=environment, cwd=ROOT, check=True)
    limits = {"HITSERVER_WEB_WORKERS": "1", "HITSERVER_API_REQUESTS_PER_MINUTE": "0"}
    with running_server(folder / "var", env=limits, worker=True) as server:
        token = server.manage("shell", "--no-imports", "-c", SET_UP).split()[-1]
        with Client(server.base_url, token) as hits:
            hits.create_study(SPEC)
        access = {**os.environ, "HITSERVER_URL": server.base_url, "HITSERVER_TOKEN": token}
        print(f"{'step':<28}{'rows':>10}{'seconds':>9}{'client MB':>11}{'server MB':>11}")
        for name in STEPS:
            with watched(server) as sizes:
                command = [sys.executable, "-m", "bench.by_program", "--step", name, str(folder), str(items)]
                done = subprocess.run(command, env=access, cwd=ROOT, check=True, stdout=subprocess.PIPE, text=True)
            measured: dict[str, Any] = json.loads(done.stdout)
            print(
                f"{name:<28}{measured['rows']:>10,}{measured['seconds']:>9.1f}{measured['client']:>11.0f}{max(sizes):>11.0f}",
                flush=True,
            )


if __name__ == "__main__":
    main()
