"""How log lines look."""

import logging

from gunicorn.glogging import Logger


class OneLineFormatter(logging.Formatter):
    """One line per event, tracebacks and forged line breaks included, for collectors that read by line."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")


class NoAccessLog(Logger):  # type: ignore[misc] # gunicorn has no types
    """Gunicorn's log without a line for every request, which it would put together even where nobody reads it."""

    def access(self, *args: object, **kwargs: object) -> None:
        return
