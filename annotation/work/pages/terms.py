"""What workers read about time and pay: before they start, in a preview, and when they have done a task."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from annotation.models import Arm, Study
from annotation.platforms.base import Platform
from annotation.platforms.calls import Json
from annotation.platforms.link import Link
from annotation.work.hourly_pay import expected_seconds, hourly
from common.words import counted, money, plural_of

HALF = Decimal("0.5")


@dataclass(frozen=True, slots=True)
class Terms:
    """One task's reward in USD (0: no money), its expected time in seconds (None: not known), and how workers are paid.

    ``at_least``: arms have different rewards, and this is the lowest. ``payment`` is empty if there is nothing to say.
    """

    reward: Decimal
    at_least: bool
    seconds: float | None
    payment: str

    @property
    def time(self) -> str:
        return "" if self.seconds is None else f"about {roughly(self.seconds)}"

    @property
    def pay(self) -> str:
        return f"{'at least ' if self.at_least else ''}{money(self.reward)}" if self.reward else ""

    @property
    def per_hour(self) -> str:
        if not self.reward or not self.seconds:
            return ""
        return f"{'at least' if self.at_least else 'about'} {money(hourly(self.reward, self.seconds))}"

    def sentence(self, task: str) -> str:
        """Such as “One HIT takes about 2 minutes and pays $0.18, which is about $5.40 per hour.” Empty: not known."""
        facts = [f"takes {self.time}" if self.time else "", f"pays {self.pay}" if self.pay else ""]
        if not any(facts):
            return ""
        hour = f", which is {self.per_hour} per hour" if self.per_hour else ""
        return f"One {task} {' and '.join(filter(None, facts))}{hour}."


def terms_of(
    study: Study, arms: Iterable[Arm] = (), *, platform: type[Platform] = Link, offered: Collection[Decimal] = ()
) -> Terms:
    """The terms of one task, with one query. ``offered``: its possible rewards on the platform; empty: the arms'."""
    rewards = {study.reward if arm.reward is None else arm.reward for arm in arms} or {study.reward}
    rewards = set(offered) or rewards
    seconds = expected_seconds(study)
    payment = payment_words(study.pay_note, study.platforms, platform, pays=max(rewards) > 0)
    return Terms(min(rewards), len(rewards) > 1, seconds, payment)


def payment_words(pay_note: str, platforms: Mapping[str, Json], platform: type[Platform] = Link, *, pays: bool) -> str:
    """How and when workers are paid, or what they get instead: in the study's words, else in the platform's.

    ``platforms`` has the study's settings by platform. Empty: there is no money, and the study says nothing.
    """
    if pay_note.strip():
        return pay_note.strip()
    return platform.payment_words(platforms.get(platform.name, {})) if pays else ""


def roughly(seconds: float) -> str:
    """A time that is only expected: “40 seconds”, “2.5 minutes”, “25 minutes”."""
    if seconds < 60:
        return counted(max(10, 10 * -(-round(seconds) // 10)), "second")
    minutes = Decimal(str(seconds)) / 60
    if minutes >= 10:
        return counted(int(minutes.quantize(Decimal(1), ROUND_HALF_UP)), "minute")
    halves = (minutes / HALF).quantize(Decimal(1), ROUND_HALF_UP) * HALF
    return "1 minute" if halves == 1 else f"{halves.normalize():f} {plural_of('minute')}"
