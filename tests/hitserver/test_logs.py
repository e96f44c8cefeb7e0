import logging
import sys

import pytest

from hitserver.logs import OneLineFormatter, PrivateFormatter


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


@pytest.mark.parametrize(
    ("message", "logged"),
    [
        ("Conflict: /w/1.abc_DEF-9/", "Conflict: /w/…/"),
        ("Not Found: /w/1.abc/draft", "Not Found: /w/…/draft"),
        ("GET /w/1.abc", "GET /w/…"),
        ("null value\nDETAIL:  Failing row contains (1, what I think).\nmore", "null value\nDETAIL:…\nmore"),
        ("Not Found: /console/", "Not Found: /console/"),
    ],
)
def test_tokens_and_answers_are_left_out(message: str, logged: str) -> None:
    assert PrivateFormatter("%(message)s").format(record(message)) == logged
    assert OneLineFormatter("%(message)s").format(record(message)) == logged.replace("\n", "\\n")
