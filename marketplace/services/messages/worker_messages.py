"""Messages to workers, and their replies."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime

from django.db import transaction
from django.db.models import QuerySet

from common.languages import gettext as _
from common.languages import number
from marketplace import clock
from marketplace.models import Assignment, Message, Requester, Worker
from marketplace.services.audit_log import record
from marketplace.services.refusals import InvalidParameter, Refusal

MOST_WORKERS = 100
MOST_SUBJECT = 200
MOST_TEXT = 4096
#: The limit for one message, so that nobody can fill a requester's inbox.
MOST_REPLIES = 5


def inbox(worker: Worker) -> QuerySet[Message]:
    """The messages that the worker received, newest first."""
    received = Message.objects.filter(worker=worker, from_worker=False)
    return received.select_related("requester", "reply_to").order_by("-created_at", "-pk")


def replies_to(requester: Requester | None) -> QuerySet[Message]:
    """Workers' replies to this requester, or to the marketplace itself, newest first."""
    replies = Message.objects.filter(requester=requester, from_worker=True)
    return replies.select_related("worker", "reply_to").order_by("-created_at", "-pk")


def unread(worker: Worker) -> int:
    return Message.objects.filter(worker=worker, from_worker=False, read_at=None).count()


def unread_replies(requester: Requester | None) -> int:
    return Message.objects.filter(requester=requester, from_worker=True, read_at=None).count()


def mark_read(*, message: Message) -> None:
    Message.objects.filter(pk=message.pk, read_at=None).update(read_at=clock.now())


@transaction.atomic
def reply(*, message: Message, text: str) -> Message:
    """A worker's reply to a message that they received. Raises Refusal."""
    text = _checked_text(text)
    locked = Message.objects.select_for_update(of=("self",), no_key=True).get(pk=message.pk)
    if locked.replies.filter(from_worker=True).count() >= MOST_REPLIES:
        raise Refusal(_("You have replied %(count)s times. Wait for an answer.") % {"count": MOST_REPLIES})
    return Message.objects.create(
        worker=locked.worker,
        requester=locked.requester,
        from_worker=True,
        reply_to=locked,
        subject=_re(locked.subject),
        text=text,
        created_at=clock.now(),
    )


@transaction.atomic
def answer(*, reply: Message, text: str, actor: str) -> Message:
    """A requester's or the marketplace's answer to a worker's reply. Raises Refusal."""
    answered = Message.objects.create(
        worker=reply.worker,
        requester=reply.requester,
        reply_to=reply,
        subject=_re(reply.subject),
        text=_checked_text(text),
        created_at=clock.now(),
    )
    record(
        actor=actor,
        action="worker answered",
        about=reply.worker.worker_id,
        requester=reply.requester,
        worker=reply.worker,
    )
    return answered


def _re(subject: str) -> str:
    return subject if subject.startswith("Re: ") else f"Re: {subject}"[:MOST_SUBJECT]


def _checked_text(text: str) -> str:
    text = text.strip()
    if not 1 <= len(text) <= MOST_TEXT:
        raise Refusal(_("Write from 1 to %(most)s characters.") % {"most": number(MOST_TEXT)})
    return text


def send(
    *, worker: Worker, subject: str, text: str, requester: Requester | None = None, now: datetime | None = None
) -> Message:
    """Send a message to the worker's inbox."""
    return Message.objects.create(
        worker=worker, requester=requester, subject=subject, text=text, created_at=now or clock.now()
    )


@dataclass(frozen=True, slots=True)
class NotNotified:
    """A worker who did not get the message. ``hard``: trying again will not help."""

    worker_id: str
    hard: bool
    reason: str


@transaction.atomic
def notify_workers(
    *, requester: Requester, subject: str, text: str, worker_ids: Sequence[str], now: datetime | None = None
) -> list[NotNotified]:
    """Send a message to workers whose work the requester has approved or rejected. Returns those who did not get it."""
    if not 1 <= len(subject) <= MOST_SUBJECT:
        raise InvalidParameter("Subject", f"It must have from 1 to {MOST_SUBJECT} characters.")
    if not 1 <= len(text) <= MOST_TEXT:
        raise InvalidParameter("MessageText", f"It must have from 1 to {MOST_TEXT} characters.")
    if not 1 <= len(worker_ids) <= MOST_WORKERS:
        raise InvalidParameter("WorkerIds", f"Name from 1 to {MOST_WORKERS} workers.")
    now = now or clock.now()
    distinct_ids = list(dict.fromkeys(worker_ids))
    workers = {worker.worker_id: worker for worker in Worker.objects.filter(worker_id__in=distinct_ids)}
    decided = Assignment.objects.filter(hit__requester=requester, state__in=("Approved", "Rejected"))
    known_ids = set(decided.filter(worker__in=workers.values()).values_list("worker__worker_id", flat=True))
    failures, notified = [], []
    for worker_id in distinct_ids:
        if worker_id not in workers:
            failures.append(NotNotified(worker_id, True, f"Worker {worker_id} does not exist."))
        elif worker_id not in known_ids:
            reason = "Cannot send a notification to a worker who has not done any work for you"  # MTurk's words
            failures.append(NotNotified(worker_id, True, reason))
        elif not workers[worker_id].active:
            failures.append(NotNotified(worker_id, False, f"Worker {worker_id} is not active at the moment."))
        else:
            notified.append(workers[worker_id])
    Message.objects.bulk_create(
        Message(worker=worker, requester=requester, subject=subject, text=text, created_at=now) for worker in notified
    )
    return failures
