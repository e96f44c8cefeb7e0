"""The search behind `analysis.planning.blocks`: bundles of systems whose pairs meet equally often.

Systems are numbers 0 … S−1; a bundle is a set of them. Bundles belong to contexts, ``sizes[context][system]`` is how
many samples a system has there. Everything random comes from ``rng``, and work is limited by a number of moves, never
by time, so a plan depends on its seed alone.
"""

from __future__ import annotations

import math
import random
from collections import Counter
from collections.abc import Mapping, Sequence

Bundle = set[int]
Bundles = dict[str, list[Bundle]]
Sizes = Mapping[str, Mapping[int, int]]
Meetings = list[list[int]]
#: The search gives up after this many rounds of at most so many moves, or this many moves in all: about six seconds.
ROUNDS, MOVES, MOVES_PER_BUNDLE, MOST_MOVES = 6, 300_000, 2_000, 900_000
#: The same for a plan in rounds. It has fewer exchanges to try, and the last few counts rarely become equal.
MOST_MOVES_IN_ROUNDS = 150_000
#: The temperature at the start of the first round and of later ones, in units of the cost (the sum of squared counts).
#: It falls to 0. The first suffices for hundreds of bundles; few bundles need a warmer start.
FIRST_WARMTH, WARMTH = 0.35, 1.0


def first_bundles(sizes: Sizes, tasks: Mapping[str, int], size: int, systems: int, rng: random.Random) -> Bundles:
    """Bundles with each system in proportion to its samples, greedily filled with those that met least.

    Where `bundles_per_round` allows it, a context's bundles come in rounds: those of one round share no system.
    """
    meetings = [[0] * systems for _ in range(systems)]
    used: Counter[int] = Counter()
    found: Bundles = {}
    for context, many in tasks.items():
        left = _appearances(sizes[context], many, size, used, rng)
        used.update(left)
        found[context] = []
        in_round = bundles_per_round(sizes[context], size)
        this_round: dict[int, int] = {}
        for at, remaining in enumerate(range(many, 0, -1)):
            if in_round and at % in_round == 0:
                # The last round may be smaller: it has the systems that are shown once more than the others.
                this_round = {system: 1 for system, times in left.items() if times or remaining >= in_round}
            if in_round:
                bundle = _greedy(this_round, min(remaining, in_round - at % in_round), size, meetings, rng)
                this_round = {system: 1 for system in this_round if system not in bundle}
            else:
                bundle = _greedy(left, remaining, size, meetings, rng)
            found[context].append(bundle)
            for system in bundle:
                left[system] -= 1
                for other in bundle:
                    if other != system:
                        meetings[system][other] += 1
    return found


def bundles_per_round(own: Mapping[int, int], size: int) -> int:
    """How many bundles show every system of a context once; 0 if whole bundles cannot, or a system has several samples.

    A worker who has done one bundle can do the rest of its round without meeting a text again. With several samples of
    each system, bundles seldom have the same ones anyway.
    """
    whole = set(own.values()) == {1} and len(own) % size == 0
    return len(own) // size if whole else 0


def _appearances(
    own: Mapping[int, int], tasks: int, size: int, used: Mapping[int, int], rng: random.Random
) -> dict[int, int]:
    """How many of a context's tasks show each system: in proportion to its samples, at most once in each task."""
    exact = _capped(own, tasks * size, tasks)
    whole = {system: math.floor(share + 1e-9) for system, share in exact.items()}
    order = list(own)
    rng.shuffle(order)
    # Fractions are rounded up where systems were used least so far, so that rounding does not add up over contexts.
    order.sort(key=lambda system: used.get(system, 0))
    short = tasks * size - sum(whole.values())
    for system in [system for system in order if whole[system] < min(tasks, exact[system])][:short]:
        whole[system] += 1
    for system in order:
        while sum(whole.values()) < tasks * size and whole[system] < tasks:
            whole[system] += 1
    return whole


def _capped(own: Mapping[int, int], total: float, most: int) -> dict[int, float]:
    """``total`` in proportion to ``own``, but no share above ``most``; the rest goes to the others."""
    full: set[int] = set()
    while True:
        weight = sum(many for system, many in own.items() if system not in full)
        left = total - most * len(full)
        shares = {s: float(most) if s in full else left * many / weight for s, many in own.items()}
        over = {system for system, share in shares.items() if system not in full and share > most + 1e-9}
        if not over:
            return shares
        full |= over


def _greedy(left: Mapping[int, int], remaining: int, size: int, meetings: Meetings, rng: random.Random) -> Bundle:
    """Systems that must be in every remaining bundle, then those that met the chosen ones least."""
    bundle = {system for system, many in left.items() if many >= remaining}
    free = [system for system, many in left.items() if 0 < many < remaining]
    rng.shuffle(free)
    while len(bundle) < size:
        best = min(free, key=lambda system: (sum(meetings[system][other] for other in bundle), -left[system]))
        free.remove(best)
        bundle.add(best)
    return bundle


def balance(bundles: Bundles, sizes: Sizes, systems: int, rng: random.Random) -> Meetings:
    """Even out how often systems meet, by exchanges between the bundles of one context. Changes ``bundles``.

    An exchange gives two bundles each other's system, so every system stays in as many bundles; a replacement puts a
    system in another's place if that one is in more of the context's bundles. Bundles of a context with rounds exchange
    systems only within their round, and the last round may replace one. The method is simulated annealing
    (Kirkpatrick et al. 1983) on the sum of squared counts, which is least when all counts are equal, ±1. It stops
    there, or after ROUNDS.
    """
    meetings = count_meetings(bundles, systems)
    if systems < 2 or not any(bundles.values()):
        return meetings
    contexts = [context for context, found in bundles.items() if found]
    used = {context: Counter(system for bundle in bundles[context] for system in bundle) for context in contexts}
    cost = _cost(meetings)
    floor = _least_cost(meetings)
    size = next(len(bundle) for found in bundles.values() for bundle in found)
    in_round = {context: bundles_per_round(sizes[context], size) for context in contexts}
    moves = min(MOVES, MOVES_PER_BUNDLE * sum(map(len, bundles.values())))
    most = MOST_MOVES_IN_ROUNDS if any(in_round.values()) else MOST_MOVES
    for move in range(min(ROUNDS * moves, most)):
        if cost <= floor:
            break
        context = rng.choice(contexts)
        warmth = (FIRST_WARMTH if move < moves else WARMTH) * (1 - move % moves / moves)
        own = bundles[context]
        if in_round[context]:
            start = rng.randrange(len(own)) // in_round[context] * in_round[context]
            own = own[start : start + in_round[context]]
        cost += _try(own, used[context], sizes[context], meetings, warmth, rng)
    return meetings


def count_meetings(bundles: Bundles, systems: int) -> Meetings:
    """How often each pair of systems is in one bundle, (S, S), 0 on the diagonal."""
    meetings = [[0] * systems for _ in range(systems)]
    for found in bundles.values():
        for bundle in found:
            for one in bundle:
                for two in bundle:
                    meetings[one][two] += one != two
    return meetings


def _cost(meetings: Meetings) -> int:
    return sum(count * count for row in meetings for count in row) // 2


def _least_cost(meetings: Meetings) -> int:
    """The cost if the same meetings were spread evenly over all pairs."""
    pairs = len(meetings) * (len(meetings) - 1) // 2
    low, over = divmod(sum(map(sum, meetings)) // 2, pairs)
    return (pairs - over) * low**2 + over * (low + 1) ** 2


def _try(
    found: list[Bundle],
    used: Counter[int],
    own: Mapping[int, int],
    meetings: Meetings,
    warmth: float,
    rng: random.Random,
) -> int:
    """One random move in a context, kept if it lowers the cost or by chance. Returns the change of the cost."""
    one = rng.choice(found)
    gone = rng.choice(tuple(one))
    two = rng.choice(found)
    new = rng.choice(tuple(own if two is one else two))
    if new in one or (two is not one and gone in two):
        return 0
    if two is one and used[gone] * own[new] <= used[new] * own[gone]:
        return 0
    rest_one = [other for other in one if other != gone]
    rest_two = [] if two is one else [other for other in two if other != new]
    change = _change(gone, new, rest_one, rest_two, meetings)
    if change > 0 and rng.random() >= math.exp(-change / max(warmth, 1e-9)):
        return 0
    _move(gone, new, rest_one, meetings)
    one.remove(gone)
    one.add(new)
    if two is one:
        used[gone] -= 1
        used[new] += 1
    else:
        _move(new, gone, rest_two, meetings)
        two.remove(new)
        two.add(gone)
    return change


def _change(gone: int, new: int, rest_one: Sequence[int], rest_two: Sequence[int], meetings: Meetings) -> int:
    """How the sum of squared counts changes if ``new`` joins the first rest for ``gone``, and the other way round."""
    old, fresh, change = meetings[gone], meetings[new], 0
    for other in rest_one:
        if other not in rest_two:
            change += 2 * (fresh[other] - old[other]) + 2
    for other in rest_two:
        if other not in rest_one:
            change += 2 * (old[other] - fresh[other]) + 2
    return change


def _move(gone: int, new: int, rest: Sequence[int], meetings: Meetings) -> None:
    for other in rest:
        meetings[gone][other] -= 1
        meetings[other][gone] -= 1
        meetings[new][other] += 1
        meetings[other][new] += 1
