"""Figures of a whole writing study from its lines, for the report and the command line alike.

``lines`` are frames as `analysis.writing.story_lines.lines_frame` makes them. Intervals are about new writers, who
are clusters of all that they wrote."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from itertools import combinations

import numpy as np
import pandas as pd

from analysis.estimate import Estimate
from analysis.inference import Bounds, Dimensions, holm, mean_estimate, ratios
from analysis.tagging import Tagger
from analysis.writing.edits import Shift, edit_of, mann_whitney
from analysis.writing.mixed import MixedLogit, mixed_logit
from analysis.writing.story_lines import accepted, authors_of, contests, written_alone
from analysis.writing.story_texts import concreteness, distinct_shares, mean_sentence_length
from analysis.writing.suggestion_choices import BinomialTests, binomial_tests, choice_share, clustered_share

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
#: The ends of the measures that have both.
LIMITS: dict[str, Bounds] = dict.fromkeys(("jaccard", "user"), (0, 100))
LIMITS |= dict.fromkeys(("distinct_1", "distinct_2", "distinct_3", "covered"), (0, 1))
#: In `mean_edits`, the place of all rounds together.
ALL_ROUNDS = 0


@dataclass(frozen=True, slots=True)
class Round:
    """One round: ``wins`` of ``n`` choices are for the first; ``share`` with an interval about new writers."""

    round: int
    wins: int
    n: int
    share: Estimate


@dataclass(frozen=True, slots=True)
class Compared:
    """Two suggesters. Shares are of the first: ``share`` with Wilson's interval, as published, ``share_by_writer`` with
    one about new writers and the p of its test."""

    first: str
    second: str
    share: Estimate
    share_by_writer: Estimate
    p_by_writer: float
    mixed: MixedLogit
    tests: BinomialTests
    rounds: list[Round]


@dataclass(frozen=True, slots=True)
class EditShift:
    """One measure between two suggesters: the ``difference`` of means with an interval about new writers, its p, and
    that corrected by Holm's method over all measures and pairs; ``shift`` is Mann–Whitney's test, as published."""

    measure: str
    first: str
    second: str
    difference: Estimate
    p: float
    p_corrected: float
    shift: Shift


def compared_choices(lines: pd.DataFrame, *, level: float = 0.95) -> list[Compared]:
    """Every pair of suggesters between whom writers chose."""
    pairs = []
    for contest in contests(lines):
        chosen, rounds, writers = np.array(contest.chosen), np.array(contest.rounds), np.array(contest.writers)
        by_round = []
        for round_number in sorted(set(contest.rounds)):
            chosen_in_round, of_writers = chosen[rounds == round_number], writers[rounds == round_number]
            share = clustered_share(chosen_in_round, of_writers, level=level).share
            by_round.append(Round(round_number, int(chosen_in_round.sum()), len(chosen_in_round), share))
        overall = clustered_share(chosen, writers, level=level)
        pairs.append(
            Compared(
                contest.first,
                contest.second,
                choice_share(chosen, level=level),
                overall.share,
                overall.p,
                mixed_logit(chosen, contest.writers, level=level),
                binomial_tests(int(chosen.sum()), len(chosen)),
                by_round,
            )
        )
    return pairs


def edit_table(lines: pd.DataFrame) -> pd.DataFrame:
    """The accepted suggestions by suggester, with the EDITS and whether they were submitted ``unchanged``."""
    suggestions = accepted(lines)
    pairs = zip(suggestions["text"].tolist(), suggestions["submitted"].tolist(), strict=True)
    rows = [asdict(edit_of(suggested, submitted)) for suggested, submitted in pairs]
    measured = pd.DataFrame(rows, columns=list(EDITS), index=suggestions.index).astype(float)
    joined = suggestions.join(measured).assign(unchanged=suggestions["text"] == suggestions["submitted"])
    return joined.sort_values("author", kind="stable")


def mean_edits(edits: pd.DataFrame, *, level: float = 0.95) -> dict[tuple[str, int], dict[str, Estimate]]:
    """By suggester and round (ALL_ROUNDS for all): the mean of each of the EDITS in a table of `edit_table`."""
    means = {}
    for name, rows_of_author in edits.groupby("author", sort=False):
        for round_number, rows in [(ALL_ROUNDS, rows_of_author), *rows_of_author.groupby("round", sort=True)]:
            key = str(name), int(str(round_number))
            means[key] = {measure: mean_over_writers(rows, measure, level=level) for measure in EDITS}
    return means


def edit_shifts(edits: pd.DataFrame, *, level: float = 0.95) -> list[EditShift]:
    """Every pair of suggesters on each of the EDITS; pairs without a value on one side are left out."""
    shifts = []
    for first, second in combinations(dict.fromkeys(edits["author"]), 2):
        for measure in EDITS:
            rows = edits[edits["author"].isin([first, second])].dropna(subset=measure)
            values, is_first = rows[measure].to_numpy(dtype=float), (rows["author"] == first).to_numpy()
            if is_first.all() or not is_first.any():
                continue
            sides = np.stack([is_first, ~is_first], axis=1).astype(float)
            means = ratios(values[:, None] * sides, sides, Dimensions.of(writers=rows["writer"]), level=level)
            difference = replace(means.difference(0, 1), n_of="edits")
            p, shift = means.p_difference(0, 1), mann_whitney(values[is_first], values[~is_first])
            shifts.append(EditShift(measure, str(first), str(second), difference, p, p, shift))
    corrected = holm([edit_shift.p for edit_shift in shifts])
    return [replace(edit_shift, p_corrected=float(p)) for edit_shift, p in zip(shifts, corrected, strict=True)]


def story_table(
    lines: pd.DataFrame, *, ratings: Mapping[str, float] | None = None, tagger: Tagger | None = None
) -> pd.DataFrame:
    """One row per source and story: ``source`` (a suggester, or ALONE), ``story``, ``writer`` and the TEXTS.

    With ``ratings`` of concreteness and a ``tagger``, the CONCRETE figures, too. All suggestions count, chosen or not.
    """
    parts = [(name, lines[lines["author"] == name]) for name in authors_of(lines)] + [(ALONE, written_alone(lines))]
    rows = []
    for name, part in parts:
        for story, story_rows in part.groupby("story", sort=False):
            texts = story_rows["text"].tolist()
            row = {"source": name, "story": story, "writer": story_rows["writer"].iloc[0]}
            # Sentences and n-grams stay within a line.
            row |= dict(zip(TEXTS, [mean_sentence_length("\n".join(texts)), *distinct_shares(texts)], strict=True))
            if ratings is not None and tagger is not None:
                row |= dict(zip(CONCRETE, concreteness("\n".join(texts), ratings, tagger), strict=True))
            rows.append(row)
    measures = [*TEXTS, *(CONCRETE if ratings is not None and tagger is not None else ())]
    return pd.DataFrame(rows, columns=["source", "story", "writer", *measures])


def mean_texts(stories: pd.DataFrame, *, level: float = 0.95) -> dict[str, dict[str, Estimate]]:
    """By source: the mean over stories of each measure in a table of `story_table`."""
    measures = [name for name in stories.columns if name not in ("source", "story", "writer")]
    return {
        str(name): {measure: mean_over_writers(rows, measure, level=level) for measure in measures}
        for name, rows in stories.groupby("source", sort=False)
    }


def mean_over_writers(rows: pd.DataFrame, column: str, *, level: float = 0.95) -> Estimate:
    """The mean of a column with an interval about new writers; the prompts are a fixed condition.

    NaN without values.
    """
    rated = rows.dropna(subset=column)
    if rated.empty:
        return Estimate(math.nan, n=0, n_of="texts", level=level, note="there is nothing to measure")
    dimensions = Dimensions.of(writers=rated["writer"])
    return replace(mean_estimate(rated[column], dimensions, bounds=LIMITS.get(column), level=level), n_of="texts")
