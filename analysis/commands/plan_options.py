"""The options of ``python -m analysis plan`` that say what is planned."""

from __future__ import annotations

import argparse
from decimal import Decimal, InvalidOperation

from analysis.commands.options import finite_number
from analysis.planning.aims import GOALS, ONE_SHARE, Aim
from analysis.planning.components import Components
from analysis.planning.costs import Work
from analysis.planning.plans import Planner
from analysis.planning.scales import Scale
from analysis.planning.study_design import CROSSINGS

#: Raters per item in the table, if nobody says.
RATERS = [1, 2, 3, 5, 8]


def add_options(parser: argparse.ArgumentParser) -> None:
    add_aims(parser)
    add_design(parser)
    add_scale(parser)
    add_work(parser)


def add_aims(parser: argparse.ArgumentParser) -> None:
    aims = parser.add_argument_group("what the study is to show")
    meaning = "; ".join(f"{name}: {what}" for name, what in GOALS.items())
    aims.add_argument("--goal", choices=tuple(GOALS), default="difference", help=f"{meaning} (default: difference)")
    aims.add_argument("--difference", type=finite_number, metavar="SIZE", help="the smallest difference that matters")
    aims.add_argument(
        "--margin", type=finite_number, metavar="SIZE", help="for equivalence: differences below it do not matter"
    )
    meaning = "for a share or accuracy: the value to detect, such as 0.6"
    aims.add_argument("--share", type=finite_number, metavar="SHARE", help=meaning)
    aims.add_argument(
        "--against", type=finite_number, default=0.5, metavar="SHARE", help="the share to rule out (default: 0.5)"
    )
    aims.add_argument("--alpha", type=finite_number, default=0.05, help="level of the tests (default: 0.05)")
    aims.add_argument("--power", type=finite_number, help="also find the smallest design with this power, such as 0.8")
    aims.add_argument("--width", type=finite_number, help="also find the smallest design with intervals this narrow")


def add_design(parser: argparse.ArgumentParser) -> None:
    design = parser.add_argument_group("the design")
    design.add_argument(
        "--systems", type=int, metavar="N", help="systems to compare (default: 2, or 1 for a share or agreement)"
    )
    design.add_argument(
        "--items",
        type=int,
        nargs="+",
        metavar="N",
        help="items of each system, such as prompts; several numbers make several rows",
    )
    design.add_argument(
        "--raters", type=int, nargs="+", default=RATERS, metavar="N", help="raters of each text (default: 1 2 3 5 8)"
    )
    meaning = "; ".join(f"{name}: {what}" for name, what in CROSSINGS.items())
    design.add_argument("--crossing", choices=tuple(CROSSINGS), default="some", help=f"{meaning} (default: some)")
    design.add_argument(
        "--own-items", action="store_true", help="every system has its own items (default: the same items for all)"
    )
    design.add_argument(
        "--reference", action="store_true", help="compare systems with the first only, not with each other"
    )
    design.add_argument(
        "--workers",
        type=int,
        metavar="N",
        help="how many workers there are (default: as few as can do the work, at least five for a system)",
    )
    design.add_argument(
        "--texts-per-worker",
        type=int,
        default=50,
        metavar="N",
        help="the most texts that one worker rates (default: 50)",
    )
    meaning = (
        "how uneven workers’ loads are: their standard deviation over their mean (default: 0; open platforms: 1 to 2)"
    )
    design.add_argument("--uneven", type=finite_number, default=0.0, metavar="NUMBER", help=meaning)


def add_scale(parser: argparse.ArgumentParser) -> None:
    scale = parser.add_argument_group("the scale")
    scale.add_argument(
        "--scale", type=finite_number, nargs=2, metavar=("LOW", "HIGH"), help="ends of the scale (default: 1 5)"
    )
    scale.add_argument(
        "--points", type=int, metavar="N", help="how many points it has (default: one for each whole number)"
    )
    scale.add_argument("--continuous", action="store_true", help="any number, without ends")
    scale.add_argument(
        "--mean",
        type=finite_number,
        metavar="NUMBER",
        help="the mean of all answers (default: the middle of the scale)",
    )


def add_work(parser: argparse.ArgumentParser) -> None:
    work = parser.add_argument_group("hours and money")
    work.add_argument(
        "--texts-per-hit", type=int, default=10, metavar="N", help="texts that one hit shows (default: 10)"
    )
    work.add_argument("--minutes", metavar="M", help="minutes for a hit")
    work.add_argument("--reward", default="0", metavar="USD", help="paid for a hit, such as 1.20")
    work.add_argument("--fee", default="0", metavar="PERCENT", help="the platform’s fee, in percent of rewards")


def scale_of(args: argparse.Namespace) -> Scale | None:
    """The scale of the options; None: that of the earlier study, else from 1 to 5. ValueError: options that clash."""
    if args.goal in ONE_SHARE:
        return Scale(0, 1, 2)
    if args.continuous and args.points is not None:
        raise ValueError("--continuous has no points: leave out --points or --continuous")
    if args.scale is None and args.points is None and not args.continuous:
        return None
    low, high = args.scale or (1.0, 5.0)
    if args.continuous:
        return Scale(low, high)
    if args.points is None and not (low.is_integer() and high.is_integer()):
        raise ValueError(f"how many points are there from {low:g} to {high:g}? Name them with --points")
    return Scale(low, high, args.points if args.points is not None else int(high - low) + 1)


def planner_of(args: argparse.Namespace, scale: Scale, components: Components, mean: float | None) -> Planner:
    if args.goal in ONE_SHARE:
        if args.share is None:
            raise ValueError(f"--share is missing: the {args.goal} to detect, such as 0.6")
        effect = args.share
    elif args.goal == "difference" and args.difference is None:
        raise ValueError("--difference is missing: the smallest difference that matters, such as 0.3")
    elif args.goal == "equivalence" and args.margin is None:
        raise ValueError("--margin is missing: differences below it do not matter, such as 0.3")
    else:
        effect = args.difference or 0.0
    compares = args.goal in ("difference", "equivalence")
    aim = Aim(
        args.goal,
        scale,
        components,
        effect=effect,
        mean=mean if args.mean is None else args.mean,
        margin=args.margin or 0.0,
        null=args.against,
        significance=args.alpha,
        reference=args.reference,
    )
    return Planner(
        aim,
        args.systems if args.systems is not None else 2 if compares else 1,
        crossing=args.crossing,
        same_items=not args.own_items,
        workers=args.workers,
        texts_per_worker=args.texts_per_worker,
        work=work_of(args),
        simulations=args.simulations,
        seed=args.seed,
        uneven=args.uneven,
    )


def work_of(args: argparse.Namespace) -> Work:
    """ValueError: an amount that is no number."""
    amounts: dict[str, Decimal | None] = {}
    for name in ("reward", "minutes", "fee"):
        text = getattr(args, name)
        try:
            amounts[name] = None if text is None else Decimal(text)
        except InvalidOperation:
            raise ValueError(f"--{name} is not a number: “{text[:20]}”; write it as 1.20") from None
    return Work(
        args.texts_per_hit, amounts["reward"] or Decimal(0), amounts["minutes"], (amounts["fee"] or Decimal(0)) / 100
    )
