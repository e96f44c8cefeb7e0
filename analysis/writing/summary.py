"""Figures of a whole writing study from its lines, for the report and the command line alike.

``lines`` are frames as `analysis.writing.lines.lines_frame` makes them. Intervals resample writers with all their
lines."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from analysis.clusters import cluster_mean
from analysis.diversity.resampling import Bootstrap
from analysis.estimate import Estimate
from analysis.tagging import Tagger
from analysis.writing.choices import BinomialTests, binomial_tests, choice_share, clustered_share
from analysis.writing.edits import Shift, edit_of, mann_whitney
from analysis.writing.lines import Contest, accepted, authors_of, contests, written_alone
from analysis.writing.mixed import MixedLogit, mixed_logit
from analysis.writing.texts import concreteness, distinct_shares, mean_sentence_length

#: The source of lines that writers wrote without any suggestion.
ALONE = "written alone"
#: Measures of edits and of texts by their names.
EDITS = {"levenshtein": "Levenshtein, characters", "jaccard": "Jaccard × 100", "user": "USER × 100"}
TEXTS = {
    "sentence_length": "Words per sentence",
    "distinct_1": "distinct-1",
    "distinct_2": "distinct-2",
    "distinct_3": "distinct-3",
}
CONCRETE = {"nouns": "Concreteness, nouns", "verbs": "Concreteness, verbs", "covered": "Nouns and verbs with a rating"}
#: In `mean_edits`, the place of all rounds together.
ALL_ROUNDS = 0


@dataclass(frozen=True, slots=True)
class Round:
    """One round: ``wins`` of ``n`` choices are for the first; ``share`` with Wilson's interval."""

    round: int
    wins: int
    n: int
    share: Estimate


@dataclass(frozen=True, slots=True)
class Compared:
    """Two suggesters. Shares are of the first."""

    first: str
    second: str
    share: Estimate
    share_by_writer: Estimate
    mixed: MixedLogit
    tests: BinomialTests
    rounds: list[Round]


@dataclass(frozen=True, slots=True)
class EditShift:
    """Mann–Whitney's test of one measure between two suggesters."""

    measure: str
    first: str
    second: str
    shift: Shift


def compared_choices(lines: pd.DataFrame, *, plan: Bootstrap) -> list[Compared]:
    """Every two suggesters between whom writers chose."""
    return [_compared(contest, plan) for contest in contests(lines)]


def _compared(contest: Contest, plan: Bootstrap) -> Compared:
    chosen, rounds = np.array(contest.chosen), np.array(contest.rounds)
    by_round = []
    for place in sorted(set(contest.rounds)):
        here = chosen[rounds == place]
        by_round.append(Round(place, int(here.sum()), len(here), choice_share(here, level=plan.level)))
    return Compared(
        contest.first,
        contest.second,
        choice_share(chosen, level=plan.level),
        _several(clustered_share(chosen, contest.writers, plan=plan)),
        mixed_logit(chosen, contest.writers, level=plan.level),
        binomial_tests(int(chosen.sum()), len(chosen)),
        by_round,
    )


def edit_table(lines: pd.DataFrame) -> pd.DataFrame:
    """The accepted suggestions by suggester, with the EDITS and whether they were submitted ``unchanged``."""
    found = accepted(lines)
    pairs = zip(found["text"].tolist(), found["submitted"].tolist(), strict=True)
    rows = [asdict(edit_of(suggested, submitted)) for suggested, submitted in pairs]
    measured = pd.DataFrame(rows, columns=list(EDITS), index=found.index).astype(float)
    joined = found.join(measured).assign(unchanged=found["text"] == found["submitted"])
    return joined.sort_values("author", kind="stable")


def mean_edits(edits: pd.DataFrame, *, plan: Bootstrap) -> dict[tuple[str, int], dict[str, Estimate]]:
    """By suggester and round (ALL_ROUNDS for all): the mean of each of the EDITS in a table of `edit_table`."""
    means = {}
    for name, mine in edits.groupby("author", sort=False):
        for place, rows in [(ALL_ROUNDS, mine), *mine.groupby("round", sort=True)]:
            key = str(name), int(str(place))
            means[key] = {measure: mean_over_writers(rows, measure, plan=plan) for measure in EDITS}
    return means


def edit_shifts(edits: pd.DataFrame) -> list[EditShift]:
    """Mann–Whitney U of every two suggesters on each of the EDITS; pairs without a value on one side are left out."""
    found = []
    for first, second in combinations(dict.fromkeys(edits["author"]), 2):
        for measure in EDITS:
            left, right = (edits.loc[edits["author"] == name, measure].dropna() for name in (first, second))
            if len(left) and len(right):
                found.append(EditShift(measure, first, second, mann_whitney(left, right)))
    return found


def story_table(
    lines: pd.DataFrame, *, ratings: Mapping[str, float] | None = None, tagger: Tagger | None = None
) -> pd.DataFrame:
    """One row per source and story: ``source`` (a suggester, or ALONE), ``story``, ``writer`` and the TEXTS.

    With ``ratings`` of concreteness and a ``tagger``, the CONCRETE figures, too. All suggestions count, chosen or not.
    """
    parts = [(name, lines[lines["author"] == name]) for name in authors_of(lines)] + [(ALONE, written_alone(lines))]
    rows = []
    for name, part in parts:
        for story, mine in part.groupby("story", sort=False):
            texts = mine["text"].tolist()
            row = {"source": name, "story": story, "writer": mine["writer"].iloc[0]} | _measures(texts)
            if ratings is not None and tagger is not None:
                row |= dict(zip(CONCRETE, concreteness("\n".join(texts), ratings, tagger), strict=True))
            rows.append(row)
    measures = [*TEXTS, *(CONCRETE if ratings is not None and tagger is not None else ())]
    return pd.DataFrame(rows, columns=["source", "story", "writer", *measures])


def _measures(texts: Sequence[str]) -> dict[str, float]:
    """Sentences and n-grams stay within a line."""
    values = [mean_sentence_length("\n".join(texts)), *distinct_shares(texts)]
    return dict(zip(TEXTS, values, strict=True))


def mean_texts(stories: pd.DataFrame, *, plan: Bootstrap) -> dict[str, dict[str, Estimate]]:
    """By source: the mean over stories of each measure in a table of `story_table`."""
    measures = [name for name in stories.columns if name not in ("source", "story", "writer")]
    return {
        str(name): {measure: mean_over_writers(rows, measure, plan=plan) for measure in measures}
        for name, rows in stories.groupby("source", sort=False)
    }


def mean_over_writers(rows: pd.DataFrame, column: str, *, plan: Bootstrap) -> Estimate:
    """The mean of a column with an interval that resamples ``writer``.

    NaN without values, no interval for a single writer.
    """
    known = rows.dropna(subset=column)
    if known.empty:
        return Estimate(math.nan, n=0, n_of="writers", level=plan.level, note="there is nothing to measure")
    return _several(cluster_mean(known[column], known["writer"], plan=plan, n_of="writers"))


def _several(found: Estimate) -> Estimate:
    """The estimate without its interval if there is a single writer, because every resample is the same."""
    if found.n > 1:
        return found
    return replace(found, low=math.nan, high=math.nan, method="", note="no interval from a single writer")
