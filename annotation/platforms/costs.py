"""What a study costs on a platform that charges fees: plain Decimal arithmetic, to the cent.

Amazon's fees (its pricing page; ``docs/platforms.md``): 20 % of every reward and bonus, 40 % for HITs with ten or more
assignments, 5 % more for masters, and at least $0.01 per assignment.
"""

from __future__ import annotations

from collections.abc import Sequence
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

    ``each_rounded``: the fee of each assignment is rounded to the cent, as on a HITServer marketplace.
    """

    few: Decimal = Decimal("0.20")
    many: Decimal = Decimal("0.40")
    masters: Decimal = Decimal("0.05")
    least: Decimal = CENT
    each_rounded: bool = False

    @property
    def more_from_ten(self) -> bool:
        """Whether HITs with ten or more assignments pay a higher fee, so that several small HITs cost less."""
        return self.many > self.few

    def of(self, reward: Decimal, assignments: int, *, masters: bool = False) -> Decimal:
        """The fee for one of a HIT's ``assignments``."""
        share = self.many if assignments > MOST_AT_LOW_FEE else self.few
        share += self.masters if masters else 0
        if not share:
            return Decimal(0)  # without a fee there is no minimum fee either
        fee = reward * share
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
    """``hits`` counts HITs on the platform, where a split hit becomes several. All amounts are in USD.

    ``bonuses``: what arms pay above the price of the one listing, if all arms share one. ``fees`` include theirs.
    """

    hits: int
    assignments: int
    rewards: Decimal
    fees: Decimal
    bonuses: Decimal = Decimal(0)

    @property
    def total(self) -> Decimal:
        return self.rewards + self.bonuses + self.fees


def parts_of(assignments: int, *, split: bool) -> list[int]:
    """The sizes of the HITs that offer ``wanted`` assignments: one HIT or, if split, HITs of at most nine, as equal as
    possible.

    >>> parts_of(10, split=True)
    [5, 5]
    """
    if not split or assignments <= MOST_AT_LOW_FEE:
        return [assignments]
    count = -(-assignments // MOST_AT_LOW_FEE)
    return [assignments // count + (part < assignments % count) for part in range(count)]


def cost_of(
    offered: Sequence[Offered],
    *,
    fees: Fees,
    split: bool = False,
    masters: bool = False,
    listed_at: Decimal | None = None,
) -> Cost:
    """What all submissions to all hits cost if every one is approved.

    ``listed_at``: the price of the one listing of all hits. What a hit pays more is a bonus, whose fee is that of a
    single assignment, as Amazon and this server's marketplace charge it.
    """
    n_hits, n_assignments, rewards, bonuses, fee = 0, 0, Decimal(0), Decimal(0), Decimal(0)
    for kind in offered:
        part_sizes, submissions = parts_of(kind.wanted, split=split), kind.hits * kind.wanted
        price = kind.reward if listed_at is None else listed_at
        n_hits += kind.hits * len(part_sizes)
        n_assignments += submissions
        rewards += submissions * price
        fee += kind.hits * sum(part * fees.of(price, part, masters=masters) for part in part_sizes)
        if more := kind.reward - price:
            bonuses += submissions * more
            fee += submissions * fees.of(more, 1)
    amounts = (amount.quantize(CENT, ROUND_HALF_UP) for amount in (rewards, fee, bonuses))
    return Cost(n_hits, n_assignments, *amounts)


def in_words(cost: Cost) -> str:
    """Such as “$2.50 in rewards and $0.50 in fees, $3.00 in total.”"""
    bonuses = f", {money(cost.bonuses)} in bonuses" if cost.bonuses else ""
    return f"{money(cost.rewards)} in rewards{bonuses} and {money(cost.fees)} in fees, {money(cost.total)} in total."


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
        in_cents = reward.quantize(CENT, ROUND_HALF_UP)
        fix = f"Pay whole cents, such as {money(max(in_cents, CENT))}{way}."
        problems.append(Problem(where, f"{platform} pays in whole cents, and {money(reward)} is not one.", fix))
    return problems
