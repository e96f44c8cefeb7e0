"""What studies have cost or may still cost on platforms, in USD with fees."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta
from decimal import Decimal

from django.conf import settings
from django.db.models import Count, F, Q, QuerySet, Sum
from django.utils import timezone

from annotation.models import Commitment, OutsideAssignment, Posting, SpendingAccount, Study, StudyBudget
from annotation.platforms.costs import CENT
from annotation.recruiting.offered_work import USED
from annotation.work.hourly_pay import exact_sum

Outside = OutsideAssignment.State
#: Work can arrive this long after its time is up, because it is handed in by the worker's browser.
LATE = timedelta(minutes=5)


def _left(rows: QuerySet[Commitment]) -> Decimal:
    return exact_sum(rows.aggregate(total=Sum(F("amount") - F("released")))["total"]).quantize(CENT)


def set_aside_for(study: Study) -> Decimal:
    """What is spent or promised for the study."""
    return _left(Commitment.objects.filter(study=study))


def begin_of_month(now: datetime) -> datetime:
    """The first moment of the month, in UTC."""
    return now.replace(day=1, hour=0, minute=0, second=0, microsecond=0)


def in_month(account: SpendingAccount, now: datetime) -> Decimal:
    """What was set aside on the account in the month of ``now``, and not released."""
    return _left(Commitment.objects.filter(account=account, created_at__gte=begin_of_month(now)))


def unspent_places(study: Study, *, now: datetime) -> dict[int, tuple[int, int]]:
    """By posting: how many of its places will not be paid, and how many it has.

    These are rejected assignments and, once nobody can hand in any more, the places that nobody used.
    """
    over = now - timedelta(minutes=study.time_limit_minutes) - LATE
    rows = Posting.objects.filter(study=study).annotate(
        rejected=Count("outside", filter=Q(outside__state=Outside.REJECTED)),
        used=Count("outside", filter=Q(outside__state__in=USED)),
    )
    ended = (Posting.State.EXPIRED, Posting.State.DELETED)
    places = {}
    for pk, state, expires_at, n_places, rejected, used in rows.values_list(
        "pk", "state", "expires_at", "wanted", "rejected", "used"
    ):
        is_over = state in ended and (expires_at is None or expires_at < over)
        unused = max(0, (n_places or 0) - used) if is_over else 0
        places[pk] = (rejected + unused, max(1, n_places or 1))
    return places


@dataclass(frozen=True, slots=True)
class Spending:
    """A study's budget (None: not fixed yet) and what is set aside of it; the same for its account this month.

    ``month_limit`` is 0 without a limit.
    """

    budget: Decimal | None
    committed: Decimal
    this_month: Decimal
    month_limit: Decimal

    @property
    def left(self) -> Decimal:
        return max((self.budget or Decimal(0)) - self.committed, Decimal(0))


def spending_of(study: Study) -> Spending:
    """For pages and commands."""
    now = timezone.now()
    accounts = SpendingAccount.objects.filter(commitments__study=study).distinct()
    budget = StudyBudget.objects.filter(study=study).values_list("amount", flat=True).first()
    this_month = sum((in_month(account, now) for account in accounts), Decimal(0))
    return Spending(budget, set_aside_for(study), this_month, settings.MONTHLY_BUDGET)
