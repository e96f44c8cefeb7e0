import logging
import sys

from hitserver.logs import OneLineFormatter


def record(message: str, *, failed: bool = False) -> logging.LogRecord:
    return logging.LogRecord("x", logging.ERROR, "x.py", 1, message, None, sys.exc_info() if failed else None)


def test_a_traceback_stays_on_its_line() -> None:
    try:
        raise ValueError("two\nlines")
    except ValueError:
        line = OneLineFormatter("%(message)s").format(record("failed", failed=True))

    assert "\n" not in line
    assert line.startswith(r"failed\nTraceback (most recent call last):\n")
    assert line.endswith(r"ValueError: two\nlines")


def test_a_line_cannot_be_forged() -> None:
    assert OneLineFormatter("%(message)s").format(record("a\r\nb\\n")) == r"a\r\nb\\n"
