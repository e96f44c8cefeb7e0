"""Figures of decoders, from the samples that each drew at each context.

Shapes: ``samples`` is a frame with one row per sample and the columns COLUMNS; ``log_p`` and ``log_q`` are natural
logarithms, summed over the sample's tokens, NaN if missing. Every measure is computed at each context first, then
averaged over contexts, so that contexts with more samples do not count more. Intervals resample contexts.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import pandas as pd
import scipy
from numpy.typing import NDArray

from analysis.diversity.metrics import distinct_n
from analysis.estimate import Estimate
from analysis.inference import Dimensions, mean_estimate

COLUMNS = ("context", "model", "decoder", "text", "n_tokens", "log_p", "log_q", "finish_reason", "seconds")
Floats = NDArray[np.float64]
REPEATED_ORDER = 4


@dataclass(frozen=True, slots=True)
class Measure:
    """One figure: ``of`` maps the samples of one context to one number, NaN if undefined."""

    key: str
    label: str
    unit: str
    of: Callable[[pd.DataFrame], float]
    explanation: str


def entropy(samples: pd.DataFrame) -> float:
    """−mean log q: a Monte Carlo estimate of the decoder's entropy over texts at this context, in nats.

    Source: Zhang et al. 2020, §3.
    """
    return -_mean_of_all(samples["log_q"])


def entropy_per_token(samples: pd.DataFrame) -> float:
    """The entropy divided by the mean number of tokens, in nats per token."""
    return _divide(-_sum_of_all(samples["log_q"]), samples["n_tokens"].sum())


def log_p(samples: pd.DataFrame) -> float:
    return _mean_of_all(samples["log_p"])


def log_p_per_token(samples: pd.DataFrame) -> float:
    return _divide(_sum_of_all(samples["log_p"]), samples["n_tokens"].sum())


def distinct(samples: pd.DataFrame) -> float:
    """Distinct-n of the context's samples as one set (Tevet & Berant 2021)."""
    return distinct_n(list(samples["text"]))


def distinct_1(samples: pd.DataFrame) -> float:
    """Different words over all words of the context's samples (Li et al. 2016)."""
    return distinct_n(list(samples["text"]), n=(1,))


def distinct_2(samples: pd.DataFrame) -> float:
    """The same of pairs of neighbouring words."""
    return distinct_n(list(samples["text"]), n=(2,))


def tokens_long(samples: pd.DataFrame) -> float:
    return float(samples["n_tokens"].mean())


def words_long(samples: pd.DataFrame) -> float:
    return float(np.mean([len(text.split()) for text in samples["text"]]))


def repetition(samples: pd.DataFrame) -> float:
    """The share of 4-grams of words that repeat an earlier one of their text, averaged over texts of four words or
    more."""
    shares = [share for text in samples["text"] if not math.isnan(share := repeated_share(text))]
    return float(np.mean(shares)) if shares else math.nan


def repeated_share(text: str, order: int = REPEATED_ORDER) -> float:
    """1 − unique / all n-grams of one text's words (split on white space), n = ``order``; NaN below n words.

    Source: seq-rep-n of Welleck et al. 2020, section 6 (there over subword tokens).
    """
    words = text.split()
    grams = [tuple(words[start : start + order]) for start in range(len(words) - order + 1)]
    return 1 - len(set(grams)) / len(grams) if grams else math.nan


def same_text(samples: pd.DataFrame) -> float:
    """The share of unordered pairs of samples with the same text; NaN for fewer than two samples."""
    n = len(samples)
    if n < 2:
        return math.nan
    return sum(count * (count - 1) for count in Counter(samples["text"]).values()) / (n * (n - 1))


def ended(samples: pd.DataFrame) -> float:
    """The share of samples that ended before they reached the length limit or filled the model's context."""
    return float((~samples["finish_reason"].isin(("length", "context"))).mean())


MEASURES: tuple[Measure, ...] = (
    Measure(
        "entropy",
        "Entropy",
        "nats",
        entropy,
        "Conditional entropy of the decoder: minus the mean log-probability of its samples under what it draws from.",
    ),
    Measure("entropy_per_token", "Entropy per token", "nats", entropy_per_token, "The same over the number of tokens."),
    Measure("log_p", "Log-likelihood", "nats", log_p, "Mean log-probability of the samples under the model itself."),
    Measure(
        "log_p_per_token", "Log-likelihood per token", "nats", log_p_per_token, "The same over the number of tokens."
    ),
    Measure("distinct", "Distinct-n", "", distinct, "Unique over all n-grams of a context's samples, n from 1 to 5."),
    Measure("distinct_1", "Distinct-1", "", distinct_1, "Different words over all words of a context's samples."),
    Measure("distinct_2", "Distinct-2", "", distinct_2, "The same of pairs of neighbouring words."),
    Measure("same", "Same text", "share", same_text, "Share of pairs of samples of a context that are the same text."),
    Measure(
        "repetition", "Repetition", "share", repetition, "Share of 4-grams that repeat an earlier one of the same text."
    ),
    Measure("tokens", "Length", "tokens", tokens_long, "Mean number of tokens."),
    Measure("words", "Length", "words", words_long, "Mean number of words between spaces."),
    Measure("ended", "Ended by itself", "share", ended, "Share not cut at the longest length allowed."),
)


@dataclass(frozen=True, slots=True)
class DecoderFigures:
    """All measures of one model and decoder, by the measure's key."""

    model: str
    decoder: str
    n_contexts: int
    n_samples: int
    estimates: dict[str, Estimate]


def decoder_figures(samples: pd.DataFrame, *, level: float = 0.95) -> list[DecoderFigures]:
    """One entry per model and decoder, in order of first appearance in the frame.

    Means over contexts, with intervals about new contexts. ValueError: a column is missing.
    """
    missing = [column for column in COLUMNS if column not in samples.columns]
    if missing:
        raise ValueError(f"the samples lack the column{'s' if len(missing) > 1 else ''} {', '.join(missing)}")
    figures = []
    for (model, decoder), group in samples.groupby(["model", "decoder"], sort=False):
        contexts = [rows for _, rows in group.groupby("context", sort=True)]
        estimates = {}
        for measure in MEASURES:
            at_contexts = np.array([measure.of(rows) for rows in contexts], dtype=np.float64)
            defined = at_contexts[np.isfinite(at_contexts)]
            dropped = len(at_contexts) - len(defined)
            note = f"not defined at {dropped} of {len(at_contexts)} contexts" if dropped else ""
            estimate = Estimate(math.nan, level=level, note=note or "there are no samples")
            if len(defined):
                estimate = mean_estimate(defined, Dimensions.of(contexts=np.arange(len(defined))), level=level)
                estimate = replace(estimate, note="; ".join(filter(None, [note, estimate.note])))
            estimates[measure.key] = replace(estimate, n_of="contexts")
        figures.append(DecoderFigures(str(model), str(decoder), len(contexts), len(group), estimates))
    return figures


def trend(values: Sequence[float], figures: Sequence[float]) -> Estimate:
    """Spearman's ρ of a measure against the parameter of a sweep; NaN below three points or without variation."""
    pairs = [(x, y) for x, y in zip(values, figures, strict=True) if math.isfinite(x) and math.isfinite(y)]
    if len(pairs) < 3 or len({x for x, _ in pairs}) < 2 or len({y for _, y in pairs}) < 2:
        return Estimate(math.nan, n=len(pairs), n_of="decoders", note="fewer than three decoders, or nothing varies")
    rho = float(scipy.stats.spearmanr([x for x, _ in pairs], [y for _, y in pairs]).statistic)
    return Estimate(rho, n=len(pairs), n_of="decoders", method="Spearman’s ρ over the sweep")


def _mean_of_all(column: pd.Series[float]) -> float:
    """The mean, NaN if a value is missing: the mean of the rest would describe another decoder."""
    return float(column.mean()) if len(column) and column.notna().all() else math.nan


def _sum_of_all(column: pd.Series[float]) -> float:
    return float(column.sum()) if len(column) and column.notna().all() else math.nan


def _divide(a: float, b: float) -> float:
    return a / b if b else math.nan
