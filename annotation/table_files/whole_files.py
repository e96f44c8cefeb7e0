"""Files that must be read at any place: workbooks, Parquet, archives. Their size when unpacked is bounded."""

from __future__ import annotations

import lzma
import tempfile
import zipfile
import zlib
from collections.abc import Iterator
from contextlib import contextmanager
from typing import BinaryIO

from annotation.table_files.encodings import TooBig
from annotation.table_files.tables import TableProblems, refused

#: Bytes of all files of an archive, unpacked, and how many there may be.
MAX_UNPACKED, MAX_MEMBERS = 300_000_000, 5_000
#: Characters of all cells: a file that is packed can repeat a long text a million times.
MAX_TEXT = 200_000_000
OLE = b"\xd0\xcf\x11\xe0\xa1\xb1\x1a\xe1"
_PIECE = 1 << 20
_ENCRYPTED = 0x1


class TextBudget:
    """Counts characters, and raises TableProblems if they are more than memory should hold."""

    def __init__(self) -> None:
        self.left = MAX_TEXT

    def spend(self, characters: int) -> None:
        self.left -= characters
        if self.left < 0:
            what = f"The cells contain more than {MAX_TEXT:,} characters when the file is unpacked."
            raise refused(what, "Remove columns that the study does not need, or split the file.")


@contextmanager
def seekable(file: BinaryIO, limit: int | None) -> Iterator[BinaryIO]:
    """The file, or a copy of one that cannot be read twice. Raises TooBig above ``limit`` bytes."""
    if file.seekable():
        start = file.tell()
        size = file.seek(0, 2) - start
        file.seek(start)
        if limit is not None and size > limit:
            raise TooBig
        yield file
        return
    with tempfile.TemporaryFile() as copy:
        while piece := file.read(_PIECE):
            copy.write(piece)
            if limit is not None and copy.tell() > limit:
                raise TooBig
        copy.seek(0)
        yield copy


@contextmanager
def opened_archive(file: BinaryIO, *, damaged: TableProblems) -> Iterator[zipfile.ZipFile]:
    """The archive. Raises ``damaged`` if it is none, and TableProblems if it is too large or has a password."""
    try:
        archive = zipfile.ZipFile(file)
    except (zipfile.BadZipFile, ValueError, NotImplementedError, OSError):
        raise damaged from None
    with archive:
        members = archive.infolist()
        if len(members) > MAX_MEMBERS:
            what = f"The file contains {len(members):,} files. The limit is {MAX_MEMBERS:,}."
            raise refused(what, "Keep only the files with the rows.")
        if sum(member.file_size for member in members) > MAX_UNPACKED:
            what = f"Unpacked, the file is larger than {MAX_UNPACKED // 10**6:,} MB."
            raise refused(what, "Remove what the study does not need, or split it.")
        if any(member.flag_bits & _ENCRYPTED for member in members):
            raise refused("The file is protected by a password.", "Save it without a password.")
        try:
            yield archive
        except (zipfile.BadZipFile, EOFError, NotImplementedError, zlib.error, lzma.LZMAError) as error:
            raise damaged from error
