"""Tasks that show samples of one context from different systems, so that all pairs of systems meet equally often.

A block is the content of one task. Systems are balanced as in incomplete block designs (Yates 1936; Zhang et al. 2020,
§4.1 and appendix A): a block has at most one sample of a system, every system is in about as many blocks, and so
is every pair of systems. The counts of meetings add up to tasks × k(k − 1)/2, so they can differ by one at best.
"""

from __future__ import annotations

import math
import random
from collections import Counter, defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TypeVar

import numpy as np
import pandas as pd

from analysis.planning.designs import exact_design
from analysis.planning.search import Bundle, Bundles, balance, first_bundles
from common.words import counted

#: How many contexts, systems or samples a message names.
NAMED = 5
Element = TypeVar("Element")


class PlanError(ValueError):
    """The samples cannot be planned. ``str()`` gives the reason and what to change."""


@dataclass(frozen=True, slots=True)
class Sample:
    """One text that a system made for a context. ``name`` is unique."""

    name: str
    context: str
    system: str


@dataclass(frozen=True, slots=True)
class Block:
    """The samples of one task, in no particular order: each worker's order is drawn later."""

    context: str
    samples: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class BlockPlan:
    """Tasks in the order in which workers get them.

    ``meetings``: how often each pair of systems meets, a symmetric frame with 0 on the diagonal. ``shown``: tasks by
    sample, including samples in none. ``notes``: sentences on the resulting numbers and on what could not be balanced.
    """

    blocks: tuple[Block, ...]
    meetings: pd.DataFrame
    shown: Mapping[str, int]
    notes: tuple[str, ...]

    @property
    def pair_counts(self) -> tuple[int, int]:
        """The fewest and the most meetings of any two systems."""
        counts = self.meetings.to_numpy()[np.triu_indices(len(self.meetings), 1)]
        return int(counts.min()), int(counts.max())

    @property
    def balanced(self) -> bool:
        """Whether the counts of meetings differ by one at most."""
        low, high = self.pair_counts
        return high - low <= 1

    @property
    def unrated(self) -> list[str]:
        """The samples in no task."""
        return [name for name, times in self.shown.items() if not times]


def tasks_for(samples: int, size: int, ratings_per_sample: float) -> int:
    """The fewest tasks of ``size`` samples that give this many ratings per sample on average."""
    return math.ceil(samples * ratings_per_sample / size - 1e-9)


def plan_blocks(
    samples: Sequence[Sample],
    *,
    size: int = 5,
    ratings_per_sample: float | None = None,
    tasks: int | None = None,
    seed: int | str = 1,
) -> BlockPlan:
    """Tasks of ``size`` samples of one context, from as many different systems.

    Give the target either as ``ratings_per_sample`` (on average, rounded up to whole tasks) or as a number of
    ``tasks``; the notes give the other. Tasks are divided among contexts in proportion to their samples. Within a
    context, samples are shown equally often (±1) if its systems have equally many; systems with fewer samples are shown
    less. If a balanced incomplete block design is known for every context, it is used, with the systems in random
    places. Otherwise a local search evens out the meetings. The same samples and seed give the same plan.

    PlanError: no samples, or two with the same name; not exactly one target; a target below one task; ``size`` below 2;
    a context with fewer systems than ``size``.
    """
    _check(samples, size, ratings_per_sample, tasks)
    if tasks is None:
        tasks = tasks_for(len(samples), size, ratings_per_sample or 0)
    rng = random.Random(seed)  # noqa: S311 - a plan must be reproducible, not unpredictable
    systems = list(dict.fromkeys(sample.system for sample in samples))
    code_of_system = {name: index for index, name in enumerate(systems)}
    names_by_context: dict[str, dict[int, list[str]]] = defaultdict(lambda: defaultdict(list))
    for sample in samples:
        names_by_context[sample.context][code_of_system[sample.system]].append(sample.name)
    sizes = {
        name: {system: len(names) for system, names in by_system.items()}
        for name, by_system in names_by_context.items()
    }
    tasks_of_context = _tasks_by_context({name: sum(counts.values()) for name, counts in sizes.items()}, tasks, rng)
    bundles = _exact_bundles(sizes, tasks_of_context, size, len(systems), rng)
    if bundles is None:
        bundles = first_bundles(sizes, tasks_of_context, size, len(systems), rng)
    meetings = balance(bundles, sizes, len(systems), rng)
    blocks = _with_samples(bundles, names_by_context, rng)
    shown = Counter(name for block in blocks for name in block.samples)
    counts = {sample.name: shown[sample.name] for sample in samples}
    frame = pd.DataFrame(meetings, index=systems, columns=systems)
    rng.shuffle(blocks)
    plan = BlockPlan(tuple(blocks), frame, counts, ())
    return BlockPlan(plan.blocks, frame, counts, tuple(_notes(plan, samples, sizes, size, systems)))


def _check(samples: Sequence[Sample], size: int, ratings: float | None, tasks: int | None) -> None:
    if not samples:
        raise PlanError("There are no samples. Add some.")
    repeated = [name for name, times in Counter(sample.name for sample in samples).items() if times > 1]
    if repeated:
        raise PlanError(f"Several samples have the name {_listed(repeated)}. Give every sample its own name.")
    if size < 2:
        raise PlanError(f"A task of {counted(size, 'sample')} compares nothing. Show 2 or more together.")
    if (ratings is None) == (tasks is None):
        raise PlanError("Give a number of ratings per sample or a number of tasks, one of the two.")
    target = tasks if tasks is not None else ratings
    if target is None or not (math.isfinite(target) and target > 0):
        raise PlanError(f"The target is {target}. Give a number above 0.")
    systems_by_context: dict[str, set[str]] = defaultdict(set)
    for sample in samples:
        systems_by_context[sample.context].add(sample.system)
    short = {name: systems for name, systems in systems_by_context.items() if len(systems) < size}
    if short:
        name, systems = next(iter(short.items()))
        raise PlanError(
            f"A task shows {size} different systems, but {counted(len(short), 'context')} of "
            f"{len(systems_by_context):,} {'has' if len(short) == 1 else 'have'} fewer: {_listed(short)}. "
            f"“{name[:60]}” has {len(systems)}: {_listed(sorted(systems))}. "
            "Add samples, leave these contexts out, or show fewer systems per task."
        )


def _tasks_by_context(sizes: Mapping[str, int], tasks: int, rng: random.Random) -> dict[str, int]:
    """Whole tasks in proportion to the contexts' samples (largest remainders; ties at random)."""
    total = sum(sizes.values())
    exact = {name: tasks * size / total for name, size in sizes.items()}
    shares = {name: math.floor(share + 1e-9) for name, share in exact.items()}
    names = list(sizes)
    rng.shuffle(names)
    names.sort(key=lambda name: shares[name] - exact[name])
    for name in names[: tasks - sum(shares.values())]:
        shares[name] += 1
    return shares


def _exact_bundles(
    sizes: Mapping[str, Mapping[int, int]], tasks: Mapping[str, int], size: int, systems: int, rng: random.Random
) -> Bundles | None:
    """A design for each context, in which all systems meet equally often; None if some context has none."""
    designs = {}
    for context, counts in sizes.items():
        if tasks[context]:
            design = exact_design(systems, size, tasks[context])
            if design is None or len(counts) < systems or len(set(counts.values())) > 1:
                return None
            designs[context] = design
    places = {context: rng.sample(range(systems), systems) for context in designs}
    return {
        context: [{places[context][index] for index in block} for block in designs.get(context, ())]
        for context in sizes
    }


def _with_samples(
    bundles: Mapping[str, list[Bundle]], owned: Mapping[str, Mapping[int, list[str]]], rng: random.Random
) -> list[Block]:
    """Each system's samples of a context in turn, so that they are shown equally often."""
    blocks = []
    for context, context_bundles in bundles.items():
        queues = {system: _shuffled(names, rng) for system, names in owned[context].items()}
        turns: Counter[int] = Counter()
        for bundle in _shuffled(context_bundles, rng):
            members = sorted(bundle)
            names = [queues[system][turns[system] % len(queues[system])] for system in members]
            turns.update(members)
            blocks.append(Block(context, tuple(names)))
    return blocks


def _shuffled(elements: Sequence[Element], rng: random.Random) -> list[Element]:
    return rng.sample(elements, len(elements))


def _notes(
    plan: BlockPlan,
    samples: Sequence[Sample],
    sizes: Mapping[str, Mapping[int, int]],
    size: int,
    systems: Sequence[str],
) -> list[str]:
    times = sorted(set(plan.shown.values()))
    ratings = len(plan.blocks) * size
    span = f"{times[0]} to {times[-1]} times" if len(times) > 1 else counted(times[0], "time")
    notes = [
        f"{counted(len(plan.blocks), 'task')} of {size}: {counted(ratings, 'rating')}, "
        f"{ratings / len(samples):.2f} per sample. Each sample is shown {span}."
    ]
    if plan.unrated:
        needed = tasks_for(len(samples), size, 1)
        unrated = counted(len(plan.unrated), "sample")
        notes.append(f"{unrated} in no task: {_listed(plan.unrated)}. About {needed:,} tasks show each once.")
    low, high = plan.pair_counts
    if plan.balanced:
        notes.append(f"Any two systems meet {counted(low, 'time') if low == high else f'{low:,} or {high:,} times'}.")
    else:
        notes.append(
            f"Systems meet {low:,} to {high:,} times. The search found no plan in which this differs by 1 at most."
        )
        together = {pair for counts in sizes.values() for pair in combinations(sorted(counts), 2)}
        never = [
            f"{systems[first]} and {systems[second]}"
            for first, second in combinations(range(len(systems)), 2)
            if (first, second) not in together
        ]
        if never:
            notes.append(f"These systems have no context in common, so they never meet: {_listed(never)}.")
    usual = Counter(count for counts in sizes.values() for count in counts.values()).most_common(1)[0][0]
    odd = [
        f"{name[:60]} has {counts.get(system, 0)} of {systems[system]}"
        for name, counts in sizes.items()
        for system in range(len(systems))
        if counts.get(system, 0) != usual
    ]
    if odd:
        notes.append(
            f"Not every context has {counted(usual, 'sample')} of each system: {'; '.join(odd[:NAMED])}{_more(odd)}."
        )
    return notes


def _listed(names: Sequence[str] | Mapping[str, object]) -> str:
    quoted = [f"“{name[:60]}”" for name in names]
    return ", ".join(quoted[:NAMED]) + _more(quoted)


def _more(names: Sequence[str]) -> str:
    return f" and {len(names) - NAMED:,} more" if len(names) > NAMED else ""
