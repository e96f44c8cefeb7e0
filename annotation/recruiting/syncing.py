"""Polls the platform for what it reports about a study's work. For that work, the platform's records decide.

Submitted work is confirmed when the platform has the same assignment, with the same worker and the same posting. Until
then, it is left out of analysis and payment.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from django.db import transaction
from django.db.models import Exists, OuterRef, Q, QuerySet
from django.utils import timezone

from annotation.audit import record
from annotation.deadlocks import again_after_deadlock
from annotation.models import Assignment, OutsideAssignment, PlatformCall, Posting, Study
from annotation.platforms.base import Platform, Reported
from annotation.platforms.calls import PostingGone
from annotation.recruiting.arrivals import end_returned
from annotation.recruiting.matching import match_assignments, reported_with_same_id
from annotation.recruiting.recorded_payments import settle_approvals
from annotation.work.confirmation import CONFIRMING

OutsideState = OutsideAssignment.State
State = Posting.State
#: What the platform may report differently the next time.
REPORTED = ("state", "accepted_at", "submitted_at", "approves_itself_at", "answer")


@dataclass(slots=True)
class Synced:
    """What one poll found: postings checked, assignments on the platform, and those that were new or had changed.

    ``paid`` counts payments that the platform made without this server.
    """

    postings: int = 0
    assignments: int = 0
    changed: int = 0
    deleted: int = 0
    paid: int = 0


def sync_study(
    *,
    study: Study,
    platform: Platform,
    since: datetime | None = None,
    step: Callable[[int], None] = lambda done: None,
) -> Synced:
    """Poll all of the study's postings on the platform. Raises PlatformTrouble if the platform cannot be polled.

    ``since`` is when a sync began that was interrupted: what was polled after that is left out, unless work that was
    sent here is still unknown there, because it may have arrived in between.
    """
    posted = Posting.objects.filter(study=study, platform=platform.name).exclude(state=State.PLANNED)
    deleted_here = PlatformCall.objects.filter(posting=OuterRef("pk"), key__startswith="delete/")
    # What was missing at the last poll is polled again, because the key may have been wrong.
    postings = posted.exclude(Exists(deleted_here), state=State.DELETED).order_by("pk")
    if since:
        confirming = reported_with_same_id().filter(state__in=CONFIRMING)
        sent = Assignment.objects.filter(
            posting=OuterRef("pk"), state__in=[Assignment.State.SUBMITTED, Assignment.State.RELEASED]
        )
        unconfirmed = Exists(sent.filter(~Exists(confirming)))
        postings = postings.filter(Q(synced_at=None) | Q(synced_at__lt=since) | unconfirmed)
    return sync_postings(study=study, postings=_in_chunks(postings), platform=platform, step=step)


def sync_postings(
    *, study: Study, postings: Iterable[Posting], platform: Platform, step: Callable[[int], None] = lambda done: None
) -> Synced:
    """Poll these postings, then record what the platform has paid. Raises PlatformTrouble."""
    synced = Synced()
    for posting in postings:
        sync_posting(posting=posting, platform=platform, synced=synced)
        step(synced.postings)
    if platform.pays:
        synced.paid = settle_approvals(study=study, actor=platform.name)
        settle_rejections(study=study, actor=platform.name)
    return synced


def settle_rejections(*, study: Study, actor: str) -> int:
    """Note rejections whose replies were lost here and that the platform reports. Returns how many."""
    first, later = Q(key__startswith="reject/"), Q(key__startswith="reject-again/")
    calls = PlatformCall.objects.filter(first | later, study=study, tries__gt=0)
    count = 0
    for call in calls.exclude(state=PlatformCall.State.DONE).order_by("pk"):
        rejected = OutsideAssignment.objects.filter(posting__study=study, state=OutsideState.REJECTED)
        outside = rejected.filter(pk=call.key.split("/")[1]).first()
        if outside is None:
            continue
        with transaction.atomic():
            lost = PlatformCall.objects.filter(pk=call.pk).exclude(state=PlatformCall.State.DONE)
            if lost.update(state=PlatformCall.State.DONE, done_at=timezone.now()):
                record(study=study, actor=actor, action="reject", assignment=outside.external_id, call=call.pk)
                count += 1
    return count


def note_objections(*, platform: Platform) -> int:
    """Store which rejections workers object to, in all studies of the account. Returns how many are new.

    Raises PlatformTrouble. Where nothing is rejected, nothing is asked.
    """
    on_platform = OutsideAssignment.objects.filter(posting__platform=platform.name, posting__account=platform.account)
    if not on_platform.filter(state=OutsideState.REJECTED).exists():
        return 0
    addresses = platform.objections()
    decided = on_platform.exclude(objection_url="").exclude(external_id__in=addresses)
    decided.update(objection_url="")
    count = 0
    for outside in on_platform.filter(external_id__in=addresses, state=OutsideState.REJECTED).select_related("posting"):
        if outside.objection_url == addresses[outside.external_id]:
            continue
        objected_at = outside.objected_at or timezone.now()
        values = {"objection_url": addresses[outside.external_id], "objected_at": objected_at}
        OutsideAssignment.objects.filter(pk=outside.pk).update(**values)
        if outside.objected_at is None:
            study, name = outside.posting.study, outside.external_id
            record(study=study, actor=platform.name, action="objection", assignment=name)
            count += 1
    return count


def _in_chunks(postings: QuerySet[Posting], size: int = 500) -> Iterator[Posting]:
    """The postings one after another, without all of them in memory or a cursor that stays open between calls."""
    ids = list(postings.values_list("pk", flat=True))
    for start in range(0, len(ids), size):
        yield from Posting.objects.filter(pk__in=ids[start : start + size]).order_by("pk")


def sync_posting(*, posting: Posting, platform: Platform, synced: Synced | None = None) -> Synced:
    """Poll one posting's assignments. A posting that the platform no longer has is marked as deleted."""
    synced = synced or Synced()
    synced.postings += 1
    was_gone = posting.state == State.DELETED
    try:
        rows = list(platform.sync(posting))
    except PostingGone:
        Posting.objects.filter(pk=posting.pk).update(state=State.DELETED, synced_at=timezone.now())
        synced.deleted += not was_gone
        return synced
    if was_gone:
        over = posting.expires_at is not None and posting.expires_at <= timezone.now()
        Posting.objects.filter(pk=posting.pk).update(state=State.EXPIRED if over else State.OPEN)
    synced.assignments += len(rows)
    synced.changed += _store(posting, rows)
    paused = platform.has_paused(posting)
    if paused is not None:
        before, after = (State.OPEN, State.PAUSED) if paused else (State.PAUSED, State.OPEN)
        in_live_study = Posting.objects.filter(pk=posting.pk, state=before, study__status=Study.Status.LIVE)
        in_live_study.update(state=after)
    return synced


@again_after_deadlock
@transaction.atomic
def _store(posting: Posting, rows: Sequence[Reported]) -> int:
    """Store what the platform reports. Returns how much of it is new.

    A list that changes while it is read may contain an assignment twice; the last one counts.
    """
    Posting.objects.select_for_update(no_key=True).get(pk=posting.pk)
    stored = {(outside.external_id, outside.worker_id): outside for outside in posting.outside.defer("answer")}
    now = timezone.now()
    # The platform still has the ids and answers of workers whose data were deleted here.
    deleted = Assignment.objects.filter(posting=posting, participant__redacted_at__isnull=False)
    nobody = dict(deleted.values_list("platform_assignment_id", "participant__worker__platform_id"))
    rows = [
        replace(row, worker_id=nobody[row.external_id], answer="") if row.external_id in nobody else row for row in rows
    ]
    new: list[OutsideAssignment] = []
    changed: list[OutsideAssignment] = []
    latest = {(row.external_id, row.worker_id): row for row in rows}
    for key, row in latest.items():
        old = stored.get(key)
        if old is None or old.state != row.state:
            values = {name: getattr(row, name) for name in REPORTED} | {"seen_at": now}
            (new if old is None else changed).append(
                OutsideAssignment(
                    pk=old.pk if old else None, posting=posting, external_id=key[0], worker_id=key[1], **values
                )
            )
    OutsideAssignment.objects.bulk_create(new)
    OutsideAssignment.objects.bulk_update(changed, [*REPORTED, "seen_at"], batch_size=50)
    if rows:
        match_assignments(posting)
    for row in latest.values():
        if row.state in (OutsideState.RETURNED, OutsideState.SCREENED):
            end_returned(posting=posting, worker_id=row.worker_id, assignment_id=row.external_id)
    Posting.objects.filter(pk=posting.pk).update(synced_at=now)
    return len(new) + len(changed)


def sync_assignment(*, platform: Platform, name: str) -> bool:
    """Ask a platform that pushes for one assignment by its id there. False if the account posted no such work.

    Doing it twice does no harm. Raises PlatformTrouble.
    """
    external_id, row = platform.look_up(name)
    of_account = Posting.objects.filter(platform=platform.name, account=platform.account)
    posting = of_account.select_related("study").filter(external_id=external_id).first()
    if posting is None:
        return False
    if row is not None:
        synced_at = posting.synced_at
        _store(posting, [row])
        Posting.objects.filter(pk=posting.pk).update(synced_at=synced_at)  # the others were not asked for
        settle_approvals(study=posting.study, actor=platform.name)
    return True
