"""The processes that hold models, whatever they use them for."""

from __future__ import annotations

from django.db.models import QuerySet
from django.utils import timezone

from generation.models import ModelWorker
from generation.services.presence import ALIVE_FOR


def workers_alive() -> QuerySet[ModelWorker]:
    """Those heard of within the last half minute."""
    return ModelWorker.objects.filter(seen_at__gte=timezone.now() - ALIVE_FOR).order_by("role", "name")
