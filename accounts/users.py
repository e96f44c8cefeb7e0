"""Changes to users: make researchers, allow or stop sign-ins, end sessions. The log records every change."""

from __future__ import annotations

from django.conf import settings
from django.contrib.auth.models import User
from django.db import transaction
from django.utils import timezone

from accounts import roles
from accounts.log import Kind, record
from accounts.models import ApiToken, Session
from common.problems import invalid


@transaction.atomic
def create_researcher(*, username: str, password: str, administrator: bool = False, actor: str) -> User:
    """Makes a new user of the console. The caller has checked the name and the password."""
    make = User.objects.create_superuser if administrator else User.objects.create_user
    user: User = make(username, password=password)
    roles.join_group(user, roles.RESEARCHERS)
    action = "administrator created" if administrator else "researcher created"
    record(kind=Kind.USERS, actor=actor, action=action, about=username)
    return user


@transaction.atomic
def grant_researcher(*, user: User, actor: str) -> None:
    """Lets the user use the console. Raises Invalid for a worker's account."""
    if roles.is_workers_account(user):
        what = f"{user.get_username()} is the account of a marketplace worker."
        raise invalid("user", what, "Workers cannot be researchers: make a second user for this person.")
    if not roles.in_group(user, roles.RESEARCHERS):
        roles.join_group(user, roles.RESEARCHERS)
        record(kind=Kind.USERS, actor=actor, action="made researcher", about=user.get_username())


@transaction.atomic
def revoke_researcher(*, user: User, actor: str) -> None:
    """Takes away the user's access to the console, ends their sessions and revokes their tokens.

    Studies and memberships stay. Raises Invalid for an administrator.
    """
    if user.is_superuser:
        what = f"{user.get_username()} is an administrator, and administrators are researchers."
        raise invalid("user", what, "Deactivate the user instead.")
    if roles.in_group(user, roles.RESEARCHERS):
        roles.leave_group(user, roles.RESEARCHERS)
        _shut_out(user)
        record(kind=Kind.USERS, actor=actor, action="researcher revoked", about=user.get_username())


@transaction.atomic
def deactivate(*, user: User, actor: str) -> None:
    """Ends every session at once and revokes the tokens. Nobody can sign in as this user any more.

    Raises Invalid for the only active administrator.
    """
    if user.is_superuser and not User.objects.filter(is_superuser=True, is_active=True).exclude(pk=user.pk).exists():
        what = f"{user.get_username()} is the only administrator."
        raise invalid("user", what, "Make another administrator first: manage.py createsuperuser")
    if User.objects.filter(pk=user.pk, is_active=True).update(is_active=False):
        record(kind=Kind.USERS, actor=actor, action="deactivated", about=user.get_username())
    user.is_active = False
    _shut_out(user)


@transaction.atomic
def activate(*, user: User, actor: str) -> None:
    """Lets the user sign in again. Revoked tokens stay revoked."""
    if User.objects.filter(pk=user.pk, is_active=False).update(is_active=True):
        record(kind=Kind.USERS, actor=actor, action="activated", about=user.get_username())
    user.is_active = True


@transaction.atomic
def end_sessions(*, user: User, actor: str, keep: str | None = None) -> int:
    """Signs the user out everywhere except in the session with the key ``keep``. Returns how many sessions ended."""
    ended, _ = Session.objects.filter(user=user).exclude(session_key=keep).delete()
    if ended:
        record(kind=Kind.USERS, actor=actor, action="sessions ended", about=user.get_username(), sessions=ended)
    return ended


@transaction.atomic
def end_session(*, user: User, handle: str, actor: str) -> bool:
    """Ends one session. Returns whether there was one."""
    ended = [session for session in Session.objects.filter(user=user) if session.handle == handle]
    Session.objects.filter(pk__in=[session.pk for session in ended]).delete()
    if ended:
        record(kind=Kind.USERS, actor=actor, action="sessions ended", about=user.get_username(), sessions=len(ended))
    return bool(ended)


def open_sessions(user: User) -> list[Session]:
    """The sessions that have not ended, most recently used first."""
    now = timezone.now()
    sessions = Session.objects.filter(user=user, expire_date__gt=now, created_at__gte=now - settings.SESSION_LIFETIME)
    return list(sessions.order_by("-seen_at"))


def _shut_out(user: User) -> None:
    Session.objects.filter(user=user).delete()
    ApiToken.objects.filter(user=user, revoked_at=None).update(revoked_at=timezone.now())
