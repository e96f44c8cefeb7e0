"""Who may do what with which study or generation run. For everybody else, a study or run does not exist.

Only researchers (``accounts.roles``) see any. A member who is no longer a researcher has no access.
"""

from __future__ import annotations

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import F, QuerySet
from django.http import Http404

from accounts.roles import is_researcher
from annotation.models import Membership, Study
from generation.models import GenerationRun

Role = Membership.Role

#: From the fewest rights to the most. Each role may do everything that the earlier ones may.
ROLES: tuple[str, ...] = (Role.VIEWER, Role.EDITOR, Role.OWNER)


def study_for(user: User | AnonymousUser, slug: str, role: str = Role.VIEWER) -> Study:
    """The study called ``slug`` if ``user`` is a member with at least ``role`` (in ``my_role``); superusers see all.

    Raises Http404, and ValueError for an unknown role.
    """
    if role not in ROLES:
        raise ValueError(f"There is no role {role}.")
    enough = ROLES[ROLES.index(role) :]
    studies = Study.objects.filter(slug=slug)
    if not is_researcher(user):
        raise Http404("No such study.")
    if not user.is_superuser:
        studies = studies.filter(memberships__user=user, memberships__role__in=enough)
        studies = studies.annotate(my_role=F("memberships__role"))
    study = studies.first()
    if study is None:
        raise Http404("No such study.")
    return study


def studies_of(user: User | AnonymousUser) -> QuerySet[Study]:
    """The studies that ``user`` may see."""
    if not is_researcher(user):
        return Study.objects.none()
    if user.is_superuser:
        return Study.objects.all()
    return Study.objects.filter(memberships__user=user)


def run_for(user: User | AnonymousUser, name: str) -> GenerationRun:
    """The run called ``name`` if ``user`` made it; superusers see all. Raises Http404."""
    run = runs_of(user).filter(name=name).first()
    if run is None:
        raise Http404("No such run.")
    return run


def runs_of(user: User | AnonymousUser) -> QuerySet[GenerationRun]:
    """The runs that ``user`` may see."""
    if not is_researcher(user):
        return GenerationRun.objects.none()
    if user.is_superuser:
        return GenerationRun.objects.all()
    return GenerationRun.objects.filter(created_by=user.get_username())
