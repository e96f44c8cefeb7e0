"""Records that workers were paid outside the platforms: what is owed, once."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal

from django.db import transaction
from django.utils import timezone

from annotation.audit import record
from annotation.many_ids import among
from annotation.models import PartPayment, Payment, Study, Submission
from annotation.review.payments_due import Due, due
from common.problems import invalid
from common.words import counted, money


@dataclass(frozen=True, slots=True)
class Expected:
    """What a person saw before they confirmed."""

    hits: int
    total: Decimal


@transaction.atomic
def mark_paid(
    *,
    study: Study,
    actor: str,
    pseudonym: str = "",
    code: str = "",
    with_excluded: bool = False,
    expected: Expected | None = None,
) -> Due:
    """Store a payment for each reward and each part pay that `due` finds. Returns what was paid. Raises Invalid.

    With ``expected``, nothing is stored if the number of hits or the total has changed since.
    """
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    owed = due(study, pseudonym=pseudonym, code=code, with_excluded=with_excluded)
    if expected and (owed.hits, owed.total) != (expected.hits, expected.total):
        now_owed = f"It is {counted(owed.hits, 'hit')} and {money(owed.total)} now."
        what = f"Nothing was marked as paid: the total changed while you looked. {now_owed}"
        raise invalid("total", what, "Check the new total, then confirm again.")
    if not owed.hits:
        raise invalid("total", "There is nothing to pay.", "Look at the list to see who was paid already.")
    platforms = dict(Submission.objects.filter(pk__in=owed.rewards).values_list("pk", "participant__worker__platform"))
    now = timezone.now()
    Payment.objects.bulk_create(
        [
            Payment(study=study, submission_id=pk, amount=reward, platform=platforms[pk], actor=actor, created_at=now)
            for pk, reward in owed.rewards.items()
        ],
        batch_size=500,
    )
    _pay_parts(study, owed.parts, actor)
    workers = {"worker": pseudonym} if pseudonym else {"workers": owed.workers}
    record(study=study, actor=actor, action="mark as paid", **workers, hits=owed.hits, total=money(owed.total))
    return owed


def _pay_parts(study: Study, parts: dict[int, Decimal], actor: str) -> None:
    """Store the payment of what is owed for stopped hits."""
    stopped = PartPayment.objects.filter(pk__in=among(parts)).values_list(
        "pk", "assignment__participant__worker__platform"
    )
    now = timezone.now()
    Payment.objects.bulk_create(
        [
            Payment(
                study=study,
                kind=Payment.Kind.PARTIAL,
                part_id=pk,
                amount=parts[pk],
                platform=platform,
                key=f"part/{pk}",
                reason="Stopped early.",
                actor=actor,
                created_at=now,
            )
            for pk, platform in stopped
        ],
        batch_size=500,
    )
