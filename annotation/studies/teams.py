"""Teams: who belongs to them, and which studies are theirs. A team always has an owner, who can add others.

A member of a team has at least the same role in all its studies (`annotation.access`), so whoever joins or leaves a
team gains or loses the work that members do in them, such as coding.
"""

from __future__ import annotations

from typing import Any

from django.contrib.auth.models import User
from django.db import IntegrityError, transaction
from django.db.models import ProtectedError

from accounts import log as server_log
from accounts.models import MemberRole, Team, TeamMember
from annotation import identity
from annotation.access import members_of
from annotation.audit import record
from annotation.models import Membership, Participant, Study
from annotation.studies.members import refuse_outsider, refuse_role
from annotation.work.coded_items import coders_of
from annotation.work.member_work import allow_member_work, stop_member_work
from common.problems import invalid
from common.words import plural_of

Kind = server_log.Kind
MOST_NAME = 80


@transaction.atomic
def create_team(*, name: str, slug: str, owner: User, actor: str) -> Team:
    """Make a team with one owner. The caller has checked the short name. Raises Invalid if a name is taken."""
    refuse_outsider(owner)
    try:
        with transaction.atomic():
            team = Team.objects.create(name=name, slug=slug)
    except IntegrityError:
        what = f"Another team already has the name “{name}” or the short name “{slug}”."
        raise invalid("slug", what, "Choose another one, or ask an owner of that team to add you.") from None
    TeamMember.objects.create(team=team, user=owner, role=MemberRole.OWNER)
    _log(team, actor, "team created", owner=owner.get_username())
    return team


@transaction.atomic
def rename_team(*, team: Team, name: str, actor: str) -> Team:
    """Change what people call the team. Its short name stays, because addresses and files have it. Raises Invalid."""
    name = " ".join(name.split())
    if not 0 < len(name) <= MOST_NAME:
        raise invalid("name", "This cannot be the name of a team.", f"Write 1 to {MOST_NAME} characters.")
    now = Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    old, now.name = now.name, name
    try:
        with transaction.atomic():
            now.save(update_fields=["name"])
    except IntegrityError:
        raise invalid("name", f"Another team already has the name “{name}”.", "Choose another one.") from None
    if old != name:
        _log(now, actor, "team renamed", old=old, new=name)
    return now


@transaction.atomic
def add_team_member(*, team: Team, user: User, role: str, actor: str) -> TeamMember:
    """Make ``user`` a member, or change a member's role.

    Raises Invalid for an unknown role, for the last owner, and for a user who is not a researcher.
    """
    refuse_role(role)
    refuse_outsider(user)
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    member = TeamMember.objects.filter(team=team, user=user).first()
    old = member.role if member else None
    if member is None:
        for study in _coded_only_with_team(team, user):
            allow_member_work(study=study, user=user)
        member = TeamMember.objects.create(team=team, user=user, role=role)
    elif old != role:
        if old == MemberRole.OWNER:
            _refuse_last_owner(team, user)
        member.role = role
        member.save(update_fields=["role"])
    if old != role:
        _log(team, actor, "team member added", user=user.get_username(), old=old, new=role)
    return member


@transaction.atomic
def remove_team_member(*, team: Team, user: User, actor: str) -> None:
    """Remove ``user`` from the team. Does nothing if they are not a member. Raises Invalid for the last owner.

    In studies of the team in which they are a member themselves, they stay one.
    """
    Team.objects.select_for_update(no_key=True).get(pk=team.pk)
    member = TeamMember.objects.filter(team=team, user=user).first()
    if member is None:
        return
    if member.role == MemberRole.OWNER:
        _refuse_last_owner(team, user)
    member.delete()
    for study in _coded_only_with_team(team, user):
        stop_member_work(study=study, user=user)
    _log(team, actor, "team member removed", user=user.get_username(), old=member.role, new=None)


@transaction.atomic
def delete_team(*, team: Team, actor: str) -> None:
    """Delete a team that owns nothing any more. Raises Invalid if something still belongs to it."""
    now = Team.objects.select_for_update().get(pk=team.pk)
    _log(now, actor, "team deleted", members=sorted(now.members.values_list("username", flat=True)))
    try:
        with transaction.atomic():
            now.delete()
    except ProtectedError as error:
        kinds = sorted({plural_of(str(row._meta.verbose_name)) for row in error.protected_objects})
        what = f"The team {team.name} still owns {' and '.join(kinds)}."
        raise invalid("team", what, "Move or delete them first.") from None


@transaction.atomic
def set_team(*, study: Study, team: Team | None, actor: str) -> Study:
    """Make the study a team's, or nobody's but its members'. Returns the study as stored.

    The caller has checked that the user may add studies to this team. Raises Invalid if nobody would own the study.
    """
    now = Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    old = now.team
    if old == team:
        return now
    if team is None and not Membership.objects.filter(study=now, role=MemberRole.OWNER).exists():
        raise invalid("team", "Without its team, this study has no owner.", "Add an owner under Members first.")
    coders = User.objects.filter(pk__in=[coder.user_id for coder in coders_of(now)])
    members_before = set(members_of(now))
    now.team = team
    now.save(update_fields=["team"])
    members_after = set(members_of(now))
    for user in coders:
        if user in members_before - members_after:
            stop_member_work(study=now, user=user)
        elif user in members_after - members_before:
            allow_member_work(study=now, user=user)
    record(study=now, actor=actor, action="change team", old=old.slug if old else None, new=team.slug if team else None)
    return now


def _coded_only_with_team(team: Team, user: User) -> list[Study]:
    """The team's studies in which the user does members' work without being a member of the study itself."""
    coded = Participant.objects.filter(worker__platform=identity.MEMBER, worker__platform_id=str(user.pk))
    studies = Study.objects.filter(team=team, pk__in=coded.values("study"))
    return list(studies.exclude(pk__in=Membership.objects.filter(user=user).values("study")))


def _refuse_last_owner(team: Team, user: User) -> None:
    if not TeamMember.objects.filter(team=team, role=MemberRole.OWNER).exclude(user=user).exists():
        what = f"{user.get_username()} is the only owner of this team."
        raise invalid("user", what, "Make somebody else an owner first.")


def _log(team: Team, actor: str, action: str, **detail: Any) -> None:
    server_log.record(kind=Kind.TEAMS, actor=actor, action=action, about=team.slug, **detail)
