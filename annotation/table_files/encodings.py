"""Text files as lines: UTF-8, UTF-16 with its mark, or Windows-1252 if somebody says so."""

from __future__ import annotations

import codecs
import io
import itertools
import re
from collections.abc import Iterator
from typing import Any, BinaryIO, TextIO

from annotation.table_files.tables import (
    BAD_BYTE,
    UTF8,
    UTF16,
    WINDOWS,
    Offer,
    Preview,
    Problems,
    readable,
    refused,
)

#: Characters in one line of a file.
MAX_LINE = 4_000_000
UTF16_MARKS = (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
ENCODINGS = {UTF8: "UTF-8", WINDOWS: "Windows-1252 (Excel in Western Europe and America)"}
#: Cells that a page shows as Windows-1252 before somebody chooses it, and characters of each.
SHOWN_CELLS, SHOWN_CHARS = 8, 80
SAVE_AS_UTF8 = (
    "If the text was saved by Excel on Windows, choose the encoding windows-1252. Otherwise save it as UTF-8: in Excel "
    "“CSV UTF-8 (Comma delimited)”, in LibreOffice tick “Edit filter settings” and choose Unicode (UTF-8)."
)


class TooBig(Exception):
    pass


class LongLine(Exception):
    """A line is longer than allowed. ``args[0]`` is its number."""


class Limited(io.RawIOBase):
    """Reads another file and raises TooBig after ``limit`` bytes. Closing it leaves the other file open."""

    def __init__(self, file: BinaryIO, limit: int | None) -> None:
        self.file, self.left = file, limit

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        data = self.file.read(len(buffer))
        if self.left is not None:
            self.left -= len(data)
            if self.left < 0:
                raise TooBig
        buffer[: len(data)] = data
        return len(data)


def text_of(buffered: io.BufferedReader[Limited], encoding: str) -> TextIO:
    """The file as text. Bytes that are no text become U+DC80 … U+DCFF. Raises TableProblems for a cut UTF-16 file."""
    if encoding == UTF16:
        try:
            # Half a surrogate pair stays as it is, so that a message can name its cell.
            decoded = io.TextIOWrapper(buffered, encoding="utf-16", errors="surrogatepass", newline="").read()
        except UnicodeDecodeError:
            what = "The file says that it is UTF-16, but it ends in the middle of a character or is damaged."
            raise refused(what, "Save it again as UTF-8.") from None
        return io.StringIO(decoded, newline="")
    codec = "cp1252" if encoding == WINDOWS else "utf-8-sig"
    return io.TextIOWrapper(buffered, encoding=codec, errors="surrogateescape", newline="")


def lines_of(text: TextIO) -> Iterator[str]:
    """The lines. A parser needs far more memory than a line's text, so a line that is too long is refused."""
    for number in itertools.count(1):
        line = text.readline(MAX_LINE + 1)
        if not line:
            return
        if len(line) > MAX_LINE:
            raise LongLine(number)
        yield line


class EncodingCheck:
    """Looks at every cell that is not ASCII, and decides in the end whether the encoding can be right."""

    def __init__(self, encoding: str, problems: Problems) -> None:
        self.encoding = encoding or UTF8
        self.problems = problems
        self.bad = 0
        self._preview: list[Preview] = []
        self._like_utf8 = self._others = 0
        self._first: tuple[int, str] = (0, "")

    def look(self, number: int, column: str, cell: str) -> bool:
        """Whether the cell can be read. Otherwise its problem is recorded."""
        if self.encoding == UTF16:
            return True
        if self.encoding == WINDOWS:
            try:
                cell.encode("cp1252").decode()
            except UnicodeError:
                self._others += 1
            else:
                self._first = self._first if self._like_utf8 else (number, cell)
                self._like_utf8 += 1
        elif len(self._preview) < SHOWN_CELLS:
            self._preview.append(Preview(number, _as_windows(column), _as_windows(cell)))
        bad = BAD_BYTE.search(cell)
        if bad is None:
            return True
        self.bad += 1
        byte = bytes([ord(bad[0]) - 0xDC00])
        around = readable(cell[max(0, bad.start() - 12) : bad.start() + 12])
        position = f"at character {bad.start() + 1} of this cell, in “{around}”."
        if self.encoding == WINDOWS:
            what = f"Byte 0x{byte[0]:02X} is no character in Windows-1252, {position}"
            fix = "The file has another encoding. Open it in the program that made it, and save it as UTF-8."
            self.problems.add(number, readable(column), what, fix)
            return False
        letter = byte.decode("cp1252", "replace")
        hint = f" (in Windows-1252 it is “{letter}”)" if letter.isprintable() and letter != "�" else ""
        what = f"Not UTF-8: byte 0x{byte[0]:02X}{hint} {position}"
        self.problems.add(number, readable(column), what, SAVE_AS_UTF8)
        return False

    def finish(self) -> None:
        """Records that the whole file has another encoding than somebody chose."""
        if self._like_utf8 and not self._others:
            number, cell = self._first
            what = (
                f"The file is UTF-8, not Windows-1252: all of its letters beyond ASCII are. Row {number:,} would begin "
                f"with “{cell[:30]}” instead of “{cell.encode('cp1252').decode()[:30]}”."
            )
            self.problems.add(0, "", what, "Read it as UTF-8: leave the encoding out.")

    @property
    def offer(self) -> Offer | None:
        """To read the file as Windows-1252, with the first cells as they would be then."""
        if self.encoding == WINDOWS or not self.bad:
            return None
        return Offer("encoding", [(WINDOWS, ENCODINGS[WINDOWS])], self._preview)


def _as_windows(text: str) -> str:
    bytes_of_cell = text.encode("utf-8", "surrogateescape")
    start = max(0, min((match.start() for match in re.finditer(rb"[\x80-\xff]", bytes_of_cell)), default=0) - 30)
    shown = bytes_of_cell.decode("cp1252", "replace")[start:]
    return f"{'…' if start else ''}{shown[:SHOWN_CHARS]}{'…' if len(shown) > SHOWN_CHARS else ''}"
