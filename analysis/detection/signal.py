"""Signal detection: how well people tell machine texts from human ones, whichever answer they tend to give.

A hit is a machine text called machine, a false alarm a human text called machine. d′ = z(hits) − z(false alarms),
criterion c = −(z(hits) + z(false alarms))/2, above 0 if people lean towards *human*. Where people choose the machine's
text of a pair (two-alternative forced choice), d′ = √2 · z(share right): there are no false alarms, so precision and
recall mean nothing. Source: Green & Swets 1966; Macmillan & Creelman 2005, ch. 1 and 7.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace

import numpy as np
import scipy
from numpy.typing import ArrayLike
from scipy.special import ndtri

from analysis.detection.judgements import Judgements, rates_of
from analysis.estimate import Estimate
from analysis.inference import Dimensions, ratios

#: The correction, by name: 0.5 is added to hits and false alarms and 1 to their totals, always (Hautus 1995).
CORRECTION = "log-linear correction (Hautus 1995)"


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """d′ and the criterion of all judgements pooled, with rates before the correction."""

    d_prime: Estimate
    criterion: Estimate
    hit_rate: float
    false_alarm_rate: float


@dataclass(frozen=True, slots=True)
class ForcedChoice:
    """The share of right choices, d′, and the two-sided p of a share of one half."""

    accuracy: Estimate
    d_prime: Estimate
    p: float


def sensitivity(judgements: Judgements, *, level: float = 0.95) -> Sensitivity:
    """d′ and criterion with the log-linear correction, which keeps rates of 0 and 1 finite and shrinks d′ a little.

    Judgements are pooled, which understates d′ if workers' criteria differ. Intervals are about new texts and new
    workers (delta method, `analysis.inference`). NaN with a note unless there are texts of both kinds.
    """
    frame = judgements.frame
    machines = int(frame["is_machine"].sum())
    totals = np.array([machines, len(frame) - machines], dtype=float)
    if not totals.all():
        kind = "human" if totals[0] else "machine"
        none = Estimate(math.nan, n=len(frame), n_of="answers", level=level, note=f"no {kind} text was judged")
        return Sensitivity(none, none, math.nan, math.nan)
    rates = rates_of(judgements, level)
    corrected = (rates.values * totals + 0.5) / (totals + 1)
    z = ndtri(corrected)
    slopes = totals / (totals + 1) / scipy.stats.norm.pdf(z)
    gradient = np.array([[1.0, -1.0], [-0.5, -0.5]]) * slopes
    d_prime_and_criterion = rates.combined([z[0] - z[1], -(z[0] + z[1]) / 2], gradient)
    estimates = [_corrected(d_prime_and_criterion.estimate(index)) for index in (0, 1)]
    return Sensitivity(estimates[0], estimates[1], float(rates.values[0]), float(rates.values[1]))


def forced_choice(workers: ArrayLike, pairs: ArrayLike, right: ArrayLike, *, level: float = 0.95) -> ForcedChoice:
    """Two-alternative forced choice: which text of a pair is the machine's? All arrays are (N,); ``right`` is 1 or 0.

    The log-linear correction adds 0.5 to the right choices and 1 to all. ValueError: no choice; another value.
    """
    chosen = np.asarray(right, dtype=float)
    if not len(chosen):
        raise ValueError("there is no choice")
    if not np.isin(chosen, (0.0, 1.0)).all():
        raise ValueError("a choice is right (1) or wrong (0)")
    share = ratios(chosen, np.ones(len(chosen)), Dimensions.of(pairs=pairs, workers=workers), level=level)
    n = len(chosen)
    z = float(ndtri((chosen.sum() + 0.5) / (n + 1)))
    slope = math.sqrt(2) * n / (n + 1) / float(scipy.stats.norm.pdf(z))
    d_prime = share.combined([math.sqrt(2) * z], [[slope]]).estimate()
    return ForcedChoice(share.estimate(bounds=(0, 1)), _corrected(d_prime), share.p(null=0.5, bounds=(0, 1)))


def _corrected(estimate: Estimate) -> Estimate:
    return replace(estimate, method=f"{estimate.method}; {CORRECTION}".removeprefix("; "))
