"""Diversity Threshold Generation: replace responses of a set until it is diverse enough.

Source: Stasaski & Hearst 2022, section 5. The caller passes any metric that is larger for a more diverse set, and a
function that draws the next response.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

Metric = Callable[[Sequence[str]], float]
MOST_SAMPLED = 20
TRIALS = 10
LEAST_SIZE = 3


@dataclass(frozen=True, slots=True)
class Diversified:
    """One set before and after.

    ``start`` and ``end`` hold the responses; ``places`` has, for each of ``end``, how many were drawn before it.
    ``start_score`` and ``end_score`` come from the metric that decides which response to drop, ``start_stop`` and
    ``end_stop`` from the one that decides when to stop, which is often the same. ``n_sampled`` counts every response
    drawn, including the first set; ``overlap`` counts those of the first set that are in the last one. ``reached``:
    whether the last set is above the threshold.
    """

    start: tuple[str, ...]
    end: tuple[str, ...]
    places: tuple[int, ...]
    start_score: float
    end_score: float
    start_stop: float
    end_stop: float
    n_sampled: int
    overlap: int
    reached: bool


def diversify(
    *,
    start: Sequence[str],
    draw: Callable[[], str | None],
    metric: Metric,
    threshold: float,
    stop: Metric | None = None,
    most_sampled: int = MOST_SAMPLED,
) -> Diversified:
    """Until the set is above the threshold, drop the response whose removal leaves the highest-scoring rest, and draw
    another.

    ``stop`` measures what is compared with the threshold; the default is ``metric``. ``draw`` returns the next
    response, or None when there are no more. If several removals tie for the best rest, the first of these responses is
    dropped. The size of a set does not change.

    Raises ValueError for fewer than three responses (a metric over pairs needs two after one is dropped), a threshold
    or score that is not finite, a metric that fails, or ``most_sampled`` below the size of the set.
    """
    check_design(size=len(start), most_sampled=most_sampled, threshold=threshold)
    stop = stop or metric
    responses: list[tuple[int, str]] = list(enumerate(start))
    start_stop = reached = _score(stop, start)
    n_sampled = len(start)
    while reached <= threshold and n_sampled < most_sampled:
        new = draw()
        if new is None:
            break
        texts = [text for _, text in responses]
        rests = [_score(metric, [*texts[:position], *texts[position + 1 :]]) for position in range(len(texts))]
        del responses[rests.index(max(rests))]
        responses.append((n_sampled, new))
        n_sampled += 1
        reached = _score(stop, [text for _, text in responses])
    end = tuple(text for _, text in responses)
    return Diversified(
        start=tuple(start),
        end=end,
        places=tuple(n_drawn_before for n_drawn_before, _ in responses),
        start_score=start_stop if stop is metric else _score(metric, start),
        end_score=reached if stop is metric else _score(metric, end),
        start_stop=start_stop,
        end_stop=reached,
        n_sampled=n_sampled,
        overlap=sum(n_drawn_before < len(start) for n_drawn_before, _ in responses),
        reached=reached > threshold,
    )


def check_design(*, size: int, most_sampled: int, threshold: float) -> None:
    """Raises ValueError if no set can be resampled with these values."""
    if size < LEAST_SIZE:
        raise ValueError(f"A set needs at least {LEAST_SIZE} responses, because one of them is dropped, not {size}.")
    if not math.isfinite(threshold):
        raise ValueError(f"The threshold is {threshold!r}. Use a finite number.")
    if most_sampled < size:
        raise ValueError(f"{most_sampled} responses in total are fewer than the {size} of a set.")


def _score(metric: Metric, texts: Sequence[str]) -> float:
    try:
        value = float(metric(texts))
    except ValueError:  # the metric's own message
        raise
    except Exception as error:
        raise ValueError(
            f"The metric failed for the set {list(texts)!r} ({type(error).__name__}: {error}). A metric is a function "
            "from a list of texts to a number."
        ) from error
    if not math.isfinite(value):
        raise ValueError(f"The metric gives {value} for the set {list(texts)!r}.")
    return value
