"""``python -m analysis compare``: levels of a factor, such as systems, compared on one criterion."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict, replace
from typing import Any

from analysis.answer_files.opening import READABLE, open_answers
from analysis.commands.compared_rows import Factor, Input, read_input
from analysis.commands.criteria import add_criterion
from analysis.commands.options import Subparsers, above_zero, add_confidence, finite_number
from analysis.commands.output import Outcome, options_used, print_json, without_nan
from analysis.estimate import Estimate, merged_methods, p_value, trust_in_words
from analysis.findings import Answers, Comparison, compare_levels
from analysis.findings.crossing import Crossing, cross_levels
from analysis.findings.wmt import WmtSystem, wmt_ranking
from analysis.inference import holm
from analysis.inference.mixed import MixedModelError, fit_mixed_model
from analysis.input_errors import InputError, shown
from common.words import counted

#: What to do about levels that cannot be compared.
FIX = "name another column, or choose rows with --where"


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "compare",
        description="Compare the levels of a factor, such as systems, on one criterion. FILE is "
        + READABLE
        + ". Exports of a "
        "study need no options. Intervals and p are about new items and new workers. If the answers are words, the "
        "share of each is compared.",
    )
    add_columns(parser)
    meaning = "a difference smaller than this does not matter: adds the p of two one-sided tests (TOST)"
    parser.add_argument("--margin", type=above_zero, metavar="SIZE", help=meaning)
    meaning = "also fit a linear mixed model with random items and workers, as a second opinion"
    parser.add_argument("--mixed", action="store_true", help=meaning)
    meaning = "also the ranking and clusters as the Conference on Machine Translation computes them"
    parser.add_argument("--wmt", action="store_true", help=meaning)
    add_confidence(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(run=run)


def add_columns(parser: argparse.ArgumentParser) -> None:
    """The file, and which of its columns are what."""
    parser.add_argument("file", metavar="FILE", help=READABLE)
    meaning = "column with the answers: numbers or words (exports of a study: every criterion)"
    parser.add_argument("--value", metavar="COL", help=meaning)
    meaning = (
        "column with the levels, such as system; give it twice for every combination and interactions (exports of a "
        "study: what the study declares, or what the report suggests)"
    )
    parser.add_argument("--factor", metavar="COL", action="append", default=[], help=meaning)
    add_criterion(parser, "all with a mean, or with words")
    parser.add_argument("--worker", metavar="COL", default="worker", help="column with who answered (default: worker)")
    parser.add_argument("--item", metavar="COL", default="item", help="column with what was judged (default: item)")
    parser.add_argument(
        "--no-item", action="store_true", help="the answers are about no item, or about the worker’s own"
    )
    meaning = "column with the part of the item that an answer is about, if it has parts"
    parser.add_argument("--part", metavar="COL", help=meaning)
    meaning = (
        "column with what items of several levels share, such as the prompt; intervals are then about new contexts"
    )
    parser.add_argument("--context", metavar="COL", help=meaning)
    parser.add_argument(
        "--reference", metavar="LEVEL", default="", help="compare with this level only (default: all pairs)"
    )
    parser.add_argument("--low", type=finite_number, metavar="NUMBER", help="the lowest value of the scale")
    parser.add_argument("--high", type=finite_number, metavar="NUMBER", help="the highest value of the scale")
    meaning = "only the rows with this value, such as criterion=quality; can be repeated"
    parser.add_argument("--where", action="append", default=[], metavar="COL=VALUE", help=meaning)


def run(args: argparse.Namespace) -> int:
    check_options(args)
    whole = read_input(args, open_answers(args.file, accept_edited=args.accept_edited))
    comparisons, crossings = compared(args, whole)
    if not comparisons:
        raise InputError(args.file, "", f"nothing can be compared: {'; '.join(whole.notes)}")
    if args.json:
        print_json(outcome_of(args, whole, comparisons, crossings))
    else:
        print_tables(args, whole, comparisons, crossings)
    return 0


def print_tables(
    args: argparse.Namespace,
    whole: Input,
    comparisons: dict[str, dict[str, Comparison]],
    crossings: dict[str, Crossing],
) -> None:
    print(f"{args.file}: {counted(whole.counts['answers'], 'answer')}")
    for of_criterion in whole.compared:
        by_factor = comparisons.get(of_criterion.label, {})
        for factor in of_criterion.factors:
            if factor.name not in by_factor:
                continue
            print_comparison(f"{of_criterion.label} by {factor.name}", factor.name, by_factor[factor.name])
            if args.mixed:
                print_mixed(mixed_differences(of_criterion.answers, factor, by_factor[factor.name]))
            if args.wmt:
                print_wmt(wmt_systems(of_criterion.answers, factor))
        if of_criterion.label in crossings:
            print_crossing(" and ".join(args.factor), crossings[of_criterion.label])
    shown_comparisons = [comparison for by_factor in comparisons.values() for comparison in by_factor.values()]
    if whole.reference_note and any(len(comparison.levels) > 2 for comparison in shown_comparisons):
        print(f"\n{whole.reference_note}")
    if whole.notes:
        print("\nNot compared")
    for note in dict.fromkeys(whole.notes):
        print(f"  {note}")


def check_options(args: argparse.Namespace) -> None:
    """InputError: options that do not go together."""
    if len(args.factor) > 2:
        raise InputError(args.file, "--factor", f"there are {len(args.factor)} factors", "give one or two")
    if len(set(args.factor)) < len(args.factor):
        raise InputError(args.file, "--factor", f"{shown(args.factor[0])} is there twice", "give two different columns")
    if (args.low is None) != (args.high is None) or (args.low is not None and args.low >= args.high):
        raise InputError(args.file, "--low and --high", "these are no ends of a scale", "give both, the lower as --low")


def compared(args: argparse.Namespace, whole: Input) -> tuple[dict[str, dict[str, Comparison]], dict[str, Crossing]]:
    """The comparisons by criterion and factor, and the crossings by criterion; adds notes on what has none.

    InputError: the only comparison cannot be made.
    """
    comparisons: dict[str, dict[str, Comparison]] = {}
    crossings: dict[str, Crossing] = {}
    for of_criterion in whole.compared:
        for factor in of_criterion.factors:
            try:
                comparison = compare_factor(args, of_criterion.answers, factor)
            except ValueError as error:
                if len(whole.compared) == 1 == len(of_criterion.factors):
                    raise InputError(args.file, f'column "{factor.name}"', str(error), FIX) from error
                whole.notes.append(f"“{of_criterion.label}” by {factor.name}: {error}")
                continue
            comparisons.setdefault(of_criterion.label, {})[factor.name] = comparison
        if len(args.factor) == 2 == len(of_criterion.factors):
            first, second = ((factor.codes, factor.levels) for factor in of_criterion.factors)
            crossings[of_criterion.label] = cross_levels(of_criterion.answers, first, second, level=args.confidence)
    return comparisons, crossings


def compare_factor(args: argparse.Namespace, answers: Answers, factor: Factor) -> Comparison:
    """ValueError: the levels cannot be compared. A reference that the study declares may have no answers here."""
    reference = factor.reference
    if reference not in factor.levels and not args.reference:
        reference = ""
    comparison = compare_levels(
        answers, factor.codes, factor.levels, reference=reference, margin=args.margin, level=args.confidence
    )
    notes = [*factor.notes, *comparison.notes]
    if reference and not args.reference:
        notes.append(f"The reference is {reference}, as the study declares; --reference LEVEL names another.")
    elif factor.reference and not reference:
        notes.append(f"No answer has the declared reference {factor.reference}, so all pairs are compared.")
    return replace(comparison, notes=tuple(notes))


def outcome_of(
    args: argparse.Namespace,
    whole: Input,
    comparisons: dict[str, dict[str, Comparison]],
    crossings: dict[str, Crossing],
) -> Outcome:
    estimates: dict[str, Estimate] = {}
    figures: dict[str, Any] = {}
    for of_criterion in whole.compared:
        label = of_criterion.label
        for factor in of_criterion.factors:
            name, comparison = factor.name, comparisons.get(label, {}).get(factor.name)
            if comparison is None:
                continue
            start = f"{label}.{name}"
            estimates |= {f"{start}.mean.{level.name}": level.mean for level in comparison.levels}
            estimates |= {f"{start}.difference.{d.first}.{d.second}": d.difference for d in comparison.differences}
            estimates |= {f"{start}.effect.{d.first}.{d.second}": d.effect for d in comparison.differences}
            kept = ("first", "second", "p", "p_corrected", "equivalent_within", "p_equivalent", "p_these_workers")
            if args.mixed:
                by_model = mixed_differences(of_criterion.answers, factor, comparison)
                figures[f"{start}.mixed"] = (
                    by_model
                    if isinstance(by_model, str)
                    else {pair: difference.to_dict() | {"p_corrected": p} for pair, (difference, p) in by_model.items()}
                )
            if args.wmt:
                systems = wmt_systems(of_criterion.answers, factor)
                figures[f"{start}.wmt"] = systems if isinstance(systems, str) else [asdict(of) for of in systems]
            figures[start] = {
                "levels": [
                    {key: value for key, value in asdict(level).items() if key not in ("mean", "standardised")}
                    for level in comparison.levels
                ],
                "differences": [without_nan({key: getattr(d, key) for key in kept}) for d in comparison.differences],
                "family": comparison.family,
                "reference": comparison.reference,
                "notes": list(comparison.notes),
            }
    for label, crossing in crossings.items():
        estimates |= {f"{label}.cell.{cell.first}.{cell.second}": cell.mean for cell in crossing.cells if cell.answers}
        for test in crossing.interactions:
            estimates[f"{label}.interaction.{test.first}.{test.second}"] = test.difference
        figures[f"{label}.interactions"] = [
            without_nan({key: getattr(test, key) for key in ("first", "second", "p", "p_corrected")})
            for test in crossing.interactions
        ]
    if whole.notes:
        figures["not_compared"] = list(dict.fromkeys(whole.notes))
    return Outcome("compare", args.file, options_used(args), whole.counts, estimates, figures)


def print_comparison(title: str, factor: str, comparison: Comparison) -> None:
    width = max(len(factor), *(len(level.name) for level in comparison.levels))
    print(f"\n{title}\n{factor:{width}}  {'mean':<24}  {'standardised':<24}  rank    letters  answers   items  workers")
    for level in comparison.levels:
        rank, best, worst = level.rank
        span = str(rank) if best == worst else f"{best}–{worst}"
        standard = "–" if level.standardised is None else str(level.standardised)
        counts = f"{level.answers:>7,}  {level.items:>6,}  {level.workers:>7,}"
        print(f"{level.name:{width}}  {level.mean!s:<24}  {standard:<24}  {span:<6}  {level.letters:<7}  {counts}")
    pairs = [f"{pair.first} − {pair.second}" for pair in comparison.differences]
    width = max(len(name) for name in pairs)
    equivalence = "equivalent within ±" if comparison.margin is None else f"p, equivalent within ±{comparison.margin:g}"
    print(f"\n{'difference':{width}}  {'':<24}  {'p':>8}  {'p, Holm':>8}  {'Cohen’s d':<24}  {equivalence}")
    for name, pair in zip(pairs, comparison.differences, strict=True):
        p = f"{p_value(pair.p):>8}  {p_value(pair.p_corrected):>8}"
        within = f"{pair.equivalent_within:.3f}" if comparison.margin is None else p_value(pair.p_equivalent)
        within = within.replace("nan", "–")
        print(f"{name:{width}}  {pair.difference!s:<24}  {p}  {pair.effect!s:<24}  {within}")
    for way in merged_methods(pair.difference.method or pair.difference.note for pair in comparison.differences):
        print(f"  {way}")
    for remark in trust_in_words(pair.effect for pair in comparison.differences):
        print(f"  Cohen’s d: {remark}")
    print(f"  Holm’s correction: {comparison.family}")
    for name, pair in zip(pairs, comparison.differences, strict=True):
        if not math.isnan(pair.p_these_workers):
            print(f"  {name}: p {p_value(pair.p_these_workers)} about new items and these workers (sign-flip, Holm)")
    for note in comparison.notes:
        print(f"  {note}")


def mixed_differences(
    answers: Answers, factor: Factor, comparison: Comparison
) -> dict[str, tuple[Estimate, float]] | str:
    """The differences of a comparison by the mixed model with their p, corrected; or why there is no such model."""
    codes, names = factor.codes, factor.levels
    used = codes >= 0
    try:
        if answers.own:
            raise MixedModelError("answers about no item have no effect of items")
        fit = fit_mixed_model(answers.values[used], codes[used], answers.items[used], answers.workers[used])
    except MixedModelError as error:
        return str(error)
    pairs = [(names.index(pair.first), names.index(pair.second)) for pair in comparison.differences]
    freedom = [comparison.freedom(pair.first, pair.second) for pair in comparison.differences]
    tests = [fit.p_difference(*pair, degrees) for pair, degrees in zip(pairs, freedom, strict=True)]
    estimates = [
        fit.difference(*pair, degrees, level=comparison.figures.level)
        for pair, degrees in zip(pairs, freedom, strict=True)
    ]
    labels = [f"{pair.first} − {pair.second}" for pair in comparison.differences]
    return dict(zip(labels, zip(estimates, holm(tests).tolist(), strict=True), strict=True))


def print_mixed(differences: dict[str, tuple[Estimate, float]] | str) -> None:
    if isinstance(differences, str):
        print(f"  No mixed model: {differences}. The figures above do not need it.")
        return
    for name, (difference, p) in differences.items():
        print(f"  mixed model, {name}: {difference}, p {p_value(p)} (Holm)")
    print("  The mixed model is a second opinion: with 10 items, 90 to 100% of its 95% intervals are right.")


def wmt_systems(answers: Answers, factor: Factor) -> list[WmtSystem] | str:
    """The ranking of WMT, or why there is none."""
    if answers.own:
        return "answers about no item have no scores of items"
    try:
        return wmt_ranking(answers, factor.codes, factor.levels)
    except ValueError as error:
        return str(error)


def print_wmt(systems: list[WmtSystem] | str) -> None:
    if isinstance(systems, str):
        print(f"  No ranking as WMT computes it: {systems}.")
        return
    print("\n  As WMT computes it: rank-sum tests of items’ standardised scores, without correction; see the docs")
    width = max(len(system.name) for system in systems)
    print(f"  cluster  {'':{width}}  {'z':>7}  {'raw':>8}  items")
    for system in systems:
        print(f"  {system.cluster:>7}  {system.name:{width}}  {system.z:>7.3f}  {system.raw:>8.3f}  {system.items:>5,}")


def print_crossing(title: str, crossing: Crossing) -> None:
    width = max(len(f"{cell.first}, {cell.second}") for cell in crossing.cells)
    print(f"\n{title:{width}}  {'mean':<24}  answers")
    for cell in crossing.cells:
        if cell.answers:
            print(f"{f'{cell.first}, {cell.second}':{width}}  {cell.mean!s:<24}  {cell.answers:>7,}")
    for test in crossing.interactions:
        name = f"({test.first} − {test.first_base}) at {test.second} − at {test.second_base}"
        print(f"interaction {name}: {test.difference}, p {p_value(test.p)}, Holm {p_value(test.p_corrected)}")
    for way in merged_methods(test.difference.method or test.difference.note for test in crossing.interactions):
        print(f"  interactions: {way}")
    for remark in trust_in_words(cell.mean for cell in crossing.cells):
        print(f"  means: {remark}")
    for note in crossing.notes:
        print(f"  {note}")
