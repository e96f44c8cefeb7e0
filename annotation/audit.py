"""Who did what to a study, and when. Every service that changes a study calls this in its transaction."""

from __future__ import annotations

import json
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder

from annotation.models import AuditEntry, Study


def record(*, study: Study, actor: str, action: str, **detail: Any) -> AuditEntry:
    """Append one entry. ``detail`` contains old and new values that JSON can store; money is text."""
    return AuditEntry.objects.create(study=study, actor=actor[:150], action=action, detail=jsonable(detail))


def jsonable(value: Any) -> Any:
    """``value`` as a JSON column returns it: tuples as lists, decimals and dates as text."""
    return json.loads(json.dumps(value, cls=DjangoJSONEncoder))
