"""``python -m analysis detection``: how well people tell machine texts from human ones."""

from __future__ import annotations

import argparse
import math
from typing import Any

import pandas as pd

from analysis.commands.agreement import chosen_rows, condition_of, refuse_empty
from analysis.commands.options import Subparsers, add_resampling
from analysis.commands.output import Outcome, print_json
from analysis.commands.preference import numbers
from analysis.detection import Judgements, judgements_from_arrays, mean_against, measures, sensitivity, worker_scores
from analysis.detection.judgements import ANSWERS
from analysis.diversity.resampling import Bootstrap
from analysis.estimate import Estimate
from analysis.tables import InputError, read_columns
from common.words import counted


def add_parser(subparsers: Subparsers) -> None:
    listed = ", ".join(f"{value} “{name}”" for value, name in ANSWERS.items())
    parser = subparsers.add_parser(
        "detection",
        help="Human or machine: accuracy, precision, recall, d′, tests against chance.",
        description="Accuracy and related measures of judgements on whether a text is by a person or a machine, from a "
        f"CSV, TSV or JSONL file (UTF-8) with one judgement per row. Answers are {listed}, as numbers or in words.",
    )
    parser.add_argument("file", metavar="FILE", help="the judgements, one per row")
    parser.add_argument("--worker", required=True, metavar="COL", help="column that names who judged")
    parser.add_argument("--text", required=True, metavar="COL", help="column that names the text")
    parser.add_argument("--source", required=True, metavar="COL", help="column that names who or what wrote the text")
    parser.add_argument("--answer", required=True, metavar="COL", help="column with the answer")
    parser.add_argument(
        "--human", default="human", metavar="NAME", help="the source of texts by people (default: human)"
    )
    told = "column to break down by, such as domain or arm; can be repeated; each group is tested against chance"
    parser.add_argument("--by", action="append", default=[], metavar="COL", help=told)
    told = "only the rows with this value, such as question=judgement; can be repeated"
    parser.add_argument("--where", action="append", default=[], metavar="COL=VALUE", help=told)
    add_resampling(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    found = read_judgements(args)
    plan = Bootstrap(draws=args.draws, seed=args.seed, level=args.confidence)
    groups = {"": found} | _groups(found, args.by)
    tests = max(1, len(groups) - 1)
    estimates, figures = {}, {}
    for name, group in groups.items():
        estimates[name] = estimates_of(group, plan)
        figures[name] = test_of(group, tests)
    data = {
        "judgements": len(found),
        "missing": found.missing,
        "workers": int(found.frame["worker"].nunique()),
        "texts": int(found.frame["text"].nunique()),
    }
    if args.json:
        flat = {f"{name}.{key}".strip("."): each for name, own in estimates.items() for key, each in own.items()}
        told = {name or "all": test for name, test in figures.items()}
        print_json(Outcome("detection", args.file, settings(args), data, flat, {"against_chance": told}))
        return 0
    print(f"{args.file}: {', '.join(counted(data[name], name[:-1]) for name in ('judgements', 'workers', 'texts'))}")
    if found.missing:
        print(f"{counted(found.missing, 'row')} without an answer, left out")
    for name, own in estimates.items():
        print_group(name or "all judgements", own, figures[name], tests)
    return 0


def settings(args: argparse.Namespace) -> dict[str, Any]:
    return {name: value for name, value in vars(args).items() if name not in ("run", "json", "command", "file")}


def read_judgements(args: argparse.Namespace) -> Judgements:
    """The judgements in the file, with the columns ``--by``. InputError: anything wrong."""
    conditions = [condition_of(text) for text in args.where]
    names = [args.worker, args.text, args.source, args.answer]
    frame = read_columns(args.file, [*names, *args.by, *(column for column, _ in conditions)])
    frame = chosen_rows(frame, args.file, conditions)
    for column in (*names[:3], *args.by):
        refuse_empty(frame[column], args.file)
    cells = frame[args.answer]
    words = {name.casefold(): str(value) for value, name in ANSWERS.items()}
    renamed = [words.get(text.strip().casefold(), text) for text in cells.astype(object).fillna("")]
    answers = numbers(pd.Series(pd.Categorical(renamed), cells.index, name=args.answer), args.file)
    workers, texts, origins = (frame[name].astype(str).to_numpy() for name in names[:3])
    groups = {f"by {name}": frame[name].astype(str).to_numpy() for name in args.by}
    sources = set(origins.tolist())
    if args.human not in sources:
        listed = ", ".join(f'"{name}"' for name in sorted(sources)[:10])
        fix = f"name the human source with --human; there are {listed}"
        raise InputError(args.file, f'column "{args.source}"', f'no text has the source "{args.human}"', fix)
    try:
        return judgements_from_arrays(workers, texts, origins, answers, human=args.human, groups=groups)
    except ValueError as error:
        raise InputError(args.file, f'column "{args.answer}"', str(error)) from error


def _groups(found: Judgements, by: list[str]) -> dict[str, Judgements]:
    if not by:
        return {}
    columns = [f"by {name}" for name in by]
    parts = found.frame.groupby(columns, sort=False)
    return {", ".join(map(str, key if isinstance(key, tuple) else (key,))): Judgements(rows) for key, rows in parts}


def estimates_of(group: Judgements, plan: Bootstrap) -> dict[str, Estimate]:
    found, signal = measures(group, plan=plan), sensitivity(group, plan=plan)
    return {
        "accuracy": found.accuracy,
        "precision": found.precision,
        "recall": found.recall,
        "f1": found.f1,
        "alpha": found.alpha,
        "said_human": found.said_human,
        "confident": found.confident,
        "d_prime": signal.d_prime,
        "criterion": signal.criterion,
    }


def test_of(group: Judgements, tests: int) -> dict[str, float | int | None]:
    """The one-sample t test of workers' accuracies against 0.5; only n with fewer than two workers."""
    scores = worker_scores(group)["accuracy"]
    if len(scores) < 2:
        return {"n": len(scores), "mean": None, "t": None, "df": None, "p": None, "corrected": None}
    found = mean_against(scores, tests=tests)
    told = {"mean": found.mean.value, "t": found.t, "df": found.df, "p": found.p, "corrected": found.corrected}
    return {"n": len(scores)} | {key: None if math.isnan(value) else value for key, value in told.items()}


def print_group(name: str, estimates: dict[str, Estimate], test: dict[str, Any], tests: int) -> None:
    print(f"\n{name}")
    for key, estimate in estimates.items():
        print(f"  {key:<11}  {estimate}")
    if test["t"] is not None:
        print(
            f"  workers’ mean accuracy {test['mean']:.3f} against 0.5: t({test['df']:g}) = {test['t']:.2f}, "
            f"p = {test['p']:.4f}, {test['corrected']:.4f} corrected for {counted(tests, 'test')}"
        )
