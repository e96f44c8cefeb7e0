"""Approves, rejects or rewards one submission, wherever it came from.

For work from a platform, the platform stores the decision and pays (``recruiting.deciding_on_platform``). For all other
work, the decision is stored here, and the money is paid by hand.
"""

from __future__ import annotations

from collections.abc import Callable
from decimal import Decimal

from django.db import transaction

from annotation.audit import record
from annotation.models import OutsideAssignment, PayDecision, Payment, Study, Submission
from annotation.platforms.base import Platform
from annotation.recruiting import deciding_on_platform
from annotation.recruiting.pay_states import paying
from annotation.recruiting.recorded_payments import record_extra
from annotation.review.review_queue import outside_of
from annotation.task_types.questions import clean_text
from annotation.work.excluding import exclude_rejected, include_forgiven
from common.problems import Invalid, invalid

Decision = PayDecision.Decision
Connect = Callable[[str, Study], Platform]
OutsideState = OutsideAssignment.State
MOST_FEEDBACK = 1024


def decide_pay(
    *, submission: Submission, decision: str, feedback: str, actor: str, connect: Connect, exclude: bool = False
) -> None:
    """Approve or reject. The same decision again changes nothing. Raises Invalid, PlatformTrouble.

    Approving undoes a rejection: on a platform for 30 days, elsewhere always. With ``exclude``, the analysis leaves out
    what is rejected, until the rejection is undone; without it, it stays in the analysis.
    """
    _check(decision, feedback)
    outside = outside_of(submission)
    if outside is not None and _paid_there(submission):
        decide_outside(outside=outside, decision=decision, feedback=feedback, actor=actor, connect=connect)
    elif _paid_there(submission):
        raise unconfirmed()
    else:
        _decide_here(submission, decision, clean_text(feedback).strip(), actor)
    if exclude and decision == Decision.REJECT:
        exclude_rejected(submission=submission, reason=feedback, actor=actor)


def decide_outside(*, outside: OutsideAssignment, decision: str, feedback: str, actor: str, connect: Connect) -> None:
    """Approve or reject an assignment that the platform reports, even if nothing arrived here. Raises Invalid,
    PlatformTrouble."""
    _check(decision, feedback)
    if decision == Decision.APPROVE and outside.state in (OutsideState.SUBMITTED, OutsideState.REJECTED):
        platform = connect(outside.posting.platform, outside.posting.study)
        deciding_on_platform.approve(outside=outside, platform=platform, actor=actor, feedback=feedback)
    elif decision == Decision.REJECT and outside.state == OutsideState.SUBMITTED:
        platform = connect(outside.posting.platform, outside.posting.study)
        # A reason may name a category of the platform, as in “LOW_EFFORT: All answers are the same.”
        head, _, text = (part.strip() for part in feedback.partition(":"))
        category = head.upper() if ":" in feedback and head.upper() in platform.categories else ""
        reason = text if category else feedback
        deciding_on_platform.reject(outside=outside, platform=platform, actor=actor, feedback=reason, category=category)
    elif decision == Decision.REJECT and outside.state in (OutsideState.APPROVED, OutsideState.PARTIAL):
        raise invalid("state", "The platform has approved and paid this work.", "It cannot be rejected any more.")
    elif outside.state == OutsideState.RETURNED:
        raise invalid("state", "The worker has returned this work.", "There is nothing to decide.")
    elif outside.state == OutsideState.SCREENED:
        raise invalid("state", "The platform has screened this worker out.", "There is nothing to decide.")


def ask_back(*, submission: Submission, reason: str, actor: str, connect: Connect) -> None:
    """Ask the worker to return the submission on its platform, in place of a rejection.

    Raises Invalid, PlatformTrouble.
    """
    outside = outside_of(submission)
    if outside is not None:
        deciding_on_platform.ask_back(
            outside=outside,
            reason=reason,
            platform=connect(outside.posting.platform, outside.posting.study),
            actor=actor,
        )
    elif _paid_there(submission):
        raise unconfirmed()
    else:
        raise invalid("platform", "This work did not come from a platform that pays.", "Write to the worker yourself.")


def pay_bonus(*, submission: Submission, amount: Decimal, reason: str, key: str, actor: str, connect: Connect) -> None:
    """Pay a bonus in USD through the platform, or store that it was paid by hand. The same ``key`` pays only once.

    Raises Invalid, PlatformTrouble.
    """
    outside = outside_of(submission)
    if outside is not None and _paid_there(submission):
        platform = connect(outside.posting.platform, outside.posting.study)
        deciding_on_platform.send_bonus(
            outside=outside, amount=amount, reason=reason, platform=platform, actor=actor, key=key
        )
        return
    if _paid_there(submission):
        raise unconfirmed()
    if submission.participant.synthetic:
        raise invalid("worker", "This is a simulated worker.", "They are never paid.")
    worker = submission.participant.worker
    full_key = f"bonus/{submission.pk}/{key}"
    with transaction.atomic():
        if Payment.objects.filter(key=full_key).exists():
            return
        record_extra(
            study=submission.study,
            kind=Payment.Kind.BONUS,
            key=full_key,
            amount=amount,
            reason=reason,
            platform=worker.platform,
            submission=submission,
            actor=actor,
        )
        record(study=submission.study, actor=actor, action="bonus", submission=submission.pk, amount=str(amount))


def _paid_there(submission: Submission) -> bool:
    posting = submission.assignment.posting
    return posting is not None and posting.platform in paying()


@transaction.atomic
def _decide_here(submission: Submission, decision: str, feedback: str, actor: str) -> None:
    Submission.objects.select_for_update(no_key=True).get(pk=submission.pk)
    if submission.participant.synthetic:
        raise invalid("worker", "This is a simulated worker.", "They are never paid.")
    paid = Payment.objects.filter(submission=submission, kind=Payment.Kind.REWARD).exists()
    if paid and decision == Decision.REJECT:
        raise invalid("state", "This work has been paid.", "It cannot be rejected any more.")
    latest = PayDecision.objects.filter(submission=submission).order_by("-pk").first()
    if latest is not None and (latest.decision, latest.feedback) == (decision, feedback):
        return
    PayDecision.objects.create(submission=submission, decision=decision, feedback=feedback, actor=actor)
    entry = {"submission": submission.pk, "old": latest.decision if latest else None, "reason": feedback}
    record(study=submission.study, actor=actor, action=str(decision), **entry)
    if decision == Decision.APPROVE and latest is not None:
        include_forgiven(submission=submission, actor=actor)


def _check(decision: str, feedback: str) -> None:
    if decision not in Decision.values:
        fix = f"Choose one of {', '.join(Decision.values)}."
        raise invalid("decision", f"There is no decision “{decision[:40]}”.", fix)
    if decision == Decision.REJECT and not feedback.strip():
        raise invalid("feedback", "There is no reason.", "Write why, as the worker reads it.")
    if len(feedback) > MOST_FEEDBACK:
        what = f"The reason is {len(feedback):,} characters long."
        raise invalid("feedback", what, f"Shorten it to {MOST_FEEDBACK:,}.")


def unconfirmed() -> Invalid:
    """The reason why work that the platform has not confirmed is neither approved nor paid."""
    return invalid(
        "state",
        "The platform has not confirmed this work.",
        "Ask it with “study sync”; if it does not know it, leave it.",
    )
