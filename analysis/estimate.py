"""The one result type that every statistic returns."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass
from typing import Any


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
