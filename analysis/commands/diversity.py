"""``python -m analysis diversity|contest|dectest|ranking|nuggets``: metrics and their evaluation on CSV
files."""

from __future__ import annotations

import argparse
import json
import math
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
import pandas as pd
from numpy.typing import NDArray
from tqdm import tqdm

from analysis.diversity.association import Floats
from analysis.diversity.checks import LabelError
from analysis.diversity.data import LABEL, LABEL_NAME, DataError, numbers, read_sets, responses, write_sets
from analysis.diversity.evaluation import con_test, dec_test, subsampled
from analysis.diversity.metrics import METRICS, column_of
from analysis.diversity.nuggets import nuggets
from analysis.diversity.ranking import pair_differences, ranking_test
from analysis.diversity.resampling import Bootstrap
from analysis.estimate import Estimate

if TYPE_CHECKING:
    Subparsers: TypeAlias = argparse._SubParsersAction[argparse.ArgumentParser]

Groups: TypeAlias = NDArray[np.str_] | None
Run: TypeAlias = Callable[[argparse.Namespace], int]


def add_parser(subparsers: Subparsers) -> None:
    """Register the five subcommands, each with ``run(args) -> exit code``: 0, or 2 for input that is
    wrong."""
    _add_diversity(subparsers)
    _add_test(subparsers, "contest", run_contest, "A score against a binary label: ρ and best-threshold accuracy.")
    dectest = _add_test(subparsers, "dectest", run_dectest, "A score against a diversity parameter: ρ and r.")
    dectest.add_argument("--log10", action="store_true", help="take the logarithm of the label first (top-k)")
    dectest.add_argument("--subsample", type=int, metavar="SIZE", help="also mean and s.d. over subsamples of SIZE")
    dectest.add_argument("--repeats", type=int, default=100, help="how many subsamples (default 100)")
    ranking = _add_test(subparsers, "ranking", run_ranking, "Which of two sets is more diverse: ρ and sign accuracy.")
    ranking.add_argument("--by", default="context", metavar="COLUMN", help="pair the sets that share it (context)")
    ranking.add_argument(
        "--pairs", action="store_true", help=f"each row is a pair already: metric and {LABEL} are differences"
    )
    ranking.add_argument(
        "--midpoint", type=float, default=0.0, help="with --pairs: the score of no difference (rnkHDS: 3)"
    )
    _add_nuggets(subparsers)


def run_diversity(args: argparse.Namespace) -> int:
    """Add one column per metric to a file, in place where it is there already; all else is kept as it was."""
    frame = read_sets(args.file)
    for name in args.metric:
        frame[column_of(name)] = [f"{score:.6f}" for score in _compute(frame, args.file, name)]
    write_sets(frame, args.out)
    return 0


def run_contest(args: argparse.Namespace) -> int:
    frame, scores, labels = _read(args)
    groups = _groups(frame, args)
    with _named(args.file, "write two classes, such as 0 and 1, or use dectest for a parameter"):
        result = con_test(scores, labels, plan=_plan(args), groups=groups)
    cut = result.threshold
    side = "at or above" if cut.direction == "above" else "below"
    where = f"high diversity {side} {cut.value:.4g}" if math.isfinite(cut.value) else "calling all sets the same"
    _print(
        args,
        {"test": "conTest", "n_low": result.n_low, "n_high": result.n_high},
        {"rho": result.rho, "oca": result.oca},
        [f"threshold  {where}", f"sets       {result.n_low} low, {result.n_high} high"],
        {"threshold": cut.value if math.isfinite(cut.value) else None, "direction": cut.direction},
    )
    return 0


def run_dectest(args: argparse.Namespace) -> int:
    frame, scores, labels = _read(args)
    groups = _groups(frame, args)
    if args.log10 and (labels <= 0).any():
        row = frame.index[labels <= 0][0]
        raise DataError(args.file, f"row {row}, column {LABEL}", "0 or less has no logarithm", "leave out --log10")
    with _named(args.file, "use sets made with different parameters"):
        result = dec_test(scores, labels, log10=args.log10, plan=_plan(args), groups=groups)
        lines, more = _subsamples(args, scores, labels)
    head = {"test": "decTest", "log10": args.log10, "n": len(scores)}
    _print(args, head, {"spearman": result.spearman, "pearson": result.pearson}, lines, more)
    return 0


def run_ranking(args: argparse.Namespace) -> int:
    frame, scores, labels = _read(args)
    groups: Groups = _groups(frame, args)
    left_out = 0
    if args.pairs:
        scores = scores - args.midpoint
    else:
        keys = _column(frame, args.by, args.file, "--by")
        with _named(args.file):
            names, (scores, labels) = pair_differences(keys, scores, labels)
        unequal = labels != 0
        left_out = int((~unequal).sum())
        names, scores, labels = names[unequal], scores[unequal], labels[unequal]
        # Pairs of one key share sets, so they are resampled together; a single pair per key needs no such
        # care.
        groups = names if max(Counter(names.tolist()).values(), default=0) > 1 else None
    with _named(args.file):
        result = ranking_test(scores, labels, plan=_plan(args), groups=groups)
    head = {"test": "ranking", "n": len(scores), "equal_label_left_out": left_out}
    lines = [f"{left_out} pairs of equal {LABEL} were left out"] if left_out else []
    _print(args, head, {"rho": result.rho, "accuracy": result.accuracy}, lines, {})
    return 0


def run_nuggets(args: argparse.Namespace) -> int:
    """The chosen rows of the file as they were; how many goes to standard error."""
    frame, scores, labels = _read(args)
    with _named(args.file, "write two classes, such as 0 and 1"):
        chosen = nuggets(scores, labels, group_size=args.group_size, seed=args.seed)
    write_sets(frame.iloc[chosen], args.out)
    print(f"{len(chosen)} of {len(frame)} sets chosen, as many of either class", file=sys.stderr)
    return 0


def _read(args: argparse.Namespace) -> tuple[pd.DataFrame, Floats, Floats]:
    """The sets of the wanted label, their scores and their label values."""
    frame = read_sets(args.file)
    if LABEL not in frame.columns:
        mend = "it holds the diversity parameter, such as 0.6, or 0 and 1"
        raise DataError(args.file, f"column {LABEL}", "is missing", mend)
    frame = _one_label(frame, args)
    labels = numbers(frame, LABEL, args.file)
    if args.metric in frame.columns:
        return frame, numbers(frame, args.metric, args.file), labels
    if args.metric in METRICS:
        return frame, _compute(frame, args.file, args.metric), labels
    columns = [name for name in frame.columns if name.startswith("metric_")]
    known = f"use one of {', '.join([*METRICS, *columns])}"
    raise DataError(args.file, f"column {args.metric}", "is missing and no metric has that name", known)


def _one_label(frame: pd.DataFrame, args: argparse.Namespace) -> pd.DataFrame:
    if LABEL_NAME not in frame.columns:
        return frame
    names = frame[LABEL_NAME].unique().tolist()
    if args.label_name is not None:
        if args.label_name not in names:
            what = f"{args.label_name!r} does not occur"
            raise DataError(args.file, f"column {LABEL_NAME}", what, f"use one of {', '.join(names)}")
        chosen: pd.DataFrame = frame[frame[LABEL_NAME] == args.label_name]
        return chosen
    if len(names) > 1:
        what = f"several parameters are mixed: {', '.join(names[:5])}"
        raise DataError(args.file, f"column {LABEL_NAME}", what, "choose one with --label-name")
    return frame


def _compute(frame: pd.DataFrame, path: str, name: str) -> Floats:
    """The metric of every set, with a progress bar on a terminal once it has taken a second."""
    texts = responses(frame, path)
    bar = tqdm(texts, desc=name, unit=" sets", delay=1.0, disable=None, file=sys.stderr)
    return np.array([METRICS[name](text) for text in bar])


def _column(frame: pd.DataFrame, column: str, path: str, option: str) -> NDArray[np.str_]:
    if column not in frame.columns:
        raise DataError(path, f"column {column}", "is missing", f"name another with {option}")
    return frame[column].to_numpy(dtype=str)


def _groups(frame: pd.DataFrame, args: argparse.Namespace) -> Groups:
    return None if args.resample_by is None else _column(frame, args.resample_by, args.file, "--resample-by")


def _plan(args: argparse.Namespace) -> Bootstrap:
    return Bootstrap(draws=args.draws, seed=args.seed, level=args.level)


def _subsamples(args: argparse.Namespace, scores: Floats, labels: Floats) -> tuple[list[str], dict[str, Any]]:
    """Lines to print and fields of the JSON for --subsample; none without it."""
    if args.subsample is None:
        return [], {}
    spread = subsampled(
        scores,
        labels,
        size=args.subsample,
        repeats=args.repeats,
        seed=args.seed,
        level=args.level,
        log10=args.log10,
    )
    parts = {
        "spearman": (spread.spearman, spread.spearman_sd),
        "pearson": (spread.pearson, spread.pearson_sd),
    }
    said = ", ".join(f"{name} {mean.value:.3f} ({sd:.3f})" for name, (mean, sd) in parts.items())
    fields = {name: {**mean.to_dict(), "sd": None if math.isnan(sd) else sd} for name, (mean, sd) in parts.items()}
    return [f"{args.repeats} subsamples of {args.subsample}, mean (s.d.): {said}"], {"subsampled": fields}


def _print(
    args: argparse.Namespace,
    head: dict[str, Any],
    estimates: dict[str, Estimate],
    lines: list[str],
    more: dict[str, Any],
) -> None:
    if args.json:
        found = {name: estimate.to_dict() for name, estimate in estimates.items()}
        whole = {**head, "file": args.file, "metric": args.metric, **found, **more}
        print(json.dumps(whole, indent=2, ensure_ascii=False, allow_nan=False))
        return
    print(f"{head['test']} of {args.metric} in {args.file}")
    for name, estimate in estimates.items():
        note = f"; {estimate.note}" if estimate.note and not math.isnan(estimate.value) else ""
        print(f"{name:<10}{estimate}  n = {estimate.n} {estimate.n_of}{note}")
        if estimate.method:
            print(f"{'':<10}{estimate.level:.0%} interval: {estimate.method}")
    for line in lines:
        print(line)


@contextmanager
def _named(path: str, labels: str = "") -> Iterator[None]:
    """What a statistic refuses, said of the file it came from; ``labels`` says how to mend those."""
    try:
        yield
    except LabelError as error:
        raise DataError(path, f"column {LABEL}", str(error), labels) from error
    except ValueError as error:
        raise DataError(path, "", str(error)) from error


def _reporting(run: Run) -> Run:
    def reported(args: argparse.Namespace) -> int:
        try:
            return run(args)
        except DataError as error:
            print(f"error: {error}", file=sys.stderr)
            return 2
        except BrokenPipeError:
            # Whoever read the output, head for one, has enough; nothing more must be flushed into it.
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
            return 1

    return reported


def _add_diversity(subparsers: Subparsers) -> None:
    text = "Diversity of every set of a CSV file, as new columns metric_NAME."
    parser = subparsers.add_parser("diversity", help=text, description=text)
    parser.add_argument("file", metavar="FILE.csv", help="diversity-eval format: resp_0, resp_1 … per row")
    parser.add_argument(
        "--metric", type=_metrics, default=list(METRICS), help=f"of {', '.join(METRICS)}, comma between (default all)"
    )
    parser.add_argument("--out", metavar="FILE.csv", help="where to write (default standard output)")
    parser.set_defaults(run=_reporting(run_diversity))


def _add_test(subparsers: Subparsers, name: str, run: Run, text: str) -> argparse.ArgumentParser:
    parser = subparsers.add_parser(name, help=text, description=text)
    _add_scored(parser)
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.add_argument("--draws", type=_positive, default=1000, help="bootstrap resamples (default 1000)")
    parser.add_argument("--level", type=_level, default=0.95, help="of the intervals (default 0.95)")
    parser.add_argument(
        "--resample-by", metavar="COLUMN", help="resample all sets of one value together, such as context"
    )
    parser.set_defaults(run=_reporting(run))
    return parser


def _add_nuggets(subparsers: Subparsers) -> None:
    text = "Sets on which a metric cannot tell two classes apart: as many of both from each group of like scores."
    parser = subparsers.add_parser("nuggets", help=text, description=text)
    _add_scored(parser, metric="distinct-n")
    parser.add_argument("--group-size", type=_positive, default=40, help="sets per group (default 40)")
    parser.add_argument("--out", metavar="FILE.csv", help="where to write (default standard output)")
    parser.set_defaults(run=_reporting(run_nuggets))


def _add_scored(parser: argparse.ArgumentParser, metric: str | None = None) -> None:
    parser.add_argument("file", metavar="FILE.csv", help=f"one row per set, with {LABEL}")
    parser.add_argument(
        "--metric",
        required=metric is None,
        default=metric,
        metavar="COLUMN",
        help=f"a column, or one of {', '.join(METRICS)} to compute it from the texts",
    )
    parser.add_argument("--label-name", metavar="NAME", help=f"only the sets with this {LABEL_NAME}")
    parser.add_argument("--seed", type=int, default=0, help="of all random draws (default 0)")


def _metrics(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in METRICS:
            raise argparse.ArgumentTypeError(f"{name!r} is not a metric; use {', '.join(METRICS)}")
    return names


def _positive(text: str) -> int:
    if not text.isdecimal() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number of 1 or more")
    return int(text)


def _level(text: str) -> float:
    try:
        level = float(text)
    except ValueError:
        level = math.nan
    if not 0 < level < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a number between 0 and 1, such as 0.95")
    return level
