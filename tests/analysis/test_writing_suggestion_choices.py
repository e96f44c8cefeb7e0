"""Choices between suggesters: published tests, and the mixed logit compared with a separate integration."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction
from typing import Any

import numpy as np
import pytest
from scipy import integrate, optimize, stats

from analysis.writing import binomial_tests, choice_share, clustered_share, mixed_logit


def test_published_counts_give_their_p() -> None:
    """Clark 2021, ch. 4: 345 of 525 choices (p < .01), 275 of 515 (.134 two-sided; .067 is one-sided)."""
    first, second = binomial_tests(345, 525), binomial_tests(275, 515)

    assert first.two_sided < 0.01 and first.one_sided < 0.01
    assert (round(second.two_sided, 3), round(second.one_sided, 3)) == (0.134, 0.067)


def test_the_tests_are_the_binomial_by_hand() -> None:
    # 2 of 3 against 1/3: P(2) + P(3) = 3·(1/9)(2/3) + 1/27 = 7/27; two-sided: 0 (8/27) and 1 (12/27) are more likely
    # than 2 (6/27), so the same. 1 of 6 against 1/2: one-sided below, (1 + 6)/64.
    found = binomial_tests(2, 3, chance=1 / 3)
    assert found.one_sided == pytest.approx(float(Fraction(7, 27)))
    assert found.two_sided == pytest.approx(float(Fraction(7, 27)))
    assert binomial_tests(1, 6).one_sided == pytest.approx(7 / 64)
    assert binomial_tests(3, 6).two_sided == 1
    assert math.isnan(binomial_tests(0, 0).two_sided)


@pytest.mark.parametrize(("wins", "n", "chance"), [(4, 3, 0.5), (-1, 3, 0.5), (1, 3, 0.0), (1, 3, 1.0)])
def test_impossible_counts_are_refused(wins: int, n: int, chance: float) -> None:
    with pytest.raises(ValueError, match="must be between"):
        binomial_tests(wins, n, chance=chance)


def test_the_share_leaves_out_missing_choices() -> None:
    # Newcombe 1998, table I: Wilson's interval of 15/148 is 0.0624 to 0.1605.
    found = choice_share([1] * 15 + [0] * 133 + [math.nan])
    assert found.n == 148
    assert (found.low, found.high) == pytest.approx((0.0624, 0.1605), abs=5e-5)
    assert math.isnan(choice_share([]).value)
    with pytest.raises(ValueError, match="1 \\(the first\\) or 0"):
        choice_share([1, 2])


def test_alike_choices_of_a_writer_widen_the_interval() -> None:
    chosen = np.repeat([1, 1, 1, 0, 1, 0, 1, 0, 1, 1], 5)
    alike, alone = (clustered_share(chosen, each) for each in (np.repeat(np.arange(10), 5), np.arange(50)))

    assert (alike.share.value, alone.share.value, alike.share.n) == (0.7, 0.7, 50)
    # By hand: the variance of ten writers' shares is .21/9 (10/9 · .21/10), of fifty choices .21/49; on the logit scale
    # the slope is 1/.21, and t has 9 and 49 degrees of freedom.
    for found, clusters, t in ((alike, 10, 2.262157), (alone, 50, 2.009575)):
        half = t * math.sqrt(0.21 / (clusters - 1)) / 0.21
        bounds = [1 / (1 + math.exp(-(math.log(7 / 3) + sign * half))) for sign in (-1, 1)]
        assert (found.share.low, found.share.high) == pytest.approx(bounds, abs=1e-6)
    # t = log(7/3) · .21 / √(.21/9) with 9 degrees of freedom.
    assert alike.p == pytest.approx(2 * stats.t.sf(math.log(7 / 3) * 0.21 / math.sqrt(0.21 / 9), 9))


# --- the mixed logit ---


def reference(wins: Sequence[int], n: Sequence[int], odds: float, spread: float) -> float:
    """The log-likelihood with the plain integral, by adaptive quadrature instead of Gauss–Hermite nodes."""

    def of_writer(k: int, m: int) -> float:
        def inside(u: float) -> float:
            p = 1 / (1 + math.exp(-(odds + spread * u)))
            return float(p**k * (1 - p) ** (m - k) * math.exp(-u * u / 2) / math.sqrt(2 * math.pi))

        return float(integrate.quad(inside, -12, 12, epsabs=1e-15, epsrel=1e-12, limit=400)[0])

    return sum(math.log(of_writer(k, m)) for k, m in zip(wins, n, strict=True))


def choices_of(wins: Sequence[int], n: Sequence[int]) -> tuple[list[int], list[int]]:
    chosen = [int(at < k) for k, m in zip(wins, n, strict=True) for at in range(m)]
    return chosen, [writer for writer, m in enumerate(n) for _ in range(m)]


WINS, N = [5, 5, 4, 0, 1, 5, 3, 2, 5, 4, 8, 1], [5, 5, 5, 5, 4, 6, 5, 5, 5, 5, 9, 1]


def test_the_mixed_logit_is_the_maximum_of_an_independent_likelihood() -> None:
    """Both parameters, the test and the interval against SciPy's adaptive quadrature and general optimiser."""
    found = mixed_logit(*choices_of(WINS, N))

    options: Any = {"xatol": 1e-7, "fatol": 1e-11}

    def unlikely(at: Any) -> float:
        return -reference(WINS, N, float(at[0]), float(at[1]))

    best = optimize.minimize(unlikely, np.array([0.5, 1.0]), method="Nelder-Mead", options=options)
    assert (found.log_odds, found.spread) == pytest.approx((best.x[0], best.x[1]), abs=1e-4)
    assert found.log_likelihood == pytest.approx(-best.fun, abs=1e-8)
    assert found.share.value == pytest.approx(1 / (1 + math.exp(-best.x[0])), abs=1e-5)

    def profile(odds: float) -> float:
        inner = optimize.minimize_scalar(lambda spread: -reference(WINS, N, odds, spread), bounds=(0, 10))
        return -float(inner.fun)

    # χ² with one degree of freedom is a squared normal: p = erfc(√(LR/2)); its 95% point is 1.959964².
    ratio = 2 * (-best.fun - profile(0.0))
    assert found.p == pytest.approx(math.erfc(math.sqrt(ratio / 2)), abs=1e-5)
    for bound in (found.share.low, found.share.high):
        at = math.log(bound / (1 - bound))
        assert 2 * (-best.fun - profile(at)) == pytest.approx(1.959964**2, abs=1e-3)


def test_writers_alike_by_chance_give_the_plain_logit() -> None:
    """Every writer 3 of 5: no spread, so b = log(3/2) and the test is the likelihood ratio of a binomial, by hand."""
    found = mixed_logit(*choices_of([3] * 8, [5] * 8))

    assert (found.spread, found.log_odds) == pytest.approx((0.0, math.log(1.5)), abs=1e-6)
    ratio = 2 * (24 * math.log(0.6) + 16 * math.log(0.4) - 40 * math.log(0.5))
    assert found.p == pytest.approx(math.erfc(math.sqrt(ratio / 2)), abs=1e-9)
    assert "do not differ" in found.share.note


def test_the_two_sides_are_mirror_images() -> None:
    chosen, writers = choices_of(WINS, N)
    one, other = mixed_logit(chosen, writers), mixed_logit([1 - each for each in chosen], writers)
    assert one.log_odds == pytest.approx(-other.log_odds, abs=1e-5)
    assert one.p == pytest.approx(other.p, abs=1e-6)
    assert one.share.low == pytest.approx(1 - other.share.high, abs=1e-5)


@pytest.mark.parametrize(
    ("wins", "n", "reason"),
    [
        ([3], [5], "two or more"),
        ([1, 0, 1], [1, 1, 1], "chose once"),
        ([5, 5], [5, 5], "same side"),
        ([0, 0], [5, 5], "same side"),
        ([], [], "two or more"),
    ],
)
def test_a_missing_estimate_has_a_reason(wins: list[int], n: list[int], reason: str) -> None:
    found = mixed_logit(*choices_of(wins, n))
    assert math.isnan(found.p) and math.isnan(found.share.value) and reason in found.share.note


def test_writers_who_always_choose_the_same_are_named() -> None:
    found = mixed_logit(*choices_of([5, 5, 0, 5, 0, 5], [5] * 6))
    assert "only known to be large" in found.share.note
    assert 0 <= found.share.low <= found.share.value <= found.share.high <= 1
