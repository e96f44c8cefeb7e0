"""How log lines look."""

import logging
import re

from gunicorn.glogging import Logger

# Whoever knows the token in a worker's address is that worker. PostgreSQL repeats a refused row, answers and all.
_PRIVATE = re.compile(r"(?<=/w/)[^/\s'\"]+|(?<=DETAIL:).*")


class PrivateFormatter(logging.Formatter):
    """Leaves out what a log must not give away."""

    def format(self, record: logging.LogRecord) -> str:
        return _PRIVATE.sub("…", super().format(record))


class OneLineFormatter(PrivateFormatter):
    """One line per event, tracebacks and forged line breaks included, for collectors that read by line."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")


class NoAccessLog(Logger):  # type: ignore[misc] # gunicorn has no types
    """Gunicorn's log without a line for every request, which it would put together even where nobody reads it."""

    def access(self, *args: object, **kwargs: object) -> None:
        return
