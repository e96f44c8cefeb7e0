"""The format of log lines, and what they must not show."""

import logging
import re

from gunicorn.glogging import Logger

#: Parts of addresses that are secrets: anyone who knows one can act as the worker or user it was made for. Pages below
#: these paths have the secret directly after the path. A test compares the list with the server's own addresses.
SECRET_PATHS = (
    "w",
    "p",
    "marketplace/join",
    "marketplace/sign-in/link",
    "marketplace/operate/welcome",
    "marketplace/files",
    "marketplace/frame",
)
#: Parameters of addresses that are secrets: the key of a personal link, a simulated worker's token.
SECRET_PARAMETERS = ("k", "bot", "assignmentId", "workerId")

_SLASH = "(?:/|%2[Ff])"
_PATHS = "|".join(path.replace("/", _SLASH) for path in SECRET_PATHS)
#: Keeps what comes before a secret and removes the secret. PostgreSQL repeats a refused row, including the answers.
_PRIVATE = re.compile(
    rf"(?P<path>{_SLASH}(?:{_PATHS}){_SLASH})(?:(?!%2[Ff])[^/\s'\"?])+"
    rf"|(?P<parameter>(?:[?&]|%3[Ff]|%26)(?:{'|'.join(SECRET_PARAMETERS)})(?:=|%3[Dd]))(?:(?!%26)[^&\s'\"])+"
    r"|(?P<token>\bhits_)[\w-]{16,}"
    r"|(?P<detail>DETAIL:).*"
)


def masked(text: str) -> str:
    """The text without the secrets in addresses and refused rows."""
    return _PRIVATE.sub(lambda found: f"{found[found.lastgroup or 0]}…", text)


class PrivateFormatter(logging.Formatter):
    """Removes secrets in addresses and rows that the database refused."""

    def format(self, record: logging.LogRecord) -> str:
        return masked(super().format(record))


class OneLineFormatter(PrivateFormatter):
    """One line per event, even with tracebacks and forged line breaks, for collectors that read line by line."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")


class NoAccessLog(Logger):  # type: ignore[misc] # gunicorn has no types
    """Gunicorn's log without a line for every request, which it would format even if nobody reads it."""

    def access(self, *args: object, **kwargs: object) -> None:
        return
