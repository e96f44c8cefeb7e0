"""``python -m analysis report``: the console's report from a bundle, without a server."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from analysis.answer_files.opening import is_bundle
from analysis.commands.options import Subparsers, add_seed, draws_not_none
from analysis.data import BundleError, read_bundle
from analysis.estimate import DRAWS
from analysis.report import NUMBERS, failed_sections, write_report
from analysis.tables import InputError


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "report",
        description="Writes report.html and report.json from a bundle (manage.py study export NAME --kind bundle), a "
        "folder or a zip file. The numbers equal those of the console's report.",
    )
    parser.add_argument("bundle", metavar="BUNDLE", help="folder or .zip file")
    parser.add_argument("--out", metavar="DIR", required=True, help="folder to write to, created if missing")
    parser.add_argument("--draws", type=draws_not_none, default=DRAWS, help=f"bootstrap resamples (default: {DRAWS})")
    add_seed(parser)
    parser.add_argument(
        "--accept-edited", action="store_true", help="also read CSV files that were edited after the bundle was written"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    out = Path(arguments.out)
    if not is_bundle(arguments.bundle) and Path(arguments.bundle).exists():
        fix = "export the bundle: manage.py study export NAME --kind bundle"
        raise InputError(arguments.bundle, "", "the report needs the study’s description, which only a bundle has", fix)
    try:
        data = read_bundle(arguments.bundle, accept_edited=arguments.accept_edited)
        page = write_report(data, out_dir=out, draws=arguments.draws, seed=arguments.seed)
    except BundleError as error:
        raise InputError(arguments.bundle, "", str(error).removeprefix(f"{arguments.bundle}: ")) from error
    except OSError as error:
        what = f"cannot be written ({error.strerror or error})"
        raise InputError(error.filename or out, "", what, "choose another --out") from error
    print(f"{page}\n{out / NUMBERS}")
    for line in failed_sections(out):
        print(line, file=sys.stderr)
    return 0
