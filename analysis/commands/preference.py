"""``python -m analysis preference``: systems compared, from ratings given together or from forced choices."""

from __future__ import annotations

import argparse
import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

import numpy as np

from analysis.answer_files.files import AnswerFile
from analysis.answer_files.opening import READABLE, open_answers
from analysis.commands.criteria import add_criterion, chosen_criteria
from analysis.commands.options import Subparsers, above_zero, add_confidence
from analysis.commands.output import Outcome, options_used, print_json, without_nan
from analysis.commands.rows import MISSING, chosen_rows, condition_of, numbers, refuse_empty
from analysis.estimate import Estimate, p_value
from analysis.inference import Dimensions, holm
from analysis.preference import (
    Choices,
    Comparisons,
    SystemScores,
    binomial_test,
    bradley_terry,
    comparison_dimensions,
    comparisons_from_choices,
    comparisons_from_ratings,
    outcome_table,
    preference,
    ranked,
    system_scores,
)
from analysis.tables import InputError, shown
from common.words import counted

NO_WORKER = "default: every task or choice is by another worker"
NO_ITEM = "default: every rating is of another text, every choice about another item"
TOGETHER, CHOICES = ("task", "system", "value"), ("first", "second", "choice")


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "preference",
        description=f"Scores and Bradley–Terry strengths of systems, from {READABLE}. Exports of a study need no "
        "options if its items have the columns system, or system_1 and system_2. In another table, each row is either "
        "one rating of a text that a worker rated together with others (--task, --system, --value), or one choice "
        "between two systems (--first, --second, --choice: 1 for the first, -1 for the second, 0 for neither). "
        f"Rows without a value ({', '.join(map(repr, MISSING))}) are left out and counted.",
    )
    parser.add_argument("file", metavar="FILE", help=READABLE)
    add_criterion(parser, "all choices between two texts, or else all on a scale")
    parser.add_argument("--task", metavar="COL", help="column that names what one worker rated together")
    parser.add_argument("--system", metavar="COL", help="column with the system that made the rated text")
    parser.add_argument("--value", metavar="COL", help="column with the rating; higher is better")
    parser.add_argument("--first", metavar="COL", help="column with the first system of a choice")
    parser.add_argument("--second", metavar="COL", help="column with the second system")
    parser.add_argument("--choice", metavar="COL", help="column with the choice: 1, 0 or -1")
    parser.add_argument("--worker", metavar="COL", help=f"column with who answered ({NO_WORKER})")
    meaning = f"column with the text that was rated, or the item that the choice is about ({NO_ITEM})"
    parser.add_argument("--item", metavar="COL", help=meaning)
    meaning = "column with the context of the rated text; with five or more, intervals are about new contexts"
    parser.add_argument("--context", metavar="COL", help=meaning)
    meaning = "fit strengths with a normal prior of this standard deviation; needed if a system never wins or loses"
    parser.add_argument("--prior-sd", type=above_zero, metavar="SD", help=meaning)
    meaning = "only the rows with this value, such as question=quality; can be repeated"
    parser.add_argument("--where", action="append", default=[], metavar="COL=VALUE", help=meaning)
    add_confidence(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(run=run)


@dataclass(frozen=True, slots=True)
class Pair:
    """Two systems that met. ``share``: of wins of the first among outcomes without ties, about new items and workers;
    its ``p`` against one half, and corrected by Holm's method over all pairs. ``p_binomial``: the paper's test."""

    first: str
    second: str
    wins: int
    ties: int
    losses: int
    share: Estimate
    p: float
    p_corrected: float
    p_binomial: float


def run(args: argparse.Namespace) -> int:
    source = open_answers(args.file, accept_edited=args.accept_edited)
    inputs = (
        inputs_of_study(args, source) if source.is_study else {"": read_comparisons(args, columns_of(args), source)}
    )
    results = {name: results_of(args, *whole) for name, whole in inputs.items()}
    if args.json:
        several = len(results) > 1
        start = {name: f"{name}." if several else "" for name in results}
        estimates = {f"{start[n]}{key}": e for n, result in results.items() for key, e in result.estimates().items()}
        data = {name: result.data for name, result in results.items()}
        figures = {name: result.figures() for name, result in results.items()}
        (one, *_) = results
        shown_data, shown_figures = (data, figures) if several else (data[one], figures[one])
        print_json(Outcome("preference", args.file, options_used(args), shown_data, estimates, shown_figures))
        return 0
    for number, (name, result) in enumerate(results.items()):
        print("\n" * bool(number), end="")
        print_result(args, f", {name}" if name else "", result)
        if not source.is_study:
            for option, default in (("worker", NO_WORKER), ("item", NO_ITEM)):
                if getattr(args, option) is None:
                    print(f"  without --{option}, {default.removeprefix('default: ')}: if not, they are too sure")
        print_systems(result.comparisons, result.scores.estimates, result.strengths, result.ranks)
        if result.reason:
            print(f"\nNo strengths: {result.reason}")
        print_pairs(result.pairs)
    return 0


@dataclass(frozen=True, slots=True)
class Result:
    """Everything about one criterion. ``reason``: why there are no strengths."""

    comparisons: Comparisons
    dimensions: Dimensions
    data: dict[str, int]
    scores: SystemScores
    strengths: dict[str, Estimate]
    ranks: dict[str, tuple[int, int, int]]
    pairs: list[Pair]
    reason: str

    def estimates(self) -> dict[str, Estimate]:
        estimates = {f"score.{name}": estimate for name, estimate in self.scores.estimates.items()}
        estimates |= {f"strength.{name}": estimate for name, estimate in self.strengths.items()}
        return estimates | {f"share.{pair.first}.{pair.second}": pair.share for pair in self.pairs}

    def figures(self) -> dict[str, Any]:
        records = [{key: value for key, value in asdict(pair).items() if key != "share"} for pair in self.pairs]
        figures: dict[str, Any] = {"pairs": self.scores.pairs, "outcomes": [without_nan(record) for record in records]}
        figures["ranks"] = {name: {"rank": r, "from": low, "to": high} for name, (r, low, high) in self.ranks.items()}
        return figures


def results_of(
    args: argparse.Namespace, comparisons: Comparisons, dimensions: Dimensions, data: dict[str, int]
) -> Result:
    scores = system_scores(comparisons, dimensions, level=args.confidence)
    reason, ranks = "", {}
    try:
        fit = bradley_terry(comparisons, dimensions=dimensions, prior_sd=args.prior_sd, level=args.confidence)
        strengths, ranks = fit.strengths, fit.ranks
    except ValueError as error:
        reason = f"{error} (--prior-sd 1)"
        strengths = {name: Estimate(math.nan, note=str(error)) for name in comparisons.systems}
    pairs = compared_pairs(comparisons, dimensions, args.confidence)
    return Result(comparisons, dimensions, data, scores, strengths, ranks, pairs, reason)


def print_result(args: argparse.Namespace, criterion: str, result: Result) -> None:
    """What entered."""
    counts_in_words = ", ".join(counted(result.data[name], name[:-1]) for name in ("comparisons", "systems"))
    print(f"{args.file}{criterion}: {counts_in_words}")
    if result.data["missing"]:
        print(f"{counted(result.data['missing'], 'row')} without a value, left out")
    print(f"Intervals and p: {clusters_in_words(result.dimensions)}")


def compared_pairs(comparisons: Comparisons, dimensions: Dimensions, level: float) -> list[Pair]:
    """All pairs of systems that met, in the order of their names."""
    pairs = []
    for first, second, wins, ties, losses, _ in outcome_table(comparisons).to_numpy().tolist():
        first_code, second_code = comparisons.systems.index(first), comparisons.systems.index(second)
        as_named = (comparisons.first == first_code) & (comparisons.second == second_code)
        reversed_order = (comparisons.first == second_code) & (comparisons.second == first_code)
        rows = np.nonzero(as_named | reversed_order)[0]
        outcome = np.where(reversed_order, -comparisons.outcome, comparisons.outcome)[rows]
        test = preference(outcome, dimensions.chosen(rows), level=level)
        binomial = binomial_test(Choices(wins, ties, losses))
        pairs.append(Pair(first, second, wins, ties, losses, test.share, test.p, test.p, binomial))
    corrected = holm([pair.p for pair in pairs]).tolist()
    return [replace(pair, p_corrected=p) for pair, p in zip(pairs, corrected, strict=True)]


def clusters_in_words(dimensions: Dimensions) -> str:
    counts = [counted(len(np.unique(codes)), name.removesuffix("s")) for name, codes in dimensions.codes.items()]
    return f"about new {' and '.join(dimensions.codes)} ({', '.join(counts)})"


@dataclass(frozen=True, slots=True)
class Columns:
    """Where everything is. ``first`` and ``second``: the systems of a choice, or task and system of a rating."""

    first: str
    second: str
    value: str
    is_choice: bool
    worker: str | None = None
    item: str | None = None
    context: str | None = None


def columns_of(args: argparse.Namespace) -> Columns:
    """The columns that options name. InputError: it is not clear what the rows are."""
    together, choices = ([getattr(args, name) for name in names] for names in (TOGETHER, CHOICES))
    if all(together) == all(choices) or (any(together) and any(choices)):
        forms = "--task, --system and --value, or --first, --second and --choice"
        raise InputError(args.file, "options", "it is not clear what the rows are", f"give {forms}")
    named = together if all(together) else choices
    first, second, value = named
    return Columns(first, second, value, not all(together), args.worker, args.item, args.context)


def inputs_of_study(
    args: argparse.Namespace, source: AnswerFile
) -> dict[str, tuple[Comparisons, Dimensions, dict[str, int]]]:
    """By criterion: choices between two texts, or the texts that somebody rated in one submission."""
    conditions = [condition_of(text) for text in args.where]
    worker, item, context = args.worker or "worker", args.item or "item", args.context or source.context or None
    chosen_questions = chosen_criteria(args, source, [criterion.level for criterion in source.criteria], conditions)
    choices = [criterion for criterion in chosen_questions if criterion.level == "pairwise"]
    if choices:
        first, second = source.systems
        columns = Columns(
            args.first or first, args.second or second, args.choice or "value", True, worker, item, context
        )
        criteria = choices
    else:
        task, system = args.task or "submission", args.system or source.system
        columns = Columns(task, system, args.value or "value", False, worker, item, context)
        criteria = [criterion for criterion in chosen_questions if criterion.level in ("", "ordinal", "interval")]
    if not criteria:
        raise InputError(args.file, "", "no question has answers that compare systems")
    whole, reasons = {}, []
    for criterion in criteria:
        named = [("criterion", criterion.name), *(pair for pair in conditions if pair[0] != "criterion")]
        try:
            whole[criterion.name] = read_comparisons(args, columns, source, named)
        except InputError as error:
            if len(criteria) == 1:
                raise
            reasons.append(f"“{criterion.name}”: {str(error).removeprefix(f'{args.file}: ')}")
    if not whole:
        raise InputError(args.file, "", f"no systems can be compared: {'; '.join(reasons)}")
    return whole


def read_comparisons(
    args: argparse.Namespace,
    columns: Columns,
    source: AnswerFile,
    conditions: Sequence[tuple[str, str]] | None = None,
) -> tuple[Comparisons, Dimensions, dict[str, int]]:
    """The comparisons in the file, how they belong together, and counts of what entered. InputError: anything wrong."""
    conditions = [condition_of(text) for text in args.where] if conditions is None else conditions
    named = [columns.first, columns.second, columns.value]
    extra = [column for column in (columns.worker, columns.item, columns.context) if column]
    frame = source.read([*named, *extra, *(column for column, _ in conditions)])
    frame = chosen_rows(frame, args.file, conditions)
    if source.is_study:
        # Items that people wrote, or that are no texts of a system, compare nothing.
        empty = (frame[columns.first] == "") | (frame[columns.second] == "")
        frame = frame[~empty.to_numpy()]
        if frame.empty:
            where = f"columns {shown(columns.first)} and {shown(columns.second)}"
            raise InputError(args.file, where, "all cells are empty", "name the columns of the systems")
    for column in (*named[:2], *(() if source.is_study else extra)):
        refuse_empty(frame[column], args.file)
    values = numbers(frame[columns.value], args.file)
    first_column, second_column = (frame[column].astype(str).to_numpy() for column in named[:2])
    try:
        compare = comparisons_from_choices if columns.is_choice else comparisons_from_ratings
        comparisons = compare(first_column, second_column, values)
    except ValueError as error:
        raise InputError(args.file, f"columns {', '.join(map(shown, named))}", str(error)) from error
    rows = np.arange(len(frame))
    workers, items, contexts = (
        None if column is None else frame[column].astype(object).fillna("").astype(str).to_numpy()
        for column in (columns.worker, columns.item, columns.context)
    )
    if contexts is not None and source.is_study and (contexts == "").any():
        contexts = None
    dimensions = comparison_dimensions(
        comparisons,
        workers=workers if workers is not None else (rows if columns.is_choice else first_column),
        texts=items if items is not None else rows,
        contexts=contexts,
    )
    data = {
        "rows": len(frame),
        "missing": int(np.isnan(values).sum()),
        "comparisons": len(comparisons),
        "systems": len(comparisons.systems),
        **{name: len(np.unique(codes)) for name, codes in dimensions.codes.items()},
        "same_system": comparisons.same_system,
    }
    return comparisons, dimensions, data


def print_systems(
    comparisons: Comparisons,
    scores: dict[str, Estimate],
    strengths: dict[str, Estimate],
    ranks: dict[str, tuple[int, int, int]],
) -> None:
    width = max(6, *(len(name) for name in comparisons.systems))
    print(f"\n{'system':{width}}  {'score':<25}  {'strength':<25}  ranks")
    for name in ranked(scores):
        _, low, high = ranks.get(name, (0, 0, 0))
        span = "–" if not low else str(low) if low == high else f"{low}–{high}"
        strength = "–" if math.isnan(strengths[name].value) else str(strengths[name])
        print(f"{name:{width}}  {scores[name]!s:<25}  {strength:<25}  {span}")


def print_pairs(pairs: list[Pair]) -> None:
    """All pairs of systems: outcomes, the share of wins with its test, and the paper's test."""
    width = max(len(f"{pair.first} – {pair.second}") for pair in pairs)
    heads = f"{'wins':>7}  {'ties':>7}  {'losses':>7}  {'share of wins':<23}  {'p':>8}  {'p, Holm':>8}"
    print(f"\n{'pair':{width}}  {heads}  paper’s test: p (binomial, ties dropped)")
    for pair in pairs:
        counts = f"{pair.wins:>7,}  {pair.ties:>7,}  {pair.losses:>7,}"
        p = f"{p_value(pair.p):>8}  {p_value(pair.p_corrected):>8}  {p_value(pair.p_binomial)}"
        print(f"{f'{pair.first} – {pair.second}':{width}}  {counts}  {pair.share!s:<23}  {p}")
    for note in dict.fromkeys(pair.share.note for pair in pairs if pair.share.note):
        print(f"No interval: {note}")
    print("The binomial test takes all choices as independent, and is too sure if items or workers differ.")
