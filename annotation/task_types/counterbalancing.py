"""Orders and sides over many workers, so that nothing benefits from its position or its neighbour."""

from __future__ import annotations


def balanced_order(count: int, row: int) -> list[int]:
    """Row ``row`` (from 0) of a Williams design for ``count`` conditions: their numbers, from 0, in order.

    Over ``count`` rows (twice as many if ``count`` is odd), each condition is equally often in each position, and
    equally often directly after each other condition. The rows then repeat.

    Source: Williams 1949, Experimental designs balanced for the estimation of residual effects of treatments.
    """
    if count < 2:
        return list(range(count))
    first_row = [0]
    for step in range(1, count):
        first_row.append((first_row[-1] + (step if step % 2 else -step)) % count)
    reverse, shift = divmod(row % (2 * count if count % 2 else count), count)
    order = [(condition + shift) % count for condition in first_row]
    return order[::-1] if reverse else order


def balanced_side(external_id: str, slot: int) -> int:
    """Which of an item's two parts is on side A in slot ``slot`` (from 0) of a hit: 1 or 2.

    It alternates over the slots, and the item's id decides which part comes first. So over an even number of slots,
    each part is on each side equally often, and over many items about equally often in the first slot too.
    """
    return 1 + (slot + sum(map(ord, external_id))) % 2
