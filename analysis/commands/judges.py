"""``python -m analysis judges``: a judge, such as a language model, beside people; estimates that use both."""

from __future__ import annotations

import argparse
import math
from dataclasses import asdict, dataclass
from typing import Any

import numpy as np
import pandas as pd

from analysis.answer_files.files import AnswerFile, Criterion
from analysis.answer_files.opening import READABLE, open_answers
from analysis.commands.criteria import add_criterion, chosen_criteria, rows_about
from analysis.commands.options import Subparsers, add_confidence, finite_number
from analysis.commands.output import Outcome, options_used, print_json, without_nan
from analysis.commands.rows import MISSING, chosen_rows, condition_of, numbers, refuse_empty
from analysis.estimate import Estimate
from analysis.inference import mean_estimate
from analysis.inference.contrasts import Bounds
from analysis.inference.dimensions import Dimensions
from analysis.input_errors import InputError, shown
from analysis.judges import (
    AlternativeTest,
    PoweredLevels,
    alternative_annotator_test,
    powered_levels,
    with_the_others,
    with_the_people,
)
from analysis.judges.alignment import LEAST_ITEMS, MARGINS
from analysis.tables import header_of, read_columns
from common.words import counted

#: How many items with the largest differences are listed.
MOST_LISTED = 10


@dataclass(frozen=True)
class Judged:
    """People and the judge on one criterion: the answers (item, worker, value), the judge's rating by item, and
    what follows from them.

    ``left_out``: items that the judge did not rate; ``without_level``: items that only it rated, of which nothing says
    the level of the factor."""

    answers: pd.DataFrame
    ratings: pd.Series
    left_out: int
    without_level: int
    powered: PoweredLevels
    bias: dict[str, Estimate]
    test: AlternativeTest
    judge_with_people: float
    person_with_others: tuple[float, int]

    def differing(self) -> pd.DataFrame:
        """The items on which people and the judge differ most."""
        means = self.answers.groupby("item")["value"].mean()
        table = pd.DataFrame({"people": means, "judge": self.ratings.reindex(means.index)})
        table["difference"] = table["judge"] - table["people"]
        order = table["difference"].abs().sort_values(ascending=False, kind="stable").index
        return table.loc[order[:MOST_LISTED]]


def add_parser(subparsers: Subparsers) -> None:
    parser = subparsers.add_parser(
        "judges",
        description="A judge, such as a language model, beside people. FILE has people’s answers: "
        + READABLE
        + ". The file of the judge has a row for each rating, with the columns item and value, and criterion if there "
        "are several; a judge that rated an item more than once counts with its mean. Means and differences of levels "
        "then use the judge’s ratings of items that people did not rate, and stay about people’s answers, if it was "
        "chance which items people rated.",
    )
    parser.add_argument("file", metavar="FILE", help=READABLE)
    parser.add_argument("--judge", metavar="FILE", required=True, help="CSV, TSV or JSONL with the judge’s ratings")
    parser.add_argument("--named", metavar="NAME", default="", help="which judge, if the file has a column judge")
    parser.add_argument("--value", metavar="COL", help="column with the answers, in both files (default: value)")
    parser.add_argument("--item", metavar="COL", default="item", help="column with what was judged, in both files")
    parser.add_argument("--worker", metavar="COL", default="worker", help="column with who answered")
    meaning = "column with the levels, such as system; items that only the judge rated have theirs in its file"
    parser.add_argument("--factor", metavar="COL", default="", help=meaning)
    meaning = "who the people are: the margin of the alternative annotator test (default: crowd)"
    parser.add_argument("--people", choices=tuple(MARGINS), default="crowd", help=meaning)
    meaning = "the values are numbers of categories without an order: people and judge agree only where they are equal"
    parser.add_argument("--nominal", action="store_true", help=meaning)
    parser.add_argument("--low", type=finite_number, metavar="NUMBER", help="the lowest value of the scale")
    parser.add_argument("--high", type=finite_number, metavar="NUMBER", help="the highest value of the scale")
    meaning = "only the rows of FILE with this value, such as arm=news; can be repeated"
    parser.add_argument("--where", action="append", default=[], metavar="COL=VALUE", help=meaning)
    add_criterion(parser, "all with numbers that the judge rated, too")
    add_confidence(parser)
    parser.add_argument("--json", action="store_true", help="print JSON instead of tables")
    parser.set_defaults(run=run)


def run(args: argparse.Namespace) -> int:
    if (args.low is None) != (args.high is None) or (args.low is not None and args.low >= args.high):
        raise InputError(args.file, "--low and --high", "these are no ends of a scale", "give both, the lower as --low")
    args.value = args.value or "value"
    source = open_answers(args.file, accept_edited=args.accept_edited)
    judge = judge_rows(args)
    compared: dict[str, Judged] = {}
    if source.is_study:
        for criterion in criteria_of_both(args, source, judge):
            columns = [args.item, args.worker, args.value, *([args.factor] if args.factor else [])]
            conditions = [condition_of(text) for text in args.where]
            people = rows_about(source, criterion, columns, conditions)
            bounds = criterion.bounds if args.low is None else (args.low, args.high)
            ratings = judge[judge["criterion"] == criterion.name] if "criterion" in judge else judge
            compared[criterion.name] = judged(args, people, ratings, bounds)
    else:
        conditions = [condition_of(text) for text in args.where]
        columns = [args.item, args.worker, args.value, *([args.factor] if args.factor else [])]
        frame = source.read(list(dict.fromkeys([*columns, *(column for column, _ in conditions)])))
        people = chosen_rows(frame, args.file, conditions)
        bounds = None if args.low is None else (args.low, args.high)
        compared[args.value] = judged(args, people, judge, bounds)
    if args.json:
        print_json(outcome_of(args, compared))
    else:
        for name, one in compared.items():
            print_judged(args, name, one)
    return 0


def judge_rows(args: argparse.Namespace) -> pd.DataFrame:
    header = header_of(args.judge)
    optional = [column for column in ("criterion", "judge", args.factor) if column and column in header]
    rows = read_columns(args.judge, list(dict.fromkeys([args.item, args.value, *optional])))
    if "judge" in optional:
        names = [str(name) for name in rows["judge"].unique()]
        if args.named not in ("", *names) or (not args.named and len(names) > 1):
            what = f"there is no judge “{args.named}”" if args.named else "the file has ratings by several judges"
            raise InputError(args.judge, 'column "judge"', what, f"name one with --named: {', '.join(names)}")
        rows = rows[(rows["judge"] == (args.named or names[0])).to_numpy()]
    refuse_empty(rows[args.item], args.judge, "name the item that was rated")
    return rows


def criteria_of_both(args: argparse.Namespace, source: AnswerFile, judge: pd.DataFrame) -> list[Criterion]:
    """InputError: the judge rated none of the criteria, or does not say which of several."""
    criteria = chosen_criteria(args, source, ("", "ordinal", "interval"))
    if "criterion" not in judge:
        if len(criteria) > 1:
            listed = ", ".join(criterion.name for criterion in criteria)
            fix = f"add a column “criterion”, or name one of {listed} with --criterion"
            raise InputError(args.judge, "", "the file does not say which question the ratings answer", fix)
        return criteria
    rated = set(judge["criterion"].unique())
    both = [criterion for criterion in criteria if criterion.name in rated]
    if not both:
        listed = ", ".join(criterion.name for criterion in criteria)
        raise InputError(
            args.judge, 'column "criterion"', "the judge rated no question of the study", f"they are {listed}"
        )
    return both


def judged(args: argparse.Namespace, people: pd.DataFrame, judge: pd.DataFrame, bounds: Bounds | None) -> Judged:
    """InputError: a cell that is no number, a rating off the scale, no item that both rated."""
    people = people[~(people[args.value].isna() | people[args.value].isin(MISSING)).to_numpy()]
    people = people[(people[args.item] != "").to_numpy()]
    ratings = ratings_of(args, judge, bounds)
    names, factor = people[args.item].astype(object).astype(str).to_numpy(), args.factor
    answers = pd.DataFrame(
        {
            "item": names,
            "worker": people[args.worker].astype(object).astype(str).to_numpy(),
            "value": numbers(people[args.value], args.file),
        }
    )
    levels = pd.Series("", index=ratings.index)
    if factor:
        refuse_empty(people[factor], args.file, "give the answer a level, or choose rows with --where")
        of_judge = level_of_items(judge[args.item], judge[factor]) if factor in judge else pd.Series(dtype=object)
        levels = pd.Series(level_of_items(people[args.item], people[factor])).combine_first(pd.Series(of_judge))
    rated_by_both = answers["item"].isin(ratings.index)
    if not rated_by_both.any():
        first = answers["item"].iloc[0] if len(answers) else "none"
        fix = f"items are called as in {args.file}, such as {shown(str(first))}"
        raise InputError(args.judge, f'column "{args.item}"', "the judge rated no item that people rated", fix)
    left_out = int(answers.loc[~rated_by_both, "item"].nunique())
    answers = answers[rated_by_both.to_numpy()].reset_index(drop=True)
    n_ratings = len(ratings)
    if factor:
        ratings = ratings[ratings.index.isin(levels.index[levels.notna() & (levels != "")])]
    try:
        powered = powered_levels(
            answers["value"],
            items=answers["item"],
            workers=answers["worker"],
            judged=ratings,
            levels=levels if factor else None,
            bounds=bounds,
            level=args.confidence,
        )
    except ValueError as error:
        raise InputError(args.file, "", str(error)) from error
    return Judged(
        answers,
        ratings,
        left_out,
        n_ratings - len(ratings),
        powered,
        bias_of(args, answers, ratings, levels if factor else None),
        alternative_annotator_test(answers, ratings, nominal=args.nominal, margin=MARGINS[args.people]),
        with_the_people(answers, ratings),
        with_the_others(answers),
    )


def ratings_of(args: argparse.Namespace, judge: pd.DataFrame, bounds: Bounds | None) -> pd.Series:
    """The judge's mean rating by item, without items that it did not answer."""
    values = numbers(judge[args.value], args.judge)
    if bounds and ((values < bounds[0]) | (values > bounds[1])).any():
        row = judge.index[int(((values < bounds[0]) | (values > bounds[1])).argmax())]
        where = f'row {row}, column "{args.value}"'
        raise InputError(
            args.judge, where, f"the rating is not on the scale from {bounds[0]:g} to {bounds[1]:g}", "ask again"
        )
    names = judge[args.item].astype(object).astype(str).to_numpy()
    return pd.Series(values, index=names).dropna().groupby(level=0, sort=False).mean()


def level_of_items(items: pd.Series, levels: pd.Series) -> dict[str, str]:
    named = zip(items.astype(object).astype(str), levels.astype(object).fillna("").astype(str), strict=True)
    return dict(named)


def bias_of(
    args: argparse.Namespace, answers: pd.DataFrame, ratings: pd.Series, levels: pd.Series | None
) -> dict[str, Estimate]:
    """The judge's rating less people's answer, by level: their mean with its interval."""
    differences = ratings.reindex(answers["item"]).to_numpy() - answers["value"].to_numpy()
    of_answers = np.full(len(answers), "") if levels is None else levels.reindex(answers["item"]).to_numpy(dtype=object)
    dimensions = Dimensions.of(items=answers["item"].to_numpy(), workers=answers["worker"].to_numpy())
    bias = {}
    for name in dict.fromkeys(of_answers):
        rows = of_answers == name
        bias[str(name)] = mean_estimate(differences[rows], dimensions.chosen(rows), level=args.confidence)
    return bias


def with_interval(estimate: Estimate, sign: str = "") -> str:
    if math.isnan(estimate.low):
        return f"{estimate.value:{sign}.3f} (no interval: {estimate.note})"
    return f"{estimate.value:{sign}.3f} [{estimate.low:{sign}.3f}, {estimate.high:{sign}.3f}]"


def print_judged(args: argparse.Namespace, name: str, one: Judged) -> None:
    rated, both = one.answers["item"].nunique(), len(one.ratings)
    workers = one.answers["worker"].nunique()
    print(f"{name}: {counted(len(one.answers), 'answer')} by {counted(workers, 'worker')} about {rated:,} of")
    print(f"{counted(both, 'item')} that the judge rated")
    if one.left_out:
        print(f"{counted(one.left_out, 'item')} that the judge did not rate, left out")
    if one.without_level:
        print(f"{counted(one.without_level, 'item')} of the judge’s without a level in “{args.factor}”, left out")
    percent = f"{100 * args.confidence:g}% interval"
    width = max([len("level"), *(len(level.name) for level in one.powered.levels)])
    print(f"\n{'level':{width}}  people alone, {percent:<14}  people and judge             weight  judge alone")
    for level in one.powered.levels:
        alone, together = with_interval(level.people), with_interval(level.both)
        print(f"{level.name or 'all':{width}}  {alone:<27}  {together:<27}  {level.weight:>6.2f}  {level.judge:>11.3f}")
    for first, second in pairs(one):
        title = f"{one.powered.levels[first].name} − {one.powered.levels[second].name}"
        people, powered = one.powered.difference(first, second)
        print(f"{title}: {with_interval(people, '+')} by people alone, {with_interval(powered, '+')} by both")
    print("\nThe judge’s rating less people’s answer")
    for level_name, estimate in one.bias.items():
        print(f"{level_name or 'all':{width}}  {with_interval(estimate, '+')}")
    print("\nAgreement")
    correlation, n_people = one.person_with_others
    print(f"judge with the mean of people, Spearman’s ρ over items: {number(one.judge_with_people)}")
    print(f"a person with the mean of the others, mean over {n_people} people: {number(correlation)}")
    test = one.test
    if test.people:
        verdict = "can" if test.passes else "cannot"
        print(
            f"alternative annotator test (margin {test.margin:g}): the judge {verdict} stand in for these people; "
            f"winning rate {test.winning_rate:.2f} of {test.people}, advantage probability {test.advantage:.2f}"
        )
    if test.left_out:
        untested = counted(test.left_out, "person", "people")
        print(f"{untested} with fewer than {LEAST_ITEMS} items that others rated, not in the test")
    print("\nItems that differ most")
    for item, row in one.differing().iterrows():
        print(f"{item}: people {row['people']:.2f}, judge {row['judge']:.2f}")


def pairs(one: Judged) -> list[tuple[int, int]]:
    count = len(one.powered.levels)
    return [(first, second) for first in range(count) for second in range(first + 1, count)]


def number(value: float) -> str:
    return "not defined" if math.isnan(value) else f"{value:.3f}"


def outcome_of(args: argparse.Namespace, compared: dict[str, Judged]) -> Outcome:
    data: dict[str, Any] = {}
    estimates: dict[str, Estimate] = {}
    figures: dict[str, Any] = {}
    for name, one in compared.items():
        data[name] = {
            "answers": len(one.answers),
            "workers": int(one.answers["worker"].nunique()),
            "items": int(one.answers["item"].nunique()),
            "items_of_judge": len(one.ratings),
            "items_not_judged": one.left_out,
            "items_without_level": one.without_level,
        }
        for level in one.powered.levels:
            key = f"{name}.{level.name}" if level.name else name
            estimates |= {f"{key}.people": level.people, f"{key}.both": level.both}
            estimates[f"{key}.bias"] = one.bias[level.name]
            figures[key] = {"judge": level.judge, "weight": level.weight, "rated": level.rated}
            figures[key]["unrated"] = level.unrated
        for first, second in pairs(one):
            key = f"{name}.{one.powered.levels[first].name} - {one.powered.levels[second].name}"
            people, powered = one.powered.difference(first, second)
            estimates |= {f"{key}.people": people, f"{key}.both": powered}
        figures[f"{name}.agreement"] = without_nan(
            {
                "judge_with_people": one.judge_with_people,
                "person_with_others": one.person_with_others[0],
                "people_compared": one.person_with_others[1],
                "alternative_annotator_test": asdict(one.test) | {"passes": one.test.passes},
            }
        )
        figures[f"{name}.differing"] = without_nan(one.differing().T.to_dict())
    return Outcome("judges", args.file, options_used(args), data, estimates, figures)
