"""The design of a study that is planned: how many systems, items, raters and workers, and who rates what."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Literal

import numpy as np

from analysis.findings import MOST_LEVELS
from analysis.inference import LEAST_CLUSTERS
from analysis.inference.cluster_sums import Ints
from common.words import counted

Crossing = Literal["all", "some", "one"]
CROSSINGS: dict[Crossing, str] = {
    "all": "each worker rates the texts of all systems for an item",
    "some": "texts are shuffled, and workers rate texts of several systems",
    "one": "each worker rates one system only",
}
#: More answers would take too long to simulate a thousand times.
MOST_ANSWERS = 100_000
#: The loads of the workers of Snow et al. 2008 had 1.0 to 2.3 times their mean as standard deviation.
MOST_UNEVEN = 5.0


class DesignError(ValueError):
    """A design that no study can have. ``str()`` says what is wrong, and what to change."""


@dataclass(frozen=True, slots=True)
class Design:
    """``items`` per system, such as prompts; ``raters`` of every text, which is what one system has for an item.

    ``same_items``: all systems have texts for the same items. Without it, each has items of its own. ``uneven``: how
    much workers' loads differ, as their standard deviation over their mean; 0: they share the work evenly.
    DesignError: no study can have this design.
    """

    systems: int
    items: int
    raters: int
    workers: int
    crossing: Crossing = "some"
    same_items: bool = True
    uneven: float = 0.0

    def __post_init__(self) -> None:
        for name in ("systems", "items", "raters", "workers"):
            if getattr(self, name) < 1:
                raise DesignError(f"the number of {name} must be 1 or more, not {getattr(self, name)}")
        if self.crossing not in CROSSINGS:
            raise DesignError(f"how raters cross systems is one of {', '.join(CROSSINGS)}, not “{self.crossing}”")
        if not 0 <= self.uneven <= MOST_UNEVEN:
            raise DesignError(f"how uneven workers’ loads are is between 0 and {MOST_UNEVEN:g}, not {self.uneven:g}")
        if self.systems > MOST_LEVELS:
            raise DesignError(f"reports compare at most {MOST_LEVELS} systems, not {self.systems}")
        if self.crossing == "all" and self.systems > 1 and not self.same_items:
            raise DesignError(
                "no worker can rate all systems of an item if every system has its own items: let workers rate some "
                "systems, or use the same items for all systems"
            )
        if self.raters > self.workers_of_a_system:
            who = "workers who rate a system" if self.crossing == "one" and self.systems > 1 else "workers"
            raise DesignError(
                f"{counted(self.raters, 'rater')} per item are more than the {self.workers_of_a_system:,} {who}, and "
                "nobody rates a text twice: plan fewer raters per item, or more workers"
            )
        if self.answers > MOST_ANSWERS:
            raise DesignError(f"the study would have {self.answers:,} answers; plan at most {MOST_ANSWERS:,}")

    @property
    def texts(self) -> int:
        return self.systems * self.items

    @property
    def answers(self) -> int:
        return self.texts * self.raters

    @property
    def workers_of_a_system(self) -> int:
        """How many workers there are to rate one system."""
        return self.workers // self.systems if self.crossing == "one" else self.workers

    @property
    def busiest(self) -> int:
        """The most texts that one worker rates, if the work is shared evenly."""
        if self.crossing == "all":
            return math.ceil(self.items * self.raters / self.workers) * self.systems
        return math.ceil(self.answers / self.systems / self.workers_of_a_system) * (
            1 if self.crossing == "one" else self.systems
        )


def design_for(
    systems: int,
    items: int,
    raters: int,
    *,
    texts_per_worker: int,
    crossing: Crossing,
    same_items: bool = True,
    uneven: float = 0.0,
) -> Design:
    """The design with as few workers as can do the work, and enough for intervals. DesignError as `Design`, or a worker
    who is to rate all systems of an item cannot rate so many texts."""
    if crossing not in CROSSINGS:
        raise DesignError(f"how raters cross systems is one of {', '.join(CROSSINGS)}, not “{crossing}”")
    if texts_per_worker < 1:
        raise DesignError(f"a worker rates 1 text or more, not {texts_per_worker}")
    if crossing == "all" and texts_per_worker < systems:
        raise DesignError(
            f"a worker who rates all {systems:,} systems of an item rates at least {counted(systems, 'text')}, not "
            f"{texts_per_worker:,}: raise the texts per worker, or let workers rate some systems"
        )
    least = max(raters, LEAST_CLUSTERS)
    if crossing == "all":
        workers = max(least, math.ceil(items * raters / (texts_per_worker // max(1, systems))))
    elif crossing == "one":
        workers = systems * max(least, math.ceil(items * raters / texts_per_worker))
    else:
        workers = max(least, math.ceil(systems * items * raters / texts_per_worker))
    return Design(systems, items, raters, workers, crossing, same_items, uneven)


@dataclass(frozen=True, slots=True)
class Layout:
    """Who answers about what, as codes (N,); a text is an item of a system."""

    items: Ints
    systems: Ints
    texts: Ints
    workers: Ints


def layout_of(design: Design, rng: np.random.Generator) -> Layout:
    """Give out the work at random, so that workers have as much to do as each other, one text more or less.

    Rated things are in random order, and so are workers; raters of a thing are the next in turn, so they differ. If
    loads are uneven, each worker has a weight, and the raters of a thing are drawn by weight without replacement
    (by exponential keys; Efraimidis & Spirakis 2006).
    """
    systems, raters = design.systems, design.raters

    def in_turn(things: int, workers: Ints) -> tuple[Ints, Ints]:
        rated = np.repeat(rng.permutation(things), raters)
        if design.uneven:
            weights = rng.lognormal(0, math.sqrt(math.log1p(design.uneven**2)), len(workers))
            keys = rng.exponential(1 / weights, (things, len(workers)))
            return rated, workers[np.argpartition(keys, raters - 1, axis=1)[:, :raters]].ravel()
        return rated, workers[np.arange(len(rated)) % len(workers)]

    everybody = rng.permutation(design.workers)
    if design.crossing == "all":
        rated, who = in_turn(design.items, everybody)
        items, workers = np.repeat(rated, systems), np.repeat(who, systems)
        of_system = np.tile(np.arange(systems), len(rated))
    elif design.crossing == "one":
        pools = [in_turn(design.items, everybody[system::systems]) for system in range(systems)]
        items = np.concatenate([rated for rated, _ in pools])
        workers = np.concatenate([who for _, who in pools])
        of_system = np.repeat(np.arange(systems), design.items * raters)
    else:
        texts, workers = in_turn(design.texts, everybody)
        items, of_system = texts % design.items, texts // design.items
    texts = of_system * design.items + items
    return Layout(items if design.same_items else texts, of_system, texts, workers)
