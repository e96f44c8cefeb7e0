"""Workers: how they join, their details, and who blocked them."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import datetime, timedelta

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from accounts import roles
from accounts.users import end_sessions
from common.languages import gettext as _
from marketplace import clock
from marketplace.ids import new_id
from marketplace.models import Invitation, LedgerAccount, Requester, Worker, WorkerBlock
from marketplace.services.accounts.users import LINK_USED, create_user
from marketplace.services.audit_log import record
from marketplace.services.refusals import Refusal
from marketplace.services.secrets import hashed, new_token


@dataclass(frozen=True, slots=True)
class NewInvitation:
    invitation: Invitation
    token: str


@transaction.atomic
def set_worker_active(*, worker: Worker, active: bool, actor: str) -> None:
    """A deactivated worker is signed out at once and can accept nothing more. They keep what they have earned."""
    if not active and worker.user is not None:
        end_sessions(user=worker.user, actor=actor)
    if Worker.objects.filter(pk=worker.pk).exclude(active=active).update(active=active):
        action = "worker activated" if active else "worker deactivated"
        record(actor=actor, action=action, about=worker.worker_id, worker=worker)


@transaction.atomic
def create_worker(
    *, user: User | None = None, name: str = "", country: str = "", subdivision: str = "", actor: str
) -> Worker:
    worker = Worker.objects.create(
        worker_id=new_id("A", 14),
        user=user,
        name=name.strip()[:150],
        country=country.upper(),
        subdivision=subdivision.upper(),
        joined_at=clock.now(),
    )
    LedgerAccount.objects.create(kind=LedgerAccount.Kind.WORKER, worker=worker)
    if user is not None:
        roles.join_group(user, roles.WORKERS)
    record(actor=actor, action="worker joined", about=worker.worker_id, worker=worker)
    return worker


@transaction.atomic
def change_worker(*, worker: Worker, actor: str, **details: str) -> bool:
    """Set some of name, country and payment_address; returns whether that changed anything.

    Qualifications by place use the new country from now on. The log shows which details changed, and the country;
    names and addresses stay private.
    """
    now = Worker.objects.select_for_update().get(pk=worker.pk)
    changed = {name: value.strip() for name, value in details.items() if getattr(now, name) != value.strip()}
    if not changed:
        return False
    if "country" in changed:
        changed |= {"country": changed["country"].upper(), "subdivision": ""}
    Worker.objects.filter(pk=now.pk).update(**changed)
    what = ", ".join(name.replace("_", " ") for name in details if name in changed)
    detail = {"what": what} | ({"was": now.country, "country": changed["country"]} if "country" in changed else {})
    record(actor=actor, action="worker changed", about=now.worker_id, requester=None, worker=now, **detail)
    return True


@transaction.atomic
def invite(*, email: str = "", days: int = 14, actor: str) -> NewInvitation:
    """Create an invitation. Returns it with the token of its link, which is not stored."""
    token, now = new_token(), timezone.now()
    invitation = Invitation.objects.create(
        token_hash=hashed(token), email=email, created_at=now, expires_at=now + timedelta(days=days)
    )
    record(actor=actor, action="worker invited", about=email)
    return NewInvitation(invitation, token)


def find_invitation(token: str) -> Invitation | None:
    """The invitation that this token opens, if it is still valid."""
    return Invitation.objects.filter(token_hash=hashed(token), used_at=None, expires_at__gt=timezone.now()).first()


@transaction.atomic
def redeem_invitation(
    *,
    token: str,
    username: str,
    password: str | None,
    email: str,
    name: str = "",
    country: str = "",
    subdivision: str = "",
) -> Worker:
    """Make the invited person a worker. Without a password, they sign in with links sent to their address."""
    invitation = Invitation.objects.select_for_update().filter(token_hash=hashed(token)).first()
    if invitation is None or invitation.used_at is not None or invitation.expires_at <= timezone.now():
        raise Refusal(_(LINK_USED))
    user = create_user(username.strip(), password, email.strip() or invitation.email)
    worker = create_worker(user=user, name=name, country=country, subdivision=subdivision, actor=username)
    invitation.used_at = timezone.now()
    invitation.used_by = worker
    invitation.save(update_fields=["used_at", "used_by"])
    return worker


@transaction.atomic
def block(*, requester: Requester, worker: Worker, reason: str, now: datetime | None = None) -> WorkerBlock:
    """The worker can accept no more HITs from this requester. They can finish those in progress."""
    row, _ = WorkerBlock.objects.update_or_create(
        requester=requester,
        worker=worker,
        defaults={"reason": reason},
        create_defaults={"reason": reason, "created_at": now or clock.now()},
    )
    return row


@transaction.atomic
def unblock(*, requester: Requester, worker: Worker) -> bool:
    """Remove a block; returns whether the worker was blocked."""
    n, _ = WorkerBlock.objects.filter(requester=requester, worker=worker).delete()
    return bool(n)
