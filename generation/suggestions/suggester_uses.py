"""Suggesters in use: a user, such as a live study, holds a suggester, and it stays as it was until the user is done.

What may still change is whether a suggester is active (an inactive one answers from its pool, which is recorded) and
what its pool contains.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from django.db import transaction
from django.utils import timezone

from common.problems import Problem, Refused, refuse_if_any, unknown
from generation.models import Suggester, SuggesterUse

_SNAPSHOT = (
    *("decoder", "limits", "template", "priming", "least_characters", "most_characters", "word_list"),
    *("wait_seconds", "tries"),
)
_OF_MODEL = ("name", "backend", "source", "revision", "dtype", "chat", "options")


class InUse(Refused):
    """The suggester is in use, and this would change what its writers get."""


def snapshot_of(suggester: Suggester) -> dict[str, Any]:
    """Model, decoder, limits, template and rules, as they are now."""
    model = {name: getattr(suggester.model, name) for name in _OF_MODEL}
    return {"model": model} | {name: getattr(suggester, name) for name in _SNAPSHOT}


@transaction.atomic
def hold_suggesters(*, names: Iterable[str], user: str) -> None:
    """Hold these suggesters for ``user`` as they are now. Calling this again changes nothing. Raises Invalid."""
    requested = list(dict.fromkeys(names))
    rows = Suggester.objects.select_for_update(of=("self",), no_key=True).select_related("model")
    suggesters = {row.name: row for row in rows.filter(name__in=requested).order_by("pk")}
    existing = Suggester.objects.order_by("name").values_list("name", flat=True)
    refuse_if_any([unknown("suggester", name, existing) for name in requested if name not in suggesters])
    SuggesterUse.objects.bulk_create(
        (SuggesterUse(suggester=row, user=user, snapshot=snapshot_of(row)) for row in suggesters.values()),
        ignore_conflicts=True,
    )


def release_suggesters(*, user: str) -> int:
    """Release what ``user`` holds. Returns how many suggesters."""
    return SuggesterUse.objects.filter(user=user, ended_at=None).update(ended_at=timezone.now())


def users_of(suggester: Suggester) -> list[str]:
    """The users that hold it now."""
    return list(SuggesterUse.objects.filter(suggester=suggester, ended_at=None).values_list("user", flat=True))


def refuse_changes_in_use(suggester: Suggester, before: Mapping[str, Any]) -> None:
    """Raises InUse if a suggester in use differs from its snapshot ``before``. Lock its row before you call this."""
    now = snapshot_of(suggester)
    changed = [name for name in now if now[name] != before[name]]
    users = users_of(suggester) if changed else []
    if users:
        what = f"Suggester {suggester.name} is used by {', '.join(users)}, which is live."
        if len(users) > 1:
            what = f"Suggester {suggester.name} is used by {', '.join(users)}, which are live."
        raise InUse([Problem(name, what, "Make another suggester, or close the study first.") for name in changed])
