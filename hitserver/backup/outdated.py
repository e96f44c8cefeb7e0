"""Backups and copies that still contain data that were deleted later because a worker asked for it."""

from __future__ import annotations

import json
import tarfile
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from django.conf import settings

from annotation.redaction_journal import journal_entries
from hitserver.backup.archive import MANIFEST, MOST_MANIFEST_BYTES


@dataclass(frozen=True)
class Outdated:
    """A file with the number of ``deletions`` of workers' data since it was made."""

    path: Path
    made_at: datetime
    deletions: int


def outdated(folder: Path | None = None) -> list[Outdated]:
    """The backups in ``folder`` and the copies that this server made, if workers' data were deleted after them."""
    moments = [entry.at for entry in journal_entries()]
    copies = [path for path in sorted((Path(settings.VAR) / "copies").glob("*")) if path.is_file()]
    dated = [(path, datetime.fromtimestamp(path.stat().st_mtime, UTC)) for path in copies]
    for path in sorted(folder.glob("*")) if folder else []:
        made_at = _made_at(path) if path.is_file() else None
        if made_at is not None:
            dated.append((path, made_at))
    files = [Outdated(path, made_at, sum(made_at < moment for moment in moments)) for path, made_at in dated]
    return [file for file in files if file.deletions]


def deletions_since(made_at: str) -> int:
    """How many workers' data were deleted after a backup was made (an ISO date and time)."""
    moment = datetime.fromisoformat(made_at)
    return sum(moment < entry.at for entry in journal_entries())


def _made_at(path: Path) -> datetime | None:
    """When the backup was made, from its manifest; None for other files."""
    try:
        with tarfile.open(path) as tar:
            member = tar.getmember(MANIFEST)
            file = tar.extractfile(member) if member.size <= MOST_MANIFEST_BYTES else None
            return datetime.fromisoformat(json.load(file)["made_at"]) if file else None
    except (tarfile.TarError, KeyError, ValueError, OSError, EOFError):
        return None
