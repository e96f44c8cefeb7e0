"""``python -m analysis contest|dectest|ranking``: how well a score of sets measures diversity."""

from __future__ import annotations

import argparse
import math
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeAlias

from analysis.commands.options import Subparsers, add_resampling, finite_number, positive
from analysis.commands.output import Outcome, options_used, print_json
from analysis.commands.sets import Scored, add_scored, groups_in, named, names_in, read_scored
from analysis.diversity.evaluation import con_test, dec_test, subsampled
from analysis.diversity.ranking import pair_differences, ranking_test
from analysis.diversity.resampling import Bootstrap
from analysis.diversity.set_files import CONTEXT, LABEL
from analysis.estimate import Estimate
from analysis.tables import InputError
from common.words import counted

Run: TypeAlias = Callable[[argparse.Namespace], int]
#: The value of --resample-size that takes half of the sets or groups.
HALF = "half"
#: The printed name of each test.
TITLES = {"contest": "conTest", "dectest": "decTest", "ranking": "Ranking test"}


def add_parser(subparsers: Subparsers) -> None:
    """Register the three commands."""
    text = "A score against two classes: ρ and best-threshold accuracy (OCA)."
    contest = _add_test(subparsers, "contest", run_contest, text)
    contest.add_argument(
        "--either",
        action="store_true",
        help="OCA: also try thresholds below which a set counts as diverse (default: only above, as in the paper)",
    )
    dectest = _add_test(subparsers, "dectest", run_dectest, "A score against a diversity parameter: ρ and r.")
    dectest.add_argument("--log10", action="store_true", help="use the base-10 logarithm of the label (for top-k)")
    dectest.add_argument(
        "--subsample", type=positive, metavar="SIZE", help="add mean and s.d. over subsamples of SIZE sets"
    )
    dectest.add_argument("--repeats", type=positive, default=100, help="number of subsamples (default: 100)")
    ranking = _add_test(subparsers, "ranking", run_ranking, "Which of two sets is more diverse: ρ and sign accuracy.")
    ranking.add_argument(
        "--by",
        default=CONTEXT,
        metavar="COLUMN",
        help=f"pair the sets with the same value in this column (default: {CONTEXT})",
    )
    ranking.add_argument(
        "--pairs", action="store_true", help=f"each row is already a pair: metric and {LABEL} are differences"
    )
    ranking.add_argument(
        "--midpoint",
        type=finite_number,
        default=0.0,
        help="with --pairs: the score that means no difference, 3 for rnkHDS (default: 0)",
    )


def _add_test(subparsers: Subparsers, name: str, run: Run, text: str) -> argparse.ArgumentParser:
    parser: argparse.ArgumentParser = subparsers.add_parser(name, description=text)
    add_scored(parser)
    add_resampling(parser)
    parser.add_argument(
        "--resample-size",
        type=resample_size,
        metavar="N|half",
        help="sets or groups in a resample of a correlation: a number, or half of them as in Stasaski & Hearst 2022 "
        "(default: as many as there are)",
    )
    parser.add_argument(
        "--resample-by",
        metavar="COLUMN",
        help="resample all sets with the same value together; “sets” resamples single sets "
        "(default: context, if sets share one)",
    )
    parser.add_argument("--json", action="store_true", help="print JSON")
    parser.set_defaults(run=run)
    return parser


def run_contest(args: argparse.Namespace) -> int:
    scored = read_scored(args)
    groups, resampled = groups_in(scored.frame, args)
    with named(args.file, "write two classes, such as 0 and 1, or use dectest for a parameter"):
        result = con_test(
            scored.scores, scored.labels, plan=_plan(args, scored, groups), groups=groups, either=args.either
        )
    cut = result.threshold
    side = "at or above" if cut.direction == "above" else "below"
    where = f"high diversity {side} {cut.value:.4g}" if math.isfinite(cut.value) else "calling all sets the same"
    return _show(
        args,
        resampled,
        {"sets": len(scored.scores), "low": result.n_low, "high": result.n_high},
        {"rho": result.rho, "oca": result.oca},
        {"threshold": cut.value if math.isfinite(cut.value) else None, "direction": cut.direction},
        [f"threshold  {where}", f"sets       {result.n_low} low, {result.n_high} high"],
    )


def run_dectest(args: argparse.Namespace) -> int:
    scored = read_scored(args)
    groups, resampled = groups_in(scored.frame, args)
    if args.log10 and (scored.labels <= 0).any():
        row = scored.frame.index[scored.labels <= 0][0]
        where = f'row {row}, column "{LABEL}"'
        raise InputError(args.file, where, "0 or less has no logarithm", "leave out --log10")
    subsample_estimates, lines = {}, []
    with named(args.file, "use sets made with different parameters"):
        result = dec_test(
            scored.scores, scored.labels, log10=args.log10, plan=_plan(args, scored, groups), groups=groups
        )
        if args.subsample is not None:
            spread = subsampled(
                scored.scores,
                scored.labels,
                size=args.subsample,
                repeats=args.repeats,
                seed=args.seed,
                level=args.confidence,
                log10=args.log10,
            )
            subsample_estimates = {
                "subsampled_spearman": spread.spearman,
                "subsampled_spearman_sd": Estimate(spread.spearman_sd, n=spread.spearman.n, n_of="sets"),
                "subsampled_pearson": spread.pearson,
                "subsampled_pearson_sd": Estimate(spread.pearson_sd, n=spread.pearson.n, n_of="sets"),
            }
            parts = (("spearman", spread.spearman, spread.spearman_sd), ("pearson", spread.pearson, spread.pearson_sd))
            summary = ", ".join(f"{name} {mean.value:.3f} ({sd:.3f})" for name, mean, sd in parts)
            lines = [f"{args.repeats} subsamples of {args.subsample}, mean (s.d.): {summary}"]
    estimates = {"spearman": result.spearman, "pearson": result.pearson, **subsample_estimates}
    return _show(args, resampled, {"sets": len(scored.scores)}, estimates, {}, lines, hidden=tuple(subsample_estimates))


def run_ranking(args: argparse.Namespace) -> int:
    scored = read_scored(args)
    groups, resampled = (None, "pairs") if args.resample_by is None else groups_in(scored.frame, args)
    scores, labels, left_out = scored.scores, scored.labels, 0
    if args.pairs:
        scores = scores - args.midpoint
    else:
        keys = names_in(scored.frame, args.by, args.file)
        with named(args.file):
            names, (scores, labels) = pair_differences(keys, scores, labels)
        unequal = labels != 0
        left_out = int((~unequal).sum())
        names, scores, labels = names[unequal], scores[unequal], labels[unequal]
        # Pairs with the same key share sets, so they are resampled together. Otherwise single pairs are drawn.
        several = max(Counter(names.tolist()).values(), default=0) > 1
        groups, resampled = (names.tolist(), args.by) if several else (None, "pairs")
    with named(args.file):
        result = ranking_test(scores, labels, plan=_plan(args, scored, groups), groups=groups)
    lines = [f"{counted(left_out, 'pair')} of equal {LABEL} left out"] if left_out else []
    data = {"pairs": len(scores), "pairs_of_equal_label_left_out": left_out}
    return _show(args, resampled, data, {"rho": result.rho, "accuracy": result.accuracy}, {}, lines)


def _plan(args: argparse.Namespace, scored: Scored, groups: Sequence[str] | None) -> Bootstrap:
    units = len(scored.scores) if groups is None else len(set(groups))
    size = max(1, units // 2) if args.resample_size == HALF else args.resample_size
    return Bootstrap(draws=args.draws, seed=args.seed, level=args.confidence, size=size)


def resample_size(text: str) -> int | str:
    return HALF if text == HALF else positive(text)


def _show(
    args: argparse.Namespace,
    resampled: str,
    data: Mapping[str, Any],
    estimates: Mapping[str, Estimate],
    figures: Mapping[str, Any],
    lines: Sequence[str],
    *,
    hidden: Sequence[str] = (),
) -> int:
    """Print the outcome. ``hidden`` estimates have a separate line."""
    if args.json:
        settings = options_used(args, "resample_by") | {"resampled": resampled}
        print_json(Outcome(args.command, args.file, settings, data, estimates, figures))
        return 0
    print(f"{TITLES[args.command]} of {args.metric} in {args.file}")
    for name, estimate in estimates.items():
        if name in hidden:
            continue
        note = f"; {estimate.note}" if estimate.note and not math.isnan(estimate.value) else ""
        print(f"{name:<10} {estimate}  n = {counted(estimate.n, estimate.n_of.removesuffix('s'))}{note}")
        if estimate.method:
            print(f"{'':<10} {estimate.level:.0%} interval: {estimate.method}")
    for line in lines:
        print(line)
    return 0
