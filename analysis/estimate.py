"""The one result type that every statistic returns."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

#: Note of an interval without width: raters who agree on everything they saw leave a resample nothing to vary.
NO_WIDTH = "all resamples give the same figure: an interval without width does not show how uncertain it is"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic with what is needed to publish it.

    ``value`` may be NaN where the statistic is undefined; ``note`` then says why. ``low`` and ``high`` bound the
    interval at ``level`` (NaN when none was asked for or it cannot be had), made by ``method``. ``n`` counts the
    units that entered (``n_of`` names them), so that nothing is dropped unseen.
    """

    value: float
    low: float = math.nan
    high: float = math.nan
    n: int = 0
    n_of: str = "units"
    level: float = 0.95
    method: str = ""
    note: str = ""

    def to_dict(self) -> dict[str, Any]:
        """The fields as JSON can hold them: NaN becomes None."""
        return {
            key: None if isinstance(field, float) and math.isnan(field) else field
            for key, field in asdict(self).items()
        }

    def __str__(self) -> str:
        if math.isnan(self.value):
            return f"undefined ({self.note})" if self.note else "undefined"
        if math.isnan(self.low):
            return f"{self.value:.3f}"
        return f"{self.value:.3f} [{self.low:.3f}, {self.high:.3f}]"


def wilson(share: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's score interval (Wilson 1927) of a share of n, which need not be whole."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    return max(0.0, centre - half), min(1.0, centre + half)
