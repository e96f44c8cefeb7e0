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
    times_used: Counter[int] = Counter()
    bundles: Bundles = {}
    for context, task_count in tasks.items():
        appearances_left = _appearances(sizes[context], task_count, size, times_used, rng)
        times_used.update(appearances_left)
        bundles[context] = []
        in_round = bundles_per_round(sizes[context], size)
        this_round: dict[int, int] = {}
        for index, remaining in enumerate(range(task_count, 0, -1)):
            if in_round and index % in_round == 0:
                # The last round may be smaller: it has the systems that are shown once more than the others.
                this_round = {system: 1 for system, times in appearances_left.items() if times or remaining >= in_round}
            if in_round:
                bundle = _greedy(this_round, min(remaining, in_round - index % in_round), size, meetings, rng)
                this_round = {system: 1 for system in this_round if system not in bundle}
            else:
                bundle = _greedy(appearances_left, remaining, size, meetings, rng)
            bundles[context].append(bundle)
            for system in bundle:
                appearances_left[system] -= 1
                for other in bundle:
                    if other != system:
                        meetings[system][other] += 1
    return bundles


def bundles_per_round(sample_counts: Mapping[int, int], size: int) -> int:
    """How many bundles show every system of a context once; 0 if whole bundles cannot, or a system has several samples.

    A worker who has done one bundle can do the rest of its round without meeting a text again. With several samples of
    each system, bundles seldom have the same ones anyway.
    """
    one_sample_each = set(sample_counts.values()) == {1} and len(sample_counts) % size == 0
    return len(sample_counts) // size if one_sample_each else 0


def _appearances(
    sample_counts: Mapping[int, int], tasks: int, size: int, times_used: Mapping[int, int], rng: random.Random
) -> dict[int, int]:
    """How many of a context's tasks show each system: in proportion to its samples, at most once in each task."""
    exact = _capped(sample_counts, tasks * size, tasks)
    appearances = {system: math.floor(share + 1e-9) for system, share in exact.items()}
    order = list(sample_counts)
    rng.shuffle(order)
    # Fractions are rounded up where systems were used least so far, so that rounding does not add up over contexts.
    order.sort(key=lambda system: times_used.get(system, 0))
    short = tasks * size - sum(appearances.values())
    for system in [system for system in order if appearances[system] < min(tasks, exact[system])][:short]:
        appearances[system] += 1
    for system in order:
        while sum(appearances.values()) < tasks * size and appearances[system] < tasks:
            appearances[system] += 1
    return appearances


def _capped(sample_counts: Mapping[int, int], total: float, most: int) -> dict[int, float]:
    """``total`` in proportion to ``sample_counts``, but no share above ``most``; the rest goes to the others."""
    full: set[int] = set()
    while True:
        weight = sum(count for system, count in sample_counts.items() if system not in full)
        remaining = total - most * len(full)
        shares = {s: float(most) if s in full else remaining * count / weight for s, count in sample_counts.items()}
        over = {system for system, share in shares.items() if system not in full and share > most + 1e-9}
        if not over:
            return shares
        full |= over


def _greedy(
    appearances_left: Mapping[int, int], remaining: int, size: int, meetings: Meetings, rng: random.Random
) -> Bundle:
    """Systems that must be in every remaining bundle, then those that met the chosen ones least."""
    bundle = {system for system, times in appearances_left.items() if times >= remaining}
    free = [system for system, times in appearances_left.items() if 0 < times < remaining]
    rng.shuffle(free)
    while len(bundle) < size:
        best = min(
            free, key=lambda system: (sum(meetings[system][other] for other in bundle), -appearances_left[system])
        )
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
    contexts = [context for context, context_bundles in bundles.items() if context_bundles]
    times_used = {context: Counter(system for bundle in bundles[context] for system in bundle) for context in contexts}
    cost = sum(count * count for row in meetings for count in row) // 2
    # The cost if the same meetings were spread evenly over all pairs.
    pairs = systems * (systems - 1) // 2
    low, over = divmod(sum(map(sum, meetings)) // 2, pairs)
    floor = (pairs - over) * low**2 + over * (low + 1) ** 2
    size = next(len(bundle) for context_bundles in bundles.values() for bundle in context_bundles)
    in_round = {context: bundles_per_round(sizes[context], size) for context in contexts}
    moves = min(MOVES, MOVES_PER_BUNDLE * sum(map(len, bundles.values())))
    most = MOST_MOVES_IN_ROUNDS if any(in_round.values()) else MOST_MOVES
    for move in range(min(ROUNDS * moves, most)):
        if cost <= floor:
            break
        context = rng.choice(contexts)
        warmth = (FIRST_WARMTH if move < moves else WARMTH) * (1 - move % moves / moves)
        candidates = bundles[context]
        if in_round[context]:
            start = rng.randrange(len(candidates)) // in_round[context] * in_round[context]
            candidates = candidates[start : start + in_round[context]]
        cost += _try_move(candidates, times_used[context], sizes[context], meetings, warmth, rng)
    return meetings


def count_meetings(bundles: Bundles, systems: int) -> Meetings:
    """How often each pair of systems is in one bundle, (S, S), 0 on the diagonal."""
    meetings = [[0] * systems for _ in range(systems)]
    for context_bundles in bundles.values():
        for bundle in context_bundles:
            for first in bundle:
                for second in bundle:
                    meetings[first][second] += first != second
    return meetings


def _try_move(
    candidates: list[Bundle],
    times_used: Counter[int],
    sample_counts: Mapping[int, int],
    meetings: Meetings,
    warmth: float,
    rng: random.Random,
) -> int:
    """One random move in a context, kept if it lowers the cost or by chance. Returns the change of the cost."""
    first = rng.choice(candidates)
    gone = rng.choice(tuple(first))
    second = rng.choice(candidates)
    new = rng.choice(tuple(sample_counts if second is first else second))
    if new in first or (second is not first and gone in second):
        return 0
    if second is first and times_used[gone] * sample_counts[new] <= times_used[new] * sample_counts[gone]:
        return 0
    first_others = [other for other in first if other != gone]
    second_others = [] if second is first else [other for other in second if other != new]
    # How the sum of squared counts changes if ``new`` joins the first others for ``gone``, and the other way round.
    old, fresh, change = meetings[gone], meetings[new], 0
    for other in first_others:
        if other not in second_others:
            change += 2 * (fresh[other] - old[other]) + 2
    for other in second_others:
        if other not in first_others:
            change += 2 * (old[other] - fresh[other]) + 2
    if change > 0 and rng.random() >= math.exp(-change / max(warmth, 1e-9)):
        return 0
    _move(gone, new, first_others, meetings)
    first.remove(gone)
    first.add(new)
    if second is first:
        times_used[gone] -= 1
        times_used[new] += 1
    else:
        _move(new, gone, second_others, meetings)
        second.remove(new)
        second.add(gone)
    return change


def _move(gone: int, new: int, others: Sequence[int], meetings: Meetings) -> None:
    for other in others:
        meetings[gone][other] -= 1
        meetings[other][gone] -= 1
        meetings[new][other] += 1
        meetings[other][new] += 1
