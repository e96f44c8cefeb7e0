"""Who may do what with which study, team or generation run. For everybody else, it does not exist.

A user's role in a study comes from the study itself, from its team, or from both; then they may do what either role
allows. Only researchers (``accounts.roles``) see any study. A member who is no longer a researcher has no access.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping
from enum import StrEnum

from django.contrib.auth.models import AnonymousUser, User
from django.db.models import OuterRef, Q, QuerySet, Subquery
from django.http import Http404

from accounts.models import MemberRole, Team, TeamMember
from accounts.roles import is_researcher
from annotation.models import Membership, Study
from generation.models import GenerationRun

Role = MemberRole


class Capability(StrEnum):
    """What somebody may do in a study. The first three are also the scopes of API tokens."""

    READ = "read"
    COLLECT = "collect"
    PAY = "pay"
    MANAGE = "manage"


#: What each role may do, in a study and in a team. `docs/console.md` explains it to users.
MAY: Mapping[str, frozenset[Capability]] = {
    Role.VIEWER: frozenset({Capability.READ}),
    Role.PAYER: frozenset({Capability.READ, Capability.PAY}),
    Role.EDITOR: frozenset({Capability.READ, Capability.COLLECT}),
    Role.OWNER: frozenset(Capability),
}
#: What one asks for by the name of a role: what that role can do and those with fewer rights cannot.
ASKED: Mapping[str, Capability] = {
    Role.VIEWER: Capability.READ,
    Role.PAYER: Capability.PAY,
    Role.EDITOR: Capability.COLLECT,
    Role.OWNER: Capability.MANAGE,
}
#: Whoever sets up a study or pays for it sees what is owed, and records what was paid elsewhere.
SEES_PAYMENTS = (Role.EDITOR, Role.PAYER)


def roles_that_may(role: str | Collection[str]) -> list[str]:
    """The roles that can do what ``role`` stands for in `ASKED`, or one of several. ValueError for an unknown role."""
    asked_roles = [role] if isinstance(role, str) else role
    if unknown := [name for name in asked_roles if name not in ASKED]:
        raise ValueError(f"There is no role {unknown[0]}.")
    wanted = {ASKED[name] for name in asked_roles}
    return [name for name, capabilities in MAY.items() if capabilities & wanted]


# --- studies ---


def study_for(user: User | AnonymousUser, slug: str, role: str | Collection[str] = Role.VIEWER) -> Study:
    """The study called ``slug`` if ``user`` can do there what ``role`` can, or one of several; superusers see all.

    Raises Http404, and ValueError for an unknown role.
    """
    enough = roles_that_may(role)
    if not is_researcher(user):
        raise Http404("No such study.")
    studies = Study.objects.filter(slug=slug)
    if not user.is_superuser:
        own, of_team = _roles_of(user)
        studies = studies.annotate(my_role=Subquery(own), my_team_role=Subquery(of_team))
        studies = studies.filter(Q(my_role__in=enough) | Q(my_team_role__in=enough))
    study = studies.first()
    if study is None:
        raise Http404("No such study.")
    return study


def _roles_of(user: User) -> tuple[QuerySet[Membership, str], QuerySet[TeamMember, str]]:
    """The user's role in a study of the outer query, and in its team."""
    own = Membership.objects.filter(study=OuterRef("pk"), user=user).values_list("role", flat=True)
    of_team = TeamMember.objects.filter(team=OuterRef("team"), user=user).values_list("role", flat=True)
    return own, of_team


def capabilities_in(study: Study, user: User) -> frozenset[Capability]:
    """What the user may do in the study. No query if `study_for` looked it up for this user; otherwise one."""
    if user.is_superuser:
        return frozenset(Capability)
    if hasattr(study, "my_role"):
        roles = (study.my_role, getattr(study, "my_team_role", None))
    else:
        own, of_team = _roles_of(user)
        rows = Study.objects.filter(pk=study.pk).values_list(Subquery(own), Subquery(of_team))
        roles = rows.first() or (None, None)
    return frozenset[Capability]().union(*(MAY[role] for role in roles if role))


def studies_of(user: User | AnonymousUser, role: str | Collection[str] = Role.VIEWER) -> QuerySet[Study]:
    """The studies in which ``user`` can do what ``role`` can, or one of several roles."""
    enough = roles_that_may(role)
    if not is_researcher(user):
        return Study.objects.none()
    if user.is_superuser:
        return Study.objects.all()
    own = Membership.objects.filter(user=user, role__in=enough)
    of_teams = TeamMember.objects.filter(user=user, role__in=enough)
    return Study.objects.filter(Q(pk__in=own.values("study")) | Q(team__in=of_teams.values("team")))


def members_of(study: Study, role: str | Collection[str] = Role.VIEWER) -> QuerySet[User]:
    """The users who are members of the study or of its team with such a role. No superusers without a role."""
    enough = roles_that_may(role)
    own = Membership.objects.filter(study=study, role__in=enough)
    of_team = TeamMember.objects.filter(team__studies=study, role__in=enough)
    return User.objects.filter(Q(pk__in=own.values("user")) | Q(pk__in=of_team.values("user")))


# --- teams ---


def team_for(user: User | AnonymousUser, slug: str, role: str | Collection[str] = Role.VIEWER) -> Team:
    """The team called ``slug`` if ``user`` can do there what ``role`` can; superusers see all. Raises Http404."""
    team = teams_of(user, role).filter(slug=slug).first()
    if team is None:
        raise Http404("No such team.")
    return team


def teams_of(user: User | AnonymousUser, role: str | Collection[str] = Role.VIEWER) -> QuerySet[Team]:
    """The teams in which ``user`` can do what ``role`` can, or one of several roles."""
    enough = roles_that_may(role)
    if not is_researcher(user):
        return Team.objects.none()
    if user.is_superuser:
        return Team.objects.all()
    memberships = TeamMember.objects.filter(user=user, role__in=enough)
    return Team.objects.filter(pk__in=memberships.values("team"))


# --- generation runs ---


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
