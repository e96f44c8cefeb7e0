"""``python -m analysis looks``: levels compared while ratings still arrive, with figures that hold at all times."""

from __future__ import annotations

import argparse
import math
from typing import Any

from analysis.answer_files.opening import READABLE, open_answers
from analysis.commands.compare import FIX, add_columns, check_options
from analysis.commands.compared_rows import Factor, read_input
from analysis.commands.options import Subparsers, above_zero, add_confidence, positive
from analysis.commands.output import Outcome, options_used, print_json, without_nan
from analysis.estimate import merged_methods, p_value
from analysis.findings import Answers, compare_levels
from analysis.findings.looks import Look, differences_so_far, look_at
from analysis.input_errors import InputError


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "looks",
        description="Compare the levels of a factor while ratings still arrive. Unlike those of compare, these "
        "intervals and p hold at all times at once: look as often as you like, and stop when a difference is decided. "
        f"FILE is {READABLE}. Exports of a study need only --planned.",
    )
    add_columns(parser)
    meaning = "how many answers on each criterion the finished study is to have; intervals are narrowest there"
    parser.add_argument("--planned", type=positive, required=True, metavar="N", help=meaning)
    meaning = "the smallest difference that matters: one whose interval lies within it is settled, too"
    parser.add_argument("--smallest", type=above_zero, metavar="D", help=meaning)
    add_confidence(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    check_options(args)
    whole = read_input(args, open_answers(args.file, accept_edited=args.accept_edited))
    looks: dict[tuple[str, str], list[Look]] = {}
    done: dict[str, int] = {}
    for criterion in whole.compared:
        done[criterion.label] = len(criterion.answers)
        for factor in criterion.factors:
            try:
                looks[criterion.label, factor.name] = looks_at(args, criterion.answers, factor)
            except ValueError as error:
                whole.notes.append(f"“{criterion.label}” by {factor.name}: {error}")
    if not looks:
        raise InputError(args.file, "", f"nothing can be compared: {'; '.join(whole.notes)}", FIX)
    if args.json:
        estimates = {
            f"{label}.{factor}.{look.first}.{look.second}": look.difference
            for (label, factor), of_factor in looks.items()
            for look in of_factor
        }
        figures: dict[str, Any] = {
            f"{label}.{factor}": [
                without_nan({name: getattr(look, name) for name in ("first", "second", "p", "settled")})
                for look in of_factor
            ]
            for (label, factor), of_factor in looks.items()
        }
        if whole.notes:
            figures["not_compared"] = list(dict.fromkeys(whole.notes))
        print_json(Outcome("looks", args.file, options_used(args), whole.counts | {"done": done}, estimates, figures))
        return 0
    for (label, name), of_factor in looks.items():
        print_looks(args, f"{label} by {name}", done[label], of_factor)
    for note in dict.fromkeys(whole.notes):
        print(f"\nNot compared: {note}")
    return 0


def looks_at(args: argparse.Namespace, answers: Answers, factor: Factor) -> list[Look]:
    """ValueError: the levels cannot be compared."""
    reference = args.reference or (factor.reference if factor.reference in factor.levels else "")
    comparison = compare_levels(answers, factor.codes, factor.levels, reference=reference)
    share = len(answers) / args.planned
    differences = differences_so_far(comparison, answers.bounds, lambda level: share)
    return look_at(differences, smallest=args.smallest, confidence=args.confidence)


def print_looks(args: argparse.Namespace, title: str, done: int, looks: list[Look]) -> None:
    print(f"\n{title}: {done:,} of {args.planned:,} planned answers")
    names = [f"{look.first} − {look.second}" for look in looks]
    width = max(map(len, names))
    print(f"{'difference':{width}}  {f'{100 * args.confidence:g}% at all times':<24}  {'p, Holm':>8}")
    for name, look in zip(names, looks, strict=True):
        mark = f"  {look.settled}" if look.settled else ""
        print(f"{name:{width}}  {look.difference!s:<24}  {p_value(look.p):>8}{mark}")
    for way in merged_methods(look.difference.note for look in looks):
        print(f"  {way}")
    open_pairs = sum(not look.settled for look in looks)
    if not open_pairs:
        print("  Every difference is settled: more ratings would only make the intervals narrower.")
    elif any(math.isnan(look.p) for look in looks):
        print("  Not all differences can be tested yet.")
    else:
        print(f"  {open_pairs} of {len(looks)} {'difference is' if len(looks) == 1 else 'differences are'} open.")
