"""Records that workers were paid outside the platforms: what is owed, once.

A few hits are recorded at once. Many are first stored as a list, in a `BulkAction`, and then recorded in batches, each
in its own short transaction: workers are not kept waiting, and a process that dies leaves nothing half done.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from decimal import Decimal
from functools import partial
from typing import Any

from django.db import connection, transaction
from django.db.models import QuerySet
from django.utils import timezone

from annotation.audit import record
from annotation.many_ids import among
from annotation.models import BulkAction, PartPayment, Payment, Study, Submission
from annotation.recruiting.pay_states import rewards
from annotation.review.payments_due import NOTHING, Due, due
from annotation.work.part_pay import unpaid_parts
from common.problems import invalid
from common.words import counted, money

State = BulkAction.State
#: The action of a `BulkAction` that records payments. Each of its rows is one `Batch`.
MARK_PAID = "mark_paid"
#: Hits whose payments are stored in one transaction.
AT_ONCE = 500
#: After each batch on SQLite, other writers have this share of its time: they only look now and then whether they can.
OTHERS = 1.0

#: Hits with the same reward: ``usd``, and the numbers of ``submissions`` or of ``parts`` (`PartPayment`).
Batch = Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class Expected:
    """What a person saw before they confirmed."""

    hits: int
    total: Decimal


@dataclass(frozen=True, slots=True)
class Counted:
    """What is owed, and the newest payment on this server before it was counted."""

    owed: Due
    newest_payment: int


@dataclass(frozen=True, slots=True)
class Marking:
    """How far recording is: hits and USD that were confirmed, those looked at so far, and those of these that had been
    paid before, so that nothing was recorded for them again."""

    hits: int
    total: Decimal
    hits_seen: int
    usd_seen: Decimal
    hits_before: int
    usd_before: Decimal

    @property
    def hits_paid(self) -> int:
        return self.hits_seen - self.hits_before

    @property
    def usd_paid(self) -> Decimal:
        return self.usd_seen - self.usd_before

    @property
    def hits_left(self) -> int:
        return self.hits - self.hits_seen

    @property
    def usd_left(self) -> Decimal:
        return self.total - self.usd_seen


def count_owed(study: Study, *, pseudonym: str = "", code: str = "", with_excluded: bool = False) -> Counted:
    """What is owed, for `start_marking`. Call it outside a transaction: in a large study it takes seconds."""
    newest = Payment.objects.order_by("-pk").values_list("pk", flat=True).first() or 0
    return Counted(due(study, pseudonym=pseudonym, code=code, with_excluded=with_excluded), newest)


def mark_paid(
    *,
    study: Study,
    actor: str,
    pseudonym: str = "",
    code: str = "",
    with_excluded: bool = False,
    expected: Expected | None = None,
) -> Due:
    """Store a payment for each reward and each part pay that `due` finds, in this process. Returns what was paid.

    Raises Invalid.

    With ``expected``, nothing is stored if the number of hits or the total has changed since. A marking of the study
    that was interrupted is completed first.
    """
    if unfinished := running_marking(study):
        continue_marking(unfinished)
    owed, bulk = start_marking(
        study=study, actor=actor, pseudonym=pseudonym, code=code, with_excluded=with_excluded, expected=expected
    )
    if bulk is not None:
        continue_marking(bulk)
    return owed


def start_marking(
    *,
    study: Study,
    actor: str,
    pseudonym: str = "",
    code: str = "",
    with_excluded: bool = False,
    expected: Expected | None = None,
    owed_before: Counted | None = None,
    start: Callable[[int], object] = lambda pk: None,
) -> tuple[Due, BulkAction | None]:
    """Store the payments, as `mark_paid` does, or, of more than `AT_ONCE` hits, which payments to store: ``start`` gets
    the number of the action when that is committed. Returns what is paid, and the action. Raises Invalid.

    ``owed_before``: what `count_owed` returned for the same, if the caller already has a transaction.
    """
    whose = {"pseudonym": pseudonym, "code": code, "with_excluded": with_excluded}
    counted_before = owed_before or count_owed(study, **whose)  # type: ignore[arg-type]
    owed = counted_before.owed
    with transaction.atomic():
        Study.objects.select_for_update(no_key=True).get(pk=study.pk)
        if running_marking(study) is not None:
            what = "Hits of this study are being marked as paid at the moment."
            raise invalid("total", what, "Wait until that has ended: “Payments” shows how far it is.")
        is_paid = Payment.objects.filter(study=study, pk__gt=counted_before.newest_payment).exists()
        if is_paid or _promised_since(study, owed):
            owed = due(study, **whose)  # type: ignore[arg-type]
        _refuse_what_nobody_saw(owed, expected)
        workers: dict[str, Any] = {"worker": pseudonym} if pseudonym else {"workers": owed.workers}
        entry = workers | {"hits": owed.hits, "total": money(owed.total)}
        batches = list(_batches(owed))
        if owed.hits <= AT_ONCE:
            for batch in batches:
                _store(study, batch, actor)
            record(study=study, actor=actor, action="mark as paid", **entry)
            return owed, None
        bulk = BulkAction.objects.create(
            study=study, action=MARK_PAID, rows=batches, actor=actor, state=State.RUNNING, confirmed_at=timezone.now()
        )
        record(study=study, actor=actor, action="begin to mark as paid", number=bulk.pk, **entry)
        transaction.on_commit(partial(start, bulk.pk))
    return owed, bulk


def _promised_since(study: Study, owed: Due) -> bool:
    """Whether a HIT has been promised for a stopped hit that was owed when it was counted."""
    return unpaid_parts(study).filter(pk__in=among(owed.parts)).count() < len(owed.parts)


def _refuse_what_nobody_saw(owed: Due, expected: Expected | None) -> None:
    if expected and (owed.hits, owed.total) != (expected.hits, expected.total):
        now_owed = f"It is {counted(owed.hits, 'hit')} and {money(owed.total)} now."
        what = f"Nothing was marked as paid: the total changed while you looked. {now_owed}"
        raise invalid("total", what, "Check the new total, then confirm again.")
    if not owed.hits:
        raise invalid("total", "There is nothing to pay.", "Look at the list to see who was paid already.")


def _batches(owed: Due) -> Iterator[Batch]:
    """All that is owed, in batches of the same reward."""
    for name, amounts in (("submissions", owed.rewards), ("parts", owed.parts)):
        by_amount: dict[Decimal, list[int]] = {}
        for pk, amount in amounts.items():
            by_amount.setdefault(amount, []).append(pk)
        for amount, ids in sorted(by_amount.items()):
            for start in range(0, len(ids), AT_ONCE):
                yield {"usd": str(amount), name: ids[start : start + AT_ONCE]}


def running_marking(study: Study) -> BulkAction | None:
    """The recording of payments of this study that has not ended, without its batches."""
    running = BulkAction.objects.filter(study=study, action=MARK_PAID, state=State.RUNNING)
    return running.defer("rows").order_by("pk").first()


def continue_marking(bulk: BulkAction) -> BulkAction:
    """Record what is left of a marking. Several processes may do so at once: each batch is stored once."""
    while True:
        begin = time.monotonic()
        if not _mark_batch(bulk):
            break
        if connection.vendor == "sqlite":
            time.sleep((time.monotonic() - begin) * OTHERS)
    bulk.refresh_from_db(fields=["position", "refused", "state", "done_at"])
    return bulk


@transaction.atomic
def _mark_batch(bulk: BulkAction) -> bool:
    """Store the payments of the next batch, and in the same transaction that it is done. False if none is left."""
    now = BulkAction.objects.select_for_update(no_key=True).defer("rows").get(pk=bulk.pk)
    if now.state != State.RUNNING:
        return False
    if now.position < len(bulk.rows):
        batch = bulk.rows[now.position]
        if n_before := _store(bulk.study, batch, bulk.actor):
            sums = now.paid_before
            usd = Decimal(sums["usd"]) + n_before * Decimal(batch["usd"])
            now.refused = [{BulkAction.PAID_BEFORE: {"hits": sums["hits"] + n_before, "usd": str(usd)}}]
        now.position += 1
    is_last = now.position >= len(bulk.rows)
    if is_last:
        now.state, now.done_at = State.DONE, timezone.now()
        seen = marking_of(bulk, now)
        entry = {"hits": seen.hits_paid, "total": money(seen.usd_paid)}
        record(study=bulk.study, actor=bulk.actor, action="mark as paid", number=bulk.pk, **entry)
    now.save(update_fields=["position", "refused", "state", "done_at"])
    return not is_last


def marking_of(bulk: BulkAction, now: BulkAction | None = None) -> Marking:
    """How far a marking is. ``now``: its newest state, if ``bulk`` is older."""
    now = now or bulk
    sizes = [(len(_ids(batch)), Decimal(batch["usd"])) for batch in bulk.rows]
    before = now.paid_before
    return Marking(
        hits=sum(n for n, _ in sizes),
        total=_sum(sizes),
        hits_seen=sum(n for n, _ in sizes[: now.position]),
        usd_seen=_sum(sizes[: now.position]),
        hits_before=before["hits"],
        usd_before=Decimal(before["usd"]),
    )


def _sum(sizes: Iterable[tuple[int, Decimal]]) -> Decimal:
    return sum((n * usd for n, usd in sizes), NOTHING)


def _ids(batch: Batch) -> list[int]:
    ids: list[int] = batch.get("submissions") or batch["parts"]
    return ids


def _store(study: Study, batch: Batch, actor: str) -> int:
    """Store the payments of a batch. Returns of how many of its hits none was stored, because they had been paid."""
    ids, amount = _ids(batch), Decimal(batch["usd"])
    unpaid: QuerySet[Any, Any]
    if "submissions" in batch:
        paid = rewards(study).filter(submission__in=ids).values("submission")
        unpaid = Submission.objects.filter(pk__in=ids).exclude(pk__in=paid)
        rows = [{"submission_id": pk, "platform": name} for pk, name in _with_platform(unpaid, "participant__worker")]
    else:
        unpaid = unpaid_parts(study).filter(pk__in=ids)
        about = {"kind": Payment.Kind.PARTIAL, "reason": "Stopped early."}
        rows = [
            {"part_id": pk, "platform": name, "key": f"part/{pk}", **about}
            for pk, name in _with_platform(unpaid, "assignment__participant__worker")
        ]
    now = timezone.now()
    payments = [Payment(study=study, amount=amount, actor=actor, created_at=now, **row) for row in rows]
    Payment.objects.bulk_create(payments, batch_size=AT_ONCE)
    return len(ids) - len(payments)


def _with_platform(work: QuerySet[Any, Any], worker: str) -> Iterator[tuple[int, str]]:
    yield from work.order_by("pk").values_list("pk", f"{worker}__platform")


def workers_of(bulk: BulkAction) -> int:
    """How many workers a marking is about."""
    ids: dict[str, list[int]] = {"submissions": [], "parts": []}
    for batch in bulk.rows:
        for name in ids.keys() & batch.keys():
            ids[name] += batch[name]
    did = Submission.objects.filter(pk__in=among(ids["submissions"])).order_by()
    stopped = PartPayment.objects.filter(pk__in=among(ids["parts"])).order_by()
    people = {
        *did.values_list("participant", flat=True).distinct(),
        *stopped.values_list("assignment__participant", flat=True).distinct(),
    }
    return len(people)
