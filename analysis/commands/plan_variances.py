"""Where the variances of a plan come from: options, a published study, an earlier study's bundle or ratings."""

from __future__ import annotations

import argparse

from analysis.commands.rows import MISSING, chosen_rows, condition_of, numbers, refuse_empty
from analysis.data import BundleError, read_bundle
from analysis.input_errors import InputError
from analysis.planning.components import COMPONENT_NAMES, fit_components, parse_components
from analysis.planning.pilot import pilot_of
from analysis.planning.published import PUBLISHED
from analysis.planning.scales import Scale
from analysis.planning.variances import LIKERT, Variances, assumed_variances, fitted_variances, published_variances
from analysis.planning.words import components_in_words
from analysis.tables import read_columns


def add_variances(parser: argparse.ArgumentParser) -> None:
    group = parser.add_argument_group("how much answers vary (default: --published likert-high)")
    group.add_argument("--published", metavar="NAME", help="variances of a published study, see --list")
    group.add_argument("--list", action="store_true", help="print the published variances and their sources")
    meaning = (
        f"variances that you name: {', '.join(f'{name}=NUMBER' for name in COMPONENT_NAMES)}; what is missing is 0"
    )
    group.add_argument("--variances", nargs="+", metavar="NAME=NUMBER", help=meaning)
    meaning = "the variances are of the normal variable behind the points of the scale, not of answers"
    group.add_argument("--latent", action="store_true", help=meaning)
    group.add_argument("--bundle", metavar="BUNDLE", help="an earlier study: folder or .zip file")
    group.add_argument("--criterion", default="", metavar="NAME", help="with --bundle: the question, such as quality")
    meaning = "with --bundle: what the systems are (default: the first factor of the study)"
    group.add_argument("--factor", default="", metavar="NAME", help=meaning)
    group.add_argument("--file", metavar="FILE", help="earlier ratings, one per row: CSV, TSV or JSONL")
    group.add_argument("--value", metavar="COL", help="with --file: column with the answers")
    meaning = "with --file: column with what systems share, such as the prompt (default: item)"
    group.add_argument("--item", default="item", metavar="COL", help=meaning)
    group.add_argument(
        "--worker", default="worker", metavar="COL", help="with --file: column with who answered (default: worker)"
    )
    group.add_argument("--system", metavar="COL", help="with --file: column with the systems")
    meaning = "with --file: column with the right answer; answers are then right or wrong"
    group.add_argument("--gold", metavar="COL", help=meaning)
    group.add_argument("--where", action="append", default=[], metavar="COL=VALUE", help="with --file: only these rows")
    meaning = "print the variances, and plan nothing if there is no --items"
    group.add_argument("--variances-only", action="store_true", help=meaning)


def variances_from(args: argparse.Namespace, scale: Scale | None) -> Variances:
    """ValueError: two sources, or one that cannot be used. InputError: a file."""
    sources = [name for name in ("published", "variances", "bundle", "file") if getattr(args, name)]
    if len(sources) > 1:
        raise ValueError(f"variances come from one source, not from {' and '.join(f'--{name}' for name in sources)}")
    if args.latent and sources != ["variances"]:
        raise ValueError("--latent is about variances that you name with --variances")
    if args.variances:
        return Variances(parse_components(args.variances, latent=args.latent), scale or LIKERT, "named by you")
    if args.bundle:
        return _from_bundle(args, scale)
    if args.file:
        return _from_file(args, scale)
    on = scale or LIKERT
    return published_variances(args.published, on) if args.published else assumed_variances(on)


def _from_bundle(args: argparse.Namespace, scale: Scale | None) -> Variances:
    try:
        data = read_bundle(args.bundle)
        pilot = pilot_of(data, args.criterion, args.factor)
    except BundleError as error:
        raise InputError(args.bundle, "", str(error).removeprefix(f"{args.bundle}: ")) from error
    except ValueError as error:
        raise InputError(args.bundle, "", str(error)) from error
    by = f" by {pilot.factor}" if pilot.factor else ""
    return fitted_variances(pilot.fit, pilot.scale, scale, f"{args.bundle}, {pilot.criterion}{by}")


def _from_file(args: argparse.Namespace, scale: Scale | None) -> Variances:
    if not args.value:
        raise ValueError("--value is missing: name the column with the answers")
    conditions = [condition_of(text) for text in args.where]
    named = [args.item, args.worker, *([args.system] if args.system else [])]
    gold = [args.gold] if args.gold else []
    columns = dict.fromkeys([args.value, *named, *gold, *(column for column, _ in conditions)])
    frame = chosen_rows(read_columns(args.file, list(columns)), args.file, conditions)
    frame = frame[~(frame[args.value].isna() | frame[args.value].isin(MISSING)).to_numpy()]
    for column in named:
        refuse_empty(frame[column], args.file)
    if args.gold:
        values = (frame[args.value].astype(str) == frame[args.gold].astype(str)).to_numpy(dtype=float)
    else:
        values = numbers(frame[args.value], args.file)
    if scale is not None and scale.points is not None and ((values < scale.low) | (values > scale.high)).any():
        what = f"an answer is outside the scale from {scale.low:g} to {scale.high:g}"
        raise InputError(args.file, f'column "{args.value}"', what, "correct --scale, or name another file")
    try:
        fit = fit_components(
            values,
            items=frame[args.item].astype(str),
            workers=frame[args.worker].astype(str),
            systems=frame[args.system].astype(str) if args.system else None,
        )
    except ValueError as error:
        raise InputError(args.file, f'column "{args.value}"', str(error)) from error
    own = scale or Scale(float(values.min()), float(values.max()))
    if set(values.tolist()) <= {0.0, 1.0}:
        own = Scale(0, 1, 2)
    return fitted_variances(fit, own, scale, f"{args.file}, {args.value}")


def print_published() -> None:
    for entry in PUBLISHED:
        kind = "right or wrong" if entry.two_kinds else f"{entry.low:g} to {entry.high:g}"
        print(f"{entry.name}: {entry.title} ({kind})")
        print(f"  {components_in_words(entry.components)}.\n  {entry.source}.\n  {entry.caution}\n")
