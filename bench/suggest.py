"""How long writers wait for two live suggestions: ``python -m bench.suggest [--writers 1,8,32] [--rounds 5]``.

Starts real suggester processes on a separate database (SQLite in a temporary folder; with ``--postgres URL``, a
PostgreSQL database that is made and dropped). N writers then write stories at the same time. Each asks both suggesters,
checks every 250 ms for both texts, as a browser does, adds one to the story, adds another line, thinks (``--think``
seconds on average, 0 by default) and asks again. Writers who think do not all start at the same time. The two
suggesters are two decoders of one model, or models of two backends (``--backend transformers --second llama_cpp``).

``seen``: seconds from the request until the page had both, including the checks. ``written``: seconds until the later
of the two was stored. ``alone``: the 95 % point of ``seen`` compared with that of one writer. There is no pool here, so
a missing text counts as failed. ``same``: pairs with identical texts. Writers, processes and the database server share
the machine.
"""

from __future__ import annotations

import argparse
import os
import random
import signal
import statistics
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import psutil

from bench.serve import own_database
from tests.support import clean_environment

if TYPE_CHECKING:
    from generation.models import Suggester

ROOT = Path(__file__).resolve().parent.parent
START_SECONDS = 120
INSIDE = "HITSERVER_TEST_BENCH_SUGGEST"
DECODERS = ("top_p=0.9", "temperature=0.7")
LINES = (
    "The ferry had left an hour early, and nobody on the pier knew why.",
    "Grandmother kept a second set of keys under the third flower pot.",
    "On the last day of school the piano in the gym began to play by itself.",
    "Two brothers inherited one boat and could not agree on its name.",
    "The baker's cat had learned to open the oven door.",
    "A letter without a stamp arrived on Monday, addressed to the dog.",
    "Nobody had climbed the water tower since the storm.",
    "The museum guard counted the paintings twice and came to different numbers.",
    "She smiled, but she did not put the letter down.",
    "By then the rain had found its way through the roof.",
    "He promised to come back before the lamps were lit.",
    "Somewhere behind the wall a clock was running backwards.",
    "They walked on in silence until the road ended at a gate.",
    "It was not the answer that any of them had hoped for.",
    "The children laughed, and for a moment everything was as it had been.",
    "At the bottom of the box lay a ticket for a train that no longer ran.",
)


@dataclass
class Seen:
    """What one group of writers saw."""

    seen: list[float] = field(default_factory=list)
    written: list[float] = field(default_factory=list)
    failed: int = 0
    same: int = 0
    errors: list[str] = field(default_factory=list)


def write_stories(
    pair: Sequence[Suggester], *, writer: int, group: int, options: argparse.Namespace, found: Seen, until: float
) -> None:
    from django.db import connection

    from generation.suggestions.asking import ask_suggesters, read_suggestions

    rng = random.Random(f"{group} {writer}")
    story = LINES[writer % len(LINES)]
    time.sleep(rng.uniform(0, options.think))
    try:
        for number in range(1, options.rounds + 1):
            began = time.monotonic()
            asked = ask_suggesters(
                suggesters=pair, key=f"{group}/{writer}/{number}", story_fields={"story": story}, round=number,
                seed=writer, story=f"{group}/{writer}",
            )  # fmt: skip
            ids = [row.pk for row in asked]
            answers = read_suggestions(suggestions=ids)
            while any(answer.waiting for answer in answers):
                time.sleep(options.poll)
                answers = read_suggestions(suggestions=ids)
            found.seen.append(time.monotonic() - began)
            found.written.append(max(answer.waited for answer in answers))
            found.failed += sum(answer.state == "failed" for answer in answers)
            found.same += sum(answer.same_as is not None for answer in answers)
            chosen = rng.choice([answer.text for answer in answers])
            story = " ".join(part for part in (story, chosen, rng.choice(LINES)) if part)
            if time.monotonic() > until:
                return
            time.sleep(rng.uniform(0.5, 1.5) * options.think)
    except Exception as error:
        found.errors.append(f"{type(error).__name__}: {error}")
    finally:
        connection.close()


def run_group(pair: Sequence[Suggester], writers: int, options: argparse.Namespace) -> tuple[Seen, float]:
    found, began = Seen(), time.monotonic()
    until = began + options.seconds
    threads = [
        threading.Thread(
            target=write_stories,
            args=(pair,),
            kwargs={"writer": writer, "group": writers, "options": options, "found": found, "until": until},
        )
        for writer in range(writers)
    ]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return found, time.monotonic() - began


# --- Measurements ----------------------------------------------------------------------------------------------


def make_pair(options: argparse.Namespace) -> list[Suggester]:
    from generation.registry.registration import register_model
    from generation.suggestions.definitions import DEFAULT_LIMITS, create_suggester

    pair, limits = [], DEFAULT_LIMITS | ({"max_new_tokens": options.tokens} if options.tokens else {})
    for place, backend in enumerate((options.backend, options.second or options.backend)):
        model = register_model(
            name=f"bench-{backend}", backend=backend, source=options.source, dtype=options.dtype, device=options.device,
            options=dict(options.option),
        )  # fmt: skip
        pair.append(
            create_suggester(
                name=f"bench-{'ab'[place]}", model=model, decoder=DECODERS[place], limits=limits, wait_seconds=60
            )
        )
    return pair


@contextmanager
def suggester_processes(options: argparse.Namespace) -> Iterator[list[psutil.Process]]:
    """Real processes, ready when the block starts."""
    from generation.models import ModelWorker

    command = [sys.executable, "manage.py", "suggester", "run", "--rows", str(options.rows)]
    with tempfile.TemporaryFile() as log:
        running = [
            subprocess.Popen(command, cwd=ROOT, env=os.environ.copy(), stdout=log, stderr=log)
            for _ in range(options.processes)
        ]
        try:
            deadline = time.monotonic() + START_SECONDS
            while ModelWorker.objects.filter(state="ready").count() < options.processes:
                dead = any(process.poll() is not None for process in running)
                if dead or time.monotonic() > deadline or ModelWorker.objects.filter(state="failed").exists():
                    log.seek(0)
                    raise SystemExit(f"The suggester did not start:\n{log.read().decode(errors='replace')}")
                time.sleep(0.1)
            yield [psutil.Process(process.pid) for process in running]
        finally:
            for process in running:
                process.send_signal(signal.SIGTERM)
            for process in running:
                process.wait(timeout=30)


def percentile(values: Sequence[float], share: int) -> float:
    return statistics.quantiles(values, n=100, method="inclusive")[share - 1] if len(values) > 1 else sum(values)


def idle_share(processes: Sequence[psutil.Process]) -> float:
    """Percent of a core that an idle process uses."""
    before = sum(sum(process.cpu_times()[:2]) for process in processes)
    time.sleep(4)
    return (sum(sum(process.cpu_times()[:2]) for process in processes) - before) / 4 / len(processes) * 100


def measure(options: argparse.Namespace) -> None:
    from django.core.management import call_command
    from django.db.models import Sum

    from generation.models import Suggestion

    call_command("migrate", verbosity=0)
    pair, alone = make_pair(options), 0.0
    with suggester_processes(options) as processes:
        print(f"{options.inside}: idle {idle_share(processes):.1f} % of a core", flush=True)
        run_group(pair, 1, argparse.Namespace(**{**vars(options), "rounds": 1}))
        Suggestion.objects.all().delete()
        for writers in options.writers:
            found, seconds = run_group(pair, writers, options)
            seen = [percentile(found.seen, share) for share in (50, 95)]
            written = [percentile(found.written, share) for share in (50, 95)]
            alone = alone or seen[1]
            keys = f"{writers}/"
            tokens = Suggestion.objects.filter(key__startswith=keys).aggregate(sum=Sum("n_tokens"))["sum"] or 0
            cells = [*seen, *written, seen[1] / alone, tokens / seconds]
            print(
                f"{options.inside:<11}{writers:>8}{len(found.seen):>7}  " + "  ".join(f"{cell:>8.2f}" for cell in cells)
                + f"  {found.failed:>6}  {found.same:>4}",
                flush=True,
            )  # fmt: skip
            for error in sorted(set(found.errors))[:3]:
                print(f"  error: {error}", file=sys.stderr)


def run_inside(name: str, url: str, arguments: Sequence[str]) -> None:
    """Run the measurement in a separate process, whose settings name the database."""
    with tempfile.TemporaryDirectory(prefix="hitserver-bench-") as folder:
        environment = clean_environment({"HITSERVER_VAR": folder, "HITSERVER_LOG_LEVEL": "warning", INSIDE: name})
        if url:
            environment["DATABASE_URL"] = url
        subprocess.run([sys.executable, "-m", "bench.suggest", *arguments], cwd=ROOT, env=environment, check=True)


def main() -> None:
    options = parse()
    if options.inside:
        os.environ.setdefault("DJANGO_SETTINGS_MODULE", "hitserver.settings")
        import django

        django.setup()
        measure(options)
        return
    print("                               ------ seen ------  ---- written -----")
    heads = ("p50", "p95", "p50", "p95", "alone", "tokens/s")
    print(
        f"{'database':<11}{'writers':>8}{'rounds':>7}  "
        + "  ".join(f"{head:>8}" for head in heads)
        + f"  {'failed':>6}  {'same':>4}   (seconds)",
        flush=True,
    )
    arguments = [part for part in sys.argv[1:] if part != "--only-postgres"]
    if not options.only_postgres:
        run_inside("SQLite", "", arguments)
    if options.postgres:
        with own_database(options.postgres) as url:
            run_inside("PostgreSQL", url, arguments)


def parse() -> argparse.Namespace:
    def pair(text: str) -> tuple[str, Any]:
        name, _, value = text.partition("=")
        return name, int(value) if value.isdigit() else value

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else "")
    parser.add_argument("--writers", type=lambda text: [int(part) for part in text.split(",")], default=[1, 8, 32])
    parser.add_argument("--rounds", type=int, default=5, help="rounds per story, with two suggestions each (default 5)")
    parser.add_argument("--think", type=float, default=0, help="average seconds between two rounds (default 0)")
    parser.add_argument("--poll", type=float, default=0.25, help="seconds between two checks by a page (default 0.25)")
    parser.add_argument("--seconds", type=float, default=60, help="start no new round after this time, for each group")
    parser.add_argument(
        "--tokens", type=int, default=0, help="most tokens of a suggestion (default: the suggester's setting)"
    )
    parser.add_argument("--rows", type=int, default=64, help="most suggestions in one batch")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--backend", default="transformers", choices=("transformers", "llama_cpp"))
    parser.add_argument("--second", default="", help="another backend for the second suggester")
    parser.add_argument("--source", default="embedded")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--device", default="auto")
    parser.add_argument(
        "--option", type=pair, action="append", default=[], metavar="NAME=VALUE", help="option of the backend"
    )
    parser.add_argument("--postgres", default="", help="address of a server on which to make a database")
    parser.add_argument("--only-postgres", action="store_true")
    options = parser.parse_args()
    options.inside = os.environ.get(INSIDE, "")
    return options


if __name__ == "__main__":
    main()
