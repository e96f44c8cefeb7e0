"""``python -m analysis detection``: how well people tell machine texts from human ones."""

from __future__ import annotations

import argparse
import math
from typing import Any

import numpy as np
import pandas as pd

from analysis.answer_files.files import AnswerFile, Criterion, Detection
from analysis.answer_files.opening import READABLE, open_answers
from analysis.commands.criteria import add_criterion, chosen_criteria
from analysis.commands.options import Subparsers, add_confidence
from analysis.commands.output import Outcome, options_used, print_json, without_nan
from analysis.commands.rows import chosen_rows, condition_of, numbers, refuse_empty
from analysis.detection import (
    AgainstChance,
    Judgements,
    against_chance,
    forced_choice,
    judgements_from_arrays,
    mean_against,
    measures,
    sensitivity,
    worker_scores,
)
from analysis.detection.judgements import ANSWERS
from analysis.estimate import Estimate, p_equals
from analysis.tables import InputError
from common.words import counted


def add_parser(subparsers: Subparsers) -> None:
    listed = ", ".join(f"{value} “{name}”" for value, name in ANSWERS.items())
    parser = subparsers.add_parser(
        "detection",
        description="Accuracy and related measures of judgements on whether a text is by a person or a machine, from "
        f"{READABLE}. Exports of a study need no options. Answers are {listed}, as numbers or in words.",
    )
    parser.add_argument("file", metavar="FILE", help=READABLE)
    add_criterion(parser, "judgement, or that of the study’s report")
    parser.add_argument("--worker", metavar="COL", help="column that names who judged")
    parser.add_argument("--text", metavar="COL", help="column that names the text")
    parser.add_argument("--source", metavar="COL", help="column that names who or what wrote the text")
    parser.add_argument("--answer", metavar="COL", help="column with the answer")
    parser.add_argument(
        "--right",
        metavar="COL",
        help="in place of --source and --answer, where people chose the machine's text of a pair: column with 1 for a "
        "right choice and 0 for a wrong one; --text then names the pair",
    )
    parser.add_argument("--human", metavar="NAME", help="the source of texts by people (default: human)")
    by_help = (
        "column to break down by, such as domain or arm; can be repeated; each group is tested against chance (exports "
        "of a study: domain and arm, if there are several)"
    )
    parser.add_argument("--by", action="append", default=[], metavar="COL", help=by_help)
    where_help = "only the rows with this value, such as question=judgement; can be repeated"
    parser.add_argument("--where", action="append", default=[], metavar="COL=VALUE", help=where_help)
    add_confidence(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    source = open_answers(args.file, accept_edited=args.accept_edited)
    if source.is_study and not args.right:
        fill_in(args, source)
    args.human = args.human or "human"
    for name in ("worker", "text"):
        if not getattr(args, name):
            fix = "name the column; only exports of a study need no options"
            raise InputError(args.file, f"--{name}", "is missing", fix)
    if args.right:
        return run_pairs(args, source)
    for name in ("source", "answer"):
        if not getattr(args, name):
            raise InputError(args.file, f"--{name}", "is missing", "Give --source and --answer, or --right for pairs.")
    judgements = read_judgements(args, source)
    columns = [f"by {name}" for name in args.by]
    groups = {"": judgements}
    for key, rows in judgements.frame.groupby(columns, sort=False) if columns else ():
        groups[", ".join(map(str, key if isinstance(key, tuple) else (key,)))] = Judgements(rows)
    estimates = {name: estimates_of(group, args.confidence) for name, group in groups.items()}
    published = {name: test_of(group, max(1, len(groups) - 1)) for name, group in groups.items()}
    (overall,) = against_chance(judgements, level=args.confidence)
    tests = {"": overall}
    if columns:
        for test in against_chance(judgements, columns, level=args.confidence):
            tests[", ".join(test.group)] = test
    data = {
        "judgements": len(judgements),
        "missing": judgements.missing,
        "workers": int(judgements.frame["worker"].nunique()),
        "texts": int(judgements.frame["text"].nunique()),
    }
    if args.json:
        flat = {
            f"{group}.{name}".strip("."): estimate
            for group, by_name in estimates.items()
            for name, estimate in by_name.items()
        }
        figures = {
            "against_chance": {
                name or "all": without_nan({"p": test.p, "corrected": test.corrected}) for name, test in tests.items()
            },
            "published_against_chance": {name or "all": test for name, test in published.items()},
        }
        print_json(Outcome("detection", args.file, options_used(args), data, flat, figures))
        return 0
    print_data(args.file, data)
    for name, group_estimates in estimates.items():
        print_group(name or "all judgements", group_estimates, tests[name], published[name], max(1, len(groups) - 1))
    return 0


def fill_in(args: argparse.Namespace, source: AnswerFile) -> None:
    """The options that an export of a study answers itself. InputError: nobody judged texts of known sources."""
    known_columns = source.detection
    if known_columns is None and not (args.criterion and args.source):
        fix = "name the question with --criterion and the column with --source"
        raise InputError(args.file, "", "no question “judgement” about items with a column source", fix)
    detection = known_columns or Detection(args.criterion[0], args.source)
    (criterion, *_) = chosen_criteria(args, source, ()) if args.criterion else [Criterion(detection.topic, "")]
    args.where = [*args.where, f"criterion={criterion.name}"]
    args.worker, args.text = args.worker or "worker", args.text or "item"
    args.source, args.answer = args.source or detection.source, args.answer or "value"
    args.human = args.human or detection.human
    if not args.by:
        frame = source.read(["criterion", "arm", *([detection.domain] if detection.domain in source.names else [])])
        frame = frame[(frame["criterion"] == criterion.name).to_numpy()].drop(columns="criterion")
        levels = {str(name): set(frame[name].dropna().unique()) for name in frame.columns}
        args.by = [name for name, values in levels.items() if len(values) > 1 and "" not in values]


def run_pairs(args: argparse.Namespace, source: AnswerFile) -> int:
    """Two-alternative forced choice: the share of right choices and d′."""
    conditions = [condition_of(text) for text in args.where]
    frame = source.read([args.worker, args.text, args.right, *(column for column, _ in conditions)])
    frame = chosen_rows(frame, args.file, conditions)
    for column in (args.worker, args.text):
        refuse_empty(frame[column], args.file)
    right = numbers(frame[args.right], args.file)
    answered = ~np.isnan(right)
    workers, pairs = (frame[name].astype(str).to_numpy()[answered] for name in (args.worker, args.text))
    try:
        chosen = forced_choice(workers, pairs, right[answered], level=args.confidence)
    except ValueError as error:
        raise InputError(args.file, f'column "{args.right}"', str(error)) from error
    data = {"judgements": int(answered.sum()), "missing": int((~answered).sum())}
    data |= {"workers": len(set(workers.tolist())), "texts": len(set(pairs.tolist()))}
    estimates = {"accuracy": chosen.accuracy, "d_prime": chosen.d_prime}
    if args.json:
        figures = {"against_chance": {"all": without_nan({"p": chosen.p})}}
        print_json(Outcome("detection", args.file, options_used(args), data, estimates, figures))
        return 0
    print_data(args.file, data)
    print_estimates("which of two is the machine's", estimates)
    print(f"  against 0.5: p {p_equals(chosen.p)} (texts and workers vary)")
    return 0


def print_data(file: str, data: dict[str, int]) -> None:
    print(f"{file}: {', '.join(counted(data[name], name[:-1]) for name in ('judgements', 'workers', 'texts'))}")
    if data["missing"]:
        print(f"{counted(data['missing'], 'row')} without an answer, left out")


def read_judgements(args: argparse.Namespace, source: AnswerFile) -> Judgements:
    """The judgements in the file, with the columns ``--by``. InputError: anything wrong."""
    conditions = [condition_of(text) for text in args.where]
    names = [args.worker, args.text, args.source, args.answer]
    frame = source.read([*names, *args.by, *(column for column, _ in conditions)])
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


def estimates_of(group: Judgements, level: float) -> dict[str, Estimate]:
    shares, signal = measures(group, level=level), sensitivity(group, level=level)
    return {
        "accuracy": shares.accuracy,
        "precision": shares.precision,
        "recall": shares.recall,
        "f1": shares.f1,
        "alpha": shares.alpha,
        "said_human": shares.said_human,
        "confident": shares.confident,
        "d_prime": signal.d_prime,
        "criterion": signal.criterion,
    }


def test_of(group: Judgements, tests: int) -> dict[str, float | int | None]:
    """The one-sample t test of workers' accuracies against 0.5; only n with fewer than two workers."""
    scores = worker_scores(group)["accuracy"]
    if len(scores) < 2:
        return {"n": len(scores), "mean": None, "t": None, "df": None, "p": None, "corrected": None}
    test = mean_against(scores, tests=tests)
    figures = {"mean": test.mean.value, "t": test.t, "df": test.df, "p": test.p, "corrected": test.corrected}
    return without_nan({"n": len(scores)} | figures)


def print_estimates(name: str, estimates: dict[str, Estimate]) -> None:
    print(f"\n{name}")
    for key, estimate in estimates.items():
        missing = f"  ({estimate.note})" if math.isnan(estimate.low) and not math.isnan(estimate.value) else ""
        print(f"  {key:<11}  {estimate}{missing}")


def print_group(
    name: str, estimates: dict[str, Estimate], test: AgainstChance, published: dict[str, Any], tests: int
) -> None:
    print_estimates(name, estimates)
    if not math.isnan(test.p):
        corrected = f", {p_equals(test.corrected)} corrected (Holm, {counted(tests, 'test')})" if tests > 1 else ""
        print(f"  against 0.5: p {p_equals(test.p)}{corrected} (texts and workers vary)")
    if published["t"] is not None:
        print(
            f"  the paper's test (texts taken as fixed): mean accuracy of workers {published['mean']:.3f}, "
            f"t({published['df']:g}) = {published['t']:.2f}, p {p_equals(published['p'])}, "
            f"{p_equals(published['corrected'])} corrected (Bonferroni, {counted(tests, 'test')})"
        )
