"""Signal detection: how well people tell machine texts from human ones, whichever answer they tend to give.

A hit is a machine text called machine, a false alarm a human text called machine. d′ = z(hits) − z(false alarms),
criterion c = −(z(hits) + z(false alarms))/2, above 0 if people lean towards *human*. Source: Green & Swets 1966;
Macmillan & Creelman 2005.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np
import pandas as pd
from scipy.special import ndtri

from analysis.detection.judgements import Judgements
from analysis.diversity.association import Floats
from analysis.diversity.resampling import Bootstrap, bootstrap_values, quantile_interval
from analysis.estimate import Estimate

#: The correction, by name: 0.5 is added to hits and false alarms and 1 to their totals, always (Hautus 1995).
CORRECTION = "log-linear correction (Hautus 1995)"


@dataclass(frozen=True, slots=True)
class Sensitivity:
    """d′ and the criterion of all judgements pooled, with rates before the correction."""

    d_prime: Estimate
    criterion: Estimate
    hit_rate: float
    false_alarm_rate: float


def sensitivity(judgements: Judgements, *, plan: Bootstrap) -> Sensitivity:
    """d′ and criterion with the log-linear correction, which keeps rates of 0 and 1 finite and shrinks d′ a little.

    Judgements are pooled, which understates d′ if workers' criteria differ. The bootstrap draws workers. NaN with a
    note unless there are texts of both kinds.
    """
    frame = judgements.frame
    codes, names = pd.factorize(frame["worker"])
    machine, said = frame["is_machine"].to_numpy(dtype=bool), frame["said_machine"].to_numpy(dtype=bool)
    columns = [machine & said, machine, ~machine & said, ~machine]
    sums = np.stack([np.bincount(codes, each.astype(float), len(names)) for each in columns], axis=1)
    total = sums.sum(axis=0)
    if not (total[1] and total[3]):
        kind = "machine" if not total[1] else "human"
        none = Estimate(math.nan, n=len(names), n_of="workers", level=plan.level, note=f"no {kind} text was judged")
        return Sensitivity(none, none, math.nan, math.nan)

    def both(weights: Floats) -> Floats:
        hits, machines, alarms, humans = (weights @ sums).T
        z_hit, z_alarm = ndtri((hits + 0.5) / (machines + 1)), ndtri((alarms + 0.5) / (humans + 1))
        return np.stack([z_hit - z_alarm, -(z_hit + z_alarm) / 2], axis=1)

    values = both(np.ones((1, len(names))))[0]
    enough = len(names) > 1 and plan.draws > 0
    draws = bootstrap_values(both, len(names), plan, None) if enough else np.empty((0, 2))
    how = f"expanded percentile bootstrap over workers, {plan.draws} resamples" if enough else "no interval"
    found = []
    for at in (0, 1):
        bounds = quantile_interval(draws[:, at], plan.level, units=len(names)) if enough else (math.nan, math.nan, 0)
        low, high, _ = bounds
        method = f"{how}; {CORRECTION}"
        found.append(Estimate(float(values[at]), low, high, len(names), "workers", plan.level, method))
    return Sensitivity(found[0], found[1], float(total[0] / total[1]), float(total[2] / total[3]))
