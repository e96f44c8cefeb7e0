"""What a study costs on a platform that charges fees: plain Decimal arithmetic, to the cent.

Amazon's fees (its pricing page; ``docs/platforms.md``): 20 % of every reward and bonus, 40 % for HITs with ten or more
assignments, 5 % more for masters, and at least $0.01 per assignment.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from common.problems import Problem
from common.words import counted, money

CENT = Decimal("0.01")
#: A HIT with more assignments than this pays the higher fee for all of them.
MOST_AT_LOW_FEE = 9


@dataclass(frozen=True, slots=True)
class Fees:
    """A platform's fees as shares of the reward, and its minimum fee for one assignment, in USD.

    ``each_rounded``: the fee of each assignment is rounded to the cent, as on this server's marketplace.
    """

    few: Decimal = Decimal("0.20")
    many: Decimal = Decimal("0.40")
    masters: Decimal = Decimal("0.05")
    least: Decimal = CENT
    each_rounded: bool = False

    def of(self, reward: Decimal, assignments: int, *, masters: bool = False) -> Decimal:
        """The fee for one of a HIT's ``assignments``."""
        share = self.many if assignments > MOST_AT_LOW_FEE else self.few
        fee = reward * (share + (self.masters if masters else 0))
        return max(fee.quantize(CENT, ROUND_HALF_UP) if self.each_rounded else fee, self.least)


MTURK = Fees()
NO_FEES = Fees(Decimal(0), Decimal(0), Decimal(0), Decimal(0))


@dataclass(frozen=True, slots=True)
class Offered:
    """Hits of one kind: how many there are, the reward of one submission, and how many submissions each needs."""

    hits: int
    reward: Decimal
    wanted: int


@dataclass(frozen=True, slots=True)
class Cost:
    """``hits`` counts HITs on the platform, where a split hit becomes several. All amounts are in USD."""

    hits: int
    assignments: int
    rewards: Decimal
    fees: Decimal

    @property
    def total(self) -> Decimal:
        return self.rewards + self.fees


def parts_of(wanted: int, *, split: bool) -> list[int]:
    """The sizes of the HITs that offer ``wanted`` assignments: one HIT or, if split, HITs of at most nine, as equal as
    possible.

    >>> parts_of(10, split=True)
    [5, 5]
    """
    if not split or wanted <= MOST_AT_LOW_FEE:
        return [wanted]
    count = -(-wanted // MOST_AT_LOW_FEE)
    return [wanted // count + (part < wanted % count) for part in range(count)]


def cost_of(offered: Iterable[Offered], *, fees: Fees, split: bool = False, masters: bool = False) -> Cost:
    """What all submissions to all hits cost if every one is approved."""
    hits, assignments, rewards, fee = 0, 0, Decimal(0), Decimal(0)
    for each in offered:
        parts = parts_of(each.wanted, split=split)
        hits += each.hits * len(parts)
        assignments += each.hits * each.wanted
        rewards += each.hits * each.wanted * each.reward
        fee += each.hits * sum(part * fees.of(each.reward, part, masters=masters) for part in parts)
    return Cost(hits, assignments, rewards.quantize(CENT, ROUND_HALF_UP), fee.quantize(CENT, ROUND_HALF_UP))


def hourly_wage(reward: Decimal, seconds: float) -> Decimal:
    """USD per hour for a task that takes ``seconds``. Raises ValueError if it takes no time."""
    if seconds <= 0:
        raise ValueError("A task takes more than 0 seconds.")
    return (reward * 3600 / Decimal(str(seconds))).quantize(CENT, ROUND_HALF_UP)


def reward_problems(rewards: Sequence[Decimal], *, where: str = "reward", platform: str = "MTurk") -> list[Problem]:
    """Rewards that the platform cannot accept: it accepts only whole cents."""
    problems = []
    for reward in dict.fromkeys(rewards):
        if reward == reward.quantize(CENT):
            continue
        bundle = next((n for n in range(2, 101) if reward * n == (reward * n).quantize(CENT)), None)
        way = (
            f" or put {counted(bundle, 'item')} into each hit and pay {money(reward * bundle)} for it" if bundle else ""
        )
        whole = reward.quantize(CENT, ROUND_HALF_UP)
        fix = f"Pay whole cents, such as {money(max(whole, CENT))}{way}."
        problems.append(Problem(where, f"{platform} pays in whole cents, and {money(reward)} is not one.", fix))
    return problems
