"""Who is what on the marketplace. Whoever may not see a page is told that there is none.

An *operator* runs the marketplace: a superuser, or a member of the group named below. A *requester* or a *worker* is
the account that a user signs in for. Being one of them says nothing about the others.
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
    """May run the marketplace from now on. Doing it twice changes nothing."""
    group, _ = Group.objects.get_or_create(name=OPERATORS)
    user.groups.add(group)


def requester_of(user: AnyUser) -> Requester | None:
    """The requester whom this user signs in for. A deactivated one sees nothing any more."""
    if not (user.is_authenticated and user.is_active):
        return None
    return Requester.objects.filter(user=user, active=True).first()


def worker_of(user: AnyUser) -> Worker | None:
    """The worker whom this user signs in for."""
    if not (user.is_authenticated and user.is_active):
        return None
    return Worker.objects.filter(user=user, active=True).first()


def require_operator(user: AnyUser) -> None:
    """Raises Http404 for everybody else."""
    if not is_operator(user):
        raise Http404("No such page.")


def require_requester(user: AnyUser) -> Requester:
    """The user's requester. Raises Http404 for everybody who is none."""
    requester = requester_of(user)
    if requester is None:
        raise Http404("No such page.")
    return requester
