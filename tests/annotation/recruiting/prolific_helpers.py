"""Two participants, a study with the usual terms on Prolific, and the command that publishes it."""

from __future__ import annotations

import io
from decimal import Decimal
from typing import Any

from django.core.management import CommandError, call_command

from annotation.models import Study
from tests.factories import make_study

ANN, BEN = "a" * 24, "b" * 24


def draft(**values: Any) -> Study:
    defaults: dict[str, Any] = {"items": 3, "ratings_per_item": 2, "reward": Decimal("1.25"), "estimated_minutes": 5}
    return make_study(**defaults | values)


def run(*arguments: str) -> str:
    """What the command prints. Raises CommandError with all of it."""
    out = io.StringIO()
    try:
        call_command("study", *arguments, stdout=out, stderr=out)
    except CommandError as error:
        raise CommandError(f"{out.getvalue()} {error}".replace("\n", " ")) from None
    return out.getvalue()
