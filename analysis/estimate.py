"""The result type that every statistic returns, and the default resampling."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from statistics import NormalDist
from typing import Any

#: Default resamples and seed of every bootstrap in the library, the report and on the command line.
DRAWS, SEED = 1000, 1
#: The note on an interval of zero width: if raters agree on everything, resamples cannot differ.
NO_WIDTH = "all resamples give the same figure: an interval without width does not show how uncertain it is"
#: The note on a correlation that cannot be further from 0, whose resamples are at their largest as well.
LARGEST = "the largest that labels like these allow, so resamples hardly differ, which does not make it certain"


@dataclass(frozen=True, slots=True)
class Estimate:
    """A statistic with everything needed to publish it.

    ``value`` is NaN if the statistic is undefined; ``note`` then gives the reason. ``low`` and ``high`` bound the
    interval at ``level`` (NaN if not requested or impossible), computed by ``method``. ``n`` counts the units used
    (``n_of`` names them), so that nothing is dropped unseen.
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
        """The fields in a form that JSON can hold: NaN becomes None."""
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


#: What differs between figures that are otherwise made in the same way.
FREEDOM = re.compile(r"t with ([\d.]+) degrees")


#: How many intervals of this sort hold the truth: a method's own words.
TRUST = re.compile(r"(?:with fewer than |\d+ to \d+% of )[^;]*right in simulations")


def merged_methods(methods: Iterable[str]) -> list[str]:
    """Each method once; those that differ in degrees of freedom alone as one, with the least and the most."""
    ranges: dict[str, list[float]] = {}
    for method in methods:
        values = [float(number) for number in FREEDOM.findall(method)]
        ranges.setdefault(FREEDOM.sub("t with {} degrees", method), []).extend(values)
    merged = []
    for method, values in ranges.items():
        ends = dict.fromkeys(f"{end:.4g}" for end in (min(values, default=0.0), max(values, default=0.0)))
        merged.append(method.replace("{}", " to ".join(ends)))
    return [method for method in merged if method]


def trust_in_words(estimates: Iterable[Estimate]) -> list[str]:
    """How many of such intervals are right in simulations, where a method says so; each remark once."""
    return list(dict.fromkeys(remark for estimate in estimates for remark in TRUST.findall(estimate.method)))


def p_value(p: float) -> str:
    """A p value for people; a dash if there is none. Never 0.0000 or 1.0000, which would read as impossible or
    certain."""
    if math.isnan(p):
        return "–"
    if p < 0.0001:
        return "< 0.0001"
    return "> 0.9999" if p > 0.9999 else f"{p:.4f}"


def p_equals(p: float) -> str:
    """The same after a “p”: “= 0.0123”, “< 0.0001”, “> 0.9999”."""
    text = p_value(p)
    return text if text[0] in "<>" else f"= {text}"


def wilson(share: float, n: float, level: float) -> tuple[float, float]:
    """Wilson's score interval (Wilson 1927) for a share of ``n``, which need not be a whole number."""
    z = NormalDist().inv_cdf((1 + level) / 2)
    centre = (share + z * z / (2 * n)) / (1 + z * z / n)
    half = z / (1 + z * z / n) * math.sqrt(share * (1 - share) / n + (z / (2 * n)) ** 2)
    return max(0.0, centre - half), min(1.0, centre + half)
