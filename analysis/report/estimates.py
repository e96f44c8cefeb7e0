"""Numbers and estimates as a report shows them."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

from analysis.estimate import Estimate
from common.words import counted

NONE = "–"


def number(value: float, digits: int = 2) -> str:
    """A number for people: a real minus, separated thousands, and a dash if there is none."""
    if math.isnan(value):
        return NONE
    if math.isinf(value):
        return "∞" if value > 0 else "−∞"
    text = f"{value:,.{digits}f}"
    if float(text.replace(",", "")) == 0:
        text = text.lstrip("-")
    return text.replace("-", "−")


def interval(estimate: Estimate, digits: int = 3) -> str:
    """[low, high], or a dash."""
    if math.isnan(estimate.low) or math.isnan(estimate.high):
        return NONE
    return f"[{number(estimate.low, digits)}, {number(estimate.high, digits)}]"


def with_interval(estimate: Estimate, digits: int = 2) -> str:
    """0.74 [0.61, 0.85]; only a dash if the value is undefined."""
    value = number(estimate.value, digits)
    return value if math.isnan(estimate.low) else f"{value} {interval(estimate, digits)}"


def looks_certain(estimate: Estimate, digits: int) -> bool:
    """Whether both ends of the interval are printed alike."""
    return not math.isnan(estimate.low) and number(estimate.low, digits) == number(estimate.high, digits)


def size(estimate: Estimate) -> str:
    """1 set, 200 sets."""
    return counted(estimate.n, estimate.n_of.removesuffix("s"))


def how(estimate: Estimate) -> str:
    """The reason why there is no value, or the method and any further notes."""
    reason = estimate.note[:1].upper() + estimate.note[1:]
    if math.isnan(estimate.value):
        return f"Not defined. {reason or 'The data leave it undefined'}."
    method = estimate.method[:1].upper() + estimate.method[1:]
    return ". ".join(part for part in (method, reason) if part) + ("." if method or reason else "")


def attempt(make: Callable[[], Estimate], *, n: int = 0, n_of: str = "units") -> Estimate:
    """The estimate, or an undefined one with the reason why it cannot be computed.

    A meaningless interval is removed, and the note gives the reason: a zero-width interval, resampled from a single
    unit, or an interval that does not contain the estimate, which can happen at the limits of the definition.
    """
    try:
        estimate = make()
    except ValueError as error:
        return Estimate(math.nan, n=n, n_of=n_of, note=str(error))
    if estimate.n < 2 and not math.isnan(estimate.low):
        return without_interval(estimate, f"no interval from only one of the {estimate.n_of}")
    if estimate.low > estimate.value or estimate.high < estimate.value:
        return without_interval(estimate, "no interval: the one that the method gives does not contain the figure")
    return estimate


def without_interval(estimate: Estimate, why: str) -> Estimate:
    note = "; ".join(filter(None, [estimate.note, why]))
    return replace(estimate, low=math.nan, high=math.nan, note=note)
