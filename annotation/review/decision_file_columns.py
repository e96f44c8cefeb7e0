"""What the results file contains about assignments besides their answers: states, reasons, and approval rates."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from django.utils import timezone

from annotation.many_ids import among
from annotation.models import AuditEntry, OutsideAssignment, PayDecision, Payment, Study, Submission
from annotation.recruiting.pay_states import with_pay_state

OutsideState = OutsideAssignment.State
OURS = "assignment-"


def our_id(assignment: int) -> str:
    """An id for an assignment that did not come from a platform."""
    return f"{OURS}{assignment}"


@dataclass(frozen=True, slots=True)
class ApprovalRates:
    """How many of a worker's assignments this server's studies approved and rejected: ever, in 30 days, in 7 days."""

    approved: tuple[int, int, int] = (0, 0, 0)
    rejected: tuple[int, int, int] = (0, 0, 0)

    def columns(self) -> dict[str, str]:
        names = ("LifetimeApprovalRate", "Last30DaysApprovalRate", "Last7DaysApprovalRate")
        decided = [good + bad for good, bad in zip(self.approved, self.rejected, strict=True)]
        return {
            name: f"{round(100 * good / n) if n else 0}% ({good}/{n})"
            for name, good, n in zip(names, self.approved, decided, strict=True)
        }


def approval_rates(study: Study) -> dict[str, ApprovalRates]:
    """The rates of the study's workers over all studies on this server, by the worker's id on the platform."""
    now = timezone.now()
    since = (None, now - timedelta(days=30), now - timedelta(days=7))
    ids = OutsideAssignment.objects.filter(posting__study=study).values("worker_id")
    decided = OutsideAssignment.objects.filter(
        worker_id__in=ids, state__in=[OutsideState.APPROVED, OutsideState.REJECTED]
    )
    counts: dict[str, dict[str, list[int]]] = defaultdict(lambda: {"approved": [0] * 3, "rejected": [0] * 3})
    for worker, state, seen in decided.values_list("worker_id", "state", "seen_at").iterator(2_000):
        for period, start in enumerate(since):
            counts[worker][state][period] += start is None or seen >= start
    return {
        worker: ApprovalRates(_three(by_state["approved"]), _three(by_state["rejected"]))
        for worker, by_state in counts.items()
    }


def _three(counts: list[int]) -> tuple[int, int, int]:
    return counts[0], counts[1], counts[2]


def reasons_of(study: Study) -> dict[str, str]:
    """Why assignments were rejected, by the id that the file gives them. The newest reason counts."""
    reason_by_assignment: dict[str, str] = {}
    for detail in (
        AuditEntry.objects.filter(study=study, action="reject").order_by("pk").values_list("detail", flat=True)
    ):
        if detail.get("assignment"):
            reason_by_assignment[str(detail["assignment"])] = str(detail.get("reason", ""))
    rejections = PayDecision.objects.filter(submission__study=study, decision=PayDecision.Decision.REJECT).order_by(
        "pk"
    )
    for assignment, reason in rejections.values_list("submission__assignment", "feedback"):
        reason_by_assignment[our_id(assignment)] = reason
    return reason_by_assignment


@dataclass(slots=True)
class States:
    """The platform's record of each submission, what was decided and when, what is unconfirmed, and what only the
    platform has."""

    outside: dict[int, OutsideAssignment] = field(default_factory=dict)
    decided: dict[int, tuple[str, datetime | None]] = field(default_factory=dict)
    pay: dict[int, str] = field(default_factory=dict)
    unconfirmed: set[int] = field(default_factory=set)
    there_only: list[OutsideAssignment] = field(default_factory=list)


def batch_states(study: Study, submissions: Collection[int] | None = None) -> States:
    """The states of these submissions; with None, only ``there_only``."""
    states = States()
    outside = OutsideAssignment.objects.filter(posting__study=study).select_related("posting__hit")
    submissions_sent = Submission.objects.filter(study=study, assignment__posting__isnull=False)
    if submissions is not None:
        submissions_sent = submissions_sent.filter(pk__in=submissions)
    submission_of = dict(
        submissions_sent.filter(assignment__outside__isnull=False).values_list("assignment__outside", "pk")
    )
    if submissions is None:
        gone = [OutsideState.RETURNED, OutsideState.SCREENED]
        reported = outside.exclude(state__in=gone).order_by("pk")
        states.there_only = [work for work in reported if work.pk not in submission_of]
        return states
    states.outside = {submission_of[work.pk]: work for work in outside.filter(pk__in=among(submission_of))}
    paid = Payment.objects.filter(submission__in=submissions, kind=Payment.Kind.REWARD)
    paid_at = dict(paid.values_list("submission", "created_at"))
    rejected_at = dict(
        PayDecision.objects.filter(submission__in=submissions).order_by("pk").values_list("submission", "created_at")
    )
    for pk, pay in with_pay_state(study).filter(pk__in=submissions).values_list("pk", "pay"):
        work_outside = states.outside.get(pk)
        states.pay[pk] = pay
        if pay == "unconfirmed":
            states.unconfirmed.add(pk)
        elif pay in ("paid", "approved", "partly_paid"):
            states.decided[pk] = ("Approved", paid_at.get(pk) or (work_outside.seen_at if work_outside else None))
        elif pay == "rejected":
            states.decided[pk] = ("Rejected", work_outside.seen_at if work_outside else rejected_at.get(pk))
    return states
