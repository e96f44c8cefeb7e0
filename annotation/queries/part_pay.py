"""What workers get who stop in the middle of a hit, and what is still owed for that."""

from __future__ import annotations

from decimal import ROUND_UP, Decimal

from django.db.models import QuerySet

from annotation.models import PartPayment, Study

CENT = Decimal("0.01")
PartPay = Study.PartPay


def part_of_reward(
    *, rule: str, fixed: Decimal | None, reward: Decimal, done: int, in_all: int | None
) -> Decimal | None:
    """USD in whole cents for a hit that is stopped after ``done`` of ``in_all`` steps. None: no part pay.

    ``rule`` is the study's ``part_pay``. There is no part pay before the first step. A share of the reward needs the
    number of steps, which some task types do not know in advance. Shares are rounded up.
    """
    if done < 1:
        return None
    if rule == PartPay.FIXED:
        return fixed
    if rule != PartPay.STEPS or not in_all or not reward:
        return None
    return (reward * done / in_all).quantize(CENT, ROUND_UP)


def unpaid_parts_there(study: Study) -> QuerySet[PartPayment]:
    """Those of `unpaid_parts` whose hit came from a platform, which can pay them outside the hit."""
    found = unpaid_parts(study).filter(assignment__posting__isnull=False)
    return found.exclude(assignment__platform_assignment_id="").select_related(
        "assignment__participant", "assignment__hit__study"
    )


def unpaid_parts(study: Study) -> QuerySet[PartPayment]:
    """What people are owed for stopped hits: neither marked as paid nor compensated through the platform."""
    found = PartPayment.objects.filter(assignment__hit__study=study, assignment__participant__synthetic=False)
    return found.filter(payments=None, assignment__compensation=None)
