"""What Prolific asks of a study before it can be published: rewards, times and pay per hour."""

from __future__ import annotations

from collections.abc import Sequence
from decimal import ROUND_UP, Decimal
from math import ceil, sqrt

from annotation.models import Study
from annotation.platforms.costs import CENT, hourly_wage, reward_problems
from annotation.platforms.prolific.config import ProlificConfig, minutes_of
from common.problems import Problem
from common.words import counted, money

#: “Prolific's payment principles” (researcher-help.prolific.com): “we enforce a minimum hourly reward” of $8.00.
LEAST_PER_HOUR = Decimal("8.00")


def study_problems(study: Study, config: ProlificConfig, rewards: Sequence[Decimal]) -> list[Problem]:
    """Why Prolific would refuse the study with these rewards, in USD."""
    problems = reward_problems(rewards, platform="Prolific")
    if any(reward <= 0 for reward in rewards):
        problems.append(Problem("reward", "A hit pays nothing.", "Prolific needs a reward."))
    if config.screen_out_pay and any(reward <= config.screen_out_pay for reward in rewards):
        what = (
            f"Participants who are screened out would get {money(config.screen_out_pay)}, which is not less than the "
            "reward."
        )
        problems.append(Problem("platforms.prolific.screen_out_reward", what, "Lower it, or raise the reward."))
    if study.estimated_minutes is None:
        what = "Prolific shows participants how long the study takes, and it has no estimate."
        return [*problems, Problem("estimated_minutes", what, "Set the estimated minutes per hit.")]
    minutes = minutes_of(study)
    if study.time_limit_minutes < (least := least_time_limit(minutes)):
        what = (
            f"For {counted(minutes, 'minute')} of work, Prolific asks for at least {counted(least, 'minute')} of time."
        )
        problems.append(
            Problem("time_limit_minutes", what, f"Set the time limit to {least} or more, or lower the estimate.")
        )
    for reward in rewards:
        if 0 < reward * 60 < LEAST_PER_HOUR * minutes:
            hourly = hourly_wage(reward, minutes * 60)
            what = f"{money(reward)} for {counted(minutes, 'minute')} is {money(hourly)} an hour."
            least_reward = (LEAST_PER_HOUR * minutes / 60).quantize(CENT, ROUND_UP)
            fix = f"Prolific asks for at least {money(LEAST_PER_HOUR)} an hour: pay {money(least_reward)} or more."
            problems.append(Problem("reward", what, fix))
    return problems


def least_time_limit(minutes: int) -> int:
    """Prolific's least time limit in whole minutes for an estimated time (schema BaseStudy, maximum_allowed_time).

    >>> least_time_limit(5)  # 2 + 2 × 5 + 2 × √5 = 16.47
    17
    """
    return ceil(2 + 2 * minutes + 2 * sqrt(minutes))
