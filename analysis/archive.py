"""Read files from a folder or a zip archive that someone else may have made, without trusting sizes or names."""

from __future__ import annotations

import stat
import zipfile
import zlib
from collections.abc import Iterable
from pathlib import Path, PurePosixPath

MEGABYTE = 1 << 20
#: The most bytes that one file, or all files together, may unpack to. A million ratings need about 100 MB.
MOST_BYTES = 512 * MEGABYTE
#: CSV and JSON shrink to between a tenth and a fiftieth of their size. A file that shrinks to less than one part in
#: this many is meant to fill the memory.
MOST_SHRUNK = 250
#: Smaller files may shrink to any size.
SHRUNK_MATTERS = 8 * MEGABYTE


class ArchiveError(ValueError):
    """Files that cannot be read, or that are unsafe to unpack. ``str()`` names the file and the reason."""


def read_files(path: Path, names: Iterable[str]) -> dict[str, bytes]:
    """The contents of those ``names`` that exist in a folder or zip archive.

    Raises ArchiveError: no such folder or file, not a zip archive, damaged or encrypted, too large once unpacked, or a
    zip archive with a path that leads out of it, a link, or a name twice. Nothing is written to the disk.
    """
    try:
        if path.is_dir():
            return _from_folder(path, names)
        with zipfile.ZipFile(path) as archive:
            return _from_zip(archive, names)
    except FileNotFoundError:
        raise ArchiveError("there is no such file or folder") from None
    except zipfile.BadZipFile as error:
        raise ArchiveError(f"it is neither a folder nor a valid zip archive ({error})") from None
    except (zlib.error, EOFError):
        raise ArchiveError("the zip archive is damaged") from None
    except (RuntimeError, NotImplementedError) as error:
        raise ArchiveError(f"the zip archive cannot be unpacked: {error}") from None
    except OSError as error:
        raise ArchiveError(f"it cannot be read ({error.strerror or error})") from None


def _from_folder(folder: Path, names: Iterable[str]) -> dict[str, bytes]:
    contents, bytes_left = {}, MOST_BYTES
    for name in names:
        file = folder / name
        if not file.is_file():
            continue
        _refuse_large(name, file.stat().st_size, bytes_left)
        contents[name] = file.read_bytes()
        bytes_left -= len(contents[name])
    return contents


def _from_zip(archive: zipfile.ZipFile, names: Iterable[str]) -> dict[str, bytes]:
    members = {}
    for member in archive.infolist():
        name = member.filename
        path = PurePosixPath(name.replace("\\", "/"))
        if path.is_absolute() or ".." in path.parts or ":" in name.partition("/")[0]:
            raise ArchiveError(f"the zip archive holds “{name[:80]}”, which leads out of it")
        if stat.S_ISLNK(member.external_attr >> 16):
            raise ArchiveError(f"the zip archive holds a link, “{name[:80]}”")
        if member.filename in members:
            raise ArchiveError(f"the zip archive holds “{member.filename}” twice")
        members[member.filename] = member
    contents, bytes_left = {}, MOST_BYTES
    for name in names:
        if name in members:
            _refuse_large(name, members[name].file_size, bytes_left, packed=members[name].compress_size)
            # zipfile itself stops at the size that the archive declares, and then finds a wrong checksum.
            contents[name] = archive.read(members[name])
            bytes_left -= len(contents[name])
    return contents


def _refuse_large(name: str, size: int, bytes_left: int, *, packed: int | None = None) -> None:
    if size > bytes_left:
        most = MOST_BYTES // MEGABYTE
        raise ArchiveError(f"{name} has {size // MEGABYTE:,} MB unpacked; all files together may have {most:,} MB")
    if packed is not None and size > SHRUNK_MATTERS and size > MOST_SHRUNK * max(1, packed):
        raise ArchiveError(f"{name} unpacks to {size // max(1, packed):,} times its size, more than any study's data")
