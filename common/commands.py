"""Management commands with actions: ``manage.py study publish NAME``.

A command lists its actions in ``add_actions``; each is a method with the options as keyword arguments. If something
is refused, the command prints a few lines on what to do, without a stack trace.
"""

from __future__ import annotations

import errno
import os
import sys
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from inspect import signature
from itertools import zip_longest
from pathlib import Path
from typing import Any, BinaryIO, Protocol, cast

from django.core.management.base import BaseCommand, CommandError, CommandParser, OutputWrapper
from django.db import DatabaseError

from common.files import replaced
from common.problems import Problem, Refused

MOST_PROBLEMS = 200
#: Errors of a full disk.
FULL = (errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO)


class AddAction(Protocol):
    """Adds one action and returns its parser, so that the caller can add arguments."""

    def __call__(self, name: str, summary: str, run: Callable[..., None]) -> CommandParser: ...


class ActionCommand(BaseCommand, ABC):
    """A command with actions. Subclasses define ``add_actions`` and, where needed, ``explain``."""

    @abstractmethod
    def add_actions(self, add: AddAction) -> None:
        """Call ``add(name, summary, run)`` for each action and add arguments to the parser that it returns."""

    def explain(self, error: Exception) -> CommandError | None:
        """What to tell the user about an error that this command expects; None for a bug.

        The method itself writes lines of detail (``self.complain``).
        """
        return None

    def add_arguments(self, parser: CommandParser) -> None:
        actions = parser.add_subparsers(dest="action", required=True, metavar="ACTION")

        def add(name: str, summary: str, run: Callable[..., None]) -> CommandParser:
            parser: CommandParser = actions.add_parser(name, help=summary, description=summary)
            parser.set_defaults(run=run)
            return parser

        self.add_actions(add)

    def handle(self, *args: Any, run: Callable[..., None], **options: Any) -> None:
        parameters = signature(run).parameters
        try:
            with written_out(self.stdout):
                run(**{name: value for name, value in options.items() if name in parameters})
        except CommandError:
            raise
        except KeyboardInterrupt:
            raise CommandError("Stopped.") from None
        except Exception as error:
            if explanation := self.explain(error):
                raise explanation from None
            if isinstance(error, Refused):
                self.complain(problem_lines(error.problems))
                raise CommandError("Nothing was written.") from None
            if isinstance(error, DatabaseError):
                raise CommandError(database_line(error)) from None
            if isinstance(error, OSError):
                raise CommandError(f"{error.filename or 'A file'}: {error.strerror or error}.") from None
            raise

    def say(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.stdout.write(line)

    def complain(self, lines: Iterable[str]) -> None:
        for line in lines:
            self.stderr.write(line, self.style.NOTICE)

    @contextmanager
    def output(self, name: str) -> Iterator[BinaryIO]:
        """Where to write bytes: a file that appears once it is complete or, for ``-``, standard output."""
        if name == "-":
            yield as_binary(self.stdout)
        else:
            with replaced(Path(name)) as file:
                yield file


@contextmanager
def written_out(stdout: OutputWrapper) -> Iterator[None]:
    """Flush what the block prints before it ends. A reader that stops early, such as `| head`, is not an error.

    Raises CommandError if writing to standard output fails, as on a full disk.
    """
    try:
        yield
        stdout.flush()
    except BrokenPipeError:
        _discard_output()
    except OSError as error:
        if error.filename is not None or error.errno not in FULL:
            raise
        _discard_output()
        fix = "Free some space, or write somewhere else."
        raise CommandError(f"The output could not be written: {error.strerror or error}. {fix}") from None


def _discard_output() -> None:
    """Discard the rest: Python flushes it when it exits, which would fail again."""
    os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())


def problem_lines(problems: Iterable[Problem]) -> Iterator[str]:
    """One indented line for each problem, up to MOST_PROBLEMS, and how many more there are."""
    listed = list(problems)
    yield from (f"  {problem}" for problem in listed[:MOST_PROBLEMS])
    if len(listed) > MOST_PROBLEMS:
        yield f"  … and {len(listed) - MOST_PROBLEMS:,} more."


def database_line(error: Exception) -> str:
    """Why the database failed, and what to do about it."""
    what = str(error).strip().partition("\n")[0] or type(error).__name__
    if "no such table" in what or "does not exist" in what:
        return f"The database is not set up ({what}). Run: manage.py migrate"
    return f"The database refused: {what}. Free some space or wait for whatever holds it, then try again."


def as_binary(stdout: OutputWrapper) -> BinaryIO:
    """Standard output as bytes. A replacement by a test or another program may accept only text."""
    buffer: BinaryIO | None = getattr(stdout, "buffer", None)
    return buffer or cast("BinaryIO", _TextOut(stdout))


class _TextOut:
    def __init__(self, stdout: OutputWrapper) -> None:
        self.stdout = stdout

    def write(self, data: bytes) -> int:
        self.stdout.write(data.decode(), ending="")
        return len(data)


@contextmanager
def progress_bar(
    always: bool, unit: str, *, total: int | None = None, so_far: bool = False
) -> Iterator[Callable[[int], None]]:
    """Show progress on standard error if that is a terminal, or ``always``.

    What it yields takes how many are new. With ``so_far``, it takes how many there are so far.
    """
    from tqdm import tqdm

    with tqdm(total=total, unit=f" {unit}", disable=not (always or sys.stderr.isatty())) as bar:

        def step(count: int) -> None:
            bar.update(count - bar.n if so_far else count)

        yield step


def aligned(rows: Iterable[Iterable[str]], *, most: Iterable[int] = ()) -> Iterator[str]:
    """Rows as columns of text, each as wide as its longest cell, but no wider than ``most`` if given."""
    table = [list(row) for row in rows]
    limits = list(most)
    widths = [max(map(len, column)) for column in zip(*table, strict=True)]
    widths = [min(width, limit) for width, limit in zip_longest(widths, limits[: len(widths)], fillvalue=sys.maxsize)]
    for row in table:
        yield ("  " + "  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True))).rstrip()
