"""The server's log: who signed in, and who changed users, models and runs. ``LogEntry`` rows are never changed."""

from __future__ import annotations

import json
from typing import Any

from django.core.serializers.json import DjangoJSONEncoder
from django.db.models import QuerySet
from django.http import HttpRequest
from django.utils import timezone

from accounts.models import LogEntry
from common import brake

Kind = LogEntry.Kind


def record(
    *, kind: str, actor: str, action: str, about: str = "", request: HttpRequest | None = None, **detail: Any
) -> LogEntry:
    """Appends one entry, in the same transaction as the change. ``detail`` can hold anything that JSON can."""
    return LogEntry.objects.create(
        at=timezone.now(),
        kind=kind,
        actor=actor[:150],
        action=action,
        about=about[:150],
        address=address_of(request) if request is not None else "",
        detail=json.loads(json.dumps(detail, cls=DjangoJSONEncoder)),
    )


def entries(kind: str = "") -> QuerySet[LogEntry]:
    """The entries of one kind, or of all kinds if ``kind`` is empty or unknown. Newest first."""
    rows = LogEntry.objects.filter(kind=kind) if kind in Kind.values else LogEntry.objects.all()
    return rows.order_by("-pk")


def address_of(request: HttpRequest) -> str:
    """The network address that a request came from, as the log stores it."""
    return brake.address_of(request)[:60]
