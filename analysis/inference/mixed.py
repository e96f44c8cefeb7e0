"""A linear mixed model with crossed random effects of items and workers, fitted by statsmodels: a second opinion.

Source of the model: Baayen, Davidson & Bates 2008, "Mixed-effects modeling with crossed random effects for subjects and
items". Variances are by restricted maximum likelihood. It assumes normal effects, and no interaction of items or
workers with levels (random intercepts only); where levels do interact with them, its intervals are too narrow (Barr et
al. 2013), and those of `analysis.inference.crossed` hold. Shapes: N answers, L levels.
"""

from __future__ import annotations

import math
import warnings
from dataclasses import dataclass

import numpy as np
import pandas as pd
import scipy
from numpy.typing import ArrayLike

from analysis.estimate import Estimate
from analysis.inference.cluster_sums import Floats

#: A model of more answers takes minutes.
MOST_ANSWERS = 5_000
METHOD = "mixed model with random items and workers (REML)"


class MixedModelError(ValueError):
    """The model cannot be fitted. ``str()`` says why."""


@dataclass(frozen=True)
class MixedModel:
    """``means`` (L,) and their ``covariance`` (L, L); standard deviations of items, workers and the rest."""

    means: Floats
    covariance: Floats
    sd_items: float
    sd_workers: float
    sd_residual: float
    answers: int

    def difference(self, first: int, second: int, freedom: float, *, level: float = 0.95) -> Estimate:
        """The first level's mean minus the second's; Student's t with these degrees of freedom."""
        value = float(self.means[first] - self.means[second])
        half = float(scipy.stats.t.ppf((1 + level) / 2, freedom)) * self._error(first, second)
        return Estimate(value, value - half, value + half, self.answers, "answers", level, METHOD)

    def p_difference(self, first: int, second: int, freedom: float) -> float:
        """Two-sided p of the hypothesis that both means are equal."""
        t = float(self.means[first] - self.means[second]) / self._error(first, second)
        return float(2 * scipy.stats.t.sf(abs(t), freedom))

    def _error(self, first: int, second: int) -> float:
        of = self.covariance
        return math.sqrt(of[first, first] + of[second, second] - 2 * of[first, second])


def fit_mixed_model(values: ArrayLike, levels: ArrayLike, items: ArrayLike, workers: ArrayLike) -> MixedModel:
    """Fit the model to N answers with the codes of their levels (0 … L − 1), items and workers.

    MixedModelError: more than MOST_ANSWERS answers, no variation, one item or worker, or no convergence.
    """
    # Loading statsmodels takes a second, and most commands do not need it.
    from statsmodels.regression.mixed_linear_model import MixedLM
    from statsmodels.tools.sm_exceptions import ConvergenceWarning

    answers, codes = np.asarray(values, dtype=float), np.asarray(levels, dtype=np.int64)
    if len(answers) > MOST_ANSWERS:
        raise MixedModelError(f"it takes too long for more than {MOST_ANSWERS:,} answers; there are {len(answers):,}")
    names = {"items": pd.factorize(np.asarray(items))[0], "workers": pd.factorize(np.asarray(workers))[0]}
    for name, clusters in names.items():
        if clusters.max(initial=0) == 0:
            raise MixedModelError(f"it needs two {name} or more")
    if np.ptp(answers) == 0:
        raise MixedModelError("all answers are equal")
    design = np.eye(int(codes.max()) + 1)[codes]
    frame = pd.DataFrame(names | {"value": answers})
    frame = frame.assign(**{f"level{index}": column for index, column in enumerate(design.T)})
    formula = "value ~ 0 + " + " + ".join(f"level{index}" for index in range(design.shape[1]))
    effects = {name: f"0 + C({name})" for name in names}
    model = MixedLM.from_formula(formula, frame, groups=np.ones(len(frame)), re_formula="0", vc_formula=effects)
    with warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            fit = model.fit(reml=True)
        except (np.linalg.LinAlgError, ValueError) as error:
            raise MixedModelError(f"it could not be fitted ({error})") from error
    problems = [str(entry.message) for entry in warned if issubclass(entry.category, ConvergenceWarning)]
    if not fit.converged or any("boundary" not in problem for problem in problems):
        raise MixedModelError("it did not converge")
    covariance = np.asarray(fit.cov_params())[: design.shape[1], : design.shape[1]]
    if not (np.isfinite(covariance).all() and (np.diag(covariance) > 0).all()):
        raise MixedModelError("it gives no standard errors")
    variances = dict(zip(model.exog_vc.names, np.asarray(fit.vcomp).tolist(), strict=True))
    return MixedModel(
        np.asarray(fit.fe_params, dtype=float),
        covariance,
        math.sqrt(variances["items"]),
        math.sqrt(variances["workers"]),
        math.sqrt(fit.scale),
        len(answers),
    )
