"""``python -m analysis diversity|nuggets``: metrics as columns, and sets that a metric cannot distinguish."""

from __future__ import annotations

import argparse
import sys

from analysis.commands.options import Subparsers, positive
from analysis.commands.sets import FORMATS, add_model, add_seeded, computed, like_of, named, read_any_sets, read_scored
from analysis.diversity.metrics import METRICS, column_of
from analysis.diversity.neural_metrics import NEURAL
from analysis.diversity.nuggets import nuggets
from analysis.diversity.set_files import write_sets


def add_parser(subparsers: Subparsers) -> None:
    """Register both commands."""
    text = "Diversity of every set of a file, as new columns metric_NAME."
    parser = subparsers.add_parser("diversity", description=f"{text} The output has the file's own format.")
    parser.add_argument("file", metavar="FILE", help=f"{FORMATS} with one row per set: resp_0, resp_1 …")
    listed = ", ".join([*METRICS, *NEURAL])
    parser.add_argument(
        "--metric",
        type=metric_names,
        default=list(METRICS),
        help=f"{listed}; separate several with commas (default: {','.join(METRICS)})",
    )
    add_model(parser)
    parser.add_argument("--out", metavar="FILE", help="file to write (default: standard output)")
    parser.set_defaults(run=run_diversity)
    text = "Sets on which a metric cannot tell two classes apart: as many of both from each group of similar scores."
    parser = subparsers.add_parser("nuggets", description=f"{text} The output has the file's own format.")
    add_seeded(parser, metric="distinct-n")
    parser.add_argument("--group-size", type=positive, default=40, help="sets per group (default: 40)")
    parser.add_argument("--out", metavar="FILE", help="file to write (default: standard output)")
    parser.set_defaults(run=run_nuggets)


def run_diversity(args: argparse.Namespace) -> int:
    """Add one column per metric to a file, replacing it if it exists. Everything else stays as it was."""
    frame = read_any_sets(args.file)
    scores = computed(frame, args, args.metric)
    for name in args.metric:
        frame[column_of(name)] = [f"{score:.6f}" for score in scores[name]]
    write_sets(frame, args.out, like=like_of(args.file))
    return 0


def run_nuggets(args: argparse.Namespace) -> int:
    """Write the chosen rows of the file unchanged, and their number to standard error."""
    scored = read_scored(args)
    with named(args.file, "write two classes, such as 0 and 1"):
        chosen = nuggets(scored.scores, scored.labels, group_size=args.group_size, seed=args.seed)
    write_sets(scored.frame.iloc[chosen], args.out, like=like_of(args.file))
    print(f"{len(chosen)} of {len(scored.frame)} sets chosen, as many of either class", file=sys.stderr)
    return 0


def metric_names(text: str) -> list[str]:
    names = [name.strip() for name in text.split(",")]
    for name in names:
        if name not in METRICS and name not in NEURAL:
            raise argparse.ArgumentTypeError(f"“{name}” is not a metric; use {', '.join([*METRICS, *NEURAL])}")
    return names
