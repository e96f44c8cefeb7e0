"""Who sees a run in the console: its owner, and administrators."""

from __future__ import annotations

from django.contrib.auth.models import User
from django.db.models import Q

from accounts.roles import researchers
from common.problems import Invalid, invalid, unknown
from generation.models import GenerationRun


def find_owner(name: str = "") -> User | None:
    """The researcher with this user name or e-mail address; without a name, the only administrator if there is one.

    None: no name was given, and there is no administrator or more than one. Raises Invalid for a name that matches no
    user, or more than one.
    """
    active = researchers()
    if not name:
        administrators = list(active.filter(is_superuser=True)[:2])
        return administrators[0] if len(administrators) == 1 else None
    users = list(active.filter(username=name)) or list(active.filter(~Q(email=""), email__iexact=name))
    if not users:
        raise Invalid([unknown("owner", name, active.order_by("username").values_list("username", flat=True))])
    if len(users) > 1:
        raise invalid("owner", f"{len(users)} users have the address {name}.", "Give the user name.")
    return users[0]


def has_owner(run: GenerationRun) -> bool:
    """Whether an active researcher owns the run."""
    return researchers().filter(username=run.created_by).exists()


def give_run(*, run_id: int, owner: User) -> GenerationRun:
    """Make ``owner`` the run's owner. What the run generates does not change."""
    run = GenerationRun.objects.get(pk=run_id)
    run.created_by = owner.get_username()
    run.save(update_fields=["created_by"])
    return run
