"""A million ratings: seconds of processor time and peak memory of the commands, beside pandas reading the file alone.

    python -m bench.million [--items 20000] [--only agreement report …] [--keep FOLDER] [--times 3]

The study is one of the type likert: 20,000 items of eight systems in four domains, each rated by 10 of 2,000 workers in
one of two arms on five scales, 10 items in a submission. ``ratings.csv`` has its ratings with few columns, ``long.csv``
those of the export ``long``, which names its 39 columns itself; ``bundle.zip`` is the bundle.
Every command is a separate process, so that the figures include its start; pandas reading each file alone is beside
them. Modules are compiled before, and OpenBLAS has one thread, because threads that wait for each other take processor
time. Of several runs, the one that took the least processor time counts: the others waited for memory that other
programs used.
"""

from __future__ import annotations

import argparse
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator, Sequence
from datetime import UTC, datetime, timedelta
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np

from analysis.answer_files.columns import ANSWER, ITEM, PART, SUBMISSION, USE, WHO
from analysis.data import write_bundle_tables
from analysis.description import (
    ArmDescription,
    Factor,
    QuestionDescription,
    ReportSection,
    Scale,
    Score,
    StudyDescription,
)
from common.csv_files import CsvWriter
from common.words import counted

TOPICS = ("fluency", "relevance", "coherence", "factuality", "overall")
SYSTEMS, DOMAINS, ARMS = 8, 4, ("short", "long")
WORKERS, RATERS, ITEMS_PER_SUBMISSION = 2_000, 10, 10
COLUMNS = ("submission", "worker", "arm", "item", "system", "domain", "question", "value", "seconds")
START = datetime(2026, 1, 5, 9, tzinfo=UTC)


class Study:
    """A study's rows, drawn with a seed. Items, workers and systems differ; the answers of one page go together."""

    def __init__(self, items: int, seed: int = 1) -> None:
        rng = np.random.default_rng(seed)
        self.items = items
        pages = items * RATERS
        # A round gives every item to one worker; workers get ten items at a time, never one item twice.
        order = np.concatenate([rng.permutation(items) for _ in range(RATERS)])
        self.item_of_page = order
        self.submission_of_page = np.arange(pages) // ITEMS_PER_SUBMISSION
        self.submissions = int(self.submission_of_page[-1]) + 1
        per_round = max(self.submissions // RATERS, 1)
        workers_per_round = WORKERS // RATERS
        number = np.arange(self.submissions)
        self.worker_of_submission = number // per_round * workers_per_round + number % workers_per_round
        worker_of_page = self.worker_of_submission[self.submission_of_page]
        quality = rng.normal(size=items)[self.item_of_page] * 0.7 + self.system_of(self.item_of_page) * 0.08
        leniency = rng.normal(size=WORKERS + workers_per_round)[worker_of_page] * 0.5
        of_page = quality + leniency + rng.normal(size=pages) * 0.4
        answers = 3.4 + of_page[:, None] + rng.normal(size=(pages, len(TOPICS))) * 0.7
        self.values = np.clip(np.round(answers), 1, 5).astype(int)
        self.seconds = np.round(rng.lognormal(2.2, 0.6, size=pages), 3)

    @staticmethod
    def system_of(item: Any) -> Any:
        return item % SYSTEMS

    @staticmethod
    def arm_of(worker: int) -> str:
        return ARMS[worker % len(ARMS)]

    def ratings(self) -> Iterator[tuple[int, int, str, float, float]]:
        """Submission, item, question, value, seconds of every rating."""
        pages = zip(
            self.submission_of_page.tolist(),
            self.item_of_page.tolist(),
            self.values.tolist(),
            self.seconds.tolist(),
            strict=True,
        )
        for submission, item, values, seconds in pages:
            for topic, value in zip(TOPICS, values, strict=True):
                yield submission, item, topic, value, seconds


def description(study: Study) -> StudyDescription:
    scale = Scale.of("quality", "ordinal", ["Very good", "Good", "Fair", "Poor", "Very poor"])
    return StudyDescription(
        slug="million",
        title="A million ratings",
        status="closed",
        task_type="likert",
        task_title="Statements on a scale",
        summary="Workers rate texts on five scales.",
        source="",
        ratings_per_item=RATERS,
        items_per_hit=ITEMS_PER_SUBMISSION,
        hits_per_worker=None,
        reward=Decimal("1.20"),
        time_limit_minutes=60,
        access="link",
        seed=1,
        arms=[ArmDescription(name, Decimal("1.20")) for name in ARMS],
        questions=[QuestionDescription(topic, f"How good is the {topic}?", scale) for topic in TOPICS],
        scores=[Score(topic, topic.capitalize()).within(scale) for topic in TOPICS],
        sections=[ReportSection("scales")],
        factors=[Factor("system"), Factor("domain")],
    )


def write_study(path: Path, study: Study) -> None:
    """The study as a bundle (zip)."""
    items: Iterator[tuple[Any, ...]] = (
        (
            f"item-{number:05}",
            "main",
            f"context-{number // SYSTEMS:05}",
            "",
            float("nan"),
            [[f"Text {number} by a system."]],
            [],
            {},
            RATERS,
            {"system": f"system-{number % SYSTEMS}", "domain": f"domain-{number // SYSTEMS % DOMAINS}"},
            {},
        )
        for number in range(study.items)
    )
    seconds = np.bincount(study.submission_of_page, study.seconds).round(3).tolist()
    submissions = (
        (
            number,
            f"w{worker:04}",
            False,
            "",
            study.arm_of(worker),
            number,
            seconds[number],
            START + timedelta(seconds=7 * number),
            False,
            "",
            "1.20",
        )
        for number, worker in enumerate(study.worker_of_submission.tolist())
    )
    ratings = (
        (submission, f"item-{item:05}", topic, "", "quality", float(value), "", seconds)
        for submission, item, topic, value, seconds in study.ratings()
    )
    nothing: dict[str, Any] = dict.fromkeys(("flags", "offers", "own_ratings", "adjudications", "stopped"), ())
    with path.open("wb") as file:
        tables = {"items": items, "submissions": submissions, "ratings": ratings, **nothing}
        write_bundle_tables(description(study), tables, file)


def write_ratings(path: Path, study: Study) -> None:
    """One row per rating, as a CSV file."""
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = CsvWriter(file, line_end="\r\n")
        writer.writerow(COLUMNS)
        workers = study.worker_of_submission.tolist()
        writer.writerows(
            (
                submission,
                f"w{workers[submission]:04}",
                study.arm_of(workers[submission]),
                f"item-{item:05}",
                f"system-{item % SYSTEMS}",
                f"domain-{item // SYSTEMS % DOMAINS}",
                topic,
                value,
                seconds,
            )
            for submission, item, topic, value, seconds in study.ratings()
        )


def write_long(path: Path, study: Study) -> None:
    """The export ``long`` of the study."""
    before = ("text", "context", "system", "domain")
    names = [*WHO, *ITEM, *before, *PART, *ANSWER, *USE, *SUBMISSION]
    workers = study.worker_of_submission.tolist()
    scale = ["quality", "ordinal", "1.0", "5.0"]
    words = ["", "Very poor", "Poor", "Fair", "Good", "Very good"]
    order = '{"items": [3, 1, 0, 2, 4, 9, 8, 5, 6, 7], "statements": [0, 1, 2, 3, 4]}'
    with path.open("w", newline="", encoding="utf-8") as file:
        writer = CsvWriter(file, line_end="\n")
        writer.writerow(names)
        for row, (submission, item, topic, value, seconds) in enumerate(study.ratings()):
            worker = workers[submission]
            index = row // len(TOPICS) % ITEMS_PER_SUBMISSION
            sent = (START + timedelta(seconds=7 * submission)).isoformat().replace("+00:00", "Z")
            writer.writerow(
                [
                    *("million", submission, f"w{worker:04}", "false", study.arm_of(worker)),
                    *(f"item-{item:05}", "main", f"Text {item} by a system.", f"context-{item // SYSTEMS:05}"),
                    *(f"system-{item % SYSTEMS}", f"domain-{item // SYSTEMS % DOMAINS}"),
                    *(index + 1, "", "", "", "", "item", topic, *scale, f"{value}.0", words[int(value)], "", seconds),
                    *("true", "", "", "", sent, 600.25, index, submission, 0, 1, 1, "", order),
                ]
            )


def command_lines(folder: Path) -> dict[str, list[str]]:
    """By name, what is measured: arguments of Python. `compare` reads all questions as parts of items."""
    ratings = str(folder / "ratings.csv")
    analysis = ["-m", "analysis"]
    rated = ["--unit", "item", "--unit", "question", "--rater", "worker", "--value", "value", "--level", "ordinal"]
    compared = ["--value", "value", "--factor", "system", "--part", "question", "--low", "1", "--high", "5"]
    long, bundle = str(folder / "long.csv"), str(folder / "bundle.zip")
    alone = ["-c", "import pandas, sys; pandas.read_csv(sys.argv[1])"]
    one = ["--criterion", "overall"]
    return {
        "pandas": [*alone, ratings],
        "compare": [*analysis, "compare", ratings, *compared],
        "agreement": [*analysis, "agreement", ratings, *rated],
        "pandas-long": [*alone, long],
        "compare-long": [*analysis, "compare", long],
        "agreement-long": [*analysis, "agreement", long, *one],
        "compare-bundle": [*analysis, "compare", bundle],
        "agreement-bundle": [*analysis, "agreement", bundle, *one],
        "report": [*analysis, "report", bundle, "--out", str(folder / "report")],
    }


#: Runs a command and prints its processor time and peak memory. A process begins with the peak of the one that started
#: it, so a small process must start the command.
STARTER = """import os, subprocess, sys
process = subprocess.Popen(sys.argv[1:], stdout=sys.stderr)
_, status, usage = os.wait4(process.pid, 0)
print(os.waitstatus_to_exitcode(status), usage.ru_utime + usage.ru_stime, usage.ru_maxrss)"""


def measure(words: Sequence[str]) -> tuple[float, float]:
    """Seconds of processor time and peak memory (MB) of Python with these arguments. RuntimeError: it failed."""
    starter = [sys.executable, "-S", "-c", STARTER, sys.executable, *words]
    environment = os.environ | {"OPENBLAS_NUM_THREADS": "1", "PYTHONDONTWRITEBYTECODE": ""}
    # Output goes to a file: a pipe that nobody reads while the process runs would stop it.
    with tempfile.TemporaryFile() as output:
        done = subprocess.run(starter, stdout=subprocess.PIPE, stderr=output, check=True, text=True, env=environment)
        figures = done.stdout.split()
        if int(figures[0]):
            output.seek(0)
            raise RuntimeError(output.read().decode())
    return float(figures[1]), float(figures[2]) * 1024 / 1e6


def main(argv: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--only", nargs="+", choices=command_lines(Path()), default=list(command_lines(Path())))
    parser.add_argument("--keep", type=Path, metavar="FOLDER", help="write the study here, or use the one that is here")
    parser.add_argument("--times", type=int, default=3, help="runs of each command (default: 3)")
    arguments = parser.parse_args(argv)
    with tempfile.TemporaryDirectory() as temporary:
        folder = arguments.keep or Path(temporary)
        folder.mkdir(parents=True, exist_ok=True)
        study = Study(arguments.items)
        for name, write in (("ratings.csv", write_ratings), ("long.csv", write_long), ("bundle.zip", write_study)):
            if not (folder / name).exists():
                write(folder / name, study)
        size = (folder / "ratings.csv").stat().st_size / 1e6
        print(f"{counted(arguments.items * RATERS * len(TOPICS), 'rating')}, {size:.1f} MB of CSV\n")
        for name in arguments.only:
            seconds, megabytes = min(measure(command_lines(folder)[name]) for _ in range(arguments.times))
            print(f"{name:16} {seconds:6.2f} s  {megabytes:6.0f} MB", flush=True)
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
