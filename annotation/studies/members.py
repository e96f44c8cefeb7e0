"""Who belongs to a study. The last owner cannot be removed, because somebody must be able to add others.

The owners of the study's team count as its owners.
"""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from accounts.models import TeamMember
from accounts.roles import is_researcher
from annotation.access import members_of
from annotation.audit import record
from annotation.models import Membership, Study
from annotation.work.member_work import allow_member_work, stop_member_work
from common.problems import invalid

Role = Membership.Role


@transaction.atomic
def add_member(*, study: Study, user: User, role: str, actor: str) -> Membership:
    """Make ``user`` a member, or change a member's role.

    Raises Invalid for an unknown role, for the last owner, and for a user who is not a researcher.
    """
    refuse_role(role)
    refuse_outsider(user)
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    member = Membership.objects.filter(study=study, user=user).first()
    old = member.role if member else None
    if member is None:
        if not members_of(study).filter(pk=user.pk).exists():
            allow_member_work(study=study, user=user)
        member = Membership.objects.create(study=study, user=user, role=role)
    elif old != role:
        if old == Role.OWNER:
            _refuse_last_owner(study, user)
        member.role = role
        member.save(update_fields=["role"])
    if old != role:
        record(study=study, actor=actor, action="add member", user=user.get_username(), old=old, new=role)
    return member


@transaction.atomic
def remove_member(*, study: Study, user: User, actor: str) -> None:
    """Remove ``user`` from the study. Does nothing if they are not a member. Raises Invalid for the last owner."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    member = Membership.objects.filter(study=study, user=user).first()
    if member is None:
        return
    if member.role == Role.OWNER:
        _refuse_last_owner(study, user)
    member.delete()
    if not members_of(study).filter(pk=user.pk).exists():
        stop_member_work(study=study, user=user)
    record(study=study, actor=actor, action="remove member", user=user.get_username(), old=member.role, new=None)


def refuse_role(role: str) -> None:
    """Raises Invalid for a role that does not exist."""
    if role not in Role.values:
        raise invalid("role", f"There is no role “{role[:40]}”.", f"Choose one of {', '.join(Role.values)}.")


def refuse_outsider(user: User) -> None:
    """Raises Invalid for a user who cannot open the console."""
    if not is_researcher(user):
        what = f"{user.get_username()} is not a researcher, so cannot open the console."
        raise invalid("user", what, f"An administrator can change that: manage.py user grant {user.get_username()}")


def _refuse_last_owner(study: Study, user: User) -> None:
    others = Membership.objects.filter(study=study, role=Role.OWNER).exclude(user=user)
    if not others.exists() and not TeamMember.objects.filter(team__studies=study, role=Role.OWNER).exists():
        what = f"{user.get_username()} is the only owner of this study."
        raise invalid("user", what, "Make somebody else an owner first.")
