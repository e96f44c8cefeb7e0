"""Several model workers on one run: ``python -m bench.many_workers [--broker URL] [--samples 20000]``.

Each worker is the command of the job files in deploy/, ``manage.py generate work RUN --until-empty``, with a model that
sleeps (``--sleep`` seconds a sample, as a GPU elsewhere would keep it waiting) and whose texts are known beforehand.
Measured: the run with one worker, with three, and with three of which some are killed (SIGKILL) or asked to end
(SIGTERM) and started again. After each, every sample must be there once, with its own text. Statements are counted in
the workers; CPU seconds are those of the workers and of a PostgreSQL that serves nobody else.
"""

from __future__ import annotations

import argparse
import atexit
import json
import os
import random
import signal
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import psutil

from tests.services import private_postgres
from tests.support import clean_environment

ROOT = Path(__file__).resolve().parent.parent
INSIDE = "HITSERVER_TEST_BENCH_WORKERS"
DECODERS = ("top_p=0.9", "temperature=0.5")
CONTEXTS = 100


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--broker", default="", metavar="URL", help="the task queue (default: a folder)")
    parser.add_argument("--samples", type=int, default=20_000)
    parser.add_argument("--sleep", type=float, default=0.004, help="seconds for a sample (default 0.004)")
    parser.add_argument("--chunk-size", type=int, default=64)
    parser.add_argument("--workers", type=int, default=3)
    parser.add_argument(
        "--turn", type=float, default=15.0, help="seconds of chunks claimed at once (default 15, as in use)"
    )
    parser.add_argument("--json", type=Path)
    options = parser.parse_args()
    if os.environ.get(INSIDE):
        inside(options)
        return
    results = []
    with tempfile.TemporaryDirectory(prefix="hitserver-bench-") as folder, private_postgres() as url:
        environment = clean_environment(
            {
                "DATABASE_URL": url,
                "HITSERVER_VAR": folder,
                "HITSERVER_LOG_LEVEL": "error",
                "HITSERVER_CHUNK_LEASE_SECONDS": "10",  # a killed worker's chunks wait this long
            }
            | ({"CELERY_BROKER_URL": options.broker} if options.broker else {})
        )
        step("migrate", environment, "")
        for name, workers, kills in (
            ("one", 1, False),
            ("several", options.workers, False),
            ("kills", options.workers, True),
        ):
            step("make", environment, name)
            before = postgres_seconds(url)
            begin = time.monotonic()
            figures = work(environment, name, workers, kills=kills)
            seconds = time.monotonic() - begin
            checked = json.loads(step("check", environment, name))
            results.append(
                {
                    "run": name,
                    "workers": workers,
                    "seconds": round(seconds, 1),
                    "samples_per_second": round(options.samples / seconds),
                    "database_cpu_ms_per_sample": round(1000 * (postgres_seconds(url) - before) / options.samples, 3),
                    **figures,
                    **checked,
                }
            )
            print(json.dumps(results[-1]), flush=True)
    if options.json:
        options.json.write_text(json.dumps(results, indent=2) + "\n", encoding="utf-8")


def step(action: str, environment: dict[str, str], run: str) -> str:
    command = [sys.executable, "-m", "bench.many_workers", *sys.argv[1:]]
    done = subprocess.run(
        command, cwd=ROOT, env=environment | {INSIDE: f"{action} {run}"}, stdout=subprocess.PIPE, text=True, check=True
    )
    return done.stdout


def work(environment: dict[str, str], run: str, workers: int, *, kills: bool) -> dict[str, Any]:
    """Run the workers to their end. With ``kills``, one is ended every few seconds, in turn by SIGKILL and SIGTERM, and
    another started in its place, as a batch system would."""
    folder = Path(environment["HITSERVER_VAR"]) / f"statements-{run}"
    folder.mkdir()

    def start() -> subprocess.Popen[bytes]:
        command = [sys.executable, "-m", "bench.many_workers", *sys.argv[1:]]
        inside = environment | {INSIDE: f"work {run}", "HITSERVER_TEST_STATEMENTS": str(folder)}
        return subprocess.Popen(command, cwd=ROOT, env=inside, stdout=subprocess.DEVNULL)

    running, killed, codes = [start() for _ in range(workers)], 0, list[int]()
    rng, due = random.Random(1), time.monotonic() + 12
    while any(process.poll() is None for process in running):
        time.sleep(0.05)
        if kills and killed < 6 and time.monotonic() > due:
            number = rng.randrange(workers)
            if running[number].poll() is None:
                running[number].send_signal((signal.SIGKILL, signal.SIGTERM)[killed % 2])
                codes.append(running[number].wait())
                running[number] = start()
                killed, due = killed + 1, time.monotonic() + 6
    codes += [process.returncode for process in running]
    counted = [json.loads(path.read_text()) for path in folder.iterdir()]
    return {
        "killed": killed,
        "exit_codes": sorted(codes),
        "statements": None if kills else sum(entry["statements"] for entry in counted),
        "worker_cpu_seconds": None if kills else round(sum(entry["cpu"] for entry in counted), 1),
    }


def postgres_seconds(url: str) -> float:
    """CPU seconds of this PostgreSQL: its processes, and those that have ended."""
    port = f"port={urlsplit(url).port}"
    main = next(process for process in psutil.process_iter(["cmdline"]) if port in (process.info["cmdline"] or ()))
    total = 0.0
    for process in (main, *main.children(recursive=True)):
        with suppress(psutil.Error):
            times = process.cpu_times()
            total += times.user + times.system + (times.children_user + times.children_system if process == main else 0)
    return total


# --- In a process with the database ---


def inside(options: argparse.Namespace) -> None:
    os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitserver.settings")
    import django
    from django.core.management import call_command

    django.setup()
    from generation.runs import run_worker
    from tests.generation.support import toy_runs

    action, _, run = os.environ[INSIDE].partition(" ")
    toy_runs.install(toy_runs.slow(options.sleep))
    run_worker.TURN_SECONDS = options.turn
    if action == "migrate":
        call_command("migrate", verbosity=0)
    elif action == "make":
        make(options, run)
    elif action == "check":
        print(json.dumps(check(options, run)))
    else:
        count_statements()
        call_command("generate", "work", run, until_empty=True)


def make(options: argparse.Namespace, run: str) -> None:
    from generation.registry.registration import register_model
    from generation.runs import lifecycle
    from generation.runs.run_files import read_run

    register_model(name="toy", backend="transformers", source="toy")
    document = {
        "name": run,
        "models": ["toy"],
        "decoders": list(DECODERS),
        "contexts": [f"Once upon a time in town {number}" for number in range(CONTEXTS)],
        "samples": options.samples // CONTEXTS // len(DECODERS),
        "limits": {"exact": 5},
        "chunk_size": options.chunk_size,
    }
    created, _ = lifecycle.create_run(file=read_run(document, folder=Path()))
    lifecycle.start_run(run_id=created.pk)


def count_statements() -> None:
    """Write down at the end how many statements this process sent."""
    from django.db.backends.signals import connection_created

    sent = [0]

    def count(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        sent[0] += 1
        return execute(sql, params, many, context)

    def watch(connection: Any, **kwargs: Any) -> None:
        connection.execute_wrappers.append(count)

    def write() -> None:
        figures = {"statements": sent[0], "cpu": sum(os.times()[:2])}
        path = Path(os.environ["HITSERVER_TEST_STATEMENTS"], str(os.getpid()))
        path.write_text(json.dumps(figures), encoding="utf-8")

    connection_created.connect(watch, weak=False)
    atexit.register(write)


def check(options: argparse.Namespace, run: str) -> dict[str, Any]:
    """Whether each sample is there once, as its seed gives it."""
    from generation.decoding.seeds import sample_seed
    from generation.models import Chunk, GenerationRun, Sample
    from tests.generation.support.toy_runs import toy_text

    samples_each = options.samples // CONTEXTS // len(DECODERS)
    expected = {
        (str(context + 1), decoder, number, toy_text(f"Once upon a time in town {context}", decoder, seed))
        for context in range(CONTEXTS)
        for decoder in DECODERS
        for number in range(samples_each)
        for seed in [sample_seed(1, str(context + 1), "toy", decoder, number)]
    }
    rows = list(Sample.objects.filter(run__name=run).values_list("context__external_id", "decoder", "number", "text"))
    chunks = Chunk.objects.filter(run__name=run)
    return {
        "state": GenerationRun.objects.get(name=run).state,
        "samples": len(rows),
        "wrong_or_missing": len(expected ^ set(rows)),
        "doubled": len(rows) - len(set(rows)),
        "chunks_lost": sum(chunks.values_list("losses", flat=True)),
        "chunks": chunks.count(),
    }


if __name__ == "__main__":
    main()
