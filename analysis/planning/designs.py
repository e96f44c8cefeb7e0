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
    times, rest = divmod(blocks * size // systems * (size - 1), systems - 1)
    return None if rest else times


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
        found = _from_orbits(systems, size, times // copies)
        if found is not None:
            return found * copies
    return None


def _from_orbits(systems: int, size: int, times: int) -> tuple[Block, ...] | None:
    """A design by any of the groups, the largest first."""
    if 2 * size > systems:
        return _from_complements(systems, size, times)
    for order, fixed in _groups(systems):
        orbits = _orbits(systems, size, times, order, fixed)
        if orbits is not None:
            found = _chosen(orbits, len(set(_pair_orbits(systems, order, fixed).values())), times)
            if found is not None:
                return tuple(block for orbit in found for block in orbit.blocks)
    return None


def _from_complements(systems: int, size: int, times: int) -> tuple[Block, ...] | None:
    """What the blocks of a design leave out is a design, too. b and r follow from λ."""
    each = times * (systems - 1) // (size - 1)
    many = each * systems // size
    small = systems - size
    if small == 1:
        absent: tuple[Block, ...] | None = tuple((system,) for system in range(systems)) * (many // systems)
    else:
        absent = _from_orbits(systems, small, many - 2 * each + times)
    everyone = set(range(systems))
    return None if absent is None else tuple(tuple(sorted(everyone - set(block))) for block in absent)


def _groups(systems: int) -> Iterator[tuple[int, int]]:
    """(m, f): a cyclic group of order m that turns (v − f) / m cycles and leaves f systems where they are."""
    orders = [(order, fixed) for fixed in (0, 1, 2) for order in range(SMALLEST_GROUP, systems + 1)]
    found = [(order, fixed) for order, fixed in orders if systems > fixed and (systems - fixed) % order == 0]
    yield from sorted(found, key=lambda each: (-each[0], each[1]))


def _turned(system: int, by: int, order: int, moving: int) -> int:
    if system >= moving:
        return system
    cycle, place = divmod(system, order)
    return cycle * order + (place + by) % order


def _pair_orbits(systems: int, order: int, fixed: int) -> dict[tuple[int, int], int]:
    """The number of the orbit of every pair of systems, lower first."""
    moving = systems - fixed
    found: dict[tuple[int, int], int] = {}
    for one in range(systems):
        for two in range(one + 1, systems):
            if (one, two) not in found:
                number = len(set(found.values()))
                for by in range(order):
                    first, second = (_turned(each, by, order, moving) for each in (one, two))
                    found[min(first, second), max(first, second)] = number
    return found


def _orbits(systems: int, size: int, times: int, order: int, fixed: int) -> list[_Orbit] | None:
    """All orbits of blocks that contain no pair too often; None if there are too many.

    Blocks that some of the group's elements leave as they are have short orbits. They are unions of orbits of a
    subgroup, so they are listed by the subgroup's order.
    """
    moving, number = systems - fixed, _pair_orbits(systems, order, fixed)
    sizes: dict[int, int] = defaultdict(int)
    for orbit in number.values():
        sizes[orbit] += 1
    found: dict[frozenset[Block], _Orbit] = {}
    for inner in (each for each in range(1, order + 1) if order % each == 0):
        step = order // inner
        parts = [
            tuple(cycle * order + place + step * by for by in range(inner))
            for cycle in range(moving // order)
            for place in range(step)
        ] + [(system,) for system in range(moving, systems)]
        for block in _unions(parts, size, step, times, number, sizes):
            if block is None:
                return None
            blocks = {tuple(sorted(_turned(each, by, order, moving) for each in block)) for by in range(order)}
            covers = _covers(block, len(blocks), number, sizes)
            if all(many <= times for many in covers.values()):
                found.setdefault(frozenset(blocks), _Orbit(tuple(sorted(blocks)), covers))
    return list(found.values())


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
        for at in range(start, len(parts)):
            part = parts[at]
            if begun > MOST_BEGUN:
                return
            if len(block) + len(part) > size or (not block and len(part) * step > 1 and part[0] % (len(part) * step)):
                continue
            pairs = [number[min(one, two), max(one, two)] for one in part for two in block]
            pairs += [number[one, two] for place, one in enumerate(part) for two in part[place + 1 :]]
            for pair in pairs:
                counts[pair] += 1
            if all(counts[pair] * step <= times * sizes[pair] for pair in pairs):
                block.extend(part)
                yield from extend(at + 1)
                del block[-len(part) :]
            for pair in pairs:
                counts[pair] -= 1

    yield from extend(0)
    if begun > MOST_BEGUN:
        yield None


def _covers(
    block: Sequence[int], images: int, number: dict[tuple[int, int], int], sizes: dict[int, int]
) -> dict[int, int]:
    """By orbit of pairs: how many of the block's ``images`` contain each pair of it."""
    counts: dict[int, int] = defaultdict(int)
    ordered = sorted(block)
    for place, one in enumerate(ordered):
        for two in ordered[place + 1 :]:
            counts[number[one, two]] += images
    return {orbit: many // sizes[orbit] for orbit, many in counts.items()}


def _chosen(orbits: Sequence[_Orbit], pairs: int, times: int) -> list[_Orbit] | None:
    """Orbits, each once at most, that together contain every pair ``times`` times. None after MOST_LOOKS."""
    by_pair: list[list[int]] = [[] for _ in range(pairs)]
    for at, orbit in enumerate(orbits):
        for pair in orbit.covers:
            by_pair[pair].append(at)
    left = [times] * pairs
    taken: list[int] = []
    looks = 0

    def fits(at: int) -> bool:
        nonlocal looks
        looks += 1
        return all(many <= left[pair] for pair, many in orbits[at].covers.items())

    def search(barred: set[int]) -> bool:
        if looks > MOST_LOOKS:
            return False
        open_pairs = [pair for pair in range(pairs) if left[pair]]
        if not open_pairs:
            return True
        options = {pair: [at for at in by_pair[pair] if at not in barred and fits(at)] for pair in open_pairs}
        pair = min(open_pairs, key=lambda each: len(options[each]))
        tried = set(barred)
        for at in options[pair]:
            tried.add(at)
            _take(orbits[at], left, -1)
            taken.append(at)
            if search(tried):
                return True
            taken.pop()
            _take(orbits[at], left, 1)
        return False

    return [orbits[at] for at in taken] if search(set()) else None


def _take(orbit: _Orbit, left: list[int], sign: int) -> None:
    for pair, many in orbit.covers.items():
        left[pair] += sign * many
