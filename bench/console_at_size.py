"""What the console's pages of one large study cost: ``python -m bench.console_at_size [--submissions 100000]``.

Fills a database as `bench.console_data` describes: ``--studies 100 --submissions 1000000`` takes some minutes and 4 GB.
Then requests each page several times in a separate process and prints the queries, the rows that they returned, and the
milliseconds of processor time, the median of the requests: of Python and, on PostgreSQL (``--database URL``, an empty
database), of the server process of the connection as well, which has to be on the same machine. For that, the database
is set to use one process for each query.

``--before FOLDER`` measures another checkout on the same data in the same run, in turns. ``--data FOLDER`` keeps the
data, and uses those that are there.
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
from pathlib import Path
from typing import Any

HERE = Path(__file__).resolve().parent.parent
#: No page may take longer, in seconds.
LONGEST = 120
STUDY = "studies/{slug}/"
PAGES = {
    "studies": "",
    "overview": STUDY,
    "its live part": STUDY + "progress/",
    "submissions": STUDY + "submissions/",
    "submissions, page 1,000": STUDY + "submissions/?page=1000",
    "submissions, flagged": STUDY + "submissions/?show=flagged",
    "submissions, excluded": STUDY + "submissions/?show=excluded",
    "submissions, included": STUDY + "submissions/?show=included",
    "submissions to pay": STUDY + "submissions/?pay=to_pay",
    "one submission": STUDY + "submissions/{submission}/",
    "one worker": STUDY + "workers/{worker}/",
    "payments": STUDY + "payments/",
    "payments, to pay": STUDY + "payments/?show=to_pay",
    "payments, paid": STUDY + "payments/?show=paid",
    "payments, one code": STUDY + "payments/?code={code}",
    "pay everybody": STUDY + "payments/pay/",
    "pay one worker": STUDY + "payments/pay/?worker={worker}",
    "payments file": STUDY + "payments.csv",
    "quality": STUDY + "quality/",
    "items": STUDY + "items/",
    "items, page 1,000": STUDY + "items/?page=1000",
    "one item": STUDY + "items/{item}/",
    "activity": STUDY + "activity/",
    "links": STUDY + "links/",
    "settings": STUDY + "settings/",
    "arms": STUDY + "arms/",
    "factors": STUDY + "factors/",
    "preview": STUDY + "preview/",
    "report": STUDY + "report/",
    "paper": STUDY + "paper/",
    "platforms": STUDY + "platforms/",
    "members": STUDY + "members/",
    "webhooks": STUDY + "webhooks/",
    "deletion requests": STUDY + "deletion-requests/",
    "decisions in a file": STUDY + "batch/",
    "log": "log/",
    "users": "users/",
}


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--submissions", type=int, default=100_000)
    parser.add_argument("--studies", type=int, default=1)
    parser.add_argument("--times", type=int, default=3, help="requests for each page")
    parser.add_argument(
        "--database", default="", metavar="URL", help="a PostgreSQL database: empty, or of an earlier run"
    )
    parser.add_argument(
        "--data", type=Path, metavar="FOLDER", help="keeps the server's files, and uses those of before"
    )
    parser.add_argument("--before", type=Path, metavar="FOLDER", help="another checkout, to compare with")
    parser.add_argument("--study", default="bench", help="bench-1 is the study on a platform")
    parser.add_argument("--pages", nargs="+", default=[*PAGES], choices=[*PAGES], metavar="PAGE")
    parser.add_argument("--task", choices=("fill", "measure"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task == "fill":
        start_django()
        from bench.console_data import fill  # another checkout may have none

        use_one_process()
        fill(options.submissions, options.studies)
        return
    if options.task == "measure":
        print(json.dumps([measure(options.study, options.pages[0], options.times)]))
        return
    with tempfile.TemporaryDirectory() as temporary:
        folder = options.data or Path(temporary)
        environment = {**os.environ, "HITSERVER_VAR": str(folder), "DATABASE_URL": options.database}
        if not (folder / "filled").exists():
            start = time.perf_counter()
            sizes = ["--submissions", str(options.submissions), "--studies", str(options.studies)]
            run(HERE, environment, ["--task", "fill", *sizes])
            (folder / "filled").touch()
            print(f"{options.submissions:,} submissions, written in {time.perf_counter() - start:.0f} s", flush=True)
        checkouts = {"before": options.before, "after": HERE} if options.before else {"": HERE}
        print(f"{'page':<26}{'':<8}{'queries':>8}{'rows':>9}{'CPU ms':>9}{'wall ms':>9}{'KB':>7}")
        for page in options.pages:
            for name, checkout in checkouts.items():
                arguments = ["--task", "measure", "--times", str(options.times), "--pages", page]
                try:
                    output = run(checkout, environment, [*arguments, "--study", options.study])
                except subprocess.TimeoutExpired:
                    print(f"{page:<26}{name:<8}did not end in {LONGEST} s", flush=True)
                    continue
                [figures] = json.loads(output)
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
        timeout=None if "fill" in arguments else LONGEST,
    )
    return done.stdout


def start_django() -> None:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "hitserver.settings"
    django.setup()


def use_one_process() -> None:
    """Only one process of PostgreSQL works for a page, so that its processor time can be read."""
    from django.db import connection

    if connection.vendor == "postgresql":
        with connection.cursor() as cursor:
            cursor.execute("SELECT current_database()")
            name = connection.ops.quote_name(cursor.fetchone()[0])
            cursor.execute(f"ALTER DATABASE {name} SET max_parallel_workers_per_gather = 0")


def measure(slug: str, page: str, times: int) -> dict[str, int]:
    """The first request only loads modules."""
    start_django()
    from django.conf import settings
    from django.contrib.auth import get_user_model
    from django.test import Client

    from annotation.models import Study

    study = Study.objects.get(slug=slug)
    settings.ALLOWED_HOSTS = ["testserver"]
    client = Client()
    client.force_login(get_user_model().objects.get())
    submission = study.submissions.order_by("pk")[1000]
    names = {"submission": submission.pk, "worker": submission.participant.pseudonym}
    names["item"] = submission.assignment.hit.items.get().pk
    names |= {"slug": slug, "code": submission.participant.completion_code}
    address = "/console/" + PAGES[page].format(**names)
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
    connection.ensure_connection()
    backend = connection.connection.info.backend_pid if connection.vendor == "postgresql" else 0
    wall, cpu, database = time.perf_counter(), time.process_time(), processor_time(backend)
    try:
        with connection.execute_wrapper(count_query):
            response = client.get(address, secure=True)
            size = len(b"".join(response) if response.streaming else response.content)
    finally:
        connection.make_cursor = usual_cursor  # type: ignore[method-assign]
    cpu, wall = time.process_time() - cpu + processor_time(backend) - database, time.perf_counter() - wall
    if response.status_code != 200:
        raise SystemExit(f"{address} answered {response.status_code} {response.headers.get('Location', '')}")
    return counts | {"cpu": cpu * 1e3, "wall": wall * 1e3, "bytes": size}


def processor_time(process: int) -> float:
    """Seconds of processor time that a process has had, if it is not 0."""
    if not process:
        return 0.0
    fields = Path(f"/proc/{process}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


if __name__ == "__main__":
    main()
