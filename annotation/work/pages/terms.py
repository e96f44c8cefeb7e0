"""What workers read about time and pay: before they start, in a preview, and when they have done a task."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal

from annotation.languages import gettext as _
from annotation.languages import minutes, money, ngettext, number
from annotation.models import Arm, Study
from annotation.platforms.base import Platform
from annotation.platforms.calls import Json
from annotation.platforms.link import Link
from annotation.work.hourly_pay import expected_seconds, hourly

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
        return "" if self.seconds is None else _("about %(time)s") % {"time": roughly(self.seconds)}

    @property
    def pay(self) -> str:
        if not self.reward:
            return ""
        amount = money(self.reward)
        return _("at least %(amount)s") % {"amount": amount} if self.at_least else amount

    @property
    def per_hour(self) -> str:
        if not self.reward or not self.seconds:
            return ""
        pattern = _("at least %(amount)s") if self.at_least else _("about %(amount)s")
        return pattern % {"amount": money(hourly(self.reward, self.seconds))}

    def sentence(self, task: str) -> str:
        """Such as “One HIT takes about 2 minutes and pays $0.18, which is about $5.40 per hour.” Empty: not known."""
        words = {"task": task, "time": self.time, "pay": self.pay, "hour": self.per_hour}
        if self.time and self.per_hour:
            pattern = _("One %(task)s takes %(time)s and pays %(pay)s, which is %(hour)s per hour.")
        elif self.time:
            pattern = _("One %(task)s takes %(time)s.")
        elif self.pay:
            pattern = _("One %(task)s pays %(pay)s.")
        else:
            return ""
        return pattern % words


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
        tens = max(10, 10 * -(-round(seconds) // 10))
        return ngettext("%(count)s second", "%(count)s seconds", tens) % {"count": number(tens)}
    in_minutes = Decimal(str(seconds)) / 60
    if in_minutes >= 10:
        return minutes(int(in_minutes.quantize(Decimal(1), ROUND_HALF_UP)))
    halves = (in_minutes / HALF).quantize(Decimal(1), ROUND_HALF_UP) * HALF
    if halves == halves.to_integral_value():
        return minutes(int(halves))
    return _("%(count)s minutes") % {"count": number(halves.normalize())}
