"""Who may do what with which study. Everybody else is told that there is no such study."""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser, User
from django.http import Http404

from annotation.models import Membership, Study

Role = Membership.Role

#: From the least to the most: each may do all that those before it may.
ROLES: tuple[str, ...] = (Role.VIEWER, Role.EDITOR, Role.OWNER)


def study_for(user: User | AnonymousUser, slug: str, role: str = Role.VIEWER) -> Study:
    """The study called ``slug`` if ``user`` is a member with at least ``role``; superusers see all. Raises Http404."""
    if role not in ROLES:
        raise ValueError(f"There is no role {role}.")
    enough = ROLES[ROLES.index(role) :]
    studies = Study.objects.filter(slug=slug)
    if not (user.is_authenticated and user.is_active):
        raise Http404("No such study.")
    if not user.is_superuser:
        studies = studies.filter(memberships__user=user, memberships__role__in=enough)
    study = studies.first()
    if study is None:
        raise Http404("No such study.")
    return study
