"""Requesters and their keys, workers and how they sign in."""

from __future__ import annotations

import secrets
from dataclasses import dataclass
from datetime import timedelta

from django.contrib.auth.models import AbstractBaseUser, User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import IntegrityError, transaction
from django.utils import timezone

from accounts import roles
from accounts.users import end_sessions
from marketplace import clock
from marketplace.ids import new_id
from marketplace.models import AccessKey, Invitation, LedgerAccount, LoginLink, Requester, Worker
from marketplace.services.log import record
from marketplace.services.refusals import Refusal
from marketplace.services.secrets import hashed, new_token, seal

LOGIN_MINUTES = 15
NAME_TAKEN = "This user name is taken. Choose another."
LINK_USED = "This link has been used or has expired. Ask for a new one."


@dataclass(frozen=True, slots=True)
class NewKey:
    """A new key with its secret, which nobody can see again."""

    key: AccessKey
    secret: str


@dataclass(frozen=True, slots=True)
class NewInvitation:
    invitation: Invitation
    token: str


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
        raise Refusal(LINK_USED)
    user = create_user(username.strip(), password, email.strip() or invitation.email)
    worker = create_worker(user=user, name=name, country=country, subdivision=subdivision, actor=username)
    invitation.used_at = timezone.now()
    invitation.used_by = worker
    invitation.save(update_fields=["used_at", "used_by"])
    return worker


def create_user(username: str, password: str | None, email: str) -> User:
    """Raises Refusal if the name is taken or the password is too weak. None means no sign-in with a password."""
    user = User(username=username, email=email)
    if User.objects.filter(username__iexact=username).exists():
        raise Refusal(NAME_TAKEN)
    try:
        user.full_clean(exclude=["password"])
        if password:
            validate_password(password, user)
    except ValidationError as error:
        raise Refusal(" ".join(error.messages)) from None
    user.set_password(password or None)
    try:
        with transaction.atomic():
            user.save()
    except IntegrityError:
        raise Refusal(NAME_TAKEN) from None
    return user


@transaction.atomic
def create_login_link(*, worker: Worker) -> str:
    """The token of a link that signs this worker in once, if they use it soon."""
    token, now = new_token(), timezone.now()
    LoginLink.objects.create(
        token_hash=hashed(token), worker=worker, created_at=now, expires_at=now + timedelta(minutes=LOGIN_MINUTES)
    )
    return token


@transaction.atomic
def redeem_login_link(*, token: str) -> Worker:
    """The worker whom this link signs in. Raises Refusal."""
    link = LoginLink.objects.select_for_update().filter(token_hash=hashed(token)).first()
    if link is None or link.used_at is not None or link.expires_at <= timezone.now():
        raise Refusal(LINK_USED)
    worker = link.worker
    user: AbstractBaseUser | None = worker.user
    if user is None or not user.is_active or not worker.active:
        raise Refusal("This account is closed. Ask the operator of this marketplace.")
    link.used_at = timezone.now()
    link.save(update_fields=["used_at"])
    return worker
