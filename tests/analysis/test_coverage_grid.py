"""A few cells of the coverage grid (`bench.replications`): intervals over items and workers hold, others do not."""

from __future__ import annotations

import pytest

from bench.replications import FIGURES, Design, alpha_of_labels, designs, held_in

STUDIES = 120
#: Many items and few workers, who differ; few items, which differ, and many workers who rate all of them.
FEW_WORKERS, FEW_ITEMS = Design(100, 12, 3, 0.5, 1.0), Design(30, 50, 0, 1.0, 0.5)


@pytest.mark.parametrize("figure", ["mean", "share"])
@pytest.mark.parametrize(("design", "alone"), [(FEW_WORKERS, "items"), (FEW_ITEMS, "workers")])
def test_intervals_over_both_hold_the_truth_and_intervals_over_one_do_not(
    figure: str, design: Design, alone: str
) -> None:
    """114 of 120 expected with exactly 95%, s.d. 2.4."""
    held = held_in(figure, design, STUDIES, seed=3)
    assert held["both"] >= 106
    assert held[alone] < 90


@pytest.mark.parametrize("figure", ["systems_nested", "arms"])
def test_differences_hold_no_difference_also_where_levels_interact(figure: str) -> None:
    """Items belong to one system, workers to one arm. The other dimension alone does not see how they differ."""
    held = held_in(figure, Design(30, 12, 5, 1.0, 1.0, interaction=0.5), STUDIES, seed=4)
    assert held["both"] >= 106
    assert min(held["items"], held["workers"]) < 100


@pytest.mark.parametrize(
    ("figure", "design"),
    [("systems_nested", Design(30, 50, 0, 0.0, 1.0)), ("arms", Design(30, 12, 5, 1.0, 0.0))],
)
def test_effects_that_cancel_out_of_a_difference_do_not_make_it_too_sure(figure: str, design: Design) -> None:
    """All workers rate both systems, or both arms rate all items, and only these shared ones differ. The plain two-way
    variance held in 82% and 86%."""
    held = held_in(figure, design, STUDIES, seed=5)
    assert held["both"] >= 108


def test_agreement_is_not_too_sure_where_all_raters_rate_everything() -> None:
    """Raters differ, units do not: the plain two-way jackknife held in 76%."""
    held = held_in("alpha", Design(30, 50, 0, 0.0, 1.0), 50, seed=6)
    assert held["both"] >= 44


def test_few_workers_have_no_interval() -> None:
    held = held_in("mean", Design(10, 4, 0, 1.0, 1.0), 5, seed=1)
    assert held["both"] == 0 and held["both none"] == 5


def test_the_grid_is_whole() -> None:
    cells = list(designs([10, 30, 100]))
    assert {(cell.items, cell.workers, cell.per_item) for cell in cells} >= {(10, 5, 0), (30, 12, 3), (100, 50, 5)}
    assert {(cell.sd_items, cell.sd_workers) for cell in cells} >= {(0.0, 0.0), (0.5, 0.5), (1.0, 1.0)}
    assert len(FIGURES) == 8


def test_alpha_of_labels_that_depend_on_nothing_is_zero() -> None:
    assert alpha_of_labels(0.0, 0.0) == pytest.approx(0.0, abs=1e-12)
    # Without raters' effects α is the correlation of two labels of one item, here of logit s.d. 1: between 0 and 1.
    assert 0.1 < alpha_of_labels(1.0, 0.0) < 0.2 < alpha_of_labels(2.0, 0.0)
