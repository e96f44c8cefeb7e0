"""``python -m analysis raters``: what models of ratings say about each rater, as diagnostics."""

from __future__ import annotations

import argparse
import math
from dataclasses import dataclass, field
from typing import Any

from analysis.agreement import Ratings
from analysis.agreement.krippendorff import LEVELS
from analysis.answer_files.opening import READABLE, open_answers
from analysis.commands.agreement import describe, ratings_of_study, read_ratings
from analysis.commands.criteria import add_criterion
from analysis.commands.options import Subparsers, add_confidence, add_seed
from analysis.commands.output import Outcome, options_used, print_json
from analysis.commands.rows import MISSING
from analysis.estimate import Estimate
from analysis.raters import competences, modelled_accuracy, severities
from analysis.tables import InputError
from common.words import counted

MODELS = {
    "accuracy": "Dawid–Skene: mean probability that an answer is the true class",
    "competence": "MACE: how often the rater knows the answer, and does not guess",
    "severity": "many-facet Rasch: logits, above 0 for lower ratings than the average rater’s",
    "consistency": "many-facet Rasch: how closely answers follow the units, 1 for the average rater",
    "points": "expected answer less the average rater’s on the same units, in points of the scale",
}


@dataclass(slots=True)
class Raters:
    """The figures of one criterion: by model and rater. ``left_out``: why a model has none."""

    data: dict[str, Any]
    estimates: dict[str, dict[str, Estimate]] = field(default_factory=dict)
    points: dict[str, float] = field(default_factory=dict)
    left_out: dict[str, str] = field(default_factory=dict)


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "raters",
        description="Each rater by models of ratings: Dawid and Skene’s, MACE, and, on ordinal scales, the many-facet "
        f"Rasch model. Diagnostics: no rating is weighed or left out. From {READABLE}; exports of a study need no "
        f"options. In the value column, {', '.join(map(repr, MISSING))} are missing ratings.",
    )
    parser.add_argument("file", metavar="FILE", help=READABLE)
    parser.add_argument(
        "--unit", default=[], action="append", metavar="COL", help="column that names what was rated; can be repeated"
    )
    parser.add_argument("--rater", metavar="COL", help="column that names who rated")
    parser.add_argument("--value", metavar="COL", help="column with the rating")
    parser.add_argument("--level", choices=LEVELS, help="level of measurement; severity needs an order")
    add_criterion(parser, "all that are about items, except texts")
    parser.add_argument(
        "--where", action="append", default=[], metavar="COL=VALUE", help="only the rows with this value"
    )
    parser.add_argument("--categories", metavar="A,B,C", help="all values of the scale in order")
    add_seed(parser)
    add_confidence(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of a table")
    parser.set_defaults(run=run)


def run(arguments: argparse.Namespace) -> int:
    source = open_answers(arguments.file, accept_edited=arguments.accept_edited)
    if source.is_study:
        tables = ratings_of_study(arguments, source)
    else:
        for name in ("unit", "rater", "value", "level"):
            if not getattr(arguments, name):
                raise InputError(arguments.file, f"--{name}", "is missing", "name it; only exports need no options")
        tables = {"": (read_ratings(arguments, source), arguments.level)}
    outcomes = {name: of_criterion(arguments, ratings, level) for name, (ratings, level) in tables.items()}
    if arguments.json:
        estimates = {
            ".".join(filter(None, (name, model, rater))): estimate
            for name, outcome in outcomes.items()
            for model, of_raters in outcome.estimates.items()
            for rater, estimate in of_raters.items()
        }
        figures = {name or "points": outcome.points for name, outcome in outcomes.items()}
        data = {name or "ratings": outcome.data | {"left_out": outcome.left_out} for name, outcome in outcomes.items()}
        print_json(Outcome("raters", arguments.file, options_used(arguments), data, estimates, figures))
        return 0
    for name, outcome in outcomes.items():
        print_criterion(arguments, name, outcome)
    return 0


def of_criterion(arguments: argparse.Namespace, ratings: Ratings, level: str) -> Raters:
    outcome = Raters(describe(ratings) | {"level": level})
    options = {"confidence": arguments.confidence}
    for model, fit in (("accuracy", modelled_accuracy), ("competence", competences)):
        try:
            estimates = fit(ratings, seed=arguments.seed, **options)
        except ValueError as error:
            outcome.left_out[model] = str(error)
        else:
            outcome.estimates[model] = {str(rater): estimate for rater, estimate in estimates.items()}
    if level == "nominal":
        outcome.left_out["severity"] = "categories have no order"
        return outcome
    try:
        fitted = severities(ratings, **options)
    except ValueError as error:
        outcome.left_out["severity"] = str(error)
        return outcome
    if not fitted.converged:
        outcome.left_out["severity"] = "the fit did not settle: too little data for so many raters"
        return outcome
    outcome.estimates["severity"] = {str(rater): figures.severity for rater, figures in fitted.raters.items()}
    outcome.estimates["consistency"] = {str(rater): figures.consistency for rater, figures in fitted.raters.items()}
    outcome.points = {str(rater): figures.points for rater, figures in fitted.raters.items()}
    return outcome


def print_criterion(arguments: argparse.Namespace, criterion: str, outcome: Raters) -> None:
    data = outcome.data
    sizes = ", ".join(counted(data[name], name[:-1]) for name in ("ratings", "units", "raters", "values"))
    print(f"{arguments.file}{f', {criterion}' * bool(criterion)}: {sizes}, level {data['level']}\n")
    models = list(outcome.estimates)
    raters = list(dict.fromkeys(rater for of_raters in outcome.estimates.values() for rater in of_raters))
    width = max(map(len, ["rater", *raters])) + 2
    titles = [*models, *(["points"] if outcome.points else [])]
    print(f"{'rater':<{width}}{'ratings':>7}  " + "".join(f"{title:<24}" for title in titles).rstrip())
    for rater in raters:
        known = [outcome.estimates[model].get(rater) for model in models]
        cells = [f"{shown_estimate(estimate):<24}" for estimate in known]
        if outcome.points:
            cells.append(f"{outcome.points.get(rater, math.nan):+.2f}")
        size = next((estimate.n for estimate in known if estimate is not None), 0)
        print(f"{rater:<{width}}{size:>7}  " + "".join(cells).rstrip())
    print()
    for title in titles:
        print(f"{title}: {MODELS[title]}")
    notes = sorted({estimate.note for of in outcome.estimates.values() for estimate in of.values() if estimate.note})
    if data["level"] != "nominal":
        notes.append("accuracy and competence take the points of the scale as categories: a near miss is a miss")
    notes += [f"no {model}: {reason}" for model, reason in outcome.left_out.items()]
    for note in notes:
        print(f"- {note}")


def shown_estimate(estimate: Estimate | None) -> str:
    if estimate is None or math.isnan(estimate.value):
        return "–"
    if math.isnan(estimate.low):
        return f"{estimate.value:.2f}"
    return f"{estimate.value:.2f} [{estimate.low:.2f}, {estimate.high:.2f}]"
