"""Who is a researcher: anyone who can use the console, the JSON API, generation runs and language models.

Researchers are the members of a group, and all administrators (Django's superusers). Workers of the marketplace share
the table of users, so being signed in means nothing by itself. A worker's account can never become a researcher's.
"""

from __future__ import annotations

from typing import TypeGuard

from django.contrib.auth.models import AnonymousUser, Group, User
from django.db.models import Q, QuerySet

RESEARCHERS = "Researchers"
WORKERS = "Marketplace workers"
AnyUser = User | AnonymousUser
_ROLE_CACHE = "_is_researcher"


def is_researcher(user: AnyUser) -> TypeGuard[User]:
    """Whether the user can use the console. Asks the database once for each user object, so once per request."""
    if not (user.is_authenticated and user.is_active):
        return False
    if user.is_superuser:
        return True
    if not hasattr(user, _ROLE_CACHE):
        setattr(user, _ROLE_CACHE, in_group(user, RESEARCHERS))
    return bool(getattr(user, _ROLE_CACHE))


def is_administrator(user: AnyUser) -> bool:
    """Whether the user sees every study and manages users."""
    return bool(user.is_superuser)


def is_workers_account(user: User) -> bool:
    """Whether this is the account of a worker on the marketplace."""
    return in_group(user, WORKERS)


def researchers() -> QuerySet[User]:
    """Active users who can use the console."""
    return User.objects.filter(Q(is_superuser=True) | Q(groups__name=RESEARCHERS), is_active=True).distinct()


def in_group(user: User, name: str) -> bool:
    """Whether the user is in the group with this name. One query."""
    return user.groups.filter(name=name).exists()


def join_group(user: User, name: str) -> None:
    """Adds the user to the group. Doing it twice changes nothing."""
    group, _ = Group.objects.get_or_create(name=name)
    user.groups.add(group)
    user.__dict__.pop(_ROLE_CACHE, None)


def leave_group(user: User, name: str) -> None:
    """Removes the user from the group. Doing it twice changes nothing."""
    user.groups.remove(*Group.objects.filter(name=name))
    user.__dict__.pop(_ROLE_CACHE, None)
