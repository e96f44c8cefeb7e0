"""Balanced incomplete block designs of few systems: all pairs of systems meet equally often.

A design with v systems, b blocks of k, r blocks per system and λ per pair needs b·k = v·r, r·(k − 1) = λ·(v − 1) and,
if k < v, b ≥ v (Fisher 1940). These do not suffice: there is no design of 21 blocks of 5 with 15 systems, for instance.
Designs are put together from the orbits of blocks under a cyclic group, as with difference sets and families (Bose
1939), found by a search over orbits (Kramer & Mesner 1976).
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import combinations
from math import gcd, isqrt

#: The search is for designs up to this size. With each group it gives up after so many blocks begun, and after so many
#: looks at an orbit: about two seconds in all.
MOST_SYSTEMS, MOST_SIZE, MOST_BLOCKS, MOST_BEGUN, MOST_LOOKS = 32, 9, 200, 60_000, 60_000
#: Groups whose order is below this leave too many orbits to search.
SMALLEST_GROUP = 3

Block = tuple[int, ...]


@dataclass(frozen=True, slots=True)
class _Orbit:
    """All images of a block, and by orbit of pairs how many of them contain each pair of it."""

    blocks: tuple[Block, ...]
    covers: dict[int, int]


def meetings_in_design(systems: int, size: int, blocks: int) -> int | None:
    """λ, how often each pair of systems would meet, if the counts allow a design; None if they do not."""
    if not 2 <= size < systems or blocks < systems or blocks * size % systems:
        return None
    times, remainder = divmod(blocks * size // systems * (size - 1), systems - 1)
    return None if remainder else times


@cache
def exact_design(systems: int, size: int, blocks: int) -> tuple[Block, ...] | None:
    """Blocks of systems 0 … v − 1 in which all pairs of systems meet equally often; None if none exists or was found.

    A design that is a smaller one several times over is made of that.
    """
    times = meetings_in_design(systems, size, blocks)
    if times is None or systems > MOST_SYSTEMS or min(size, systems - size) > MOST_SIZE or blocks > MOST_BLOCKS:
        return None
    # Schützenberger 1949: with as many blocks as systems, both even, k − λ is a square.
    if systems == blocks and systems % 2 == 0 and isqrt(size - times) ** 2 != size - times:
        return None
    for copies in range(gcd(blocks, times), 0, -1):
        if blocks % copies or meetings_in_design(systems, size, blocks // copies) is None:
            continue
        design = _from_orbits(systems, size, times // copies)
        if design is not None:
            return design * copies
    return None


def _from_orbits(systems: int, size: int, times: int) -> tuple[Block, ...] | None:
    """A design by any of the groups, the largest first."""
    if 2 * size > systems:
        # What the blocks of a design leave out is a design, too. b and r follow from λ.
        blocks_per_system = times * (systems - 1) // (size - 1)
        block_count = blocks_per_system * systems // size
        small = systems - size
        if small == 1:
            absent: tuple[Block, ...] | None = tuple((system,) for system in range(systems)) * (block_count // systems)
        else:
            absent = _from_orbits(systems, small, block_count - 2 * blocks_per_system + times)
        everyone = set(range(systems))
        return None if absent is None else tuple(tuple(sorted(everyone - set(block))) for block in absent)
    # (m, f): a cyclic group of order m that turns (v − f) / m cycles and leaves f systems where they are.
    orders = [(order, fixed) for fixed in (0, 1, 2) for order in range(SMALLEST_GROUP, systems + 1)]
    groups = [(order, fixed) for order, fixed in orders if systems > fixed and (systems - fixed) % order == 0]
    for order, fixed in sorted(groups, key=lambda group: (-group[0], group[1])):
        orbits = _orbits(systems, size, times, order, fixed)
        if orbits is not None:
            orbits_used = _exact_cover(orbits, len(set(_pair_orbits(systems, order, fixed).values())), times)
            if orbits_used is not None:
                return tuple(block for orbit in orbits_used for block in orbit.blocks)
    return None


def _turned(system: int, by: int, order: int, moving: int) -> int:
    if system >= moving:
        return system
    cycle, position = divmod(system, order)
    return cycle * order + (position + by) % order


def _pair_orbits(systems: int, order: int, fixed: int) -> dict[tuple[int, int], int]:
    """The number of the orbit of every pair of systems, lower first."""
    moving = systems - fixed
    orbit_of_pair: dict[tuple[int, int], int] = {}
    for low in range(systems):
        for high in range(low + 1, systems):
            if (low, high) not in orbit_of_pair:
                number = len(set(orbit_of_pair.values()))
                for by in range(order):
                    first, second = (_turned(system, by, order, moving) for system in (low, high))
                    orbit_of_pair[min(first, second), max(first, second)] = number
    return orbit_of_pair


def _orbits(systems: int, size: int, times: int, order: int, fixed: int) -> list[_Orbit] | None:
    """All orbits of blocks that contain no pair too often; None if there are too many.

    Blocks that some of the group's elements leave as they are have short orbits. They are unions of orbits of a
    subgroup, so they are listed by the subgroup's order.
    """
    moving, number = systems - fixed, _pair_orbits(systems, order, fixed)
    sizes: dict[int, int] = defaultdict(int)
    for orbit in number.values():
        sizes[orbit] += 1
    orbits: dict[frozenset[Block], _Orbit] = {}
    for inner in (divisor for divisor in range(1, order + 1) if order % divisor == 0):
        step = order // inner
        parts = [
            tuple(cycle * order + position + step * by for by in range(inner))
            for cycle in range(moving // order)
            for position in range(step)
        ] + [(system,) for system in range(moving, systems)]
        for block in _unions(parts, size, step, times, number, sizes):
            if block is None:
                return None
            blocks = {tuple(sorted(_turned(system, by, order, moving) for system in block)) for by in range(order)}
            counts: dict[int, int] = defaultdict(int)
            for pair in combinations(sorted(block), 2):
                counts[number[pair]] += len(blocks)
            covers = {orbit: count // sizes[orbit] for orbit, count in counts.items()}
            if all(count <= times for count in covers.values()):
                orbits.setdefault(frozenset(blocks), _Orbit(tuple(sorted(blocks)), covers))
    return list(orbits.values())


def _unions(
    parts: Sequence[Block], size: int, step: int, times: int, number: dict[tuple[int, int], int], sizes: dict[int, int]
) -> Iterator[list[int] | None]:
    """Unions of parts with ``size`` systems, in which no pair is too often. One of each orbit at least.

    None comes last if there are too many. A block can be turned so that its first part is the first of its cycle.
    """
    counts: dict[int, int] = defaultdict(int)
    block: list[int] = []
    begun = 0

    def extend(start: int) -> Iterator[list[int]]:
        nonlocal begun
        begun += 1
        if len(block) == size:
            yield list(block)
            return
        for index in range(start, len(parts)):
            part = parts[index]
            if begun > MOST_BEGUN:
                return
            if len(block) + len(part) > size or (not block and len(part) * step > 1 and part[0] % (len(part) * step)):
                continue
            pairs = [number[min(system, member), max(system, member)] for system in part for member in block]
            pairs += [number[pair] for pair in combinations(part, 2)]
            for pair in pairs:
                counts[pair] += 1
            if all(counts[pair] * step <= times * sizes[pair] for pair in pairs):
                block.extend(part)
                yield from extend(index + 1)
                del block[-len(part) :]
            for pair in pairs:
                counts[pair] -= 1

    yield from extend(0)
    if begun > MOST_BEGUN:
        yield None


def _exact_cover(orbits: Sequence[_Orbit], pairs: int, times: int) -> list[_Orbit] | None:
    """Orbits, each once at most, that together contain every pair ``times`` times. None after MOST_LOOKS."""
    by_pair: list[list[int]] = [[] for _ in range(pairs)]
    for index, orbit in enumerate(orbits):
        for pair in orbit.covers:
            by_pair[pair].append(index)
    remaining = [times] * pairs
    chosen: list[int] = []
    looks = 0

    def fits(index: int) -> bool:
        nonlocal looks
        looks += 1
        return all(count <= remaining[pair] for pair, count in orbits[index].covers.items())

    def search(barred: set[int]) -> bool:
        if looks > MOST_LOOKS:
            return False
        open_pairs = [pair for pair in range(pairs) if remaining[pair]]
        if not open_pairs:
            return True
        options = {
            pair: [index for index in by_pair[pair] if index not in barred and fits(index)] for pair in open_pairs
        }
        pair = min(open_pairs, key=lambda candidate: len(options[candidate]))
        tried = set(barred)
        for index in options[pair]:
            tried.add(index)
            _add_covers(orbits[index], remaining, -1)
            chosen.append(index)
            if search(tried):
                return True
            chosen.pop()
            _add_covers(orbits[index], remaining, 1)
        return False

    return [orbits[index] for index in chosen] if search(set()) else None


def _add_covers(orbit: _Orbit, remaining: list[int], sign: int) -> None:
    for pair, count in orbit.covers.items():
        remaining[pair] += sign * count
