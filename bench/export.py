"""How long exports take, and how much memory: ``python -m bench.export [--ratings 100000] [--per-submission 3]``.

Makes a study with this number of ratings in a separate SQLite database in a temporary folder. Then exports every kind
and format, each in a separate process, and prints rows, seconds of processor time, size and peak memory. ``import MB``
is the memory that the process used before it started.
"""

from __future__ import annotations

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
from datetime import timedelta
from pathlib import Path
from typing import Any

RATERS_PER_ITEM = 10
BATCH = 2_000
FILES = [(kind, format) for kind in ("long", "wide", "diversity-eval") for format in ("csv", "jsonl")]
FILES.append(("bundle", "zip"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--ratings", type=int, nargs="+", default=[100_000, 1_000_000])
    parser.add_argument(
        "--per-submission", type=int, choices=(1, 3), default=3, help="ratings per submission; 1: without the warm-up"
    )
    parser.add_argument("--one", nargs=2, metavar=("KIND", "FORMAT"), help=argparse.SUPPRESS)
    chosen = parser.parse_args()
    if chosen.one:
        print(json.dumps(export_one(*chosen.one)))
        return
    for ratings in chosen.ratings:
        with tempfile.TemporaryDirectory() as folder:
            environment = {**os.environ, "HITSERVER_VAR": folder, "DATABASE_URL": ""}
            run(environment, ["-c", "from bench import export; export.fill(*map(int, __import__('sys').argv[1:]))",
                              str(ratings), str(chosen.per_submission)])  # fmt: skip
            report(ratings, environment)


def report(ratings: int, environment: dict[str, str]) -> None:
    print(f"{ratings:,} ratings")
    print(f"{'export':<24}{'rows':>10}{'seconds':>9}{'MB':>8}{'import MB':>11}{'peak MB':>9}")
    for kind, format in FILES:
        told = json.loads(run(environment, ["-m", "bench.export", "--one", kind, format]))
        print(
            f"{kind + ' ' + format:<24}{told['rows']:>10,}{told['seconds']:>9.2f}{told['megabytes']:>8.1f}"
            f"{told['before']:>11.0f}{told['peak']:>9.0f}"
        )


def run(environment: dict[str, str], arguments: list[str]) -> str:
    done = subprocess.run(
        [sys.executable, *arguments],
        env=environment,
        cwd=Path(__file__).parent.parent,
        check=True,
        stdout=subprocess.PIPE,
        text=True,
    )
    return done.stdout


def start_django() -> None:
    import django

    os.environ["DJANGO_SETTINGS_MODULE"] = "hitserver.settings"
    django.setup()


def peak_megabytes() -> float:
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def export_one(kind: str, format: str) -> dict[str, Any]:
    start_django()
    from annotation.models import Study
    from annotation.results.exports import export

    study = Study.objects.get()
    before, start = peak_megabytes(), time.process_time()
    with tempfile.TemporaryFile() as out:
        rows = export(study, kind=kind, format=format, out=out)
        size = out.tell()
    seconds = time.process_time() - start
    return {"rows": rows, "seconds": seconds, "megabytes": size / 1e6, "before": before, "peak": peak_megabytes()}


def fill(ratings: int, per_submission: int) -> None:
    """A closed study with ``ratings`` ratings, written directly to the tables."""
    start_django()
    from django.core.management import call_command
    from django.db import connection

    from annotation.instrument import whole_texts
    from annotation.models import Arm, Study
    from annotation.task_types.registry import get_type

    call_command("migrate", verbosity=0)
    call_command("collectstatic", verbosity=0, interactive=False)  # a bundle has the workers' pages
    with connection.cursor() as cursor:
        cursor.execute("PRAGMA synchronous=OFF")
    config = {"generation_task": "response", "write_first": per_submission == 3, "rate_first": per_submission == 3}
    config |= {"max_words": 15, "empty_responses": "keep"}
    study = Study.objects.create(slug="bench", title="Bench", task_type="abs_hds", config=config, status="closed")
    texts = whole_texts(get_type("abs_hds"), config)
    arm = Arm.objects.create(study=study, position=0, shown_config=config, shown_texts=texts)
    submissions = ratings // per_submission
    hits = make_hits(arm, submissions // RATERS_PER_ITEM + 1)
    workers = make_participants(arm, max(RATERS_PER_ITEM, submissions // 50))
    for first in range(0, submissions, BATCH):
        make_submissions(study, range(first, min(first + BATCH, submissions)), hits, workers, per_submission)


def make_hits(arm: Any, count: int) -> list[tuple[int, int]]:
    """Ids of hits and of their single item."""
    from annotation.models import Hit, HitItem, Item

    def payload(number: int) -> dict[str, Any]:
        return {
            "sample_id": f"test.context::{number:06}",
            "context": f"Comment number {number}, which is about as long as comments are, more or less.",
            "responses": [f"Reply {place} to comment {number}, with some words in it." for place in range(5)],
            "label_name": "temp",
            "label_value": 0.7,
            "label_text": "0.7",
            "extra": [],
        }

    items = Item.objects.bulk_create(
        (
            Item(study=arm.study, external_id=f"test.context::{n:06}", payload=payload(n), position=n)
            for n in range(count)
        ),
        batch_size=BATCH,
    )
    hits = Hit.objects.bulk_create(
        (Hit(study=arm.study, arm=arm, position=n, wanted=RATERS_PER_ITEM) for n in range(count)), batch_size=BATCH
    )
    pairs = list(zip(hits, items, strict=True))
    HitItem.objects.bulk_create((HitItem(hit=hit, item=item, position=0) for hit, item in pairs), batch_size=BATCH)
    return [(hit.pk, item.pk) for hit, item in pairs]


def make_participants(arm: Any, count: int) -> list[int]:
    from annotation.models import Participant, Worker

    workers = Worker.objects.bulk_create(
        (Worker(platform="link", platform_id=f"open-{n:x}", synthetic=True) for n in range(count)), batch_size=BATCH
    )
    made = Participant.objects.bulk_create(
        (Participant(study=arm.study, arm=arm, worker=w, pseudonym=f"w-{w.pk:08}", synthetic=True) for w in workers),
        batch_size=BATCH,
    )
    return [each.pk for each in made]


def make_submissions(
    study: Any, numbers: range, hits: list[tuple[int, int]], workers: list[int], per_submission: int
) -> None:
    from django.utils import timezone

    from annotation.models import Assignment, Rating, Submission

    now = timezone.now()
    order = {"items": [0], "shown": [{"responses": [3, 1, 4, 0, 2]}]}
    places = [(hits[n // RATERS_PER_ITEM], n % RATERS_PER_ITEM, workers[n % len(workers)], n) for n in numbers]
    assignments = Assignment.objects.bulk_create(
        Assignment(hit_id=hit, participant_id=worker, state="submitted", slot=slot, ordinal=1 + n // len(workers),
                   seed=n, order=order, accepted_at=now, expires_at=now + timedelta(hours=1))
        for (hit, _), slot, worker, n in places
    )  # fmt: skip
    submissions = Submission.objects.bulk_create(
        Submission(assignment=each, study=study, participant_id=each.participant_id, answers=[], seconds=60.5,
                   received_at=now)
        for each in assignments
    )  # fmt: skip
    asked: list[dict[str, Any]] = [{"question": "diversity", "scale": "diversity"}]
    if per_submission == 3:
        own = {"question": "own_response", "scale": "text", "text": "I would rather wait until tomorrow and ask."}
        asked = [own, {"question": "quality", "scale": "quality", "target": "0"}, *asked]
    Rating.objects.bulk_create(
        Rating(study=study, submission=submission, participant_id=submission.participant_id, item_id=item,
               seconds=12.5, created_at=now, **({"value": 1 + n % 9 / 2} if "text" not in kind else {}), **kind)
        for submission, ((_, item), _, _, n) in zip(submissions, places, strict=True)
        for kind in asked
    )  # fmt: skip


if __name__ == "__main__":
    main()
