"""Variance components of answers: how far items, workers and the rest make answers differ, from data.

The model of an answer is the mean of its system, plus an effect of the item, of the worker, of the item with this
system (the text), of the worker with this system, and a rest that belongs to this answer alone.

Estimates are by the method of moments, as MINQUE with all weights 0 (Rao 1971; Hartley, Rao & LaMotte 1978): the sums
of squares of every grouping's totals are set equal to their expectations. They are unbiased, whatever is missing, and
equal the analysis of variance (and REML, if no estimate is negative) in balanced designs. Shapes: N answers.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, fields, replace

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike
from scipy import sparse

from analysis.inference.cluster_sums import Floats, Ints

#: The names that people read, by field.
LABELS = {
    "items": "items",
    "workers": "workers",
    "item_system": "item × system",
    "worker_system": "worker × system",
    "residual": "residual",
}


@dataclass(frozen=True, slots=True)
class Components:
    """Variances of answers, in squared units of the scale.

    ``items``: of items, the same for all systems. ``workers``: how lenient people are. ``item_system``: of the text
    that a system makes for an item. ``worker_system``: of people's liking for a system. ``residual``: all that belongs
    to a single answer. ``latent``: they are those of a normal variable that is cut into the points of the scale, not of
    the answers themselves. ValueError: a negative variance, or nothing that varies.
    """

    items: float = 0.0
    workers: float = 0.0
    item_system: float = 0.0
    worker_system: float = 0.0
    residual: float = 0.0
    latent: bool = False

    def __post_init__(self) -> None:
        for name, label in LABELS.items():
            variance = getattr(self, name)
            if not 0 <= variance < np.inf:
                raise ValueError(f"the variance of {label} must be 0 or more, not {variance:g}")
        if not self.total > 0:
            raise ValueError("all variances are 0: answers that do not vary need no planning")

    @property
    def total(self) -> float:
        return float(sum(getattr(self, name) for name in LABELS))

    def times(self, factor: float) -> Components:
        """Of answers in other units: ``factor`` is the square of how many new units make an old one."""
        return replace(self, **{name: getattr(self, name) * factor for name in LABELS})

    def named(self) -> list[tuple[str, float]]:
        return [(label, getattr(self, name)) for name, label in LABELS.items()]


#: What a component may be called on the command line.
COMPONENT_NAMES = tuple(field.name for field in fields(Components) if field.name in LABELS)


@dataclass(frozen=True)
class Fit:
    """``components`` from ``answers`` answers to ``items`` items of ``systems`` systems by ``workers`` workers.

    ``notes`` say what could not be separated, or came out below 0.
    """

    components: Components
    answers: int
    items: int
    workers: int
    systems: int
    mean: float
    notes: tuple[str, ...]


def fit_components(values: ArrayLike, *, items: ArrayLike, workers: ArrayLike, systems: ArrayLike | None = None) -> Fit:
    """Fit the model to N answers. ``items`` names what systems have in common, such as the prompt; without
    ``systems``, all answers are to texts of one.

    ValueError: lengths differ, no answers, one item or worker, all answers equal, nobody answered twice.
    """
    answers = np.asarray(values, dtype=float)
    names = [items, workers, np.zeros(len(answers)) if systems is None else systems]
    item_codes, worker_codes, system_codes = (np.asarray(pd.factorize(np.asarray(column))[0]) for column in names)
    _refuse(answers, item_codes, worker_codes, system_codes)
    system_count = int(system_codes.max()) + 1
    groupings = {
        "item_system": _crossed(item_codes, system_codes),
        "worker_system": _crossed(worker_codes, system_codes),
        "items": item_codes,
        "workers": worker_codes,
    }
    notes: list[str] = []
    if system_count == 1:
        del groupings["item_system"], groupings["worker_system"]
        notes.append("There is one system, so what differs between systems is in the other variances.")
    else:
        notes += _drop_nested(groupings)
    for name in [name for name, codes in groupings.items() if np.bincount(codes).max() == 1]:
        del groupings[name]
        notes.append(f"No {name.removesuffix('s')} has two answers, so what {name} differ by is in the residual.")
    if not groupings:
        raise ValueError("no item and no worker has two answers: nothing shows where the differences come from")
    estimates = _minque(answers, system_codes, groupings)
    while groupings and (variance := min(estimates[name] for name in groupings)) < 0:
        # The others are estimated again without it, as REML does at the edge of what is possible.
        name = next(name for name in groupings if estimates[name] == variance)
        notes.append(f"The variance of {LABELS[name]} came out below 0 ({variance:.2g}), so it counts as 0.")
        del groupings[name]
        estimates = _minque(answers, system_codes, groupings)
    of = {name: estimates.get(name, 0.0) for name in LABELS}
    components = Components(of["items"], of["workers"], of["item_system"], of["worker_system"], of["residual"])
    item_count, worker_count = int(item_codes.max()) + 1, int(worker_codes.max()) + 1
    mean = float(answers.mean())
    return Fit(components, len(answers), item_count, worker_count, system_count, mean, tuple(notes))


def _refuse(answers: Floats, items: Ints, workers: Ints, systems: Ints) -> None:
    if len({len(answers), len(items), len(workers), len(systems)}) != 1:
        raise ValueError("values, items, workers and systems must have one entry for each answer")
    if not len(answers):
        raise ValueError("there are no answers")
    if np.isnan(answers).any() or min(codes.min() for codes in (items, workers, systems)) < 0:
        raise ValueError("an answer, its item, worker or system is missing: leave out its row")
    for codes, thing in ((items, "item"), (workers, "worker")):
        if codes.max() == 0:
            raise ValueError(f"all answers have the same {thing}: how {thing}s differ needs two or more, better twenty")
    if np.ptp(answers) == 0:
        raise ValueError("all answers are equal: nothing shows how they vary")


def _drop_nested(groupings: dict[str, Ints]) -> list[str]:
    """Leave out items (or workers) if none has two systems: then the text's effect holds theirs. Returns the notes."""
    notes = []
    for thing, with_system in (("items", "item_system"), ("workers", "worker_system")):
        if groupings[thing].max() == groupings[with_system].max():
            del groupings[thing]
            notes.append(
                f"None of the {thing} has two systems, so the variance of {thing} is in that of {LABELS[with_system]}."
            )
    return notes


def _minque(answers: Floats, systems: Ints, groupings: dict[str, Ints]) -> dict[str, float]:
    """The components of the groupings and the residual, which may be negative.

    With P, which takes off the systems' means, and V_g = Z_g Z_gᵀ of a grouping: solve Σ_h tr(P V_g P V_h) σ²_h =
    yᵀ P V_g P y. ValueError: two groupings are the same.
    """
    sizes = np.bincount(systems)
    away = answers - (np.bincount(systems, answers) / sizes)[systems]
    codes_of = [*groupings.values(), np.arange(len(answers))]
    incidence = [_incidence(codes) for codes in codes_of]
    # Z_gᵀ P Z_h = A − U Wᵀ: a sparse table of counts less a product of one column for each system.
    by_system = [sparse.csr_array(z.T @ _incidence(systems)) for z in incidence]
    expected = np.empty((len(incidence), len(incidence)))
    for row, (first, first_systems) in enumerate(zip(incidence, by_system, strict=True)):
        for column, (second, second_systems) in enumerate(zip(incidence, by_system, strict=True)):
            if column < row:
                expected[row, column] = expected[column, row]
                continue
            shared = sparse.csr_array(first.T @ second)
            scaled = first_systems.multiply(1 / sizes)
            mixed = (first_systems.multiply(shared @ second_systems).sum(axis=0) / sizes).sum()
            gram = (scaled.T @ scaled).multiply(second_systems.T @ second_systems).sum()
            expected[row, column] = (shared.data**2).sum() - 2 * mixed + gram
    observed = [float((np.bincount(codes, away) ** 2).sum()) for codes in codes_of]
    if np.linalg.matrix_rank(expected / np.abs(expected).max(), tol=1e-10) < len(expected):
        raise ValueError("items, workers and systems go together, so their variances cannot be separated")
    return dict(zip([*groupings, "residual"], np.linalg.solve(expected, observed).tolist(), strict=True))


def _incidence(codes: Ints) -> sparse.csr_array:
    rows = np.arange(len(codes))
    return sparse.csr_array((np.ones(len(codes)), (rows, codes)), shape=(len(codes), int(codes.max()) + 1))


def _crossed(first: Ints, second: Ints) -> Ints:
    return np.asarray(pd.factorize(first * (int(second.max()) + 1) + second)[0], dtype=np.int64)


def parse_components(words: Sequence[str], *, latent: bool = False) -> Components:
    """From ``items=0.2``, ``item_system=0.1`` and so on; what is not named is 0. ValueError: anything else."""
    variances: dict[str, float] = {}
    for word in words:
        name, equals, number = word.partition("=")
        if not equals or name not in COMPONENT_NAMES:
            raise ValueError(f"“{word[:40]}” is no variance: write NAME=NUMBER with {', '.join(COMPONENT_NAMES)}")
        try:
            variances[name] = float(number)
        except ValueError:
            raise ValueError(f"“{number[:40]}” is not a number: write {name}=0.2") from None
    return Components(**variances, latent=latent)
