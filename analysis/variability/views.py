"""The corpus view (how each decoder fits over all contexts) and the instance view (where it fits worst).

Source: Giulianelli et al. 2023, §3 and §6.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import asdict, dataclass, replace
from itertools import combinations
from typing import Literal
from zlib import crc32

import numpy as np
import pandas as pd

from analysis.diversity.association import Floats
from analysis.estimate import Estimate
from analysis.inference import Dimensions, holm, mean_estimate, ratios
from analysis.variability.distance_matrices import Productions
from analysis.variability.fit import Fit, control_fit, cross_distances, fit, self_distances, split_by_writer

#: The name of the human control group among the decoders, and of rows about people alone.
CONTROL, PEOPLE = "human control", "people"
#: The figures of a fit whose means over contexts make the corpus view.
FIGURES = ("model_minus_human", "cross_minus_human", "w1_model", "w1_cross")
By = Literal["w1_model", "w1_cross"]


def fit_table(context_matrices: Iterable[tuple[Productions, Mapping[str, Floats]]], *, seed: int = 1) -> pd.DataFrame:
    """One row per context, decoder and kind of distance: ``context``, ``decoder``, ``kind``, the fields of `Fit`.

    Besides the decoders there are rows for PEOPLE (only the human figures) and, with more than five human productions,
    for CONTROL. The halves of a context depend on the seed and the context, not on the order of contexts.
    """
    rows = []
    for context, kinds in context_matrices:
        human = list(range(len(context.human)))
        for kind, matrix in kinds.items():
            distances = self_distances(matrix, human)
            fits: dict[str, Fit | None] = {PEOPLE: fit(distances, [], [])}
            for decoder, places in context.places.items():
                cross = cross_distances(matrix, human, places)
                fits[decoder] = fit(distances, self_distances(matrix, places), cross)
            rng = np.random.default_rng([seed, crc32(context.context.encode())])
            fits[CONTROL] = control_fit(matrix, human, rng=rng)
            rows += [
                {"context": context.context, "decoder": decoder, "kind": kind} | asdict(decoder_fit)
                for decoder, decoder_fit in fits.items()
                if decoder_fit is not None
            ]
    columns = ["context", "decoder", "kind", *Fit.__dataclass_fields__]
    return pd.DataFrame(rows, columns=columns)


def corpus_view(table: pd.DataFrame, *, level: float = 0.95) -> dict[tuple[str, str], dict[str, Estimate]]:
    """By (decoder, kind): the mean over contexts of each of FIGURES, and of ``mu_human`` for PEOPLE.

    Intervals are about new contexts. Contexts without the figure are left out: ``n`` counts the others.
    """
    means: dict[tuple[str, str], dict[str, Estimate]] = {}
    for (decoder, kind), rows in table.groupby(["decoder", "kind"], sort=False):
        names = ("mu_human",) if decoder == PEOPLE else FIGURES
        means[str(decoder), str(kind)] = {name: _mean(rows, name, level) for name in names}
    return means


def _mean(rows: pd.DataFrame, name: str, level: float) -> Estimate:
    defined = rows.dropna(subset=name)
    if defined.empty:
        return Estimate(math.nan, n=0, n_of="contexts", level=level, note="no context has enough productions")
    mean = mean_estimate(defined[name], Dimensions.of(contexts=defined["context"]), level=level)
    return replace(mean, n_of="contexts")


@dataclass(frozen=True, slots=True)
class DecoderDifference:
    """How much worse the first decoder (or the control group) fits than the second: the difference of the mean W₁ of
    cross-variability from people's. ``p_corrected`` by Holm over all pairs."""

    first: str
    second: str
    difference: Estimate
    p: float
    p_corrected: float


def decoder_differences(
    table: pd.DataFrame, kind: str, *, by: By = "w1_cross", level: float = 0.95
) -> list[DecoderDifference]:
    """All pairs of decoders, and of each with CONTROL, on one kind of distance, about new contexts.

    A pair is compared over the contexts that have both. Empty with fewer than two.
    """
    rows = table[(table["kind"] == kind) & (table["decoder"] != PEOPLE)].dropna(subset=by)
    wide = rows.pivot(index="context", columns="decoder", values=by)
    names = [name for name in dict.fromkeys(rows["decoder"]) if name != CONTROL]
    names += [CONTROL] if CONTROL in wide else []
    pairs = [pair for pair in combinations(names, 2) if wide[list(pair)].notna().all(axis=1).any()]
    differences, tests = [], []
    for first, second in pairs:
        both = (wide[first] - wide[second]).dropna()
        figures = ratios(
            both.to_numpy(), np.ones(len(both)), Dimensions.of(contexts=both.index.to_numpy()), level=level
        )
        differences.append(replace(figures.estimate(bounds=(-1, 1)), n_of="contexts"))
        tests.append(figures.p(bounds=(-1, 1)))
    corrected = holm(tests).tolist() if tests else []
    return [
        DecoderDifference(first, second, difference, p, p_corrected)
        for (first, second), difference, p, p_corrected in zip(pairs, differences, tests, corrected, strict=True)
    ]


def worst_fit(
    table: pd.DataFrame, *, decoder: str, kind: str, by: By = "w1_cross", most: int | None = 10
) -> pd.DataFrame:
    """The rows of a decoder and kind with the largest distance ``by`` first; equal ones in the order of the table."""
    rows = table[(table["decoder"] == decoder) & (table["kind"] == kind)].dropna(subset=by)
    return rows.sort_values(by, ascending=False, kind="stable").head(len(rows) if most is None else most)


def within_and_between(
    context_matrices: Iterable[tuple[Productions, Mapping[str, Floats]]], *, level: float = 0.95
) -> dict[str, dict[str, Estimate]]:
    """By kind: the mean distance ``within`` writers, ``between`` writers and their ``difference``, over contexts.

    A context counts as the mean of its pairs; the difference only uses contexts with both. Contexts without writers, or
    where nobody wrote twice, have nothing within. Intervals are about new contexts.
    """
    rows = []
    for context, kinds in context_matrices:
        if not context.writers:
            continue
        for kind, matrix in kinds.items():
            halves = split_by_writer(matrix, list(range(len(context.human))), context.writers)
            within, between = (float(half.mean()) if len(half) else math.nan for half in halves)
            rows.append((context.context, kind, within, between, between - within))
    table = pd.DataFrame(rows, columns=["context", "kind", "within", "between", "difference"])
    return {
        str(kind): {name: _mean(part, name, level) for name in ("within", "between", "difference")}
        for kind, part in table.groupby("kind", sort=False)
    }
