"""Which role in a study each kind of request needs: the same as the console's pages."""

from __future__ import annotations

from collections.abc import Collection

from django.contrib.auth.models import User
from django.http import Http404

from annotation.access import Role, study_for
from annotation.models import Study

EDITS = Role.EDITOR
#: Sees what is owed, and records what was paid elsewhere.
SEES_PAYMENTS = (Role.EDITOR, Role.PAYER)
#: Spends money on a platform, or decides that work is paid.
PAYS = Role.PAYER
#: Ends what the study offers, writes to its workers, and reads their ids.
MANAGES = Role.OWNER


def can(user: User, study: Study, role: str | Collection[str]) -> bool:
    """Whether the user can do in the study what somebody with this role can."""
    try:
        study_for(user, study.slug, role)
    except Http404:
        return False
    return True
