"""Files that get their name only once they are complete."""

from __future__ import annotations

import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import BinaryIO


@contextmanager
def replaced(path: Path) -> Iterator[BinaryIO]:
    """A file to write to. It replaces ``path`` when the block ends without an error; otherwise nothing changes.

    Raises FileNotFoundError if the folder is missing, IsADirectoryError if ``path`` is a folder.
    """
    if path.is_dir():
        raise IsADirectoryError(21, "is a folder; name a file in it", str(path))
    if not path.parent.is_dir():
        raise FileNotFoundError(2, f"there is no folder {path.parent}", str(path))
    draft = path.with_name(f".{path.name}.{os.getpid()}.{secrets.token_hex(4)}")
    try:
        with draft.open("xb") as file:
            yield file
        draft.replace(path)
    finally:
        draft.unlink(missing_ok=True)


def write_whole(path: Path, data: str | bytes) -> None:
    """Replace ``path`` with ``data`` (text as UTF-8). A reader finds the old file or the new one, never half of it."""
    with replaced(path) as file:
        file.write(data.encode() if isinstance(data, str) else data)
