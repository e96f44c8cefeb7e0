"""The spending guard: money is set aside before a call to a platform that may cost it, and never more than allowed.

Two limits hold: the study's budget, and what an account may cost in a calendar month (UTC). Both are checked and the
money is set aside under the account's lock, so processes that spend at the same time cannot pass them together.
Paying for work that was offered before is never refused: its money was set aside when it was offered.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from datetime import datetime
from decimal import ROUND_CEILING, Decimal

from django.conf import settings
from django.db import transaction
from django.db.models import Count, F, Max, Q
from django.utils import timezone

from annotation.audit import record
from annotation.many_ids import among_texts
from annotation.models import Commitment, Hit, Posting, SpendingAccount, Study, StudyBudget
from annotation.platforms import offline
from annotation.platforms.base import Platform
from annotation.platforms.calls import Json, PlatformTrouble
from annotation.platforms.costs import CENT, Offered
from annotation.recruiting.offered_work import posted_on
from annotation.recruiting.spending import begin_of_month, in_month, set_aside_for, unspent_places
from annotation.studies.checking import platform_settings
from common.problems import Refused, invalid
from common.words import money

#: A study's budget if nobody sets one: what it costs if everything is approved, and this share more,
MARGIN = Decimal("0.25")
#: but at least this much more, in USD: small studies pay bonuses too.
LEAST_MARGIN = Decimal(10)
MOST_BUDGET = Decimal(1_000_000)
#: Who set a budget that nobody chose.
LAUNCH = "launch"


def spending_account(platform: Platform) -> str:
    """The name of what pays for work on this platform: an account that somebody entered, or the server's own."""
    if platform.account is not None:
        return f"{platform.name} account {platform.account.slug}"
    return f"{platform.name} {platform.endpoint()}".strip()[:200]


# --- the study's budget ---


def default_budget(forecast: Decimal) -> Decimal:
    """A study's budget from what it costs if everything is approved, both in USD.

    >>> default_budget(Decimal("100.00")), default_budget(Decimal("4.00"))
    (Decimal('125.00'), Decimal('14.00'))
    """
    return max(forecast * (1 + MARGIN), forecast + LEAST_MARGIN).quantize(CENT, ROUND_CEILING)


@transaction.atomic
def set_budget(*, study: Study, amount: Decimal, actor: str) -> StudyBudget:
    """Set the most that the study may cost on platforms, in USD with fees. Raises Invalid if more is set aside."""
    if not amount.is_finite() or not 0 <= amount <= MOST_BUDGET or amount != amount.quantize(CENT):
        fix = f"Enter dollars and cents, up to {money(MOST_BUDGET)}, such as 25.00."
        raise invalid("budget", "This is not an amount that a budget can have.", fix)
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    earlier = StudyBudget.objects.select_for_update(no_key=True).filter(study=study).first()
    if (earlier is None or amount < earlier.amount) and set_aside_for(study) > amount:
        release_unspent(study)
        committed = set_aside_for(study)
        if committed > amount:
            what = f"{money(committed)} of this study's budget is already spent or promised."
            raise invalid("budget", what, f"Enter at least {committed}.")
    budget, _ = StudyBudget.objects.update_or_create(
        study=study, defaults={"amount": amount, "actor": actor[:150], "set_at": timezone.now()}
    )
    detail = {"old": money(earlier.amount) if earlier else "", "new": money(amount)}
    record(study=study, actor=actor, action="set budget", **detail)
    return budget


def _budget_of(study: Study, platform: Platform) -> StudyBudget:
    """The study's budget. The first time that money is set aside fixes it, if nobody has set it."""
    budget = StudyBudget.objects.select_for_update(no_key=True).filter(study=study).first()
    if budget is not None:
        return budget
    rows = Hit.objects.filter(study=study).order_by("reward", "wanted").values_list("reward", "wanted")
    offered = [Offered(n_hits, reward, places) for reward, places, n_hits in rows.annotate(n=Count("pk"))]
    forecast = platform.cost(offered, settings_for(study, platform)).total
    budget = StudyBudget.objects.create(study=study, amount=default_budget(forecast), actor=LAUNCH)
    detail = {"forecast": money(forecast), "new": money(budget.amount)}
    record(study=study, actor=LAUNCH, action="set budget", **detail)
    return budget


def forget_launch(study: Study) -> None:
    """Free what was set aside for a launch that was taken back, with the budget that the launch fixed.

    Nothing was posted. Runs in the caller's transaction.
    """
    Commitment.objects.filter(study=study).delete()
    StudyBudget.objects.filter(study=study, actor=LAUNCH).delete()


# --- money set aside ---


def settings_for(study: Study, platform: Platform) -> Json:
    """The study's settings for the platform, which decide its fees."""
    return platform_settings(platform.name, platform.form, study.platforms.get(platform.name, {}))


def posting_costs(study: Study, platform: Platform, postings: Iterable[Posting]) -> dict[str, Decimal]:
    """What each posting costs if all its places are approved, by the key under which it is set aside.

    For a posting whose money was set aside before: those keys and amounts, with the places that were added to it since.
    """
    study_settings, of_posting = settings_for(study, platform), _commitments(study)
    costs: dict[str, Decimal] = {}
    for posting in postings:
        if rows := of_posting.get(posting.pk):
            costs |= {row.key: row.amount for row in _offered(rows, posting.wanted or 1)}
        else:
            places = posting.wanted or 1
            listed = platform.cost([Offered(1, posting.pays, places)], study_settings).total
            costs[f"posting/{posting.pk}"] = listed + _differences(posting, places, platform)
    return costs


def _differences(posting: Posting, places: int, platform: Platform) -> Decimal:
    """What the bonuses of arms that pay more than the listing cost for so many places, with fees.

    A place is for any hit of the listing. So if the posting's own hit has all that it wants, the places are for others,
    and cost as much as the dearest of those that lack some.
    """
    if not posting.one_listing:
        return Decimal(0)
    if posting.hit is not None:
        reward = posting.hit.reward
        if posting.hit.n_live >= posting.hit.wanted:
            lacking = posting.study.hits.filter(n_live__lt=F("wanted"))
            reward = lacking.aggregate(most=Max("reward"))["most"] or reward
        above = reward - posting.pays
        return with_fee(above, platform) * places if above > 0 else Decimal(0)
    rows = Hit.objects.filter(study=posting.study).values_list("reward", "wanted")
    all_differences = sum((with_fee(reward - posting.pays, platform) * wanted for reward, wanted in rows), Decimal(0))
    wanted = sum(wanted for _, wanted in rows)
    return (all_differences * places / max(1, wanted)).quantize(CENT, ROUND_CEILING)


def _commitments(study: Study) -> dict[int, list[Commitment]]:
    """By posting: the money set aside for its places, in the order in which they were offered."""
    rows = Commitment.objects.filter(Q(key__startswith="posting/") | Q(key__startswith="places/"), study=study)
    of_posting: dict[int, list[Commitment]] = {}
    for row in rows.order_by("pk"):
        of_posting.setdefault(int(row.key.split("/")[1]), []).append(row)
    return of_posting


def _offered(rows: Iterable[Commitment], places: int) -> list[Commitment]:
    """Without places that were asked for and that the platform does not have: refused, or not added yet."""
    return [row for row in rows if int(f"{row.key}/0".split("/")[2]) <= places]


def growth_cost(posting: Posting, places: int, platform: Platform) -> dict[str, Decimal]:
    """What it costs to raise the posting's places to ``places``."""
    n_new, study_settings = max(0, places - (posting.wanted or 0)), settings_for(posting.study, platform)
    total = platform.cost([Offered(1, posting.pays, places)], study_settings).total + _differences(
        posting, places, platform
    )
    return {f"places/{posting.pk}/{places}": (total * n_new / max(1, places)).quantize(CENT, ROUND_CEILING)}


def with_fee(amount: Decimal, platform: Platform) -> Decimal:
    """A bonus or a compensation with the platform's fee for it."""
    return (amount + platform.fees().of(amount, 1)).quantize(CENT, ROUND_CEILING)


@transaction.atomic
def set_aside(*, study: Study, platform: Platform, costs: Mapping[str, Decimal]) -> Decimal:
    """Set money aside: by key, what each thing costs at most. Returns how much is new.

    What was set aside before under the same key counts once. Raises Invalid if it is more than a limit allows.
    """
    if not platform.pays or not costs:
        return Decimal(0)
    name = spending_account(platform)
    SpendingAccount.objects.get_or_create(name=name)
    account = SpendingAccount.objects.select_for_update(no_key=True).get(name=name)
    earlier = {row.key: row for row in Commitment.objects.filter(study=study, key__in=among_texts(costs))}
    missing = {
        key: cost - (earlier[key].amount - earlier[key].released if key in earlier else 0)
        for key, cost in costs.items()
    }
    needed = sum((cost for cost in missing.values() if cost > 0), Decimal(0))
    if not needed:
        return needed
    _check_study(study, platform, needed)
    _check_month(account, platform, needed)
    now = timezone.now()
    new = [
        Commitment(study=study, account=account, key=key, amount=cost, created_at=now)
        for key, cost in costs.items()
        if key not in earlier
    ]
    Commitment.objects.bulk_create(new, batch_size=500)
    for key in earlier:
        if missing[key] > 0:
            Commitment.objects.filter(key=key).update(amount=costs[key], released=0, created_at=now)
    return needed


@contextmanager
def spending(*, study: Study, platform: Platform, costs: Mapping[str, Decimal]) -> Iterator[None]:
    """Set money aside for the calls in the block. If they are refused, the money is free again.

    If nobody knows whether a call took effect, it stays set aside, and a later try of the same call uses it. Raises
    Invalid before the block if the money cannot be set aside. Not for use in a transaction.
    """
    new = set_aside(study=study, platform=platform, costs=costs)
    try:
        yield
    except (PlatformTrouble, Refused) as refused:
        if new and not (isinstance(refused, PlatformTrouble) and refused.again):
            Commitment.objects.filter(study=study, key__in=among_texts(costs)).update(released=F("amount"))
        raise


def require_room(*, study: Study, platform: Platform, amount: Decimal) -> None:
    """Raise Invalid if ``amount`` could not be set aside now. Nothing is set aside."""
    with transaction.atomic():
        set_aside(study=study, platform=platform, costs={f"room/{study.pk}": amount})
        transaction.set_rollback(True)


def require_room_for_bonuses(*, study: Study, amount: Decimal, count: int) -> None:
    """Raise Invalid if ``count`` bonuses of ``amount`` could not be set aside now: all are paid, or none.

    Bonuses that are only recorded here, because no platform pays them, have no limit.
    """
    platform = offline(name, study) if (name := posted_on(study)) else None
    if platform is not None and platform.pays:
        require_room(study=study, platform=platform, amount=with_fee(amount, platform) * count)


def _check_study(study: Study, platform: Platform, needed: Decimal) -> None:
    budget = _budget_of(study, platform)
    if set_aside_for(study) + needed > budget.amount:
        release_unspent(study)
    left = max(budget.amount - set_aside_for(study), Decimal(0))
    if needed <= left:
        return
    enough = budget.amount - left + needed
    what = (
        f"This can cost {money(needed)} with fees, but only {money(left)} of this study's budget of "
        f"{money(budget.amount)} is left."
    )
    fix = (
        "An owner can raise the budget on the study's page Platforms, or with: manage.py study budget "
        f"{study.slug} {enough}"
    )
    raise invalid("budget", what, fix)


def _check_month(account: SpendingAccount, platform: Platform, needed: Decimal) -> None:
    most = settings.MONTHLY_BUDGET
    now = timezone.now()
    if not most or in_month(account, now) + needed <= most:
        return
    since = begin_of_month(now)
    for study in Study.objects.filter(commitments__account=account, commitments__created_at__gte=since).distinct():
        release_unspent(study)
    left = max(most - in_month(account, now), Decimal(0))
    if needed <= left:
        return
    where = f"of the account “{platform.account.title}”" if platform.account else f"on {platform.title}"
    what = (
        f"This can cost {money(needed)} with fees, but only {money(left)} is left of the {money(most)} that all "
        f"studies {where} may cost in {now:%B}."
    )
    raise invalid("budget", what, "Set HITSERVER_MONTHLY_BUDGET to a higher amount, or wait for the next month.")


@transaction.atomic
def release_unspent(study: Study, *, now: datetime | None = None) -> None:
    """Free the money of places that will not be paid: their work was rejected, or nobody took them in time.

    If a rejection was withdrawn since, or the work is offered longer, the money counts again.
    """
    list(Commitment.objects.select_for_update(no_key=True).filter(study=study).order_by("pk").values_list("pk"))
    of_posting = _commitments(study)
    for posting, (unused, n_places) in unspent_places(study, now=now or timezone.now()).items():
        offered = _offered(of_posting.get(posting, ()), n_places)
        total = sum((row.amount for row in offered), Decimal(0))
        free = (total * unused / n_places).quantize(CENT)
        for row in offered:
            released = min(row.amount, free)
            free -= released
            if released != row.released:
                Commitment.objects.filter(pk=row.pk).update(released=released)
