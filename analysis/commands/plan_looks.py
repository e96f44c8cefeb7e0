"""``python -m analysis plan-looks``: what stopping early would save and risk, before anybody rates anything."""

from __future__ import annotations

import argparse
from dataclasses import asdict

from analysis.commands.options import Subparsers, above_zero, add_seed, finite_number, positive
from analysis.commands.output import Outcome, options_used, print_json
from analysis.commands.plan_options import add_design, add_scale, scale_of
from analysis.commands.plan_variances import add_variances, print_published, variances_from
from analysis.description import StoppingRule
from analysis.input_errors import InputError
from analysis.planning.stopping import SIMULATIONS, StoppingForecast, forecast
from analysis.planning.study_design import Design, design_for
from analysis.planning.words import components_in_words, percent


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "plan-looks",
        description="What a rule for stopping early would do, by simulated studies that are looked at as real ones "
        "are: how many stop, which share of the ratings they use, and how often they are wrong. See docs/stopping.md.",
    )
    rule = parser.add_argument_group("the rule")
    meaning = "the smallest difference that matters: one whose interval lies within it is settled, too"
    rule.add_argument("--smallest", type=above_zero, metavar="D", help=meaning)
    meaning = "the first look, in percent of the ratings (default: 20)"
    rule.add_argument("--first", type=positive, default=20, metavar="PERCENT", help=meaning)
    rule.add_argument("--every", type=positive, default=5, metavar="PERCENT", help="another look after so many more")
    meaning = "true differences of the first system from the others (default: 0, 7.5%% and 15%% of the scale)"
    rule.add_argument("--differences", type=finite_number, nargs="+", metavar="D", help=meaning)
    add_design(parser)
    add_scale(parser)
    add_variances(parser)
    meaning = f"simulated studies for each difference (default: {SIMULATIONS})"
    parser.add_argument("--simulations", type=positive, default=SIMULATIONS, metavar="N", help=meaning)
    add_seed(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=run, goal="difference")


def run(args: argparse.Namespace) -> int:
    if args.list:
        print_published()
        return 0
    try:
        if not args.first < 100:
            raise ValueError(f"the first look is before 100 percent of the ratings, not at {args.first}")
        variances = variances_from(args, scale_of(args))
        scale, design = variances.scale, design_of(args)
        mean = variances.mean if args.mean is None else args.mean
        effects = args.differences or [0.0, round(0.075 * scale.range, 4), round(0.15 * scale.range, 4)]
        rule = StoppingRule("system", "rating", args.smallest, args.first, args.every)
        rows = [
            forecast(
                rule,
                design,
                scale,
                variances.components,
                effect=effect,
                mean=mean,
                reference=args.reference,
                simulations=args.simulations,
                seed=args.seed,
            )
            for effect in effects
        ]
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError("plan-looks", "", str(error)) from error
    if args.json:
        figures = {"forecasts": [asdict(row) for row in rows], "source": variances.source}
        print_json(Outcome("plan-looks", args.bundle or args.file or "", options_used(args), {}, {}, figures))
        return 0
    print(
        f"{design.systems} systems, {design.items:,} items, {design.raters} raters of each text, {design.workers:,} "
        f"workers. {components_in_words(variances.components)}.\nSource: {variances.source}.\n"
    )
    print_rows(rows)
    return 0


def design_of(args: argparse.Namespace) -> Design:
    """ValueError: no study can have it, or several are named."""
    if not args.items or len(args.items) > 1:
        raise ValueError("name one number of --items: how many items, such as prompts, does each system have?")
    if len(args.raters) > 1:
        raise ValueError("name one number of --raters of each text, such as --raters 5")
    systems = 2 if args.systems is None else args.systems
    if args.workers is not None:
        sizes = (systems, args.items[0], args.raters[0], args.workers)
        return Design(*sizes, args.crossing, not args.own_items, args.uneven)
    return design_for(
        systems,
        args.items[0],
        args.raters[0],
        texts_per_worker=args.texts_per_worker,
        crossing=args.crossing,
        same_items=not args.own_items,
        uneven=args.uneven,
    )


def print_rows(rows: list[StoppingForecast]) -> None:
    print(f"{'difference':>10}  {'stop early':>10}  {'ratings used':>12}  {'9 of 10 at most':>15}  {'wrong':>6}  hold")
    for row in rows:
        cells = (percent(row.early), percent(row.used), percent(row.used_most), percent(row.wrong), percent(row.held))
        print(f"{row.effect:>10g}  {cells[0]:>10}  {cells[1]:>12}  {cells[2]:>15}  {cells[3]:>6}  {cells[4]:>4}")
    print(f"\n{rows[0].simulations:,} simulated studies a row. wrong: something is settled that is not so. hold: all")
    print("intervals at the end have the truth.")
