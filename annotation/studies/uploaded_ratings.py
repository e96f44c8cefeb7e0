"""A file of ratings that somebody uploads, as a path that its reader can open. Folders come as zip files."""

from __future__ import annotations

import tempfile
import zipfile
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from pathlib import Path, PurePosixPath

from annotation.studies.importing_ratings import TOOLS
from common.problems import invalid

#: What is read. Everything else is refused before it is stored.
SUFFIXES = (".json", ".jsonl", ".csv", ".tsv", ".parquet", ".zip")
MOST_BYTES = 300_000_000
MOST_FILES = 10_000


@contextmanager
def saved_ratings(pieces: Iterable[bytes], name: str) -> Iterator[Path]:
    """The file, or the folder that a zip file contains, as long as the block runs. Raises Invalid."""
    suffix = PurePosixPath(name).suffix.lower()
    if suffix not in SUFFIXES:
        what = f"{name[:80]} cannot be read: its name ends in none of {', '.join(SUFFIXES)}."
        raise invalid("file", what, f"Choose the file that {TOOLS} exported, or zip the folder.")
    with tempfile.TemporaryDirectory(prefix="ratings-") as folder:
        path = Path(folder) / f"ratings{suffix}"
        with path.open("wb") as file:
            file.writelines(pieces)
        yield path if suffix != ".zip" else _unpacked(path, Path(folder) / "unpacked", name)


def _unpacked(path: Path, target: Path, name: str) -> Path:
    """The folder in a zip file, without the folders around it that contain nothing else."""
    try:
        with zipfile.ZipFile(path) as packed:
            infos = packed.infolist()
            if len(infos) > MOST_FILES or sum(info.file_size for info in infos) > MOST_BYTES:
                fix = "Leave out what holds no annotations."
                raise invalid("file", f"{name[:80]} contains over {MOST_FILES:,} files or over 300 MB.", fix)
            packed.extractall(target)
    except (zipfile.BadZipFile, NotImplementedError, RuntimeError, OSError):
        raise invalid("file", f"{name[:80]} is no zip file, or it is damaged.", "Zip the folder again.") from None
    while len(children := [child for child in target.iterdir() if child.name != "__MACOSX"]) == 1:
        if not children[0].is_dir() or any(children[0].glob("user_state.json")):
            break
        if any(children[0].glob("annotated_instances.jsonl")):
            break
        target = children[0]
    return target if len(children) != 1 or children[0].is_dir() else children[0]
