"""``python -m analysis report``: the console's report, or the paper's part, from a bundle, without a server."""

from __future__ import annotations

import argparse
import sys
from pathlib import Path

from analysis.answer_files.elsewhere import Elsewhere
from analysis.answer_files.foreign_files import read_elsewhere
from analysis.answer_files.foreign_studies import study_of
from analysis.answer_files.opening import is_bundle
from analysis.commands.options import Subparsers, add_seed, draws_not_none
from analysis.data import BundleError, read_bundle
from analysis.estimate import DRAWS
from analysis.paper import PaperFolderError, write_paper
from analysis.report import NUMBERS, PAGE, failed_sections, save_pngs, write_report
from analysis.tables import InputError


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "report",
        description="Writes report.html and report.json from a bundle (manage.py study export NAME --kind bundle), a "
        "folder or a zip file. The numbers equal those of the console's report. With --paper, it writes the part of a "
        "paper: methods, tables, figures, pages, references and datasheets.",
    )
    parser.add_argument(
        "bundle", metavar="BUNDLE", help="folder or .zip file, or an export of Label Studio, Argilla or Potato"
    )
    parser.add_argument("--out", metavar="DIR", help="folder for the report, created if missing")
    parser.add_argument(
        "--png", action="store_true", help="with --out: also every figure as a PNG file, in DIR/figures"
    )
    parser.add_argument("--paper", metavar="DIR", help="folder for the paper's part, new or empty")
    parser.add_argument("--no-pictures", action="store_true", help="with --paper: no pictures of the workers' pages")
    parser.add_argument("--draws", type=draws_not_none, default=DRAWS, help=f"bootstrap resamples (default: {DRAWS})")
    add_seed(parser)
    parser.add_argument(
        "--accept-edited", action="store_true", help="also read CSV files that were edited after the bundle was written"
    )
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    if not arguments.out and not arguments.paper:
        raise InputError("", "", "nothing to write", "give --out DIR, --paper DIR or both")
    if arguments.png and not arguments.out:
        raise InputError("", "--png", "the figures belong to a report", "give --out DIR, too; --paper has its own")
    elsewhere = read_elsewhere(arguments.bundle)
    if elsewhere is not None and arguments.paper:
        raise InputError(arguments.bundle, "", "a paper's part needs a bundle", "leave out --paper")
    if elsewhere is None and not is_bundle(arguments.bundle) and Path(arguments.bundle).exists():
        fix = "export the bundle: manage.py study export NAME --kind bundle"
        raise InputError(arguments.bundle, "", "the report needs the study’s description, which only a bundle has", fix)
    try:
        problems = write_paper_of(arguments) if arguments.paper else write_report_of(arguments, elsewhere)
        if arguments.png:
            save_pngs(Path(arguments.out))
    except BundleError as error:
        raise InputError(arguments.bundle, "", str(error).removeprefix(f"{arguments.bundle}: ")) from error
    except PaperFolderError as error:
        raise InputError(arguments.paper, "", error.what, error.fix) from error
    except OSError as error:
        what = f"cannot be written ({error.strerror or error})"
        raise InputError(
            error.filename or arguments.out or arguments.paper, "", what, "choose another folder"
        ) from error
    if arguments.out:
        print(f"{Path(arguments.out) / PAGE}\n{Path(arguments.out) / NUMBERS}")
    if arguments.paper:
        print(Path(arguments.paper) / "README.md")
    for line in problems:
        print(line, file=sys.stderr)
    return 0


def write_report_of(arguments: argparse.Namespace, elsewhere: Elsewhere | None) -> list[str]:
    out = Path(arguments.out)
    if elsewhere is None:
        data = read_bundle(arguments.bundle, accept_edited=arguments.accept_edited)
    else:
        data = study_of(arguments.bundle, elsewhere)
    write_report(data, out_dir=out, draws=arguments.draws, seed=arguments.seed)
    return [*(elsewhere.notes if elsewhere else ()), *failed_sections(out)]


def write_paper_of(arguments: argparse.Namespace) -> list[str]:
    return write_paper(
        arguments.bundle,
        Path(arguments.paper),
        out_dir=Path(arguments.out) if arguments.out else None,
        draws=arguments.draws,
        seed=arguments.seed,
        accept_edited=arguments.accept_edited,
        pictures=not arguments.no_pictures,
    )
