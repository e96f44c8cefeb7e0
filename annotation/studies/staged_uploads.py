"""Uploaded files that wait for somebody to say how to read them: which column is which, which encoding.

They lie in MEDIA_FILES, which all web processes share, for a day at most. Only the user who uploaded a file sees it,
in the study that it was uploaded to.
"""

from __future__ import annotations

import json
import re
import secrets
import time
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from django.conf import settings
from django.contrib.auth.models import User

from annotation.models import Study
from annotation.studies.image_files import UPLOADS
from common.files import replaced, write_whole

#: Seconds that a file waits, and how many of one user wait in one study: the oldest make room.
KEPT_SECONDS, MOST_FILES = 24 * 3600, 3
LONGEST_NAME = 200
_KEY = re.compile(r"[0-9a-f]{32}")
_PIECE = 1 << 20


@dataclass(frozen=True, slots=True)
class StagedUpload:
    """A file that waits. ``name`` is the one that it had on the user's machine."""

    key: str
    name: str
    path: Path


def stage_upload(*, study: Study, user: User, file: BinaryIO, name: str) -> StagedUpload:
    """Store the file until somebody says how to read it."""
    remove_old_uploads()
    own = sorted(_folder().glob(f"{_owner(study, user)}-*.data"), key=_age)
    for path in own[MOST_FILES - 1 :]:
        _remove(path)
    key = secrets.token_hex(16)
    path = _folder() / f"{_owner(study, user)}-{key}.data"
    file.seek(0)
    with replaced(path) as copy:
        while piece := file.read(_PIECE):
            copy.write(piece)
    # The ending of the name decides how the file is read.
    shown = name if len(name) <= LONGEST_NAME else f"…{name[-LONGEST_NAME:]}"
    write_whole(path.with_suffix(".json"), json.dumps({"name": shown}))
    return StagedUpload(key, shown, path)


def staged_upload(*, study: Study, user: User, key: str) -> StagedUpload | None:
    """The file; None if it is somebody else's or no longer waits."""
    if not _KEY.fullmatch(key):
        return None
    path = _folder() / f"{_owner(study, user)}-{key}.data"
    try:
        name = json.loads(path.with_suffix(".json").read_text(encoding="utf-8"))["name"]
    except FileNotFoundError:
        return None
    return StagedUpload(key, name, path) if path.is_file() and _age(path) < KEPT_SECONDS else None


def discard_upload(upload: StagedUpload) -> None:
    """Remove the file: it was imported, or nobody wants it any more."""
    _remove(upload.path)


def remove_old_uploads() -> None:
    """Remove all files that have waited too long, and what a process left that died while it wrote one."""
    for path in _folder().iterdir():
        with suppress(FileNotFoundError):
            if _age(path) >= KEPT_SECONDS:
                path.unlink()


def _folder() -> Path:
    folder = Path(settings.MEDIA_FILES) / UPLOADS
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def _owner(study: Study, user: User) -> str:
    return f"{study.pk}-{user.pk}"


def _age(path: Path) -> float:
    return time.time() - path.stat().st_mtime


def _remove(path: Path) -> None:
    path.unlink(missing_ok=True)
    path.with_suffix(".json").unlink(missing_ok=True)
