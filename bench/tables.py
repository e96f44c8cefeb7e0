"""Reading a long table of ratings: seconds of processor time and peak memory, as typed columns and as rows of text.

Every way is measured in a separate process. *Rows* holds every cell as a Python object, as the commands did before;
*columns* is how ``python -m analysis agreement`` works now; *α* is the command's whole first coefficient after that.

    python -m bench.tables [--units 100000] [--raters 2000] [--per-unit 10]
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import tempfile
import time
from pathlib import Path

from analysis.answer_files.opening import open_answers
from analysis.commands.agreement import read_ratings
from analysis.tables import read_columns, read_texts
from bench.alpha import make_ratings, peak_bytes
from common.csv_files import CsvWriter

COLUMNS = ["item", "worker", "rating"]
WAYS = {"rows": "rows of text", "columns": "typed columns", "alpha": "typed columns, then α"}


def write_table(path: Path, units: int, raters: int, per_unit: int) -> None:
    unit, rater, value = make_ratings(units, raters, per_unit)
    with path.open("w", newline="") as file:
        writer = CsvWriter(file, line_end="\r\n")
        writer.writerow(COLUMNS)
        writer.writerows(zip(unit.tolist(), (f"w{number}" for number in rater), value.tolist(), strict=True))


def measure(way: str, path: str) -> dict[str, float]:
    before, start = peak_bytes(), time.process_time()
    if way == "rows":
        read_texts(path)
    elif way == "columns":
        read_columns(path, COLUMNS)
    else:
        from analysis.agreement import krippendorff_alpha

        options = {
            "file": path,
            "unit": ["item"],
            "rater": "worker",
            "value": "rating",
            "where": [],
            "categories": None,
        }
        ratings = read_ratings(argparse.Namespace(**options, level="ordinal"), open_answers(path))
        krippendorff_alpha(ratings, "ordinal", interval=False)
    return {"seconds": time.process_time() - start, "added_mb": (peak_bytes() - before) / 1e6}


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--units", type=int, default=100_000)
    parser.add_argument("--raters", type=int, default=2_000)
    parser.add_argument("--per-unit", type=int, default=10)
    parser.add_argument("--measure", nargs=2, metavar=("WAY", "FILE"), help=argparse.SUPPRESS)
    arguments = parser.parse_args(argv)
    if arguments.measure:
        print(json.dumps(measure(*arguments.measure)))
        return 0
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "ratings.csv"
        write_table(path, arguments.units, arguments.raters, arguments.per_unit)
        print(f"{arguments.units * arguments.per_unit:,} ratings, {path.stat().st_size / 1e6:.1f} MB\n")
        for way, title in WAYS.items():
            command = [sys.executable, "-m", "bench.tables", "--measure", way, str(path)]
            found = json.loads(subprocess.run(command, capture_output=True, text=True, check=True).stdout)
            print(f"{title:24} {found['seconds']:6.2f} s  {found['added_mb']:7.0f} MB added")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
