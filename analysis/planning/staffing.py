"""How many different workers a plan needs, if nobody may judge the same item twice.

Two tasks conflict if they share an item: one worker can do only one of them. A *layer* is a set of tasks that share no
item, so one worker can do all of it. Layers are the colours of a proper colouring of the tasks, found with DSATUR
(Brélaz 1979), which uses the fewest colours for bipartite graphs, cycles and the complete multipartite graphs that
plans in rounds give.
"""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Collection, Hashable, Sequence
from dataclasses import dataclass
from heapq import heappop, heappush

Neighbours = Sequence[Collection[int]]
#: From how many tasks of a part the search for a clique starts.
TRIED = 20


@dataclass(frozen=True, slots=True)
class Staffing:
    """``least``: fewer different workers cannot give all ratings. ``enough``: so many can, if each does all they can;
    the smallest number may lie between the two. ``most_each``: no worker can do more tasks than this."""

    least: int
    enough: int
    most_each: int


def layers_of(tasks: Sequence[Collection[Hashable]]) -> list[int]:
    """The layer of each task, counted from 0. ``tasks`` are each task's items.

    The layers of unconnected parts of the plan are matched so that all layers have about as many tasks.
    """
    neighbours = _conflicts(tasks)
    layers = [0] * len(tasks)
    sizes: Counter[int] = Counter()
    for part in _parts(neighbours):
        colours = _coloured(part, neighbours)
        members: dict[int, list[int]] = defaultdict(list)
        for task, colour in colours.items():
            members[colour].append(task)
        smallest = sorted(range(max(len(sizes), len(members))), key=lambda layer: (sizes[layer], layer))
        largest_first = sorted(members.values(), key=len, reverse=True)
        for layer, same in zip(smallest, largest_first, strict=False):
            sizes[layer] += len(same)
            for task in same:
                layers[task] = layer
    return layers


def staffing(
    tasks: Sequence[Collection[Hashable]], ratings_wanted: Sequence[int], most_each: int | None = None
) -> Staffing:
    """How many workers can give each task the ``ratings_wanted``, when one worker does a task once, rates no item twice
    and does at most ``most_each`` tasks (None: any number).

    ``least`` is the largest of three bounds: the places of tasks that all share an item with each other; the places of
    a connected part of the plan over the most tasks that one worker can do there; all places over the most that one
    worker can do. ``enough`` gives each layer different workers.
    """
    if not tasks:
        return Staffing(0, 0, 0)
    neighbours = _conflicts(tasks)
    least, most_tasks = 0, 0
    for part in _parts(neighbours):
        items = {item for task in part for item in tasks[task]}
        most_here = min(len(part), len(items) // max(1, min(len(tasks[task]) for task in part)))
        most_tasks += most_here
        places = sum(ratings_wanted[task] for task in part)
        allowed = min(most_here, most_each) if most_each else most_here
        least = max(least, _largest_clique(part, neighbours, ratings_wanted), math.ceil(places / max(1, allowed)))
    allowed = min(most_tasks, most_each) if most_each else most_tasks
    least = max(least, math.ceil(sum(ratings_wanted) / max(1, allowed)))
    places_in: Counter[int] = Counter()
    most_wanted: dict[int, int] = defaultdict(int)
    for task, layer in enumerate(layers_of(tasks)):
        places_in[layer] += ratings_wanted[task]
        most_wanted[layer] = max(most_wanted[layer], ratings_wanted[task])
    enough = sum(
        max(most_wanted[layer], math.ceil(places / most_each) if most_each else 0)
        for layer, places in places_in.items()
    )
    return Staffing(least, max(least, enough), allowed)


def _conflicts(tasks: Sequence[Collection[Hashable]]) -> list[set[int]]:
    """By task, the other tasks that share an item with it."""
    showing: dict[Hashable, list[int]] = defaultdict(list)
    for task, items in enumerate(tasks):
        for item in items:
            showing[item].append(task)
    neighbours: list[set[int]] = [set() for _ in tasks]
    for sharing in showing.values():
        for task in sharing if len(sharing) > 1 else ():
            neighbours[task].update(sharing)
    for task, others in enumerate(neighbours):
        others.discard(task)
    return neighbours


def _parts(neighbours: Neighbours) -> list[list[int]]:
    """The connected components, each with its tasks in order."""
    parts, seen = [], [False] * len(neighbours)
    for start in range(len(neighbours)):
        if seen[start]:
            continue
        seen[start], part, waiting = True, [], [start]
        while waiting:
            task = waiting.pop()
            part.append(task)
            for other in neighbours[task]:
                if not seen[other]:
                    seen[other] = True
                    waiting.append(other)
        parts.append(sorted(part))
    return parts


def _coloured(part: Sequence[int], neighbours: Neighbours) -> dict[int, int]:
    """A proper colouring by DSATUR: next is the task whose neighbours have most colours, then most neighbours."""
    colours: dict[int, int] = {}
    seen: dict[int, set[int]] = {task: set() for task in part}
    heap: list[tuple[int, int, int]] = []
    for task in part:
        heappush(heap, (0, -len(neighbours[task]), task))
    while heap:
        saturation, _, task = heappop(heap)
        if task in colours or -saturation != len(seen[task]):
            continue  # an outdated entry
        colour = next(number for number in range(len(part)) if number not in seen[task])
        colours[task] = colour
        for other in neighbours[task]:
            if other not in colours and colour not in seen[other]:
                seen[other].add(colour)
                heappush(heap, (-len(seen[other]), -len(neighbours[other]), other))
    return colours


def _largest_clique(part: Sequence[int], neighbours: Neighbours, ratings_wanted: Sequence[int]) -> int:
    """The places of a set of tasks that all conflict with each other, found greedily: a worker fills one at most."""
    best = 0
    for start in sorted(part, key=lambda task: -len(neighbours[task]))[:TRIED]:
        places, candidates = ratings_wanted[start], set(neighbours[start])
        while candidates:
            task = max(
                candidates, key=lambda task: (ratings_wanted[task], len(candidates & set(neighbours[task])), -task)
            )
            places += ratings_wanted[task]
            candidates &= set(neighbours[task])
        best = max(best, places)
    return best
