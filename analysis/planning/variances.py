"""The variances that a plan rests on, on its scale, with their source: published ones, or those of earlier answers."""

from __future__ import annotations

from dataclasses import dataclass

from analysis.planning.components import Components, Fit
from analysis.planning.published import PUBLISHED, published
from analysis.planning.scales import Scale
from common.words import counted

LIKERT = Scale(1, 5, 5)
#: The published variances that are assumed if nothing else is known, the cautious ones: of ratings, and of answers that
#: are right or wrong.
CAUTIOUS = ("likert-high", "temporal")
#: With fewer items or workers, how much they differ is known roughly.
FEW = 20


@dataclass(frozen=True, slots=True)
class Variances:
    """``components`` on ``scale``, their source, and what to know about them. ``mean``: of the earlier answers."""

    components: Components
    scale: Scale
    source: str
    notes: tuple[str, ...] = ()
    mean: float | None = None


def published_for(scale: Scale) -> list[tuple[str, str]]:
    """Names and titles of the published variances that fit a scale, the cautious ones first."""
    fitting = [(entry.name, entry.title) for entry in PUBLISHED if entry.two_kinds == (scale.points == 2)]
    return sorted(fitting, key=lambda entry: entry[0] not in CAUTIOUS)


def published_variances(name: str, scale: Scale) -> Variances:
    """ValueError: no such name, or it does not fit the scale."""
    entry = published(name)
    return Variances(entry.on(scale), scale, entry.source, (entry.caution,))


def assumed_variances(scale: Scale) -> Variances:
    """Those of a plan for which nobody named any."""
    name = published_for(scale)[0][0]
    chosen = published_variances(name, scale)
    assumed = f"Nobody named variances, so these of {name} are assumed. Those of your own pilot are better."
    return Variances(chosen.components, scale, chosen.source, (*chosen.notes, assumed))


def fitted_variances(fit: Fit, own: Scale, scale: Scale | None, source: str) -> Variances:
    """Those of earlier answers on a scale of their ``own``, for a plan on ``scale`` (None: the same).

    ValueError: one of the scales has two points, and the other has more.
    """
    counts = (
        f"{counted(fit.answers, 'answer')} to {counted(fit.items, 'item')} by {counted(fit.workers, 'worker')}, "
        f"{counted(fit.systems, 'system')}, mean {fit.mean:.3g}"
    )
    notes, components, mean = [*fit.notes], fit.components, fit.mean
    for count, thing in ((fit.workers, "workers"), (fit.items, "items")):
        if count < FEW:
            notes.append(f"How much {thing} differ is known only roughly from {count} of them.")
    on = own if scale is None else scale
    if (on.points == 2) != (own.points == 2):
        raise ValueError(f"the answers of {source} are on another kind of scale than those of the plan: use others")
    if (on.low, on.high) != (own.low, own.high):
        components = components.times((on.range / own.range) ** 2)
        mean = on.low + (mean - own.low) * on.range / own.range
        notes.append("The earlier scale has other ends, so variances are the same share of the range.")
    return Variances(components, on, f"{source}: {counts}", tuple(notes), None if on.points == 2 else mean)
