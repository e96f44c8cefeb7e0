"""What becomes of the reward of each submission: one definition for the review, the payments and the commands.

Work on a platform is paid there, by approving it. All other work is paid by hand, with the completion code.
"""

from __future__ import annotations

from collections.abc import Collection
from datetime import datetime, timedelta
from typing import Any

from django.db.models import Case, CharField, Exists, OuterRef, Q, QuerySet, Subquery, Value, When
from django.utils import timezone

from annotation.models import OutsideAssignment, PayDecision, Payment, Study, Submission
from annotation.platforms import all_platforms
from annotation.work.confirmation import CONFIRMING
from annotation.work.left_out import excluded_submissions

#: Every state, in the order in which a list offers them, with its name on pages.
PAY_STATES = {
    "to_pay": "To pay",
    "to_approve": "To approve",
    "waiting": "Approved later",
    "approved": "Approved",
    "paid": "Paid",
    "partly_paid": "Partly paid, amount not known",
    "rejected": "Rejected",
    "excluded": "Excluded",
    "unconfirmed": "Unconfirmed",
    "no_reward": "No reward",
}
Decision = PayDecision.Decision
OutsideState = OutsideAssignment.State


def delay_of(study: Study) -> timedelta | None:
    """How long work without a decision waits until it is due; None if it is due at once.

    This is for work that no platform pays for: a platform has its own delay.
    """
    by_hand = [name for name, platform in all_platforms().items() if not platform.pays]
    hours = next((value for name in by_hand if (value := study.platforms.get(name, {}).get("approve_after_hours"))), 0)
    return timedelta(hours=int(hours)) if hours else None


PLATFORM_STATES = (
    (OutsideState.REJECTED, "rejected"),
    (OutsideState.APPROVED, "approved"),
    (OutsideState.PARTIAL, "partly_paid"),  # the platform does not report how much
)


def with_pay_state(study: Study, *, now: datetime | None = None, of: Collection[int] | None = None) -> QuerySet[Any]:
    """The study's submissions, each with its ``pay``: a key of PAY_STATES. Simulated workers are never paid.

    ``of``: only work of these participants, at most a few hundred.
    """
    submissions = Submission.objects.filter(study=study)
    return annotate_pay(submissions if of is None else submissions.filter(participant__in=of), study, now=now, of=of)


def annotate_pay(
    submissions: QuerySet[Any], study: Study, *, now: datetime | None = None, of: Collection[int] | None = None
) -> QuerySet[Any]:
    """These submissions of the study, which are work of the participants ``of``, each with its ``pay``.

    With ``of``, nothing is read of others: PostgreSQL reads the payments of the whole study first if it may.
    """
    delay = delay_of(study)
    cutoff = (now or timezone.now()) - delay if delay else None
    posted, excluded = Q(assignment__posting__platform__in=paying()), excluded_submissions(study, of)
    rewarded = rewards(study) if of is None else rewards(study).filter(submission__participant__in=of)
    # As in `confirmation.unconfirmed_submissions`, but from rows that are read anyway.
    confirming = [name for name in paying() if all_platforms()[name].confirms]
    unconfirmed = Q(assignment__posting__platform__in=confirming) & ~Q(assignment__outside__state__in=CONFIRMING)
    cases = [
        When(Q(participant__synthetic=True) | Q(assignment__hit__reward=0), then=Value("no_reward")),
        When(Exists(rewarded.filter(submission=OuterRef("pk"))), then=Value("paid")),
        # For posted work, the platform's state decides, except that excluded work does not wait for an approval.
        *(When(posted & Q(assignment__outside__state=state), then=Value(pay)) for state, pay in PLATFORM_STATES),
        When(unconfirmed, then=Value("unconfirmed")),
        When(~posted & Q(newest=Decision.REJECT), then=Value("rejected")),
        When(~posted & Q(newest=Decision.APPROVE), then=Value("to_pay")),
        When(pk__in=excluded, then=Value("excluded")),
        When(posted, then=Value("to_approve")),
    ]
    if cutoff is not None:
        cases.append(When(received_at__gt=cutoff, then=Value("waiting")))
    pay = Case(*cases, default=Value("to_pay"), output_field=CharField())
    with_pay: QuerySet[Any] = submissions.annotate(newest=newest_decision()).annotate(pay=pay)
    return with_pay


def paying() -> list[str]:
    """The platforms that pay when work is approved there."""
    return [name for name, platform in all_platforms().items() if platform.pays]


def newest_decision() -> Any:
    """The newest decision about the pay of a submission, as a column."""
    newest = PayDecision.objects.filter(submission=OuterRef("pk")).order_by("-pk")
    return Subquery(newest.values("decision")[:1])


def rewards(study: Study) -> QuerySet[Payment]:
    """What was paid for submissions: their rewards, or a compensation in place of the reward."""
    kinds = [Payment.Kind.REWARD, Payment.Kind.COMPENSATION]
    return Payment.objects.filter(study=study, kind__in=kinds, submission__isnull=False)


def in_state(study: Study, *states: str) -> QuerySet[Submission, int]:
    """Ids of the submissions in one of these states: a query, for use in another one."""
    paid_so: QuerySet[Submission, int] = (
        with_pay_state(study).filter(pay__in=states).order_by().values_list("pk", flat=True)
    )
    return paid_so
