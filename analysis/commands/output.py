"""How commands print figures: all use the same JSON structure."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from analysis.estimate import Estimate


@dataclass(frozen=True, slots=True)
class Outcome:
    """What a command found.

    ``settings``: all options, including defaults. ``data``: counts of the data used. ``estimates``: figures with their
    intervals. ``figures``: figures without an interval, such as a threshold.
    """

    command: str
    file: str
    settings: Mapping[str, Any]
    data: Mapping[str, Any]
    estimates: Mapping[str, Estimate]
    figures: Mapping[str, Any] = field(default_factory=dict)


def print_json(found: Outcome) -> None:
    """Print the six fields of `Outcome`. Undefined values are null."""
    whole = {
        "command": found.command,
        "file": found.file,
        "settings": dict(found.settings),
        "data": dict(found.data),
        "estimates": {name: estimate.to_dict() for name, estimate in found.estimates.items()},
        "figures": dict(found.figures),
    }
    print(json.dumps(whole, ensure_ascii=False, indent=2, allow_nan=False))
