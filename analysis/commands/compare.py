"""``python -m analysis compare``: levels of a factor, such as systems, compared on one criterion."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict, replace
from typing import Any

import numpy as np
import pandas as pd

from analysis.commands.options import Subparsers, above_zero, add_confidence, finite_number
from analysis.commands.output import Outcome, options_used, print_json, without_nan
from analysis.commands.rows import MISSING, chosen_rows, condition_of, numbers, refuse_empty
from analysis.estimate import Estimate, merged_methods, p_value
from analysis.findings import Answers, Comparison, compare_levels, level_codes, remarks_on_effects
from analysis.findings.answers import Codes, names_in_words, natural
from analysis.findings.crossing import Crossing, cross_levels
from analysis.findings.wmt import WmtSystem, wmt_ranking
from analysis.inference import holm
from analysis.inference.mixed import MixedModelError, fit_mixed_model
from analysis.input_errors import InputError, number_in, shown
from analysis.tables import read_columns
from common.words import counted

#: More labels than this are no categories.
MOST_LABELS = 12
#: What to do about levels that cannot be compared.
FIX = "name another column, or choose rows with --where"


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "compare",
        description="Compare the levels of a factor, such as systems, on one criterion. A file has one answer per row. "
        "Intervals and p are about new items and new workers. If the answers are words, the share of each is compared.",
    )
    parser.add_argument("file", metavar="FILE", help="CSV, TSV or JSONL; see docs/comparisons.md")
    parser.add_argument("--value", metavar="COL", required=True, help="column with the answers: numbers or words")
    meaning = "column with the levels, such as system; give it twice for every combination and interactions"
    parser.add_argument("--factor", metavar="COL", action="append", required=True, help=meaning)
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
    meaning = "a difference smaller than this does not matter: adds the p of two one-sided tests (TOST)"
    parser.add_argument("--margin", type=above_zero, metavar="SIZE", help=meaning)
    meaning = "also fit a linear mixed model with random items and workers, as a second opinion"
    parser.add_argument("--mixed", action="store_true", help=meaning)
    meaning = "also the ranking and clusters as the Conference on Machine Translation computes them"
    parser.add_argument("--wmt", action="store_true", help=meaning)
    parser.add_argument("--low", type=finite_number, metavar="NUMBER", help="the lowest value of the scale")
    parser.add_argument("--high", type=finite_number, metavar="NUMBER", help="the highest value of the scale")
    meaning = "only the rows with this value, such as criterion=quality; can be repeated"
    parser.add_argument("--where", action="append", default=[], metavar="COL=VALUE", help=meaning)
    add_confidence(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    check_options(args)
    frame, unrated = read_rows(args)
    criteria = answers_in(args, frame)
    factors = {name: level_codes(frame[name].astype(str).to_numpy()) for name in args.factor}
    comparisons: dict[str, dict[str, Comparison]] = {}
    crossings: dict[str, Crossing] = {}
    for label, answers in criteria.items():
        for number, (name, (codes, levels)) in enumerate(factors.items()):
            reference = args.reference if number == 0 else ""
            try:
                comparison = compare_levels(
                    answers, codes, levels, reference=reference, margin=args.margin, level=args.confidence
                )
            except ValueError as error:
                raise InputError(args.file, f'column "{name}"', str(error), FIX) from error
            comparison = replace(comparison, notes=(*unrated[name], *comparison.notes))
            comparisons.setdefault(label, {})[name] = comparison
        if len(factors) == 2:
            first, second = factors.values()
            crossings[label] = cross_levels(answers, first, second, level=args.confidence)
    if args.json:
        print_json(outcome_of(args, frame, criteria, factors, comparisons, crossings))
        return 0
    print(f"{args.file}: {counted(len(frame), 'answer')}")
    for label, by_factor in comparisons.items():
        for name, comparison in by_factor.items():
            print_comparison(f"{label} by {name}", name, comparison)
            if args.mixed:
                print_mixed(mixed_differences(criteria[label], factors[name], comparison))
            if args.wmt:
                print_wmt(wmt_systems(criteria[label], factors[name]))
        if label in crossings:
            print_crossing(" and ".join(args.factor), crossings[label])
    return 0


def check_options(args: argparse.Namespace) -> None:
    """InputError: options that do not go together."""
    if len(args.factor) > 2:
        raise InputError(args.file, "--factor", f"there are {len(args.factor)} factors", "give one or two")
    if len(set(args.factor)) < len(args.factor):
        raise InputError(args.file, "--factor", f"{shown(args.factor[0])} is there twice", "give two different columns")
    if (args.low is None) != (args.high is None) or (args.low is not None and args.low >= args.high):
        raise InputError(args.file, "--low and --high", "these are no ends of a scale", "give both, the lower as --low")


def read_rows(args: argparse.Namespace) -> tuple[pd.DataFrame, dict[str, list[str]]]:
    """The rows with an answer, and by factor a note on levels without any. InputError: an option or a cell that cannot
    be used."""
    conditions = [condition_of(text) for text in args.where]
    named = [args.worker, *([] if args.no_item else [args.item]), *args.factor]
    optional = [column for column in (args.part, args.context) if column]
    columns = dict.fromkeys([args.value, *named, *optional, *(column for column, _ in conditions)])
    frame: pd.DataFrame = chosen_rows(read_columns(args.file, list(columns)), args.file, conditions)
    answered = ~(frame[args.value].isna() | frame[args.value].isin(MISSING)).to_numpy()
    if not answered.any():
        raise InputError(args.file, f'column "{args.value}"', "all cells are empty", "name the column with the answers")
    unrated = {name: unrated_levels(frame.loc[~answered, name], set(frame.loc[answered, name])) for name in args.factor}
    frame = frame[answered]
    for column in named:
        if column not in args.factor:
            refuse_empty(frame[column], args.file)
    for column in args.factor:
        refuse_empty(frame[column], args.file, "give the answer a level, or choose rows with --where")
    return frame, unrated


def unrated_levels(cells: pd.Series, rated: set[Any]) -> list[str]:
    """A note on the levels in ``cells``, which are without answers, that no answer has."""
    levels = [str(level) for level in dict.fromkeys(cells) if level not in rated and not pd.isna(level) and level != ""]
    return [f"Without answers, so not compared: {names_in_words(sorted(levels, key=natural))}."] if levels else []


def answers_in(args: argparse.Namespace, frame: pd.DataFrame) -> dict[str, Answers]:
    """The answers by criterion: the column itself, or the share of each word in it. InputError: neither."""
    cells = frame[args.value]
    words = [str(text) for text in cells.cat.categories if number_in(str(text)) is None]
    used = set(cells.unique())
    bounds = None if args.low is None else (args.low, args.high)
    values: dict[str, np.ndarray[Any, np.dtype[np.float64]]] = {}
    if not any(word in used for word in words):
        values[args.value] = numbers(cells, args.file)
        if bounds and ((values[args.value] < bounds[0]) | (values[args.value] > bounds[1])).any():
            where = f'column "{args.value}"'
            raise InputError(args.file, where, "an answer is outside the scale", "correct --low and --high")
    elif len(used) > MOST_LABELS or bounds:
        numbers(cells, args.file)  # names the first cell that is not a number
    else:
        bounds = (0.0, 1.0)
        values = {f"share of {shown(str(word))}": (cells == word).to_numpy(dtype=float) for word in sorted(used)}
    columns: dict[str, Any] = {
        "items": None if args.no_item else frame[args.item].astype(str).to_numpy(),
        "workers": frame[args.worker].astype(str).to_numpy(),
        "parts": None if args.part is None else frame[args.part].astype(str).fillna("").to_numpy(),
        "contexts": None if args.context is None else frame[args.context].astype(str).to_numpy(),
    }
    return {label: Answers.of(answers, bounds=bounds, **columns) for label, answers in values.items()}


def outcome_of(
    args: argparse.Namespace,
    frame: pd.DataFrame,
    criteria: dict[str, Answers],
    factors: dict[str, tuple[Codes, tuple[str, ...]]],
    comparisons: dict[str, dict[str, Comparison]],
    crossings: dict[str, Crossing],
) -> Outcome:
    estimates: dict[str, Estimate] = {}
    figures: dict[str, Any] = {}
    for label, by_factor in comparisons.items():
        for name, comparison in by_factor.items():
            start = f"{label}.{name}"
            estimates |= {f"{start}.mean.{level.name}": level.mean for level in comparison.levels}
            estimates |= {f"{start}.difference.{d.first}.{d.second}": d.difference for d in comparison.differences}
            estimates |= {f"{start}.effect.{d.first}.{d.second}": d.effect for d in comparison.differences}
            kept = ("first", "second", "p", "p_corrected", "equivalent_within", "p_equivalent", "p_these_workers")
            if args.mixed:
                by_model = mixed_differences(criteria[label], factors[name], comparison)
                figures[f"{start}.mixed"] = (
                    by_model
                    if isinstance(by_model, str)
                    else {pair: difference.to_dict() | {"p_corrected": p} for pair, (difference, p) in by_model.items()}
                )
            if args.wmt:
                systems = wmt_systems(criteria[label], factors[name])
                figures[f"{start}.wmt"] = systems if isinstance(systems, str) else [asdict(of) for of in systems]
            figures[start] = {
                "levels": [
                    {key: value for key, value in asdict(level).items() if key not in ("mean", "standardised")}
                    for level in comparison.levels
                ],
                "differences": [without_nan({key: getattr(d, key) for key in kept}) for d in comparison.differences],
                "family": comparison.family,
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
    data = {"answers": len(frame), "workers": int(frame[args.worker].nunique())}
    if not args.no_item:
        data["items"] = int(frame[args.item].nunique())
    return Outcome("compare", args.file, options_used(args), data, estimates, figures)


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
    for remark in remarks_on_effects(comparison.differences):
        print(f"  Cohen’s d: {remark}")
    print(f"  Holm’s correction: {comparison.family}")
    for name, pair in zip(pairs, comparison.differences, strict=True):
        if not math.isnan(pair.p_these_workers):
            print(f"  {name}: p {p_value(pair.p_these_workers)} about new items and these workers (sign-flip, Holm)")
    for note in comparison.notes:
        print(f"  {note}")


def mixed_differences(
    answers: Answers, factor: tuple[Codes, tuple[str, ...]], comparison: Comparison
) -> dict[str, tuple[Estimate, float]] | str:
    """The differences of a comparison by the mixed model with their p, corrected; or why there is no such model."""
    codes, names = factor
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


def wmt_systems(answers: Answers, factor: tuple[Codes, tuple[str, ...]]) -> list[WmtSystem] | str:
    """The ranking of WMT, or why there is none."""
    if answers.own:
        return "answers about no item have no scores of items"
    try:
        return wmt_ranking(answers, *factor)
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
    for note in crossing.notes:
        print(f"  {note}")
