"""What the console's pages of one large study cost: ``python -m bench.console_at_size [--submissions 100000]``.

Fills a database with a live study near its end: ten ratings an item, people who are paid, two ratings a submission,
the work of three days, 500 hits that are still open, some flags, comments and exclusions. Then requests each page
several times in a separate process and prints the queries, the rows that they returned, and the milliseconds of
processor time, the median of the requests. On SQLite this includes the database's own work; on PostgreSQL
(``--database URL``, an empty database) it does not, so wall-clock time is printed too.

``--before FOLDER`` measures another checkout on the same data in the same run, in turns.
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
from datetime import timedelta
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
RATERS_PER_ITEM, HITS_PER_WORKER, OPEN_HITS, DAYS = 10, 50, 500, 3
BATCH = 2_000
PAGES = {
    "overview": "",
    "its live part": "progress/",
    "submissions": "submissions/",
    "submissions, page 1,000": "submissions/?page=1000",
    "one submission": "submissions/{submission}/",
    "one worker": "workers/{worker}/",
    "payments": "payments/",
    "quality": "quality/",
    "items": "items/",
    "one item": "items/{item}/",
    "activity": "activity/",
    "payments file": "payments.csv",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=100_000)
    parser.add_argument("--times", type=int, default=3, help="requests for each page")
    parser.add_argument("--database", default="", metavar="URL", help="an empty PostgreSQL database")
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="another checkout, to compare with")
    parser.add_argument("--pages", nargs="+", default=[*PAGES], choices=[*PAGES], metavar="PAGE")
    parser.add_argument("--task", choices=("fill", "measure"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task == "fill":
        fill(options.submissions)
        return
    if options.task == "measure":
        print(json.dumps([measure(options.pages[0], options.times)]))
        return
    with tempfile.TemporaryDirectory() as folder:
        environment = {**os.environ, "HITSERVER_VAR": folder, "DATABASE_URL": options.database}
        start = time.perf_counter()
        run(HERE, environment, ["--task", "fill", "--submissions", str(options.submissions)])
        print(f"{options.submissions:,} submissions, written in {time.perf_counter() - start:.0f} s")
        checkouts = {"before": options.before, "after": HERE} if options.before else {"": HERE}
        print(f"{'page':<26}{'':<8}{'queries':>8}{'rows':>9}{'CPU ms':>9}{'wall ms':>9}{'KB':>7}")
        for page in options.pages:
            for name, checkout in checkouts.items():
                arguments = ["--task", "measure", "--times", str(options.times), "--pages", page]
                [figures] = json.loads(run(checkout, environment, arguments))
                print(
                    f"{page:<26}{name:<8}{figures['queries']:>8}{figures['rows']:>9,}{figures['cpu']:>9,.0f}"
                    f"{figures['wall']:>9,.0f}{figures['bytes'] / 1e3:>7.0f}",
                    flush=True,
                )


def run(checkout: Path, environment: dict[str, str], arguments: list[str]) -> str:
    """This script with the code of ``checkout``."""
    done = subprocess.run(
        [sys.executable, "-P", __file__, *arguments],
        env=environment | {"PYTHONPATH": str(checkout.resolve())},
        cwd=checkout,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def start_django() -> None:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "hitserver.settings"
    django.setup()


def measure(page: str, times: int) -> dict[str, int]:
    """The first request only loads modules."""
    start_django()
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.test import Client

    from annotation.models import Study

    study = Study.objects.get()
    settings.ALLOWED_HOSTS = ["testserver"]
    client = Client()
    client.force_login(get_user_model().objects.get())
    submission = study.submissions.order_by("-pk")[study.submissions.count() // 2]
    names = {"submission": submission.pk, "worker": submission.participant.pseudonym}
    names["item"] = submission.assignment.hit.items.get().pk
    address = f"/console/studies/{study.slug}/{PAGES[page].format(**names)}"
    get(client, address)
    requests = [get(client, address) for _ in range(times)]
    return {key: round(statistics.median(request[key] for request in requests)) for key in requests[0]}


def get(client: Any, address: str) -> dict[str, float]:
    from django.db import connection
    from django.db.backends.utils import CursorWrapper

    counts = {"queries": 0, "rows": 0}

    def count_query(execute: Any, sql: Any, params: Any, many: Any, context: Any) -> Any:
        counts["queries"] += 1
        return execute(sql, params, many, context)

    def count_rows(fetch: Any) -> Any:
        def counting(*arguments: Any) -> Any:
            rows = fetch(*arguments)
            counts["rows"] += len(rows)
            return rows

        return counting

    class CountingCursor(CursorWrapper):
        def __getattr__(self, name: str) -> Any:
            value = super().__getattr__(name)
            return count_rows(value) if name in ("fetchmany", "fetchall") else value

    usual_cursor = connection.make_cursor
    connection.make_cursor = lambda cursor: CountingCursor(cursor, connection)  # type: ignore[method-assign]
    wall, cpu = time.perf_counter(), time.process_time()
    try:
        with connection.execute_wrapper(count_query):
            response = client.get(address, secure=True)
            size = len(b"".join(response) if response.streaming else response.content)
    finally:
        connection.make_cursor = usual_cursor  # type: ignore[method-assign]
    cpu, wall = time.process_time() - cpu, time.perf_counter() - wall
    if response.status_code != 200:
        raise SystemExit(f"{address} answered {response.status_code} {response.headers.get('Location', '')}")
    return counts | {"cpu": cpu * 1e3, "wall": wall * 1e3, "bytes": size}


def fill(submissions: int) -> None:
    """The study, written directly to the tables."""
    start_django()
    from django.contrib.auth import get_user_model
    from django.core.management import call_command
    from django.db import connection
    from django.utils import timezone

    from annotation.instrument import whole_texts
    from annotation.models import Arm, Hit, HitItem, Item, Participant, Study, Worker
    from annotation.task_types.registry import get_type

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)
    if connection.vendor == "sqlite":
        connection.cursor().execute("PRAGMA synchronous=OFF")
    user = get_user_model().objects.create_superuser("bench")
    config = {"generation_task": "response", "write_first": False, "rate_first": False, "empty_responses": "keep"}
    study = Study.objects.create(
        slug="bench", title="Bench", task_type="abs_hds", config=config, status="live", reward="0.25",
        ratings_per_item=RATERS_PER_ITEM,
    )  # fmt: skip
    texts = whole_texts(get_type("abs_hds"), config)
    arm = Arm.objects.create(study=study, position=0, shown_config=config, shown_texts=texts)
    n_full = -(-submissions // RATERS_PER_ITEM)
    items = Item.objects.bulk_create(
        (Item(study=study, external_id=f"context-{n:06}", payload=payload(n), position=n)
         for n in range(n_full + OPEN_HITS)),
        batch_size=BATCH,
    )  # fmt: skip
    hits = Hit.objects.bulk_create(
        (Hit(study=study, arm=arm, position=n, wanted=RATERS_PER_ITEM, reward="0.25",
             **dict.fromkeys(("n_live", "n_submitted"), max(0, min(submissions - RATERS_PER_ITEM * n, 10))))
         for n in range(len(items))),
        batch_size=BATCH,
    )  # fmt: skip
    pairs = list(zip(hits, items, strict=True))
    HitItem.objects.bulk_create((HitItem(hit=hit, item=item, position=0) for hit, item in pairs), batch_size=BATCH)
    n_workers = max(RATERS_PER_ITEM, submissions // HITS_PER_WORKER)
    workers = Worker.objects.bulk_create(
        (Worker(platform="link", platform_id=f"open-{n:x}") for n in range(n_workers)), batch_size=BATCH
    )
    participants = Participant.objects.bulk_create(
        (Participant(study=study, arm=arm, worker=worker, pseudonym=f"w-{worker.pk:08}", completion_code=f"C{n:08}")
         for n, worker in enumerate(workers)),
        batch_size=BATCH,
    )  # fmt: skip
    now = timezone.now()
    for first in range(0, submissions, BATCH):
        numbers = range(first, min(first + BATCH, submissions))
        moments = [now - timedelta(days=DAYS) * (1 - (n + 1) / submissions) for n in numbers]
        write_submissions(study, user, numbers, pairs, participants, moments)
    connection.cursor().execute("ANALYZE")


def payload(number: int) -> dict[str, Any]:
    return {
        "sample_id": f"context-{number:06}",
        "context": f"Comment number {number}, which is as long as comments are, more or less.",
        "responses": [f"Reply {place} to comment {number}, with some words in it." for place in range(5)],
        "label_name": "temp",
        "label_value": 0.7,
        "label_text": "0.7",
        "extra": [],
    }


def write_submissions(
    study: Any, user: Any, numbers: range, pairs: list[Any], participants: list[Any], moments: list[Any]
) -> None:
    from annotation.models import Assignment, Flag, Rating, Review, Submission

    order = {"items": [0], "shown": [{"responses": [3, 1, 4, 0, 2]}]}
    assignments = Assignment.objects.bulk_create(
        Assignment(hit=pairs[n // RATERS_PER_ITEM][0], participant=participants[n % len(participants)],
                   state="submitted", slot=n % RATERS_PER_ITEM, ordinal=1 + n // len(participants), seed=n,
                   order=order, accepted_at=moment - timedelta(minutes=2), expires_at=moment + timedelta(hours=1))
        for n, moment in zip(numbers, moments, strict=True)
    )  # fmt: skip
    rows = Submission.objects.bulk_create(
        Submission(assignment=assignment, study=study, participant=assignment.participant, answers=[],
                   feedback="" if n % 100 else "Clear.", seconds=40 + n * 7919 % 4001 / 100, received_at=moment)
        for n, assignment, moment in zip(numbers, assignments, moments, strict=True)
    )  # fmt: skip
    Rating.objects.bulk_create(
        Rating(study=study, submission=row, participant=row.participant, item=pairs[n // RATERS_PER_ITEM][1],
               question=question, scale=question, target=target, value=1 + n % 9 / 2, seconds=12.5,
               created_at=row.received_at)
        for n, row in zip(numbers, rows, strict=True)
        for question, target in (("quality", "0"), ("diversity", ""))
    )  # fmt: skip
    Flag.objects.bulk_create(
        Flag(submission=row, reason="fast") for n, row in zip(numbers, rows, strict=True) if n % 50 == 0
    )
    Review.objects.bulk_create(
        Review(submission=row, decision="exclude", user=user)
        for n, row in zip(numbers, rows, strict=True)
        if n % 400 == 0
    )


if __name__ == "__main__":
    main()
