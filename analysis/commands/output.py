"""How commands print figures: all use the same JSON structure."""

from __future__ import annotations

import argparse
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


def options_used(args: argparse.Namespace, *left_out: str) -> dict[str, Any]:
    """The options that decide the figures, by name: not the file, nor how they are printed."""
    ignored = ("command", "file", "run", "json", *left_out)
    return {name: value for name, value in vars(args).items() if name not in ignored}


def without_nan(record: Mapping[Any, Any]) -> dict[str, Any]:
    """The record in a form that JSON can hold, with records in it: None for NaN."""
    return {
        name: without_nan(value)
        if isinstance(value, dict)
        else None
        if isinstance(value, float) and value != value
        else value
        for name, value in record.items()
    }


def print_json(outcome: Outcome) -> None:
    """Print the six fields of `Outcome`. Undefined values are null."""
    record = {
        "command": outcome.command,
        "file": outcome.file,
        "settings": dict(outcome.settings),
        "data": dict(outcome.data),
        "estimates": {name: estimate.to_dict() for name, estimate in outcome.estimates.items()},
        "figures": dict(outcome.figures),
    }
    print(json.dumps(record, ensure_ascii=False, indent=2, allow_nan=False))
