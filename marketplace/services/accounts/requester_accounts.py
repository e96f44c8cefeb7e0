"""Requesters and their access keys."""

from __future__ import annotations

import secrets
from dataclasses import dataclass

from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from accounts.users import end_sessions
from marketplace import clock
from marketplace.ids import new_id
from marketplace.models import AccessKey, LedgerAccount, Requester
from marketplace.services.audit_log import record
from marketplace.services.refusals import Refusal
from marketplace.services.secrets import seal


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key with its secret, which nobody can see again."""

    key: AccessKey
    secret: str


@transaction.atomic
def create_requester(
    *, name: str, email: str = "", user: User | None = None, user_made_here: bool = False, actor: str
) -> Requester:
    """Create a requester with an empty balance. Raises Refusal if the name is taken."""
    name = name.strip()
    if not name:
        raise Refusal("A requester needs a name, which workers see.")
    if Requester.objects.filter(name=name).exists():
        raise Refusal(f"There is a requester named “{name}” already.")
    requester = Requester.objects.create(
        name=name, email=email, user=user, user_made_here=user_made_here, created_at=clock.now()
    )
    kinds = (LedgerAccount.Kind.REQUESTER, LedgerAccount.Kind.HELD, LedgerAccount.Kind.FEES)
    LedgerAccount.objects.bulk_create(LedgerAccount(kind=kind, requester=requester) for kind in kinds)
    record(actor=actor, action="requester created", about=name, requester=requester)
    return requester


@transaction.atomic
def create_access_key(*, requester: Requester, actor: str) -> NewKey:
    secret = secrets.token_urlsafe(30)
    key = AccessKey.objects.create(
        requester=requester,
        access_key_id=new_id("AKIA", 20),
        secret_sealed=seal(secret),
        created_at=timezone.now(),
    )
    record(actor=actor, action="key created", about=key.access_key_id, requester=requester)
    return NewKey(key, secret)


@transaction.atomic
def revoke_access_key(*, key: AccessKey, actor: str) -> None:
    if AccessKey.objects.filter(pk=key.pk, revoked_at=None).update(revoked_at=timezone.now()):
        record(actor=actor, action="key revoked", about=key.access_key_id, requester=key.requester)


@transaction.atomic
def set_requester_active(*, requester: Requester, active: bool, actor: str) -> None:
    """Activate or deactivate. Deactivating signs the user out; keys are refused and HITs are not offered."""
    if not active and requester.user is not None:
        end_sessions(user=requester.user, actor=actor)
    if Requester.objects.filter(pk=requester.pk).exclude(active=active).update(active=active):
        action = "requester activated" if active else "requester deactivated"
        record(actor=actor, action=action, about=requester.name, requester=requester)
