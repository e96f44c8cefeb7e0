"""Strengths of systems with the style of their answers held equal: a logistic Bradley–Terry model with a covariate.

The log-odds that i beats j are θ_i − θ_j + β·x, where x says how much longer i's answers are than j's. A tie counts
half for either. Strengths sum to 0; β is the effect of length alone. So Chatbot Arena (Li, Angelopoulos & Chiang 2024,
“Does style matter?”) tells whether a system is preferred for what it says or for how much it says. Shapes: M
comparisons, S systems.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import NormalDist

import numpy as np
from numpy.typing import ArrayLike

from analysis.diversity.association import Floats
from analysis.estimate import Estimate
from analysis.inference import Dimensions, figures_from_influence
from analysis.preference.comparisons import Comparisons
from analysis.preference.existence import refuse_unless_finite

STEPS, TOLERANCE = 100, 1e-10
#: Log-odds beyond this mean that a fit has no maximum.
LARGEST = 20.0


@dataclass(frozen=True)
class StyleControl:
    """``strengths``: θ of each system if answers were equally long, on a log scale, summing to 0. ``uncontrolled``: the
    same without the covariate. ``length``: β, for a difference of one ``spread``."""

    strengths: dict[str, Estimate]
    uncontrolled: dict[str, Estimate]
    length: Estimate
    spread: float


def relative_differences(first: ArrayLike, second: ArrayLike) -> Floats:
    """(a − b) / (a + b) of two lengths, (M,): from −1 to 1, and 0 if both are 0."""
    a, b = np.asarray(first, dtype=float), np.asarray(second, dtype=float)
    return np.asarray(np.divide(a - b, a + b, out=np.zeros(len(a)), where=a + b > 0))


def style_control(
    comparisons: Comparisons, differences: ArrayLike, *, dimensions: Dimensions | None = None, level: float = 0.95
) -> StyleControl:
    """Fit the model twice: with ``differences`` (M,) of style, the first system's minus the second's, and without.

    ``differences`` are divided by their root mean square (``spread``), so that β is about a usual difference. With
    ``dimensions`` (M,), intervals are those of the multiway sandwich, as in `bradley_terry`; else Wald's. ValueError:
    lengths differ; all differences are 0; strengths that the comparisons do not determine.
    """
    style = np.asarray(differences, dtype=float)
    if len(style) != len(comparisons):
        raise ValueError(f"there are {len(style)} differences of style and {len(comparisons)} comparisons")
    spread = float(np.sqrt(np.mean(style**2)))
    if not spread > 0:
        raise ValueError("the answers are equally long in every comparison")
    refuse_unless_finite(comparisons)
    names = comparisons.systems
    design = np.zeros((len(comparisons), len(names)))
    rows = np.arange(len(comparisons))
    design[rows, comparisons.first], design[rows, comparisons.second] = 1.0, -1.0
    plain = _fitted(design, comparisons, dimensions, level, systems=len(names))
    controlled = _fitted(np.column_stack([design, style / spread]), comparisons, dimensions, level, systems=len(names))
    return StyleControl(
        dict(zip(names, controlled, strict=False)), dict(zip(names, plain, strict=True)), controlled[-1], spread
    )


def _fitted(
    design: Floats, comparisons: Comparisons, dimensions: Dimensions | None, level: float, *, systems: int
) -> list[Estimate]:
    """The coefficients (K,) by Newton's method. Those of systems are only told apart by their sum, which is 0."""
    won = (comparisons.outcome + 1) / 2
    gauge = np.zeros((design.shape[1], design.shape[1]))
    gauge[:systems, :systems] = 1.0
    values = np.zeros(design.shape[1])
    for _ in range(STEPS):
        chances = 1 / (1 + np.exp(-design @ values))
        information = (design * (chances * (1 - chances))[:, None]).T @ design
        try:
            step = np.linalg.solve(information + gauge, design.T @ (won - chances))
        except np.linalg.LinAlgError:
            raise ValueError("length and system cannot be told apart in these comparisons") from None
        values = values + step
        if np.abs(values).max() > LARGEST:
            raise ValueError("the comparisons do not determine the strengths: length or system decides every one")
        if np.abs(step).max() < TOLERANCE:
            break
    else:
        raise ValueError(f"the strengths did not converge in {STEPS} steps")
    centre = np.eye(len(values))
    centre[:systems, :systems] -= 1 / systems
    inverse = centre @ np.linalg.inv(information + gauge) @ centre.T
    if dimensions is None:
        half_widths = NormalDist().inv_cdf((1 + level) / 2) * np.sqrt(np.maximum(np.diag(inverse), 0))
        estimates = [
            Estimate(value, value - half, value + half, level=level, method="Wald, comparisons independent")
            for value, half in zip(values.tolist(), half_widths.tolist(), strict=True)
        ]
    else:
        influence = (design * (won - chances)[:, None]) @ inverse
        figures = figures_from_influence(values, influence, dimensions, used=design != 0, level=level)
        estimates = [figures.estimate(index) for index in range(len(values))]
        estimates = [
            replace(estimate, method=f"sandwich, {estimate.method}" if estimate.method else "sandwich")
            for estimate in estimates
        ]
    return [replace(estimate, n=len(comparisons), n_of="comparisons") for estimate in estimates]


def odds(length: Estimate) -> Estimate:
    """How the odds change with one spread of length: exp β."""
    ends = [math.exp(end) if not math.isnan(end) else math.nan for end in (length.value, length.low, length.high)]
    return replace(length, value=ends[0], low=ends[1], high=ends[2])
