"""Every table and figure of a paper, from simulated workers at the published size.

Writes a folder for each paper with a file for every table and figure under the paper's name, the reports they come
from, the data, and a README that says what differs. Nothing is needed but this repository.

    python -m bench.papers OUT [--paper clark …] [--size published|small] [--seed 1] [--released DIR]
                           [--nli MODEL]
"""

from __future__ import annotations

import argparse
import shutil
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

from analysis.data import StudyData
from analysis.report.blocks import Section
from bench.papers import clark, giulianelli, stasaski, tevet, zhang
from bench.papers.folder import Missing, write_folder
from bench.papers.published import Published

TITLES = {
    "tevet": "Tevet & Berant 2021: evaluating the evaluation of diversity",
    "zhang": "Zhang et al. 2020: quality against diversity",
    "clark": "Clark 2021: human evaluation of generated text",
    "stasaski": "Stasaski & Hearst 2022: semantic diversity by inference",
    "giulianelli": "Giulianelli et al. 2023: production variability",
}
PAPERS: dict[str, Any] = {
    "tevet": tevet, "zhang": zhang, "clark": clark, "stasaski": stasaski, "giulianelli": giulianelli,
}  # fmt: skip


def write_paper(
    name: str,
    out: Path,
    *,
    size: str = "published",
    seed: int = 1,
    draws: int = 1_000,
    released: Path | None = None,
    nli: str = "",
) -> list[Missing]:
    """The folder of one paper. Needs Django with a database that has its tables."""
    paper = PAPERS[name]
    tables: Sequence[Published] = paper.TABLES
    options: dict[str, Any] = {"released": released} if name in ("tevet", "stasaski") else {}
    options |= {"nli": nli} if name == "stasaski" else {}
    studies: Iterator[tuple[str, StudyData | list[Section]]] = paper.studies(size, seed, **options)
    return write_folder(out / name, studies, tables, title=TITLES[name], size=size, seed=seed, draws=draws)


def main(argv: list[str]) -> int:
    parser = argparse.ArgumentParser(prog="python -m bench.papers", description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("out", type=Path, metavar="OUT", help="folder for the papers' folders")
    parser.add_argument("--paper", nargs="+", choices=PAPERS, default=list(PAPERS), help="which ones (default: all)")
    parser.add_argument("--size", choices=("published", "small"), default="published", help="default: published")
    parser.add_argument("--seed", type=int, default=1, help="default: 1")
    parser.add_argument("--draws", type=int, default=1_000, help="bootstrap resamples (default: 1000)")
    parser.add_argument(
        "--released",
        type=Path,
        metavar="DIR",
        help="Tevet & Berant's released sets (diversity-eval), for their texts and scores instead of made-up ones",
    )
    parser.add_argument(
        "--nli", default="", metavar="MODEL", help="hub name or folder of an NLI model, for Stasaski & Hearst's metrics"
    )
    arguments = parser.parse_args(argv)
    if arguments.released is not None and not (arguments.released / "conTest").is_dir():
        parser.error(f"{arguments.released}: has no folder conTest; name the folder with conTest and decTest")
    from bench.same_outputs import start_django
    from tests.support import database_with_tables

    failed = 0
    with tempfile.TemporaryDirectory(prefix="hitserver-papers-") as var:
        shutil.copy(database_with_tables(), var)
        start_django({"HITSERVER_VAR": var})
        for name in arguments.paper:
            began = time.monotonic()
            missing = write_paper(
                name, arguments.out, size=arguments.size, seed=arguments.seed, draws=arguments.draws,
                released=arguments.released, nli=arguments.nli,
            )  # fmt: skip
            print(f"{arguments.out / name}: {time.monotonic() - began:.0f} s", flush=True)
            for one in missing:
                print(f"  {one.published.name} is missing: {one.why}.", file=sys.stderr)
            failed += len(missing)
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
