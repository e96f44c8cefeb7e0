"""``python -m analysis preference``: systems compared, from ratings given together or from forced choices."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.commands.agreement import chosen_rows, condition_of, number_in, refuse_empty
from analysis.commands.options import Subparsers, add_confidence
from analysis.commands.output import Outcome, print_json
from analysis.estimate import Estimate, p_value
from analysis.inference import Dimensions, holm
from analysis.preference import (
    Choices,
    Comparisons,
    binomial_test,
    bradley_terry,
    comparison_dimensions,
    comparisons_from_choices,
    comparisons_from_ratings,
    outcome_table,
    preference,
    ranked,
    system_scores,
)
from analysis.tables import InputError, read_columns, shown
from common.words import counted

MISSING = ("", "NA", "NaN", "nan")
NO_WORKER = "default: every task or choice is by another worker"
NO_ITEM = "default: every rating is of another text, every choice about another item"
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
    parser.add_argument("--worker", metavar="COL", help=f"column with who answered ({NO_WORKER})")
    meaning = f"column with the text that was rated, or the item that the choice is about ({NO_ITEM})"
    parser.add_argument("--item", metavar="COL", help=meaning)
    meaning = "column with the context of the rated text; with five or more, intervals are about new contexts"
    parser.add_argument("--context", metavar="COL", help=meaning)
    meaning = "fit strengths with a normal prior of this standard deviation; needed if a system never wins or loses"
    parser.add_argument("--prior-sd", type=_positive, metavar="SD", help=meaning)
    meaning = "only the rows with this value, such as question=quality; can be repeated"
    parser.add_argument("--where", action="append", default=[], metavar="COL=VALUE", help=meaning)
    add_confidence(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(run=run)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two systems that met. ``share``: of wins of the first among outcomes without ties, about new items and workers;
    its ``p`` against one half, and corrected by Holm's method over all pairs. ``p_binomial``: the paper's test."""

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    share: Estimate
    p: float
    p_corrected: float
    p_binomial: float


def run(args: argparse.Namespace) -> int:
    comparisons, dimensions, data = read_comparisons(args)
    scores = system_scores(comparisons, dimensions, level=args.confidence)
    try:
        fit = bradley_terry(comparisons, dimensions=dimensions, prior_sd=args.prior_sd, level=args.confidence)
        strengths, ranks, why = fit.strengths, fit.ranks, ""
    except ValueError as error:
        why = f"{error} (--prior-sd 1)"
        strengths = {name: Estimate(math.nan, note=str(error)) for name in comparisons.systems}
        ranks = {}
    pairs = compared_pairs(comparisons, dimensions, args.confidence)
    if args.json:
        estimates = {f"score.{name}": each for name, each in scores.estimates.items()}
        estimates |= {f"strength.{name}": each for name, each in strengths.items()}
        estimates |= {f"share.{each.first}.{each.second}": each.share for each in pairs}
        figures: dict[str, Any] = {"pairs": scores.pairs, "outcomes": [outcome_json(each) for each in pairs]}
        figures["ranks"] = {name: {"rank": r, "from": low, "to": high} for name, (r, low, high) in ranks.items()}
        print_json(Outcome("preference", args.file, settings(args), data, estimates, figures))
        return 0
    things = ", ".join(counted(data[name], name[:-1]) for name in ("comparisons", "systems"))
    print(f"{args.file}: {things}")
    if data["missing"]:
        print(f"{counted(data['missing'], 'row')} without a value, left out")
    print(f"Intervals and p: {clusters_in_words(dimensions)}")
    for option, default in (("worker", NO_WORKER), ("item", NO_ITEM)):
        if getattr(args, option) is None:
            print(f"  without --{option}, {default.removeprefix('default: ')}: if not, they are too sure")
    print_systems(comparisons, scores.estimates, strengths, ranks)
    if why:
        print(f"\nNo strengths: {why}")
    print_pairs(pairs)
    return 0


def compared_pairs(comparisons: Comparisons, dimensions: Dimensions, level: float) -> list[Pair]:
    """All pairs of systems that met, in the order of their names."""
    pairs = []
    for first, second, wins, ties, losses, _ in outcome_table(comparisons).to_numpy().tolist():
        one, two = comparisons.systems.index(first), comparisons.systems.index(second)
        as_named = (comparisons.first == one) & (comparisons.second == two)
        turned = (comparisons.first == two) & (comparisons.second == one)
        rows = np.nonzero(as_named | turned)[0]
        outcome = np.where(turned, -comparisons.outcome, comparisons.outcome)[rows]
        found = preference(outcome, dimensions.chosen(rows), level=level)
        binomial = binomial_test(Choices(wins, ties, losses))
        pairs.append(Pair(first, second, wins, ties, losses, found.share, found.p, found.p, binomial))
    corrected = holm([each.p for each in pairs]).tolist()
    return [replace(each, p_corrected=p) for each, p in zip(pairs, corrected, strict=True)]


def outcome_json(pair: Pair) -> dict[str, Any]:
    numbers = {key: value for key, value in asdict(pair).items() if key != "share"}
    return {key: None if value != value else value for key, value in numbers.items()}


def clusters_in_words(dimensions: Dimensions) -> str:
    counts = [counted(len(np.unique(codes)), name.removesuffix("s")) for name, codes in dimensions.codes.items()]
    return f"about new {' and '.join(dimensions.codes)} ({', '.join(counts)})"


def settings(args: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name, value in vars(args).items() if name not in ("run", "json", "command", "file")}


def read_comparisons(args: argparse.Namespace) -> tuple[Comparisons, Dimensions, dict[str, int]]:
    """The comparisons in the file, how they belong together, and counts of what entered. InputError: anything wrong."""
    columns = _columns(args)
    conditions = [condition_of(text) for text in args.where]
    extra = [column for column in (args.worker, args.item, args.context) if column]
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
    rows = np.arange(len(frame))
    workers, items, contexts = (
        None if column is None else frame[column].astype(str).to_numpy()
        for column in (args.worker, args.item, args.context)
    )
    dimensions = comparison_dimensions(
        found,
        workers=workers if workers is not None else (one if args.task else rows),
        texts=items if items is not None else rows,
        contexts=contexts,
    )
    data = {
        "rows": len(frame),
        "missing": int(np.isnan(values).sum()),
        "comparisons": len(found),
        "systems": len(found.systems),
        **{name: len(np.unique(codes)) for name, codes in dimensions.codes.items()},
        "same_system": found.same_system,
    }
    return found, dimensions, data


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


def print_pairs(pairs: list[Pair]) -> None:
    """All pairs of systems: outcomes, the share of wins with its test, and the paper's test."""
    width = max(len(f"{each.first} – {each.second}") for each in pairs)
    heads = f"{'wins':>7}  {'ties':>7}  {'losses':>7}  {'share of wins':<23}  {'p':>8}  {'p, Holm':>8}"
    print(f"\n{'pair':{width}}  {heads}  paper’s test: p (binomial, ties dropped)")
    for each in pairs:
        counts = f"{each.wins:>7,}  {each.ties:>7,}  {each.losses:>7,}"
        p = f"{p_value(each.p):>8}  {p_value(each.p_corrected):>8}  {p_value(each.p_binomial)}"
        print(f"{f'{each.first} – {each.second}':{width}}  {counts}  {each.share!s:<23}  {p}")
    for note in dict.fromkeys(each.share.note for each in pairs if each.share.note):
        print(f"No interval: {note}")
    print("The binomial test takes all choices as independent, and is too sure if items or workers differ.")


def _positive(text: str) -> float:
    number = number_in(text)
    if number is None or number <= 0:
        raise argparse.ArgumentTypeError(f"“{text}” is not a number above 0")
    return number
