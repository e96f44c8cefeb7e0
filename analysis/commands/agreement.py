"""``python -m analysis agreement``: every coefficient that fits the level of measurement, with its interval."""

from __future__ import annotations

import argparse
import json
import math
from collections.abc import Callable
from functools import partial
from typing import Any

import numpy as np
import pandas as pd

from analysis import agreement
from analysis.agreement.icc import FORMS
from analysis.agreement.krippendorff import LEVELS
from analysis.commands.reading import EMPTY, InputError, chosen_rows, numbers, read_table, require_columns
from analysis.estimate import Estimate

Line = tuple[str, str, Callable[[], Estimate]]


def add_parser(subparsers: Any) -> None:
    parser = subparsers.add_parser(
        "agreement",
        help="Agreement between raters, from a file with one rating per row.",
        description="Agreement between raters with 95% intervals, from a CSV, TSV or JSONL file (UTF-8) with one "
        f"rating per row. Empty cells in the value column ({', '.join(map(repr, EMPTY))}) are missing ratings.",
    )
    parser.add_argument("file", metavar="FILE")
    parser.add_argument("--unit", required=True, metavar="COL", help="column that names what was rated")
    parser.add_argument("--rater", required=True, metavar="COL", help="column that names who rated")
    parser.add_argument("--value", required=True, metavar="COL", help="column with the rating")
    parser.add_argument("--level", required=True, choices=LEVELS, help="level of measurement")
    parser.add_argument(
        "--where",
        action="append",
        default=[],
        metavar="COL=VALUE",
        help="only the rows with this value, such as question=diversity; may be given again",
    )
    parser.add_argument(
        "--categories", metavar="A,B,C", help="all values of the scale in order, also those nobody used"
    )
    parser.add_argument("--draws", type=_count, default=1000, help="bootstrap draws, 0 for no such interval (1000)")
    parser.add_argument("--seed", type=_count, default=0, help="seed of the bootstrap (0)")
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    ratings = read_ratings(arguments)
    estimates = {}
    titles = {}
    for key, title, compute in lines(ratings, arguments):
        titles[key] = title
        try:
            estimates[key] = compute()
        except ValueError as error:
            if key == "krippendorff_alpha":
                raise InputError(f'{arguments.file}, column "{arguments.value}": {error}') from error
            estimates[key] = Estimate(math.nan, note=str(error))
    about = describe(ratings, arguments)
    if arguments.json:
        figures = {key: estimate.to_dict() for key, estimate in estimates.items()}
        print(json.dumps({**about, "estimates": figures}, ensure_ascii=False, indent=2, allow_nan=False))
    else:
        print_table(about, titles, estimates)
    return 0


def read_ratings(arguments: argparse.Namespace) -> agreement.Ratings:
    """The file as `Ratings`; `InputError` for whatever is wrong with it."""
    path, unit, rater, value = arguments.file, arguments.unit, arguments.rater, arguments.value
    frame = read_table(path)
    require_columns(frame, path, unit, rater, value)
    frame = chosen_rows(frame, path, arguments.where)
    for column in (unit, rater):
        empty = frame[column].isna()
        if empty.any():
            raise InputError(f'{path}, column "{column}": row {empty.idxmax()} is empty')
    categories: list[Any] | None = None
    if arguments.categories:
        categories = [name.strip() for name in arguments.categories.split(",")]
    text = arguments.level == "nominal" or (arguments.level == "ordinal" and _are_text(categories))
    hint = "; give words in their order by --categories" if arguments.level == "ordinal" else ""
    values = frame[value] if text else numbers(frame, path, value, hint)
    if categories and not text:
        categories = [_number(name, path) for name in categories]
    if not values.notna().any():
        raise InputError(f'{path}, column "{value}": every cell is empty')
    try:
        return agreement.ratings_from_arrays(
            frame[unit].astype(str).to_numpy(dtype=object),
            frame[rater].astype(str).to_numpy(dtype=object),
            values.to_numpy(),
            categories=categories,
        )
    except ValueError as error:
        hint = "; if the file holds several questions, choose one by --where" if "more than one" in str(error) else ""
        raise InputError(f'{path}, columns "{unit}", "{rater}", "{value}": {error}{hint}') from error


def lines(ratings: agreement.Ratings, arguments: argparse.Namespace) -> list[Line]:
    """What is computed: (key, title, how). Weighted and metric coefficients where the level allows them."""
    level = arguments.level
    drawn = {"draws": arguments.draws, "seed": arguments.seed}
    found: list[Line] = [
        (
            "krippendorff_alpha",
            f"Krippendorff's α ({level})",
            partial(agreement.krippendorff_alpha, ratings, level, **drawn),
        ),
        ("fleiss_kappa", "Fleiss' κ", partial(agreement.fleiss_kappa, ratings, **drawn)),
        ("percent_agreement", "Percent agreement", partial(agreement.percent_agreement, ratings, **drawn)),
        ("gwet_ac1", "Gwet's AC1", partial(agreement.gwet_ac1, ratings, **drawn)),
        ("mean_cohen_kappa", "Cohen's κ, mean over rater pairs", partial(agreement.mean_cohen_kappa, ratings)),
    ]
    if level == "nominal":
        return found
    quadratic = partial(agreement.mean_cohen_kappa, ratings, "quadratic")
    found += [
        ("mean_cohen_kappa_quadratic", "  the same, quadratic weights", quadratic),
        ("gwet_ac2_quadratic", "Gwet's AC2, quadratic weights", partial(agreement.gwet_ac2, ratings, **drawn)),
    ]
    if ratings.values.dtype.kind != "f":
        return found
    found += [
        (f"icc_{form.replace(',', '_')}", f"ICC({form})", partial(agreement.icc, ratings, form)) for form in FORMS
    ]
    return [
        *found,
        ("split_half", "Split-half, Spearman–Brown", partial(agreement.split_half, ratings, **drawn)),
        ("noise_ceiling", "Noise ceiling of the mean", partial(agreement.noise_ceiling, ratings, **drawn)),
    ]


def describe(ratings: agreement.Ratings, arguments: argparse.Namespace) -> dict[str, Any]:
    """What went in."""
    sizes = ratings.per_unit
    return {
        "file": arguments.file,
        "level": arguments.level,
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


def print_table(about: dict[str, Any], titles: dict[str, str], estimates: dict[str, Estimate]) -> None:
    per_unit = about["ratings_per_unit"]
    things = ", ".join(_several(about[name], name) for name in ("ratings", "units", "raters", "values"))
    span = f"{per_unit['least']}–{per_unit['most']} ratings per unit (median {per_unit['median']:g})"
    print(f"{about['file']}: {things}, {span}, level {about['level']}")
    if few := about["units_with_fewer_than_two_ratings"]:
        print(f"{_several(few, 'units')} with fewer than 2 ratings, which form no pair")
    if about["missing"]:
        print(f"{_several(about['missing'], 'rows')} without a value, which do not enter")
    width = max(map(len, titles.values()))
    print(f"\n{'':{width}}  estimate  95% interval      units  interval by")
    for key, estimate in estimates.items():
        undefined, unbounded = math.isnan(estimate.value), math.isnan(estimate.low)
        value = "–" if undefined else f"{estimate.value:.3f}"
        interval = "–" if unbounded else f"[{estimate.low:.3f}, {estimate.high:.3f}]"
        how = estimate.note if undefined else estimate.method
        print(f"{titles[key]:{width}}  {value:>8}  {interval:<16}  {estimate.n:>5}  {how}")
    noted: dict[str, list[str]] = {}
    for key, estimate in estimates.items():
        if estimate.note and not math.isnan(estimate.value):
            noted.setdefault(estimate.note, []).append(titles[key].strip())
    if noted:
        print("\nNotes")
    for note, concerned in noted.items():
        print(f"- {note} ({', '.join(concerned)})")


def _several(count: int, things: str) -> str:
    return f"{count:,} {things if count != 1 else things.removesuffix('s')}"


def _are_text(categories: list[Any] | None) -> bool:
    """Whether the scale is of words, so that its order can only come from the list."""
    return bool(categories) and bool(pd.to_numeric(pd.Series(categories), errors="coerce").isna().any())


def _number(name: str, path: str) -> float:
    try:
        return float(name)
    except ValueError as error:
        raise InputError(f'{path}: the category "{name}" is not a number') from error


def _count(text: str) -> int:
    number = int(text)
    if number < 0:
        raise argparse.ArgumentTypeError("must be 0 or more")
    return number
