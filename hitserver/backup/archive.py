"""The backup file: a compressed tar archive whose last member lists the others with their checksums."""

from __future__ import annotations

import hashlib
import io
import json
import shutil
import tarfile
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, nullcontext
from pathlib import Path, PurePosixPath
from typing import IO, Any

from common.files import replaced
from common.problems import Problem, invalid, refuse_if_any

MANIFEST = "manifest.json"
FORMAT = 1
MOST_MANIFEST_BYTES = 256 * 1024 * 1024
BLOCK = 1 << 20


class _Hashed(io.RawIOBase):
    """Passes a file through and computes its checksum."""

    def __init__(self, file: IO[bytes]) -> None:
        self.file, self.sum = file, hashlib.sha256()

    def readable(self) -> bool:
        return True

    def read(self, size: int = -1) -> bytes:
        data = self.file.read(size)
        self.sum.update(data)
        return data


class Writer:
    """Adds files to an archive. ``finish`` writes the manifest and must be called last."""

    def __init__(self, tar: tarfile.TarFile) -> None:
        self._tar = tar
        self.members: dict[str, dict[str, Any]] = {}

    def add(self, name: str, path: Path) -> None:
        with path.open("rb") as file:
            self._add(name, file, path.stat().st_size)

    def add_text(self, name: str, text: str) -> None:
        data = text.encode()
        self._add(name, io.BytesIO(data), len(data))

    def finish(self, facts: dict[str, Any]) -> None:
        self.add_text(MANIFEST, json.dumps({"format": FORMAT, **facts, "members": self.members}, indent=1))

    def _add(self, name: str, file: IO[bytes], size: int) -> None:
        """Adds the first ``size`` bytes of a file, which may grow in the meantime. A file that shrinks is an error."""
        member = tarfile.TarInfo(name)
        member.size, member.mode, member.mtime = size, 0o600, int(time.time())
        hashed = _Hashed(file)
        self._tar.addfile(member, hashed)
        self.members[name] = {"bytes": size, "sha256": hashed.sum.hexdigest()}


@contextmanager
def writing(path: Path) -> Iterator[Writer]:
    """An archive that appears at ``path`` once it is complete. Only its owner can read it."""
    with replaced(path) as file:
        Path(file.name).chmod(0o600)
        with tarfile.open(fileobj=file, mode="w:gz", compresslevel=3) as tar:
            yield Writer(tar)


def unpack(
    path: Path, folder: Path, *, wanted: Callable[[str], bool] = lambda name: True, least_free: int = 0
) -> dict[str, Any]:
    """Writes the members into the folder and returns the manifest. Raises Invalid unless they match the manifest.

    Of members that are not ``wanted``, only the checksum is compared. Raises Invalid before it writes a member that
    would leave less than ``least_free`` bytes on the disk.
    """
    unpacked: dict[str, dict[str, Any]] = {}
    try:
        with tarfile.open(path, mode="r:gz") as tar:
            for member in tar:
                write = member.name == MANIFEST or wanted(member.name)
                if write and least_free and shutil.disk_usage(folder).free - member.size < least_free:
                    what = f"Unpacking {member.name[:100]} ({member.size / 1000**3:,.2f} GB) would fill the disk."
                    raise invalid(path.name, what, "Add space, or delete old backups and copies.")
                unpacked[member.name] = _read_member(tar, member, folder, write=write)
    except (tarfile.TarError, EOFError, OSError, ValueError) as error:
        if isinstance(error, OSError) and error.filename:
            raise
        reason = str(error) or "it ends too early"
        raise invalid(path.name, f"This is not a complete backup: {reason}.", "Use another copy.") from None
    file = folder / MANIFEST
    if not file.is_file() or file.stat().st_size > MOST_MANIFEST_BYTES:
        raise invalid(path.name, f"This is not a complete backup: {MANIFEST} is missing.", "Use another copy.")
    manifest = json.loads(file.read_text())
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        what = f"This backup does not have the format {FORMAT}."
        raise invalid(path.name, what, "Restore it with the version of HITServer that made it.")
    unpacked.pop(MANIFEST, None)
    listed = manifest["members"]
    refuse_if_any(
        [
            Problem(path.name, f"{name[:200]} is damaged or missing.", "Use another copy.")
            for name in sorted(listed.keys() | unpacked.keys())
            if listed.get(name) != unpacked.get(name)
        ]
    )
    return manifest


def _read_member(tar: tarfile.TarFile, member: tarfile.TarInfo, folder: Path, *, write: bool) -> dict[str, Any]:
    parts = PurePosixPath(member.name).parts
    if not member.isreg() or member.name.startswith("/") or ".." in parts or not parts:
        raise ValueError(f"it holds “{member.name[:100]}”, which does not belong in a backup")
    target = folder.joinpath(*parts)
    if write:
        target.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
    content = tar.extractfile(member)
    if content is None:
        raise ValueError(f"“{member.name[:100]}” has no content")
    checksum = hashlib.sha256()
    with target.open("xb") if write else nullcontext() as file:
        while data := content.read(BLOCK):
            checksum.update(data)
            if file is not None:
                file.write(data)
    return {"bytes": member.size, "sha256": checksum.hexdigest()}
