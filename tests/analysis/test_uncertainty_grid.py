"""The worst cells of `bench.uncertainty`, small enough for every run: intervals hold where older formulas did not."""

from __future__ import annotations

import numpy as np
import pytest

from analysis.estimate import trust_in_words
from analysis.inference import Dimensions, LevelFigures, ratios
from bench.level_trials import layout_of
from bench.many_studies import Layout, spreads
from bench.replications import Design
from bench.uncertainty import cells_of, counted_in, seed_of
from bench.uncertainty_trials import TRIALS

STUDIES = 600
#: The grid allows 92.5 to 97.5%.
LEAST, MOST = 0.925, 0.975


@pytest.mark.parametrize("kind", ["one", "nested", "crossed", "arms"])
@pytest.mark.parametrize("design", [Design(10, 12, 3, 1, 1), Design(30, 12, 0, 1, 0), Design(30, 12, 1, 0, 1)])
def test_many_studies_at_once_have_the_variances_of_the_core(kind: str, design: Design) -> None:
    rng = np.random.default_rng(3)
    layout = layout_of(design, kind, rng)
    if layout is not None:  # an arm may have too few items
        check_spreads(layout, design, rng)


@pytest.mark.parametrize("kind", ["nested", "crossed", "arms"])
def test_many_studies_without_multipliers_have_the_variances_of_the_core(
    kind: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The published formula, which is used where the design cannot tell the effects apart."""
    for module in ("analysis.inference.level_design", "analysis.inference.crossed", "bench.many_studies"):
        monkeypatch.setattr(f"{module}.multipliers", lambda *arguments: None)
    design, rng = Design(30, 12, 3, 1, 1), np.random.default_rng(3)
    layout = layout_of(design, kind, rng)
    assert layout is not None
    check_spreads(layout, design, rng)


def check_spreads(layout: Layout, design: Design, rng: np.random.Generator) -> None:
    values = rng.normal(size=(len(layout.items), 6)) + rng.normal(size=(design.items, 6))[layout.items]
    value, variance, freedom = spreads(layout, values)
    dimensions = Dimensions.of(items=layout.items, workers=layout.workers)
    below = np.eye(len(layout.weights))[layout.levels]
    for study in range(6):
        of_levels = LevelFigures(values[:, study], layout.levels, len(layout.weights), dimensions)
        of_ratios = ratios(values[:, [study]] * below, below, dimensions)
        weights = np.append(layout.weights, np.zeros(len(layout.weights)))
        for figures, of in ((of_levels, weights), (of_ratios, layout.weights)):
            spread = figures.spread(of)
            assert (spread.variance, spread.freedom) == pytest.approx((variance[study], freedom[study]), rel=1e-9)
            assert of @ np.nan_to_num(figures.values) == pytest.approx(value[study])


#: By trial, cells in which the published two-way variance or the smaller number of clusters was too narrow or too wide.
WORST = [
    ("one mean", Design(10, 12, 3, 0, 0)),
    ("one mean", Design(30, 5, 0, 1, 0)),
    ("one mean", Design(10, 5, 0, 0, 0)),
    ("difference, nested", Design(100, 5, 0, 1, 0)),
    ("difference, nested", Design(30, 5, 0, 0.5, 0.5)),
    ("difference, crossed", Design(100, 5, 0, 0, 1)),
    ("difference, arms", Design(30, 12, 3, 0, 0)),
    ("difference, arms", Design(10, 12, 0, 0.5, 0.5, 0.5)),
]


@pytest.mark.parametrize(("name", "design"), WORST)
def test_means_and_differences_hold_in_the_worst_cells(name: str, design: Design) -> None:
    """600 studies: with exactly 95%, 92.9 to 96.9% in all but two of a hundred cases."""
    right, having = counted_in(TRIALS[name], design, STUDIES, seed_of(5, name, design))["mean"]
    assert having == STUDIES
    assert LEAST <= right / having <= MOST


def test_shares_of_few_answers_are_too_wide_and_say_so() -> None:
    """30 items with one answer each, of 50 workers: neither items nor workers are few, but 30 answers are."""
    design = Design(30, 50, 1, 1, 1)
    right, having = counted_in(TRIALS["one mean"], design, STUDIES, seed_of(5, "share", design))["share of 0.85"]
    assert right / having >= 0.92 and having > 0.9 * STUDIES
    layout = layout_of(design, "one", np.random.default_rng(1))
    assert layout is not None
    dimensions = Dimensions.of(items=layout.items, workers=layout.workers)
    values = np.where(np.arange(30) < 25, 1.0, 0.0)[:, None]
    figures = ratios(values, np.ones((30, 1)), dimensions)
    share, mean = figures.estimate(bounds=(0.0, 1.0)), figures.estimate()
    remark = "with fewer than 50 answers, 92 to 100% of such 95% intervals are right in simulations"
    assert trust_in_words([share]) == [remark] and trust_in_words([mean]) == []
    enough = ratios(np.tile(values, (2, 1)), np.ones((60, 1)), Dimensions.of(items=np.tile(layout.items, 2)))
    assert trust_in_words([enough.estimate(bounds=(0.0, 1.0))]) == []


def test_what_levels_share_neither_narrows_nor_widens_their_difference(monkeypatch: pytest.MonkeyPatch) -> None:
    """Five workers who differ rated all items, each of one system: what workers have in common cancels out. The
    variance is 4/500, of two means of 250 answers with noise 1. Without multipliers, the larger one-way sum is too
    large, and the plain formula too small."""
    layout = layout_of(Design(100, 5, 0, 0, 1), "nested", np.random.default_rng(1))
    assert layout is not None
    rng = np.random.default_rng(2)
    values = rng.normal(0, 2, (5, 300))[layout.workers] + rng.normal(size=(500, 300))
    assert spreads(layout, values)[1].mean() == pytest.approx(4 / 500, rel=0.2)
    monkeypatch.setattr(LevelFigures, "multipliers", lambda self, weights: None)
    dimensions = Dimensions.of(items=layout.items, workers=layout.workers)
    without, published = [], []
    for study in range(60):
        figures = LevelFigures(values[:, study], layout.levels, 2, dimensions)
        weights = figures.weights_of(0, 1)
        without.append(figures.spread(weights).variance)
        published.append(sum(term.sign * sums.squares_sum(weights) for term, sums in figures.sums))
    assert np.mean(without) > 1.2 * 4 / 500 > 0 > np.mean(published)


@pytest.mark.parametrize(
    ("name", "figure", "design"),
    [
        ("detection", "d′", Design(30, 12, 3, 1, 1)),
        ("choices", "share of choices", Design(30, 12, 3, 1, 1)),
        ("compare, nested", "Cohen’s d of 0.5", Design(30, 12, 3, 1, 1)),
        ("interaction, crossed", "interaction", Design(30, 12, 3, 1, 1, 0.5)),
        ("correlation", "ρ of 0", Design(30, 12, 3, 1, 1)),
        ("sign flips", "sign-flip p", Design(10, 5, 0, 0, 0, 0.5)),
    ],
)
def test_a_middle_cell_of_every_other_figure(name: str, figure: str, design: Design) -> None:
    """120 studies: 114 expected, standard deviation 2.4."""
    right, having = counted_in(TRIALS[name], design, 120, seed_of(6, name, design))[figure]
    assert having == 120 and right >= 106


def test_families_of_four_equal_levels_keep_their_promise() -> None:
    """Holm's correction: a false difference in at most 5% of studies."""
    design = Design(30, 12, 3, 1, 1, 0.5)
    counts = counted_in(TRIALS["families, nested"], design, 100, seed_of(7, "families", design))
    assert all(right >= 90 for right, _ in counts.values()) and len(counts) == 2


def test_the_grid_of_the_bench() -> None:
    trial = TRIALS["difference, nested"]
    everything = list(cells_of(trial, "all"))
    telling = list(cells_of(trial, "telling"))
    assert len(everything) == 2 * 11 * 3 * 9 and set(telling) < set(everything)
    assert len({(cell.items, cell.workers, cell.per_item) for cell in telling}) == 13
