"""What the pages read about requesters, workers, HITs, disputes and the log. Money is in ``money_queries``."""

from __future__ import annotations

import re
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from decimal import Decimal
from typing import Any

from django.db.models import Count, DecimalField, Exists, F, Max, Min, OuterRef, Q, QuerySet, Subquery, Sum, Value
from django.db.models.functions import Coalesce

from marketplace.models import (
    AccessKey,
    Assignment,
    AuditRow,
    DisputeStatement,
    Hit,
    Invitation,
    LedgerAccount,
    LedgerEntry,
    Requester,
    Worker,
)
from marketplace.money import ZERO, cents
from marketplace.questions.answers_xml import read_answers

_MONEY: DecimalField[Any, Any] = DecimalField(max_digits=14, decimal_places=2)
Kind = LedgerAccount.Kind
State = Assignment.State
Party = DisputeStatement.Party


def midnight(day: date) -> datetime:
    """The start of a day, in UTC like everything here."""
    return datetime.combine(day, time.min, tzinfo=UTC)


def _balance_of(**owner: Any) -> Coalesce:
    """The balance of one account of the outer row's owner, as a column."""
    balance = LedgerAccount.objects.filter(**owner).values("balance")[:1]
    return Coalesce(Subquery(balance, output_field=_MONEY), Value(ZERO), output_field=_MONEY)


def _count_of(rows: QuerySet[Any, Any], owner: str) -> Coalesce:
    """How many of ``rows`` belong to the outer row. It is a subquery, because joins would multiply each other."""
    counted = rows.filter(**{owner: OuterRef("pk")}).order_by().values(owner).annotate(n=Count("pk")).values("n")
    return Coalesce(Subquery(counted), Value(0))


# --- accounts ---------------------------------------------------------------------------------------------------


def requesters() -> QuerySet[Requester, Requester]:
    """Every requester with ``available`` and ``held`` money, ``n_hits`` and ``n_keys`` (active keys only)."""
    return (
        Requester.objects.select_related("user")
        .annotate(
            available=_balance_of(kind=Kind.REQUESTER, requester=OuterRef("pk")),
            held=_balance_of(kind=Kind.HELD, requester=OuterRef("pk")),
            n_hits=_count_of(Hit.objects.all(), "requester"),
            n_keys=_count_of(AccessKey.objects.filter(revoked_at=None), "requester"),
        )
        .order_by("name")
    )


def requesters_without_money() -> QuerySet[Requester, Requester]:
    """Active requesters who have posted HITs and have no available money left."""
    broke = LedgerAccount.objects.filter(kind=Kind.REQUESTER, balance=0).values("requester")
    return Requester.objects.filter(active=True, pk__in=broke, hit_types__isnull=False).distinct().order_by("name")


def workers(*, search: str = "", country: str = "", active: str = "") -> QuerySet[Worker, Worker]:
    """Workers with what they have done and earned, newest first."""
    assignments = Assignment.objects
    selected = Worker.objects.select_related("user").annotate(
        n_submitted=_count_of(
            assignments.filter(state__in=[State.SUBMITTED, State.APPROVED, State.REJECTED]), "worker"
        ),
        n_approved=_count_of(assignments.filter(state=State.APPROVED), "worker"),
        n_rejected=_count_of(assignments.filter(state=State.REJECTED), "worker"),
        owed=_balance_of(kind=Kind.WORKER, worker=OuterRef("pk")),
    )
    if search:
        by_user = Q(user__username__icontains=search) | Q(user__email__icontains=search)
        selected = selected.filter(Q(worker_id__icontains=search) | Q(name__icontains=search) | by_user)
    if country:
        selected = selected.filter(country=country.upper())
    if active:
        selected = selected.filter(active=active == "yes")
    return selected.order_by("-joined_at", "-pk")


@dataclass(frozen=True, slots=True)
class Record:
    """What a worker has done. Shares are of decided assignments and of those that ended; None if there are none."""

    counts: dict[str, int]
    earned: Decimal
    owed: Decimal
    paid_out: Decimal
    approved_share: float | None
    returned_share: float | None
    last_submitted: datetime | None


def record_of(worker: Worker) -> Record:
    rows = Assignment.objects.filter(worker=worker).values_list("state").annotate(n=Count("pk"))
    counts = {state.value: 0 for state in State} | dict(rows.order_by())
    owed = LedgerAccount.objects.filter(worker=worker).values_list("balance", flat=True).first() or ZERO
    payouts = LedgerEntry.objects.filter(account__worker=worker, kind=LedgerEntry.Kind.PAYOUT)
    paid = -cents(payouts.aggregate(total=Sum("amount"))["total"] or 0)
    decided = counts[State.APPROVED] + counts[State.REJECTED]
    unfinished = counts[State.RETURNED] + counts[State.ABANDONED]
    ended = unfinished + decided + counts[State.SUBMITTED]
    return Record(
        counts=counts,
        earned=owed + paid,
        owed=owed,
        paid_out=paid,
        approved_share=counts[State.APPROVED] / decided if decided else None,
        returned_share=unfinished / ended if ended else None,
        last_submitted=Assignment.objects.filter(worker=worker).aggregate(last=Max("submitted_at"))["last"],
    )


def invitations() -> QuerySet[Invitation, Invitation]:
    return Invitation.objects.select_related("used_by__user").order_by("-created_at", "-pk")


# --- work -------------------------------------------------------------------------------------------------------


def hits_of(requester: Requester) -> QuerySet[Hit, Hit]:
    hits = Hit.objects.filter(requester=requester).select_related("hit_type").defer("question")
    return hits.order_by("-created_at", "-pk")


def assignments_of(requester: Requester, *, state: str = "") -> QuerySet[Assignment, Assignment]:
    assignments = Assignment.objects.filter(hit__requester=requester).select_related("hit__hit_type", "worker")
    if state:
        assignments = assignments.filter(state=state)
    return with_objection(assignments).defer("answer", "hit__question").order_by("-accepted_at", "-pk")


def answers_of(assignment: Assignment) -> list[tuple[str, str]]:
    """Questions and answers in the order they were sent; empty if the XML cannot be read."""
    if not assignment.answer:
        return []
    try:
        return [(name, ", ".join(values)) for name, values in read_answers(assignment.answer).items()]
    except (SyntaxError, IndexError):
        return []


def state_counts(requester: Requester) -> dict[str, int]:
    rows = Hit.objects.filter(requester=requester).order_by().values_list("state").annotate(n=Count("pk"))
    return {state.value: 0 for state in Hit.State} | dict(rows)


# --- disputes ---------------------------------------------------------------------------------------------------


def disputes(*, decided: bool = False) -> QuerySet[Assignment, Assignment]:
    """Disputed rejections: those that wait for a decision, oldest first, or those that have one.

    Each has ``objected_at``; decided ones have ``decision``, ``decided_by``, ``decided_at`` and ``decided_why``.
    """
    objected = DisputeStatement.objects.filter(party=Party.WORKER).values("assignment")
    final = DisputeStatement.objects.filter(party=Party.OPERATOR)
    disputed = Assignment.objects.filter(pk__in=objected).select_related("hit__hit_type", "hit__requester", "worker")
    disputed = disputed.defer("hit__question", "answer").annotate(objected_at=Min("statements__at"))
    if not decided:
        waiting = disputed.filter(state=State.REJECTED).exclude(pk__in=final.values("assignment"))
        return waiting.order_by("objected_at", "pk")
    last = final.filter(assignment=OuterRef("pk"))
    disputed = disputed.filter(pk__in=final.values("assignment")).annotate(
        decision=Subquery(last.values("decision")[:1]),
        decided_by=Subquery(last.values("actor")[:1]),
        decided_at=Subquery(last.values("at")[:1]),
        decided_why=Subquery(last.values("text")[:1]),
    )
    return disputed.order_by(F("decided_at").desc(), "-pk")


def with_objection(assignments: QuerySet[Assignment, Assignment]) -> QuerySet[Assignment, Assignment]:
    """The assignments, each with ``objection``: whether its worker objects and the operator has not decided."""
    statements = DisputeStatement.objects.filter(assignment=OuterRef("pk"))
    waiting = Exists(statements) & ~Exists(statements.filter(party=Party.OPERATOR))
    return assignments.annotate(objection=waiting)


# --- the log ----------------------------------------------------------------------------------------------------


def log(
    *, q: str = "", requester: str = "", kind: str = "", since: date | None = None, until: date | None = None
) -> QuerySet[AuditRow, AuditRow]:
    """Rows of the log, newest first. ``q`` is part of actor, action or ``about``, or a worker's or access key's ID."""
    rows = AuditRow.objects.select_related("requester", "worker")
    if requester:
        rows = rows.filter(requester__in=Requester.objects.filter(name__icontains=requester).values("pk"))
    if kind:
        rows = rows.filter(kind=kind)
    if since:
        rows = rows.filter(at__gte=midnight(since))
    if until:
        rows = rows.filter(at__lt=midnight(until + timedelta(days=1)))
    if _ID.fullmatch(q):
        concerns_id = Q(about=q)
        # Look the worker up first: PostgreSQL reads the whole log for an OR with a subquery.
        worker = Worker.objects.filter(worker_id=q).values_list("pk", flat=True).first()
        if worker is not None:
            concerns_id |= Q(worker=worker)
        if q.startswith("AKIA"):
            concerns_id |= Q(access_key=q)
        rows = rows.filter(concerns_id)
    elif q:
        rows = rows.filter(Q(actor__icontains=q) | Q(action__icontains=q) | Q(about__icontains=q))
    return rows.order_by("-pk")


#: IDs of HITs, assignments, workers and keys use an index. A search for words must read every row.
_ID = re.compile(r"[A-Z0-9]{10,}", re.ASCII)
