"""Who belongs to a study. The last owner stays: somebody has to be able to let others in."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db import transaction

from annotation.models import Membership, Study
from annotation.services.audit import record
from annotation.services.refusals import FieldProblem, Invalid

Role = Membership.Role


@transaction.atomic
def add_member(*, study: Study, user: User, role: str, actor: str) -> Membership:
    """Make ``user`` a member, or give a member another role. Raises Invalid for an unknown role or the last owner."""
    if role not in Role.values:
        mend = f"Choose one of {', '.join(Role.values)}."
        raise Invalid([FieldProblem("role", f"There is no role “{role[:40]}”.", mend)])
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    member = Membership.objects.filter(study=study, user=user).first()
    old = member.role if member else None
    if member is None:
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
    """Take ``user`` out of the study; does nothing if they are not in it. Raises Invalid for the last owner."""
    Study.objects.select_for_update(no_key=True).get(pk=study.pk)
    member = Membership.objects.filter(study=study, user=user).first()
    if member is None:
        return
    if member.role == Role.OWNER:
        _refuse_last_owner(study, user)
    member.delete()
    record(study=study, actor=actor, action="remove member", user=user.get_username(), old=member.role, new=None)


def _refuse_last_owner(study: Study, user: User) -> None:
    if not Membership.objects.filter(study=study, role=Role.OWNER).exclude(user=user).exists():
        what = f"{user.get_username()} is the only owner of this study."
        raise Invalid([FieldProblem("user", what, "Make somebody else an owner first.")])
