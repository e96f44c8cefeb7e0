"""Suggestions asked for, taken by a process, and answered."""

from __future__ import annotations

from datetime import timedelta
from typing import Any

from django.utils import timezone

from generation.models import Suggester, Suggestion
from generation.suggestions import serving
from generation.suggestions.serving import Result

State = Suggestion.State
LATER = timedelta(seconds=10.5)
LEASE = timedelta(seconds=5)


def result(row: Suggestion, text: str = "The rain stopped at noon.", **values: Any) -> Result:
    return Result(suggestion=row.pk, text=text, why="" if text else "too short", tries=1, raw_text=f" {text}", **values)


def take_all(name: str = "p", suggester: Suggester | None = None) -> list[Suggestion]:
    model = (suggester or Suggester.objects.get()).model_id
    return serving.claim(name=name, room={model: 100}, lease=LEASE, now=timezone.now())
