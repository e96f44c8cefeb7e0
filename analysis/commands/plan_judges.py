"""``python -m analysis plan-judges``: how many ratings by people a judge saves for the same certainty."""

from __future__ import annotations

import argparse
from dataclasses import replace

from analysis.commands.options import Subparsers, positive
from analysis.commands.output import Outcome, options_used, print_json, without_nan
from analysis.input_errors import InputError
from analysis.judges.planning import JudgedDesign, items_needed, worth_correlation

CORRELATIONS = (0.0, 0.3, 0.6, 0.9)


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "plan-judges",
        description="How wide an interval about people’s answers is with and without a judge’s ratings, and how many "
        "ratings by people give the same width with the judge. “python -m analysis plan --variances-only” prints "
        "standard deviations of an earlier study. See docs/judges.md.",
    )
    parser.add_argument("--items", type=positive, required=True, help="items in all")
    parser.add_argument("--rated", type=positive, help="items that people rate without a judge (default: all)")
    parser.add_argument("--raters", type=positive, required=True, help="people who rate each of them")
    parser.add_argument("--workers", type=positive, required=True, help="people in all")
    meaning = "share of the items that the judge rates (default: 1)"
    parser.add_argument("--judged", type=float, default=1.0, metavar="SHARE", help=meaning)
    meaning = "correlation of the judge with what items are worth (default: 0, 0.3, 0.6 and 0.9)"
    parser.add_argument("--correlation", type=float, nargs="+", default=list(CORRELATIONS), metavar="R", help=meaning)
    meaning = "the correlations are with the mean of so many answers by people, as reports print them"
    parser.add_argument("--observed", type=positive, metavar="RATERS", help=meaning)
    for name, of in (("item", "of items"), ("worker", "of workers’ means"), ("answer", "of single answers besides")):
        parser.add_argument(f"--sd-{name}", type=float, required=True, metavar="SD", help=f"standard deviation {of}")
    parser.add_argument("--difference", action="store_true", help="of two systems with half the items each")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    deviations = {name: getattr(args, name) for name in ("sd_item", "sd_worker", "sd_answer")}
    try:
        if not 0 < args.judged <= 1:
            raise ValueError(f"--judged is a share above 0 and up to 1, not {args.judged:g}")
        alone = JudgedDesign(args.rated or args.items, args.raters, args.workers, **deviations)
        if alone.rated > args.items:
            raise ValueError(f"--rated is {alone.rated}, more than the {args.items} items")
        width = alone.width(difference=args.difference)
        rows = []
        for stated in args.correlation:
            worth = worth_correlation(stated, per_item=args.observed, **deviations) if args.observed else stated
            design = replace(alone, judged=max(alone.rated, round(args.judged * args.items)), correlation=worth)
            needed = items_needed(design, width, difference=args.difference)
            both = design.width(difference=args.difference)
            rows.append({"correlation": stated, "worth": worth, "width": both, "rated": needed})
    except ValueError as error:
        raise InputError("plan-judges", "", str(error)) from error
    if args.json:
        data = {"people_alone": {"width": width, "rated": alone.rated, "ratings": alone.ratings}}
        figures = without_nan({"with_judge": rows})
        print_json(Outcome("plan-judges", "", options_used(args), data, {}, figures))
        return 0
    what = "difference of two systems" if args.difference else "mean"
    print(f"People alone: {alone.ratings:,} ratings of {alone.rated:,} items; interval of the {what} {width:.3f} wide.")
    titles = f"{'correlation':>11}  {'width with judge':>16}  {'items for the same':>20}  {'ratings':>9}  {'saved':>6}"
    print(f"\n{titles}")
    for row in rows:
        needed = row["rated"]
        same = ("–", "–", "–")
        if needed is not None:
            ratings = needed * alone.per_item
            same = (f"{needed:,}", f"{ratings:,}", f"{100 * (1 - ratings / alone.ratings):.0f}%")
        print(f"{row['correlation']:>11.2f}  {row['width']:>16.3f}  {same[0]:>20}  {same[1]:>9}  {same[2]:>6}")
    print("\nA judge makes nothing smaller but what items differ in: workers and single answers stay in the interval.")
    return 0
