"""The journal of redactions: ``VAR/redactions.jsonl``, a file outside the database. Needs no tables.

It has one line per redacted participant: the numbers of the participant and the study, and the time. It contains
nothing about the person. When the file changes, other processes notice that items have changed. After a backup was
restored, it lists whom to redact again.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from django.conf import settings

NAME = "redactions.jsonl"


@dataclass(frozen=True, slots=True)
class Entry:
    """A line of the journal."""

    participant: int
    study: int
    at: datetime


def journal() -> Path:
    """The file to which each redaction appends (``people.redacting_files``)."""
    return Path(settings.VAR) / NAME


def journal_entries() -> Iterator[Entry]:
    """Everything in the journal, oldest first."""
    path = journal()
    for line in path.read_text().splitlines() if path.exists() else []:
        fields = json.loads(line)
        yield Entry(fields["participant"], fields["study"], datetime.fromisoformat(fields["at"]))
