"""Model servers that cannot answer now: since when, why, and when they are asked again.

It is the server's state and not a run's: one worker finds out for all chunks of all runs.
"""

from __future__ import annotations

from datetime import datetime, timedelta

from django.db import transaction

from generation.backends.base import ServerAway
from generation.models import LanguageModel

#: A pause is as long as the server has been away so far, within these limits, or as long as the server says.
SHORTEST, LONGEST = timedelta(seconds=5), timedelta(minutes=5)


@transaction.atomic
def note_away(*, model_id: int, error: ServerAway, answered: bool, now: datetime) -> None:
    """Record that the server cannot answer. ``answered``: it has just answered others, so it has not been away long."""
    model = LanguageModel.objects.select_for_update(no_key=True).get(pk=model_id)
    since = model.away_since if model.away_since and not answered else now
    pause = max(min(max(now - since, SHORTEST), LONGEST), timedelta(seconds=error.pause))
    LanguageModel.objects.filter(pk=model_id).update(away_since=since, away_until=now + pause, away_message=str(error))


def note_back(*, model_id: int) -> None:
    """Record that the server answers."""
    away = LanguageModel.objects.filter(pk=model_id, away_since__isnull=False)
    away.update(away_since=None, away_until=None, away_message="")
