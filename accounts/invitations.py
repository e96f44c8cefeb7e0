"""Links that work once: invitations to the console, and ways in for users who cannot sign in.

Nobody can make an account without an invitation, unless single sign-on makes accounts for a whole domain.
"""

from __future__ import annotations

import hashlib
import secrets
from collections.abc import Callable
from datetime import timedelta

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.password_validation import validate_password
from django.core.exceptions import ValidationError
from django.db import transaction
from django.db.models import QuerySet
from django.utils import timezone
from django.views.decorators.debug import sensitive_variables

from accounts import roles
from accounts.log import Kind, record
from accounts.models import AccessLink, Team
from common.problems import Problem, invalid, refuse_if_any

WAY_IN_MINUTES = 30
#: Adds a user to a team: `annotation` does, because the user then has work in the team's studies.
AddToTeam = Callable[[Team, User, str, str], object]


@transaction.atomic
def invite(
    *, email: str = "", administrator: bool = False, team: Team | None = None, team_role: str = "", actor: str
) -> tuple[AccessLink, str]:
    """An invitation for one person, and the secret of its link, which is shown this one time."""
    days = timedelta(days=settings.INVITATION_DAYS)
    link, token = _new(
        days, email=email, administrator=administrator, team=team, team_role=team_role if team else "", made_by=actor
    )
    team_slug = team.slug if team else None
    record(kind=Kind.USERS, actor=actor, action="invited", about=email, administrator=administrator, team=team_slug)
    return link, token


@transaction.atomic
def make_way_in(*, user: User, actor: str) -> str:
    """The secret of a link with which the user signs in once, soon."""
    _, token = _new(timedelta(minutes=WAY_IN_MINUTES), user=user, made_by=actor)
    record(kind=Kind.USERS, actor=actor, action="sign-in link made", about=user.get_username())
    return token


def _new(valid_for: timedelta, **values: object) -> tuple[AccessLink, str]:
    token, now = secrets.token_urlsafe(32), timezone.now()
    link = AccessLink.objects.create(token_hash=_hashed(token), created_at=now, expires_at=now + valid_for, **values)
    return link, token


def _hashed(token: str) -> str:
    return hashlib.sha256(token.encode()).hexdigest()


def open_links() -> QuerySet[AccessLink]:
    """The links that still work, newest first."""
    usable = AccessLink.objects.filter(used_at=None, revoked_at=None, expires_at__gt=timezone.now())
    return usable.select_related("team", "user").order_by("-pk")


def open_invitations() -> QuerySet[AccessLink]:
    return open_links().filter(user=None)


def find_invitation(token: str) -> AccessLink | None:
    """The invitation whose link has this secret, if it still works."""
    return open_invitations().filter(token_hash=_hashed(token)).first()


def find_way_in(token: str) -> AccessLink | None:
    """The link with this secret that signs somebody in, if it still works."""
    return open_links().filter(token_hash=_hashed(token), user__is_active=True).first()


def invitation_for(email: str) -> AccessLink | None:
    """The invitation for this address, if there is exactly one. The caller knows that the address is verified."""
    invitations = list(open_invitations().filter(email__iexact=email)[:2]) if email else []
    return invitations[0] if len(invitations) == 1 else None


@transaction.atomic
def revoke_invitation(*, link: AccessLink, actor: str) -> None:
    """The link no longer works. Doing it twice changes nothing."""
    if AccessLink.objects.filter(pk=link.pk, used_at=None, revoked_at=None).update(revoked_at=timezone.now()):
        record(kind=Kind.USERS, actor=actor, action="invitation revoked", about=link.email, made_by=link.made_by)


@transaction.atomic
def use_way_in(*, link: AccessLink) -> User:
    """The user whom the link signs in. Raises Invalid if it has been used in the meantime."""
    _use(link)
    assert link.user is not None  # noqa: S101 - it is no invitation
    return link.user


@sensitive_variables("password")
@transaction.atomic
def accept(*, link: AccessLink, username: str, password: str | None, email: str = "", add_to_team: AddToTeam) -> User:
    """Makes the invited user. Without a password, they sign in at the provider alone. Raises Invalid."""
    user = User(username=username, email=email or link.email)
    _refuse_bad(user, password)
    _use(link)
    user.is_superuser = user.is_staff = link.administrator
    user.set_password(password)
    user.save()
    roles.join_group(user, roles.RESEARCHERS)
    action = "administrator created" if link.administrator else "researcher created"
    record(kind=Kind.USERS, actor=username, action=action, about=username, invited_by=link.made_by)
    if link.team is not None:
        add_to_team(link.team, user, link.team_role, link.made_by)
    return user


@sensitive_variables("password")
def _refuse_bad(user: User, password: str | None) -> None:
    """Raises Invalid with everything that is wrong with the name and the password."""
    problems = []
    try:
        user.clean_fields(exclude=["password"])
    except ValidationError as error:
        problems += [Problem(field, " ".join(texts)) for field, texts in error.message_dict.items()]
    if User.objects.filter(username__iexact=user.username).exists():
        problems.append(Problem("username", "This user name is taken.", "Choose another one."))
    if password is not None:
        try:
            validate_password(password, user)
        except ValidationError as error:
            problems.append(Problem("password", " ".join(error.messages)))
    refuse_if_any(problems)


def _use(link: AccessLink) -> None:
    usable = open_links().filter(pk=link.pk)
    if not AccessLink.objects.filter(pk__in=usable.values("pk")).update(used_at=timezone.now()):
        raise invalid("link", "This link was used a moment ago.", "Ask for a new one.")
