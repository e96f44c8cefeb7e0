"""What commands do with exports of a study: the criteria that are meant, and the rows about one of them."""

from __future__ import annotations

import argparse
from collections.abc import Sequence

import pandas as pd

from analysis.answer_files.files import AnswerFile, Criterion
from analysis.commands.rows import chosen_rows
from analysis.input_errors import InputError, shown


def add_criterion(parser: argparse.ArgumentParser, default: str) -> None:
    """``--criterion``, and ``--accept-edited`` for bundles."""
    parser.add_argument(
        "--criterion",
        action="append",
        default=[],
        metavar="NAME",
        help=f"exports of a study: only this question; can be repeated (default: {default})",
    )
    parser.add_argument("--accept-edited", action="store_true", help="bundle: accept CSV files that were edited")


def chosen_criteria(
    args: argparse.Namespace,
    source: AnswerFile,
    levels: Sequence[str],
    conditions: Sequence[tuple[str, str]] = (),
) -> list[Criterion]:
    """Those that ``--criterion`` or a condition names, or all with one of these levels of measurement.

    InputError: there is no such criterion, none that fits.
    """
    by_name = {criterion.name: criterion for criterion in source.criteria}
    named = [*args.criterion, *(value for column, value in conditions if column == "criterion")]
    for name in named:
        if name not in by_name:
            listed = ", ".join(map(shown, by_name))
            raise InputError(args.file, "--criterion", f"nothing was asked about {shown(name)}", f"there are {listed}")
    criteria = [by_name[name] for name in named] or [c for c in by_name.values() if c.level in levels]
    if not criteria:
        listed = ", ".join(f"{c.name} ({c.level})" for c in by_name.values())
        raise InputError(args.file, "", "no question has answers of this kind", f"the questions are {listed}")
    return criteria


def rows_about(
    source: AnswerFile, criterion: Criterion, columns: Sequence[str], conditions: Sequence[tuple[str, str]] = ()
) -> pd.DataFrame:
    """These columns of the answers on a criterion that meet the conditions."""
    frame = source.read(list(dict.fromkeys(["criterion", *columns, *(column for column, _ in conditions)])))
    conditions = [("criterion", criterion.name), *(pair for pair in conditions if pair[0] != "criterion")]
    return chosen_rows(frame, source.path, conditions)
