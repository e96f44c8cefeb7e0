"""``python -m analysis plan``: what a study would show, and what it would cost, before anybody rates anything."""

from __future__ import annotations

import argparse
from collections.abc import Sequence
from pathlib import Path

from analysis.commands.options import Subparsers, add_seed, positive
from analysis.commands.output import Outcome, options_used, print_json, without_nan
from analysis.commands.plan_options import add_options, planner_of, scale_of
from analysis.commands.plan_variances import add_variances, print_published, variances_from
from analysis.input_errors import InputError
from analysis.planning.aims import Aim
from analysis.planning.plans import Plan
from analysis.planning.power import SIMULATIONS
from analysis.planning.variances import Variances
from analysis.planning.words import components_in_words, curve, plan_lines
from common.files import write_whole


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "plan",
        description="Power, width of intervals, workers, hours and cost of a planned study, for every number of items "
        "with every number of raters, by simulation. Variances come from a published study, an earlier study’s "
        "bundle, a file of ratings, or from you. See docs/planning.md.",
    )
    add_options(parser)
    add_variances(parser)
    out = parser.add_argument_group("output")
    meaning = f"simulated studies for each row (default: {SIMULATIONS:,})"
    out.add_argument("--simulations", type=positive, default=SIMULATIONS, metavar="N", help=meaning)
    add_seed(out)
    out.add_argument("--svg", type=Path, metavar="FILE", help="write the curve of power to this file")
    out.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if args.list:
        print_published()
        return 0
    try:
        variances = variances_from(args, scale_of(args))
        if args.variances_only:
            print_variances(variances)
            return 0
        if args.items is None:
            raise ValueError("--items is missing: how many items, such as prompts, does each system have?")
        planner = planner_of(args, variances.scale, variances.components, variances.mean)
        items, raters = sorted(set(args.items)), sorted(set(args.raters))
        plans, smallest = list(planner.table(items, raters)), []
        if args.power is not None or args.width is not None:
            smallest = planner.smallest(items, raters[-1], power=args.power, width=args.width)
    except ValueError as error:
        if isinstance(error, InputError):
            raise
        raise InputError("plan", "", str(error)) from error
    if args.json:
        print_json(printed(args, variances, plans, smallest))
    else:
        print_variances(variances, planner.aim, planner.systems)
        print("", *plan_lines(planner, plans, smallest, power=args.power, width=args.width), sep="\n")
    if args.svg:
        from analysis.plots.image_files import standalone_svg

        write_whole(args.svg, standalone_svg(str(curve(planner.aim, plans))))
    return 0


def print_variances(variances: Variances, aim: Aim | None = None, systems: int = 1) -> None:
    model = None if aim is None else aim.model(systems)
    print(f"{components_in_words(variances.components if model is None else model.components)}.")
    print(f"Source: {variances.source}.")
    for note in variances.notes:
        print(f"  {note}")
    if model is not None and model.latent.latent and not model.components.latent:
        print(f"{components_in_words(model.latent)}; cut into points, they give those above.")


def printed(args: argparse.Namespace, variances: Variances, plans: Sequence[Plan], smallest: Sequence[Plan]) -> Outcome:
    figures = {
        "variances": dict(variances.components.named()),
        "latent": variances.components.latent,
        "source": variances.source,
        "notes": list(variances.notes),
        "plans": [without_nan(plan.record()) for plan in plans],
        "smallest": [without_nan(plan.record()) for plan in smallest],
    }
    settings = {name: str(value) if isinstance(value, Path) else value for name, value in options_used(args).items()}
    return Outcome("plan", args.bundle or args.file or "", settings, {}, {}, figures)
