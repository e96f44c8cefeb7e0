"""``python -m analysis agreement``: every coefficient that fits the level of measurement, with its interval."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis import agreement
from analysis.agreement.icc import FORMS
from analysis.agreement.krippendorff import LEVELS, Level
from analysis.answer_files.files import AnswerFile
from analysis.answer_files.opening import READABLE, open_answers
from analysis.commands.criteria import add_criterion, chosen_criteria, rows_about
from analysis.commands.options import Subparsers, add_resampling
from analysis.commands.output import Outcome, print_json
from analysis.commands.rows import MISSING, chosen_rows, condition_of, number_in, refuse_empty
from analysis.estimate import Estimate
from analysis.tables import InputError, shown
from common.words import counted

Line = tuple[str, str, Callable[[], Estimate]]
#: How agreement treats answers by the level of their scale.
LEVEL_OF: dict[str, Level] = {"ordinal": "ordinal", "interval": "interval", "nominal": "nominal", "pairwise": "nominal"}


@dataclass(frozen=True, slots=True)
class Agreement:
    """What is known of one criterion: level of measurement, counts, and coefficients with their titles."""

    level: Level
    data: dict[str, Any]
    titles: dict[str, str]
    estimates: dict[str, Estimate]


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "agreement",
        description=f"Agreement between raters with intervals, from {READABLE}. Exports of a study need no options. In "
        f"the value column, {', '.join(map(repr, MISSING))} are missing ratings.",
    )
    parser.add_argument("file", metavar="FILE", help=READABLE)
    parser.add_argument(
        "--unit",
        default=[],
        action="append",
        metavar="COL",
        help="column that names what was rated; repeat the option for several columns, such as item and part",
    )
    parser.add_argument("--rater", metavar="COL", help="column that names who rated")
    parser.add_argument("--value", metavar="COL", help="column with the rating")
    parser.add_argument("--level", choices=LEVELS, help="level of measurement")
    add_criterion(parser, "all that are about items, except texts")
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COL=VALUE",
        help="only the rows with this value, such as question=diversity; can be repeated",
    )
    parser.add_argument(
        "--categories", metavar="A,B,C", help="all values of the scale in order, including those nobody used"
    )
    parser.add_argument(
        "--about",
        choices=("any", "these"),
        default="any",
        help="whether intervals are about any raters like these, or about exactly these, such as two coders (default: "
        "any; with fewer than five raters always these)",
    )
    add_resampling(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    source = open_answers(arguments.file, accept_edited=arguments.accept_edited)
    if not source.is_study:
        for name in ("unit", "rater", "value", "level"):
            if not getattr(arguments, name):
                fix = "name it; only exports of a study need no options"
                raise InputError(arguments.file, f"--{name}", "is missing", fix)
        return print_outcomes(arguments, {"": outcome_of(arguments, read_ratings(arguments, source), arguments.level)})
    return print_outcomes(arguments, outcomes_of_study(arguments, source))


def outcomes_of_study(arguments: argparse.Namespace, source: AnswerFile) -> dict[str, Agreement]:
    """By criterion. InputError: nobody rated what others rated."""
    outcomes: dict[str, Agreement] = {}
    reasons: dict[str, str] = {}
    for name, (ratings, level) in ratings_of_study(arguments, source, reasons).items():
        try:
            outcomes[name] = outcome_of(arguments, ratings, level)
        except InputError as error:
            reasons[name] = str(error).removeprefix(f"{arguments.file}: ")
    if not outcomes:
        raise InputError(arguments.file, "", f"no agreement can be computed: {in_words(reasons)}")
    return outcomes


def ratings_of_study(
    arguments: argparse.Namespace, source: AnswerFile, reasons: dict[str, str] | None = None
) -> dict[str, tuple[agreement.Ratings, Level]]:
    """The ratings on every criterion that is asked for, and their level. ``reasons`` takes why some have none.

    InputError: workers answered about what they wrote themselves, or no criterion has ratings.
    """
    if source.own_work:
        raise InputError(arguments.file, "", "workers answered about what they wrote themselves: nobody agrees on it")
    arguments.unit = arguments.unit or ["item", "part"]
    arguments.rater, arguments.value = arguments.rater or "worker", arguments.value or "value"
    conditions = [condition_of(text) for text in arguments.where]
    tables: dict[str, tuple[agreement.Ratings, Level]] = {}
    reasons = {} if reasons is None else reasons
    for criterion in chosen_criteria(arguments, source, ("", *LEVEL_OF), conditions):
        names = [*arguments.unit, arguments.rater, arguments.value]
        frame = rows_about(source, criterion, [*names, "item"], conditions)
        frame = frame[((frame["item"] != "") & ~frame[arguments.value].isin(MISSING)).to_numpy()]
        level = arguments.level or LEVEL_OF.get(criterion.level, "ordinal")
        if frame.empty:
            reasons[criterion.name] = "it is about no item, or its answers are texts"
            continue
        try:
            tables[criterion.name] = ratings_in(arguments, frame, level), level
        except InputError as error:
            reasons[criterion.name] = str(error).removeprefix(f"{arguments.file}: ")
    if not tables:
        raise InputError(arguments.file, "", f"no agreement can be computed: {in_words(reasons)}")
    return tables


def in_words(reasons: dict[str, str]) -> str:
    return "; ".join(f"“{name}”: {why}" for name, why in reasons.items())


def outcome_of(arguments: argparse.Namespace, ratings: agreement.Ratings, level: Level) -> Agreement:
    estimates = {}
    titles = {}
    for key, title, compute in lines(ratings, arguments, level):
        titles[key] = title
        try:
            estimates[key] = compute()
        except ValueError as error:
            if key == "krippendorff_alpha":
                raise InputError(arguments.file, f'column "{arguments.value}"', str(error)) from error
            estimates[key] = Estimate(math.nan, note=str(error))
    return Agreement(level, describe(ratings), titles, estimates)


def print_outcomes(arguments: argparse.Namespace, outcomes: dict[str, Agreement]) -> int:
    """Tables, or JSON: of several criteria, estimates and data by criterion."""
    if arguments.json:
        first, *others = outcomes.values()
        estimates = {f"{name}.{key}": e for name, outcome in outcomes.items() for key, e in outcome.estimates.items()}
        data = {name: outcome.data | {"level": outcome.level} for name, outcome in outcomes.items()}
        one = not others
        whole = Outcome(
            "agreement",
            arguments.file,
            settings(arguments) | ({"level": first.level} if one else {}),
            first.data if one else data,
            first.estimates if one else estimates,
        )
        print_json(whole)
        return 0
    for number, (name, outcome) in enumerate(outcomes.items()):
        print("\n" * bool(number), end="")
        print_table(arguments, name, outcome)
    return 0


def settings(arguments: argparse.Namespace) -> dict[str, Any]:
    of_rows = ("unit", "rater", "value", "level", "where", "criterion", "categories")
    names = (*of_rows, "about", "draws", "seed", "confidence")
    return {name: getattr(arguments, name) for name in names}


def read_ratings(arguments: argparse.Namespace, source: AnswerFile) -> agreement.Ratings:
    """The file as `Ratings`. InputError: anything wrong with the file."""
    conditions = [condition_of(text) for text in arguments.where]
    names = [*arguments.unit, arguments.rater, arguments.value]
    frame = source.read([*names, *(column for column, _ in conditions)])
    return ratings_in(arguments, chosen_rows(frame, arguments.file, conditions), arguments.level)


def ratings_in(arguments: argparse.Namespace, frame: pd.DataFrame, level: str) -> agreement.Ratings:
    path, value = arguments.file, arguments.value
    # An item without parts has an empty part.
    for column in (arguments.unit[0], arguments.rater):
        refuse_empty(frame[column], path)
    categories = [name.strip() for name in arguments.categories.split(",")] if arguments.categories else None
    scale, values = values_of(frame[value], path, level, categories)
    columns = ", ".join(f'"{name}"' for name in (*arguments.unit, arguments.rater, value))
    try:
        return agreement.ratings_from_arrays(
            joined(frame, arguments.unit), np.asarray(frame[arguments.rater]), values, categories=scale
        )
    except ValueError as error:
        hint = "if the file holds several questions, choose one with --where" * ("more than one" in str(error))
        raise InputError(path, f"columns {columns}", str(error), hint) from error


def joined(frame: pd.DataFrame, columns: Sequence[str]) -> Any:
    """One name per row (N,) from one or more columns. Different combinations have different names."""
    if len(columns) == 1:
        return np.asarray(frame[columns[0]])
    code = frame.groupby(list(columns), sort=False, observed=True).ngroup().to_numpy()
    first = np.unique(code, return_index=True)[1]
    parts = frame[list(columns)].iloc[first].astype(object).to_numpy().tolist()
    names = [" / ".join(row) for row in parts]
    if len(set(names)) < len(names):
        names = [json.dumps(row, ensure_ascii=False) for row in parts]
    return np.array(names, dtype=object)[code]


def values_of(
    cells: pd.Series, path: str, level: str, categories: list[str] | None
) -> tuple[list[Any] | None, np.ndarray[Any, Any]]:
    """The scale, if given, and the rating in each row: numbers with NaN, or text with None, for missing ratings.

    Cells with the same number ("4", "4.0") have the same value at every level.

    InputError: no values, or words where the level needs numbers or an order.
    """
    codes = cells.cat.codes.to_numpy()
    used = set(np.unique(codes).tolist())
    texts = [text if code in used and text not in MISSING else None for code, text in enumerate(cells.cat.categories)]
    if not any(text is not None for text in texts):
        raise InputError(path, f'column "{cells.name}"', "every cell is empty")
    numbers = [number_in(text) for text in texts]
    words = [code for code, text in enumerate(texts) if text is not None and numbers[code] is None]
    wordy = categories is not None and None in map(number_in, categories)
    if (level == "nominal" and (words or wordy)) or (level == "ordinal" and wordy):
        named = np.array([*(text if text is None else one_name(text) for text in texts), None], dtype=object)
        return [one_name(name) for name in categories] if categories else None, named[codes]
    if words:
        row = int(np.isin(codes, words).argmax())
        hint = "give words in their order with --categories" if level == "ordinal" else "write a plain number"
        what = f"{shown(str(cells.iloc[row]))} is not a number"
        raise InputError(path, f'row {cells.index[row]}, column "{cells.name}"', what, hint)
    if wordy:
        word = next(name for name in categories or () if number_in(name) is None)
        raise InputError(path, "--categories", f"{shown(word)} is not a number", "list the numbers of the scale")
    scale = [number_in(name) for name in categories] if categories else None
    return scale, np.array([*(math.nan if number is None else number for number in numbers), math.nan])[codes]


def one_name(text: str) -> str:
    """The same spelling for equal numbers; words stay as they are."""
    number = number_in(text)
    return text if number is None else f"{number:.15g}"


def lines(ratings: agreement.Ratings, arguments: argparse.Namespace, level: Level) -> list[Line]:
    """What to compute: (key, title, how). Weighted and metric coefficients only if the level allows them."""
    interval_options = {"confidence": arguments.confidence}
    resampling = {"draws": arguments.draws, "seed": arguments.seed, **interval_options}
    coefficient = {"raters": arguments.about, "interval": arguments.draws > 0, **interval_options}
    kappa = {"raters": arguments.about, **interval_options}
    mean_kappa = partial(agreement.mean_cohen_kappa, ratings, **kappa)
    computations: list[Line] = [
        (
            "krippendorff_alpha",
            f"Krippendorff's α ({level})",
            partial(agreement.krippendorff_alpha, ratings, level, **coefficient),
        ),
        ("fleiss_kappa", "Fleiss' κ", partial(agreement.fleiss_kappa, ratings, **coefficient)),
        ("percent_agreement", "Percent agreement", partial(agreement.percent_agreement, ratings, **coefficient)),
        ("gwet_ac1", "Gwet's AC1", partial(agreement.gwet_ac1, ratings, **coefficient)),
        ("mean_cohen_kappa", "Cohen's κ, mean over rater pairs", mean_kappa),
    ]
    if level == "nominal":
        return computations
    quadratic = partial(agreement.mean_cohen_kappa, ratings, "quadratic", **kappa)
    computations += [
        ("mean_cohen_kappa_quadratic", "  the same, quadratic weights", quadratic),
        ("gwet_ac2_quadratic", "Gwet's AC2, quadratic weights", partial(agreement.gwet_ac2, ratings, **coefficient)),
    ]
    if ratings.values.dtype.kind != "f":
        return computations
    crossed = arguments.about == "any"
    for form in FORMS:
        name = f"icc_{form.replace(',', '_')}"
        form_options = interval_options | {"crossed": crossed and form[0] == "1"}
        computations.append((name, f"ICC({form})", partial(agreement.icc, ratings, form, **form_options)))
    split = partial(agreement.split_half, ratings, seed=arguments.seed, crossed=crossed, **interval_options)
    ceiling = partial(agreement.noise_ceiling, ratings, crossed=crossed and arguments.draws > 0, **resampling)
    return [
        *computations,
        ("split_half", "Split-half, Spearman–Brown", split),
        ("noise_ceiling", "Noise ceiling of the mean", ceiling),
    ]


def describe(ratings: agreement.Ratings) -> dict[str, Any]:
    """The input, in words."""
    sizes = ratings.per_unit
    return {
        "ratings": len(ratings.code),
        "missing": ratings.missing,
        "units": len(ratings.units),
        "units_with_fewer_than_two_ratings": int((sizes < 2).sum()),
        "raters": len(ratings.raters),
        "ratings_per_unit": {
            "least": int(sizes.min()),
            "median": float(np.median(sizes)),
            "most": int(sizes.max()),
        },
        "values": len(ratings.values),
    }


def print_table(arguments: argparse.Namespace, criterion: str, outcome: Agreement) -> None:
    data, titles, estimates = outcome.data, outcome.titles, outcome.estimates
    per_unit = data["ratings_per_unit"]
    counts_in_words = ", ".join(counted(data[name], name[:-1]) for name in ("ratings", "units", "raters", "values"))
    span = f"{per_unit['least']}–{per_unit['most']} ratings per unit (median {per_unit['median']:g})"
    of_criterion = f", {criterion}" * bool(criterion)
    print(f"{arguments.file}{of_criterion}: {counts_in_words}, {span}, level {outcome.level}")
    if unpaired := data["units_with_fewer_than_two_ratings"]:
        print(f"{counted(unpaired, 'unit')} with fewer than 2 ratings: no pair to compare")
    if data["missing"]:
        print(f"{counted(data['missing'], 'row')} without a value, left out")
    width = max(map(len, titles.values()))
    interval_title = f"{100 * arguments.confidence:g}% interval"
    print(f"\n{'':{width}}  estimate  {interval_title:<16}  units  interval by")
    for key, estimate in estimates.items():
        undefined, unbounded = math.isnan(estimate.value), math.isnan(estimate.low)
        value = "–" if undefined else f"{estimate.value:.3f}"
        interval = "–" if unbounded else f"[{estimate.low:.3f}, {estimate.high:.3f}]"
        basis = estimate.note if undefined else estimate.method
        print(f"{titles[key]:{width}}  {value:>8}  {interval:<16}  {estimate.n:>5}  {basis}")
    noted: dict[str, list[str]] = {}
    for key, estimate in estimates.items():
        if estimate.note and not math.isnan(estimate.value):
            noted.setdefault(estimate.note, []).append(titles[key].strip())
    if noted:
        print("\nNotes")
    for note, concerned in noted.items():
        print(f"- {note} ({', '.join(concerned)})")
