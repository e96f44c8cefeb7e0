"""Diversity Threshold Generation: resample a set of responses until it is diverse enough.

Source: Stasaski & Hearst 2022, section 5. Any metric will do that gives a larger number to a more diverse set; it comes
from the caller, as does whatever draws the responses.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Metric = Callable[[Sequence[str]], float]
MOST_SAMPLED = 20


@dataclass(frozen=True, slots=True)
class Diversified:
    """One context's set before and after.

    ``n_sampled`` counts every response drawn, the first set included; ``overlap`` how many of the first set are in the
    last one still. ``reached``: the last set's score is at or above the threshold.
    """

    start: tuple[str, ...]
    end: tuple[str, ...]
    start_score: float
    end_score: float
    n_sampled: int
    overlap: int
    reached: bool


def diversify(
    *,
    start: Sequence[str],
    draw: Callable[[], str | None],
    metric: Metric,
    threshold: float,
    most_sampled: int = MOST_SAMPLED,
) -> Diversified:
    """Until the set scores ``threshold``: drop the response without which the rest scores highest, draw another.

    ``draw`` gives the next response, or None when there are no more. Where several could be dropped, the first of them
    goes. A set keeps its size. ValueError: fewer than three responses (a metric over pairs needs two that are left),
    a threshold or score that is not finite, a metric that fails, or ``most_sampled`` below the first set's size.
    """
    if len(start) < 3:
        raise ValueError(f"a set needs at least three responses to drop one of, not {len(start)}")
    if not math.isfinite(threshold):
        raise ValueError(f"the threshold is {threshold!r}; it takes a finite number")
    if most_sampled < len(start):
        raise ValueError(f"at most {most_sampled} responses in all do not make a set of {len(start)}")
    kept: list[tuple[int, str]] = list(enumerate(start))
    start_score = score = _score(metric, start)
    n_sampled = len(start)
    while score < threshold and n_sampled < most_sampled:
        new = draw()
        if new is None:
            break
        del kept[_weakest(metric, [text for _, text in kept])]
        kept.append((n_sampled, new))
        n_sampled += 1
        score = _score(metric, [text for _, text in kept])
    return Diversified(
        start=tuple(start),
        end=tuple(text for _, text in kept),
        start_score=start_score,
        end_score=score,
        n_sampled=n_sampled,
        overlap=sum(place < len(start) for place, _ in kept),
        reached=score >= threshold,
    )


def _weakest(metric: Metric, texts: Sequence[str]) -> int:
    """The place of the response whose removal leaves the highest-scoring rest."""
    rests = [_score(metric, [*texts[:place], *texts[place + 1 :]]) for place in range(len(texts))]
    return rests.index(max(rests))


def _score(metric: Metric, texts: Sequence[str]) -> float:
    try:
        value = float(metric(texts))
    except ValueError:  # the metric's own words
        raise
    except Exception as error:
        raise ValueError(
            f"the metric makes no number of the set {list(texts)!r} ({type(error).__name__}: {error}); it has to be a "
            "function from a list of texts to a number"
        ) from error
    if not math.isfinite(value):
        raise ValueError(f"the metric gives {value} for the set {list(texts)!r}")
    return value
