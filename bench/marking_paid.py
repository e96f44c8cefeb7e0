"""What *Mark all as paid* costs, and how long others wait for it: ``python -m bench.marking_paid --data FOLDER``.

Takes a copy of data that `bench.console_at_size` has kept, or a PostgreSQL database (``--database URL``, which it
changes), and marks everything of one study as paid, while another process stores a row every 20 ms. Prints how long it
took, the memory of the process, and the longest and the 99th percentile of the waits. ``--before FOLDER`` measures
another checkout first (SQLite).
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import shutil
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).resolve().parent.parent
EVERY = 0.02


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", type=Path, metavar="FOLDER", required=True)
    parser.add_argument("--database", default="", metavar="URL")
    parser.add_argument("--before", type=Path, metavar="FOLDER")
    parser.add_argument("--study", default="bench")
    parser.add_argument("--task", choices=("mark", "write"), help=argparse.SUPPRESS)
    options = parser.parse_args()
    if options.task:
        {"mark": mark, "write": write}[options.task](options.study)
        return
    for name, checkout in {"before": options.before, "after": HERE}.items():
        if checkout is not None:
            with tempfile.TemporaryDirectory() as temporary:
                folder = options.data
                if not options.database:
                    folder = Path(temporary) / "var"
                    shutil.copytree(options.data, folder)
                print(name, measure(checkout, folder, options.database, options.study), flush=True)


def measure(checkout: Path, folder: Path, database: str, study: str) -> str:
    environment = {**os.environ, "HITSERVER_VAR": str(folder), "DATABASE_URL": database}
    environment["PYTHONPATH"] = str(checkout.resolve())
    base = [sys.executable, "-P", __file__, "--data", str(folder), "--study", study, "--task"]
    writer = subprocess.Popen(
        [*base, "write"], env=environment, cwd=checkout, stdin=subprocess.PIPE, stdout=subprocess.PIPE
    )
    assert writer.stdout is not None
    writer.stdout.readline()  # it writes
    marked = subprocess.run(
        [*base, "mark"], env=environment, cwd=checkout, check=True, stdout=subprocess.PIPE, text=True
    )
    out, _ = writer.communicate(b"stop\n")
    waits, n_refused = json.loads(out)
    others = f"{len(waits)} writes of others waited up to {max(waits):.2f} s, 99% of them {at(waits, 0.99):.2f} s"
    return f"{marked.stdout.strip()}; {others}, {n_refused} refused"


def at(values: list[float], share: float) -> float:
    return sorted(values)[int(len(values) * share)]


def start_django() -> None:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "hitserver.settings"
    django.setup()


def mark(slug: str) -> None:
    start_django()
    from annotation.models import Study
    from annotation.review.paying import mark_paid

    study = Study.objects.get(slug=slug)
    wall, cpu = time.perf_counter(), time.process_time()
    paid = mark_paid(study=study, actor="bench")
    wall, cpu = time.perf_counter() - wall, time.process_time() - cpu
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    print(f"{paid.hits:,} hits in {wall:.1f} s ({cpu:.1f} s of processor time), {memory:.0f} MB")


def write(slug: str) -> None:
    start_django()
    import select

    from django.db import OperationalError

    from annotation.models import AuditEntry, Study

    study = Study.objects.get(slug=slug)
    waits: list[float] = []
    n_refused = 0
    print("writes", flush=True)
    while not select.select([sys.stdin], [], [], EVERY)[0]:
        begin = time.perf_counter()
        try:
            AuditEntry.objects.create(study=study, actor="bench", action="wait")
        except OperationalError:
            n_refused += 1
        waits.append(time.perf_counter() - begin)
    print(json.dumps([waits, n_refused]), flush=True)


if __name__ == "__main__":
    main()
