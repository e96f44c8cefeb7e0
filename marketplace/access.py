"""Who has which role on the marketplace. Pages that a user cannot see return 404.

An *operator* runs the marketplace: a superuser, or a member of the group named below. A *requester* or a *worker* is
the account that a user signs in for. A user with one role need not have another.
"""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser, Group, User
from django.http import Http404

from marketplace.models import Requester, Worker

OPERATORS = "Marketplace operators"
AnyUser = User | AnonymousUser


def is_operator(user: AnyUser) -> bool:
    if not (user.is_authenticated and user.is_active):
        return False
    return user.is_superuser or user.groups.filter(name=OPERATORS).exists()


def add_operator(user: User) -> None:
    """Let a user run the marketplace. Safe to repeat."""
    group, _ = Group.objects.get_or_create(name=OPERATORS)
    user.groups.add(group)


def requester_of(user: AnyUser) -> Requester | None:
    """The requester that this user signs in for, if it is active."""
    if not (user.is_authenticated and user.is_active):
        return None
    return Requester.objects.filter(user=user, active=True).first()


def worker_of(user: AnyUser) -> Worker | None:
    """The worker that this user signs in for."""
    if not (user.is_authenticated and user.is_active):
        return None
    return Worker.objects.filter(user=user, active=True).first()


def require_operator(user: AnyUser) -> None:
    """Raises Http404 for other users."""
    if not is_operator(user):
        raise Http404("No such page.")


def require_requester(user: AnyUser) -> Requester:
    """The user's requester. Raises Http404 for users without one."""
    requester = requester_of(user)
    if requester is None:
        raise Http404("No such page.")
    return requester
