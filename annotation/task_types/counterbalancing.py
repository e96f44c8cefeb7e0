"""Orders of a few conditions over many workers, so that no condition benefits from its position or its neighbour."""

from __future__ import annotations


def balanced_order(count: int, row: int) -> list[int]:
    """Row ``row`` (from 0) of a Williams design for ``count`` conditions: their numbers, from 0, in order.

    Over ``count`` rows (twice as many if ``count`` is odd), each condition is equally often in each position, and
    equally often directly after each other condition. The rows then repeat.

    Source: Williams 1949, Experimental designs balanced for the estimation of residual effects of treatments.
    """
    if count < 2:
        return list(range(count))
    first = [0]
    for step in range(1, count):
        first.append((first[-1] + (step if step % 2 else -step)) % count)
    rows = 2 * count if count % 2 else count
    turned, at = divmod(row % rows, count)
    order = [(each + at) % count for each in first]
    return order[::-1] if turned else order
