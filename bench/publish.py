"""How fast studies are published and synced: ``python -m bench.publish [--assignments 1000 10000] [--postgres URL]``.

Starts the real server with a separate database (SQLite in a temporary folder; with ``--postgres URL``, a PostgreSQL
database that is made and dropped), and runs the real commands against its marketplace, each in a separate process:

- ``study publish``: HITs created per second, without and with the marketplace's rate limit (``--rate-limit``). It lets
  a burst of 200 requests through before it applies, and boto3 slows down by itself once it is throttled. With the
  limit, it is measured unpaced and at the default pace (``HITSERVER_MTURK_CALLS_PER_SECOND``);
- ``study sync`` of a study whose work was all submitted, for each number of ``--assignments``, ten to a HIT;
- the peak memory of each process. It should not grow with the number of assignments.

``import MB`` is the memory that the process used before it started. The work on the marketplace is written directly as
rows.
"""

from __future__ import annotations

import argparse
import io
import json
import os
import re
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from contextlib import nullcontext
from datetime import timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

from bench.serve import own_database
from tests.support import Server, running_server

ROOT = Path(__file__).resolve().parent.parent
PLACES = 10
REWARD = Decimal("0.18")
BATCH = 500
#: Makes calls as fast as possible. The default is ten a second.
UNPACED = {"HITSERVER_MTURK_CALLS_PER_SECOND": "0"}
HEAD = f"{'step':<42}{'seconds':>9}{'per s':>9}{'import MB':>11}{'peak MB':>9}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument(
        "--assignments", type=int, nargs="+", default=[1_000, 10_000], help="to sync (default 1000 10000)"
    )
    parser.add_argument("--hits", type=int, default=400, help="to publish under the rate limit (default 400; 0: none)")
    parser.add_argument("--rate-limit", type=int, default=50, help="requests per second (default 50, as the server's)")
    parser.add_argument("--postgres", default="", help="address of a server where a database may be made")
    parser.add_argument("--one", nargs=argparse.REMAINDER, help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.one:
        print(json.dumps(run_here(*options.one)))
        return
    if any(not PLACES <= number <= 100_000 or number % PLACES for number in options.assignments):
        parser.error(f"--assignments are multiples of {PLACES} up to 100000.")
    with own_database(options.postgres) if options.postgres else nullcontext("") as url:
        print(f"{'PostgreSQL' if url else 'SQLite'}\n{HEAD}", flush=True)
        with tempfile.TemporaryDirectory(prefix="hitserver-bench-") as folder:
            measure(Path(folder), {"DATABASE_URL": url} if url else {}, options)


# --- In the process that prints -------------------------------------------------------------------------------


def measure(folder: Path, database: dict[str, str], options: argparse.Namespace) -> None:
    key: dict[str, str] = {}
    with running_server(folder, env=database | {"HITSERVER_MARKETPLACE_RATE_LIMIT": "0"} | UNPACED) as server:
        key = child(server, {}, "make_key")
        for number in options.assignments:
            slug, hits = f"sync-{number}", number // PLACES
            child(server, key, "make_study", slug, str(hits))
            line(f"publish {hits:,} HITs, no rate limit", child(server, key, "command", "publish", slug), hits)
            child(server, key, "submit_everything", slug)
            line(f"sync {number:,} assignments", child(server, key, "command", "sync", slug), number)
            line("sync again, nothing new", child(server, key, "command", "sync", slug), number)
    if not options.hits:
        return
    limit = {"HITSERVER_MARKETPLACE_RATE_LIMIT": str(options.rate_limit)}
    for slug, pace, called in (("limited", UNPACED, "unpaced"), ("paced", {}, "paced")):
        with running_server(folder, env=database | limit | pace) as server:
            child(server, key, "make_study", slug, str(options.hits))
            said = f"publish {options.hits:,} HITs, {options.rate_limit} requests/s, {called}"
            line(said, child(server, key, "command", "publish", slug), options.hits)


def child(server: Server, key: dict[str, str], *step: str) -> dict[str, Any]:
    """Run one step in a separate process with the server's settings."""
    done = subprocess.run(
        [sys.executable, "-m", "bench.publish", "--one", *step],
        env=server.environment | {"HITSERVER_BASE_URL": server.base_url, "HITSERVER_MONTHLY_BUDGET": "0"} | key,
        cwd=ROOT,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    found: dict[str, Any] = json.loads(done.stdout.splitlines()[-1])
    return found


def line(name: str, found: dict[str, Any], count: int) -> None:
    seconds = found["seconds"]
    figures = f"{seconds:>9.2f}{count / seconds:>9.0f}{found['before']:>11.0f}{found['peak']:>9.0f}"
    print(f"{name:<42}{figures}", flush=True)


# --- In a separate process ------------------------------------------------------------------------------------


def run_here(step: str, *arguments: str) -> dict[str, Any]:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "hitserver.settings"
    django.setup()
    steps: dict[str, Callable[..., dict[str, Any]]] = {
        "make_key": make_key,
        "make_study": make_study,
        "submit_everything": submit_everything,
        "command": command,
    }
    return steps[step](*arguments)


def peak_megabytes() -> float:
    """The highest memory use of this process so far. ``getrusage`` would include the parent process's."""
    found = re.search(r"VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text("ascii"))
    return int(found[1]) / 1024 if found else float("nan")


def make_key() -> dict[str, Any]:
    from marketplace.services.accounts import requester_accounts
    from marketplace.services.money import payments

    requester = requester_accounts.create_requester(name="Bench", actor="bench")
    payments.deposit(requester=requester, amount=Decimal(1_000_000), actor="bench")
    made = requester_accounts.create_access_key(requester=requester, actor="bench")
    return {"HITSERVER_MTURK_ACCESS_KEY_ID": made.key.access_key_id, "HITSERVER_MTURK_SECRET_ACCESS_KEY": made.secret}


def make_study(slug: str, items: str) -> dict[str, Any]:
    """A draft with this many sets, one in each hit."""
    from annotation.studies import importing_items, storing
    from annotation.studies.spec import StudySpec
    from annotation.table_files import Table
    from annotation.task_types.items import Row

    values = {
        "slug": slug,
        "title": slug,
        "ratings_per_item": PLACES,
        "hits_per_worker": None,
        "reward": str(REWARD),
        "seed": 1,
    }
    spec = StudySpec("abs_hds", values)
    study = storing.create_study(spec=spec, actor="bench", owner=None)
    texts = {f"resp_{k}": f"I heard that it would rain in town {k} tomorrow." for k in range(5)}
    rows = [
        Row(n + 1, {"sample_id": str(n), "context": f"What about the weather in town {n}?"} | texts)
        for n in range(int(items))
    ]
    importing_items.import_items(study=study, table=Table(list(rows[0].cells), rows), actor="bench")
    return {}


def submit_everything(slug: str) -> dict[str, Any]:
    """Work for every place of the study's HITs, as rows of the marketplace."""
    from django.db import transaction
    from django.db.models import F

    from annotation.models import Posting
    from marketplace import clock
    from marketplace.models import Assignment, Hit, Worker

    names = Posting.objects.filter(study__slug=slug).values_list("external_id", flat=True)
    hits, now = Hit.objects.filter(hit_id__in=list(names)), clock.now()
    new = (Worker(worker_id=f"ABENCH{slug[5:]:0>6}{each:02d}", joined_at=now) for each in range(PLACES))

    def row(hit: Hit, worker: Worker, place: int) -> Assignment:
        return Assignment(
            assignment_id=f"3BENCH{hit.pk:012d}{place:012d}",
            hit=hit,
            worker=worker,
            state=Assignment.State.SUBMITTED,
            reward=REWARD,
            fee=Decimal("0.07"),  # 40 percent, rounded to the cent
            accepted_at=now,
            deadline=now + timedelta(hours=1),
            submitted_at=now + timedelta(microseconds=place),
            auto_approve_at=now + timedelta(days=30),
            answer="<QuestionFormAnswers>" + "<Answer>4</Answer>" * 20 + "</QuestionFormAnswers>",
        )

    with transaction.atomic():
        workers = Worker.objects.bulk_create(new)
        rows = [row(hit, worker, place) for hit in hits for place, worker in enumerate(workers)]
        Assignment.objects.bulk_create(rows, batch_size=BATCH)
        # Money was held for the open places and is now held for the work.
        hits.update(n_available=0, n_submitted=F("max_assignments"), held_open=0, state=Hit.State.REVIEWABLE)
    return {}


def command(action: str, slug: str) -> dict[str, Any]:
    """The real command, without the time that the process needs to start."""
    import boto3  # noqa: F401  loaded before the time is taken, as in a process that has run before
    from django.core.management import call_command

    options = ["--platform", "mturk", "--set", "split=", "--yes"] if action == "publish" else []
    before, start = peak_megabytes(), time.perf_counter()
    call_command("study", action, slug, *options, stdout=io.StringIO())
    return {"seconds": time.perf_counter() - start, "before": before, "peak": peak_megabytes()}


if __name__ == "__main__":
    main()
