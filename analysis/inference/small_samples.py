"""How much each sum of squares counts in a variance over items and workers, so that small studies are right too.

The sums over items Q_I, over workers Q_W and over cells Q_C of a difference of means are quadratic in the answers.
Under crossed random effects (items, workers, both within levels, and noise) their expectations, and the variance
itself, are known multiples of the variances of these effects, which follow from who rated what. V = c_I Q_I + c_W Q_W +
c_C Q_C with (1, 1, −1) is the formula of Cameron, Gelbach & Miller 2011. Centring makes it too small: by one over the
number of raters where all rate everything. Where levels share workers but not items, what workers have in common
cancels out of the difference, but not out of Q_C. So the multipliers c solve the equations of expectations (the method
of moments of Henderson 1953), as near as possible to (1, 1, −1), which they approach in large studies. Two more sums,
of the levels' mean instead of their difference, estimate what cancels out; their multipliers are near 0.

Shapes: n answers, L levels, G clusters, F effects of one kind.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from analysis.inference.cluster_sums import Floats, Ints

#: With more answers the multipliers are near those of the published formula, and would take long.
MOST_ANSWERS = 20_000
#: Multipliers further from the published ones come from a design that cannot tell the effects apart.
FURTHEST = 1.0
#: Equations that say nearly the same are one.
CUT_OFF = 1e-3


@dataclass(frozen=True)
class Design:
    """The answers that a combination of means rests on, all (n,): their ``rows``, their ``levels`` as codes 0 … L − 1,
    each one's ``shares`` of its level's mean (1 in sum), and its ``weights`` in the combination."""

    rows: Ints
    levels: Ints
    shares: Floats
    weights: Floats


def multipliers(design: Design, items: Ints, workers: Ints) -> Floats | None:
    """Of the sums over items, workers and cells, and of the two sums of levels' means; with one level, these are 0.

    ``items`` and ``workers`` are codes of all answers. None: too many answers, or no trustworthy solution.
    """
    if len(design.rows) > MOST_ANSWERS:
        return None
    item, worker = (_codes(codes[design.rows]) for codes in (items, workers))
    level_count = int(design.levels.max()) + 1
    codes = {"item": item, "worker": worker, "cell": _codes(item * (int(worker.max()) + 1) + worker)}
    effects = ["noise", "item", "worker"]
    published = np.array([1.0, 1.0, -1.0])
    forms = [("item", design.weights), ("worker", design.weights), ("cell", design.weights)]
    if level_count > 1:
        codes |= {f"{name} in level": _codes(codes[name] * level_count + design.levels) for name in codes}
        effects += ["item in level", "worker in level"]
        forms += [("item", np.abs(design.weights)), ("worker", np.abs(design.weights))]
        published = np.append(published, [0.0, 0.0])
    codes["noise"] = np.arange(len(item))
    of_effects = {effect: _by_level(codes[effect], design.levels, design.shares) for effect in effects}
    expected = np.stack([_expectations(design, codes, name, weights, of_effects) for name, weights in forms]).T
    true = np.array([(np.bincount(codes[effect], design.weights) ** 2).sum() for effect in effects])
    size = np.maximum(np.abs(expected).max(axis=1), np.abs(true))
    size[size < 1e-9 * size.max()] = np.inf
    away = np.linalg.lstsq(expected / size[:, None], (true - expected @ published) / size, rcond=CUT_OFF)[0]
    if not (np.abs(away) <= FURTHEST).all():
        return None
    return np.append(published + away, np.zeros(5 - len(published)))


def _expectations(
    design: Design, codes: dict[str, Ints], name: str, weights: Floats, of_effects: dict[str, Floats]
) -> Floats:
    """What the sum of squares over the clusters ``name`` is in expectation for each kind of effect with variance 1.

    An answer adds its weight times (its effect less the level's mean effect); the sums are squared without making the
    matrix (G × F) of what each effect adds to each cluster. ``of_effects``: by kind, each effect's shares (F, L).
    """
    clusters = codes[name]
    counts = (_by_level(clusters, design.levels, np.ones(len(clusters))) > 0).sum(axis=0)
    factors = np.sqrt(counts / np.maximum(counts - 1, 1))  # as in `cluster_sums.factor_of`
    scaled = weights * factors[design.levels]
    of_clusters = _by_level(clusters, design.levels, scaled)
    gram = of_clusters.T @ of_clusters
    in_cluster = of_clusters[clusters]
    expected = []
    for effect, of_effect in of_effects.items():
        joint = scaled if effect == "noise" else np.bincount(codes[_joint(name, effect)], scaled)
        crossed = float((in_cluster * of_effect[codes[effect]]).sum(axis=1) @ scaled)
        expected.append(float(joint @ joint) - 2 * crossed + float((gram * (of_effect.T @ of_effect)).sum()))
    return np.array(expected)


def _joint(name: str, effect: str) -> str:
    """The name of what a cluster and an effect have in common: both are of one kind, or else it is a cell."""
    kind, _, level = effect.partition(" ")
    both = name if name == kind else "cell"
    return f"{both} {level}" if level else both


def _by_level(codes: Ints, levels: Ints, weights: Floats) -> Floats:
    """Sums (G, L) of the weights by cluster and level."""
    level_count = int(levels.max()) + 1
    size = int(codes.max()) + 1
    sums = np.bincount(codes * level_count + levels, weights, size * level_count)
    return np.asarray(sums, dtype=float).reshape(size, level_count)


def _codes(codes: Ints) -> Ints:
    return np.asarray(pd.factorize(codes)[0], dtype=np.int64)


def degrees_of_freedom(variance: float, parts: dict[str, float], freedom: dict[str, float]) -> float:
    """Satterthwaite's (1946) degrees of freedom of a variance from its one-way ``parts``, each with its own; not below
    the smallest of these: where the cells take much away from the parts, the formula gives next to none."""
    spread = sum(part**2 / freedom[dimension] for dimension, part in parts.items())
    smallest = min(freedom.values())
    return max(smallest, variance**2 / spread) if spread > 0 else smallest
