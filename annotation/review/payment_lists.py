"""The list of payments and its totals for pages: in a large study, from running totals."""

from __future__ import annotations

from typing import Any

from django.core.paginator import Page, Paginator
from django.db.models import Q, QuerySet, Sum

from annotation.many_ids import among
from annotation.models import Participant, Payment, Study
from annotation.review.payments_due import NOTHING, STATES, Owed, PaymentRow, due, payable, payment_totals, rows_of
from annotation.review.work_totals import totals_if_large
from annotation.work.hourly_pay import exact_sum

PER_PAGE = 50


def workers_in(study: Study, *, state: str = "", code: str = "") -> QuerySet[Participant]:
    """The workers of `payments_due.payable`: a list to take a page from, of which `rows_of` makes rows."""
    totals = totals_if_large(study) if state in STATES else None
    if totals is None:
        return payable(study, state=state, code=code)
    now = [total.participant_id for total in totals.counted if total.state == state]
    in_state = Q(pk__in=totals.stored.filter(state=state).order_by().values("participant")) | Q(pk__in=among(now))
    return payable(study, code=code).filter(in_state)


def payment_page(
    study: Study, *, state: str = "", code: str = "", number: int = 1
) -> tuple[Page[Participant], list[PaymentRow]]:
    """One page of the list; the nearest page if that number does not exist."""
    page = Paginator(workers_in(study, state=state, code=code), PER_PAGE).get_page(number)
    return page, rows_of(study, page.object_list)


def totals(study: Study) -> dict[str, Any]:
    """What `payments_due.payment_totals` returns. ``behind``: the newest work of so many workers is not counted."""
    stored = totals_if_large(study)
    if stored is None:
        return payment_totals(study) | {"behind": 0}
    sums = stored.sums(
        hits_due="hits_due", due="due", hits_open="hits_open", open="open", hits="hits_rewarded", paid="paid",
        extra="paid_extra",
    )  # fmt: skip
    workers = {"hits_due": 0, "hits_open": 0}
    for name in workers:
        n_stored = stored.stored.filter(**{f"{name}__gt": 0}).count()
        workers[name] = n_stored + sum(getattr(total, name) > 0 for total in stored.counted)
    unmatched = study.payments.filter(submission=None, part=None)
    apart = unmatched.aggregate(usd=Sum("amount"), extra=Sum("amount", filter=~Q(kind=Payment.Kind.REWARD)))
    n_unmatched = unmatched.count()
    n_rewards = unmatched.filter(kind=Payment.Kind.REWARD).count() if n_unmatched else 0
    return {
        "due": Owed(sums["hits_due"], workers["hits_due"], exact_sum(sums["due"]), stored.behind),
        "open": Owed(sums["hits_open"], workers["hits_open"], exact_sum(sums["open"])),
        "paid_hits": sums["hits"] + n_rewards,
        "paid": exact_sum(sums["paid"]) + exact_sum(apart["usd"]),
        "extra": exact_sum(sums["extra"]) + exact_sum(apart["extra"]),
        "unmatched": n_unmatched,
        "simulated": stored.stored.filter(participant__synthetic=True, received__gt=0).count()
        + sum(total.participant.synthetic and total.received > 0 for total in stored.counted),
        "behind": stored.behind,
    }


def due_to_everybody(study: Study) -> Owed:
    """How many hits of how many workers `payments_due.due` would pay, and USD."""
    if totals_if_large(study) is not None:
        owed: Owed = totals(study)["due"]
        return owed
    owed_now = due(study)
    return Owed(owed_now.hits, owed_now.workers, owed_now.total or NOTHING)
