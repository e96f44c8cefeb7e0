"""``python -m analysis preference``: systems compared, from ratings given together or from forced choices."""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
import pandas as pd

from analysis.commands.agreement import chosen_rows, condition_of, number_in, refuse_empty
from analysis.commands.options import Subparsers, add_resampling
from analysis.commands.output import Outcome, print_json
from analysis.diversity.resampling import Bootstrap
from analysis.estimate import Estimate
from analysis.preference import (
    Choices,
    Comparisons,
    binomial_test,
    bradley_terry,
    comparisons_from_choices,
    comparisons_from_ratings,
    outcome_table,
    ranked,
    system_scores,
)
from analysis.tables import InputError, read_columns, shown
from common.words import counted

MISSING = ("", "NA", "NaN", "nan")
TOGETHER, CHOICES = ("task", "system", "value"), ("first", "second", "choice")


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "preference",
        help="Systems compared: scores, strengths and ranks.",
        description="Scores and Bradley–Terry strengths of systems, from a CSV, TSV or JSONL file (UTF-8). Each row "
        "is either one rating of a text that a worker rated together with others (--task, --system, --value), or one "
        "choice between two systems (--first, --second, --choice: 1 for the first, -1 for the second, 0 for neither). "
        f"Rows without a value ({', '.join(map(repr, MISSING))}) are left out and counted.",
    )
    parser.add_argument("file", metavar="FILE", help="the ratings or the choices, one per row")
    parser.add_argument("--task", metavar="COL", help="column that names what one worker rated together")
    parser.add_argument("--system", metavar="COL", help="column with the system that made the rated text")
    parser.add_argument("--value", metavar="COL", help="column with the rating; higher is better")
    parser.add_argument("--first", metavar="COL", help="column with the first system of a choice")
    parser.add_argument("--second", metavar="COL", help="column with the second system")
    parser.add_argument("--choice", metavar="COL", help="column with the choice: 1, 0 or -1")
    told = (
        "column that names what is resampled whole, such as the worker or the item (default: the task, or each choice)"
    )
    parser.add_argument("--resample-by", metavar="COL", help=told)
    told = "fit strengths with a normal prior of this standard deviation; needed if a system never wins or loses"
    parser.add_argument("--prior-sd", type=_positive, metavar="SD", help=told)
    told = "only the rows with this value, such as question=quality; can be repeated"
    parser.add_argument("--where", action="append", default=[], metavar="COL=VALUE", help=told)
    add_resampling(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    comparisons, clusters, data = read_comparisons(args)
    plan = Bootstrap(draws=args.draws, seed=args.seed, level=args.confidence)
    scores = system_scores(comparisons, clusters, plan=plan, n_of="clusters")
    try:
        groups = clusters if len(set(clusters.tolist())) > 1 else None
        fit = bradley_terry(comparisons, clusters=groups, prior_sd=args.prior_sd, level=args.confidence)
        strengths, ranks, why = fit.strengths, fit.ranks, ""
    except ValueError as error:
        why = f"{error} (--prior-sd 1)"
        strengths = {name: Estimate(math.nan, note=str(error)) for name in comparisons.systems}
        ranks = {}
    outcomes = outcome_table(comparisons)
    if args.json:
        estimates = {f"score.{name}": each for name, each in scores.estimates.items()}
        estimates |= {f"strength.{name}": each for name, each in strengths.items()}
        figures: dict[str, Any] = {"pairs": scores.pairs, "outcomes": outcomes.to_dict("records")}
        figures["ranks"] = {name: {"rank": r, "from": low, "to": high} for name, (r, low, high) in ranks.items()}
        print_json(Outcome("preference", args.file, settings(args), data, estimates, figures))
        return 0
    things = ", ".join(counted(data[name], name[:-1]) for name in ("comparisons", "systems", "clusters"))
    print(f"{args.file}: {things}, intervals over {args.resample_by or args.task or 'choices'}")
    if data["missing"]:
        print(f"{counted(data['missing'], 'row')} without a value, left out")
    print_systems(comparisons, scores.estimates, strengths, ranks)
    if why:
        print(f"\nNo strengths: {why}")
    print_outcomes(outcomes)
    return 0


def settings(args: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name, value in vars(args).items() if name not in ("run", "json", "command", "file")}


def read_comparisons(args: argparse.Namespace) -> tuple[Comparisons, np.ndarray[Any, Any], dict[str, int]]:
    """The comparisons in the file, their clusters (M,), and counts of what entered. InputError: anything wrong."""
    columns = _columns(args)
    conditions = [condition_of(text) for text in args.where]
    extra = [args.resample_by] if args.resample_by else []
    frame = read_columns(args.file, [*columns, *extra, *(column for column, _ in conditions)])
    frame = chosen_rows(frame, args.file, conditions)
    for column in (*columns[:2], *extra):
        refuse_empty(frame[column], args.file)
    values = numbers(frame[columns[2]], args.file)
    one, two = (frame[column].astype(str).to_numpy() for column in columns[:2])
    try:
        found = (comparisons_from_ratings if args.task else comparisons_from_choices)(one, two, values)
    except ValueError as error:
        raise InputError(args.file, f"columns {', '.join(map(shown, columns))}", str(error)) from error
    if args.resample_by:
        clusters = frame[args.resample_by].astype(str).to_numpy()[found.left]
    else:
        clusters = one[found.left] if args.task else np.arange(len(found))
    data = {
        "rows": len(frame),
        "missing": int(np.isnan(values).sum()),
        "comparisons": len(found),
        "systems": len(found.systems),
        "clusters": len(set(clusters.tolist())),
        "same_system": found.same_system,
    }
    return found, clusters, data


def _columns(args: argparse.Namespace) -> list[str]:
    """The three columns of either form, all of one and none of the other."""
    together, choices = ([getattr(args, name) for name in names] for names in (TOGETHER, CHOICES))
    if all(together) and not any(choices):
        return together
    if all(choices) and not any(together):
        return choices
    forms = "--task, --system and --value, or --first, --second and --choice"
    raise InputError(args.file, "options", "it is not clear what the rows are", f"give {forms}")


def numbers(cells: pd.Series, path: str) -> np.ndarray[Any, np.dtype[np.float64]]:
    """The numbers of a column, NaN where a value is missing. InputError: a cell with anything else."""
    found = []
    for text in cells.cat.categories:
        number = math.nan if text in MISSING else number_in(text)
        if number is None and (cells == text).any():
            row = cells.index[int((cells == text).to_numpy().argmax())]
            what = f"{shown(text)} is not a number"
            raise InputError(path, f'row {row}, column "{cells.name}"', what, "write a plain number")
        found.append(math.nan if number is None else number)
    return np.array([*found, math.nan])[cells.cat.codes.to_numpy()]


def print_systems(
    comparisons: Comparisons,
    scores: dict[str, Estimate],
    strengths: dict[str, Estimate],
    ranks: dict[str, tuple[int, int, int]],
) -> None:
    width = max(6, *(len(name) for name in comparisons.systems))
    print(f"\n{'system':{width}}  {'score':<25}  {'strength':<25}  ranks")
    for name in ranked(scores):
        _, low, high = ranks.get(name, (0, 0, 0))
        span = "–" if not low else str(low) if low == high else f"{low}–{high}"
        strength = "–" if math.isnan(strengths[name].value) else str(strengths[name])
        print(f"{name:{width}}  {scores[name]!s:<25}  {strength:<25}  {span}")


def print_outcomes(outcomes: pd.DataFrame) -> None:
    """Wins, ties and losses of every two systems, with the exact binomial test with ties dropped."""
    width = max(len(f"{row.first} – {row.second}") for row in outcomes.itertuples())
    print(f"\n{'pair':{width}}  {'wins':>7}  {'ties':>7}  {'losses':>7}  p (binomial, ties dropped)")
    for first, second, wins, ties, losses, _ in outcomes.to_numpy().tolist():
        p = binomial_test(Choices(wins, ties, losses))
        told = "–" if math.isnan(p) else f"{p:.4f}"
        print(f"{f'{first} – {second}':{width}}  {wins:>7,}  {ties:>7,}  {losses:>7,}  {told}")


def _positive(text: str) -> float:
    number = number_in(text)
    if number is None or number <= 0:
        raise argparse.ArgumentTypeError(f"“{text}” is not a number above 0")
    return number
