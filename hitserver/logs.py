"""The format of log lines, and what they must not show."""

import json
import logging
import re
import threading
import time
from collections.abc import Hashable
from datetime import UTC, datetime
from typing import Any

from django.http import HttpRequest
from gunicorn.glogging import Logger

from hitserver.watch import current_work

#: Parts of addresses that are secrets: anyone who knows one can act as the worker or user it was made for. Pages below
#: these paths have the secret directly after the path. A test compares the list with the server's own addresses.
SECRET_PATHS = (
    "w",
    "p",
    "console/join",
    "console/login/link",
    "marketplace/join",
    "marketplace/sign-in/link",
    "marketplace/operate/welcome",
    "marketplace/files",
    "marketplace/frame",
)
#: Parameters of addresses that are secrets: the key of a personal link, a simulated worker's token.
SECRET_PARAMETERS = ("k", "bot", "assignmentId", "workerId", "code", "state", "id_token_hint")

#: Where Django logs requests for a host name that this server does not have.
WRONG_HOST = "django.security.DisallowedHost"
MOST_CAUSES = 1000

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
    return _PRIVATE.sub(lambda match: f"{match[match.lastgroup or 0]}…", text)


def work_of(record: logging.LogRecord) -> HttpRequest | current_work.Task | None:
    """The request or task that a line is about. Django logs some requests after their end, and names them."""
    request = getattr(record, "request", None)
    return current_work.current() or (request if isinstance(request, HttpRequest) else None)


class PrivateFormatter(logging.Formatter):
    """Removes secrets in addresses and rows that the database refused. Formats can use ``%(number)s``: a space and the
    number of the request or task, or nothing."""

    def format(self, record: logging.LogRecord) -> str:
        number = current_work.number_of(work_of(record))
        record.number = f" {number}" if number else ""
        return masked(super().format(record))


class OneLineFormatter(PrivateFormatter):
    """One line per event, even with tracebacks and forged line breaks, for collectors that read line by line."""

    def format(self, record: logging.LogRecord) -> str:
        return super().format(record).replace("\\", "\\\\").replace("\r", "\\r").replace("\n", "\\n")


class JsonFormatter(logging.Formatter):
    """One JSON object per line, without personal data. Line breaks and everything else that is not ASCII is escaped."""

    def format(self, record: logging.LogRecord) -> str:
        fields: dict[str, Any] = {
            "time": datetime.fromtimestamp(record.created, UTC).isoformat(timespec="milliseconds"),
            "level": record.levelname.lower(),
            "logger": record.name,
            "process": record.process,
            "message": masked(record.getMessage()),
        }
        work = work_of(record)
        if work is not None:
            fields["request_id"] = current_work.number_of(work)
        if isinstance(work, current_work.Task):
            fields["task"] = work.name
        elif work is not None:
            fields["method"] = work.method
            fields["route"] = current_work.route_of(work)
            fields["user"] = current_work.user_kind(work)
        for name, attribute in (("status", "status"), ("status", "status_code"), ("seconds", "seconds")):
            if isinstance(number := getattr(record, attribute, None), int | float):
                fields[name] = number
        if record.exc_info and record.exc_info[0]:
            fields["exception"] = masked(self.formatException(record.exc_info))
        if record.stack_info:
            fields["stack"] = masked(self.formatStack(record.stack_info))
        return json.dumps(fields)


class OncePerCause(logging.Filter):
    """Lets one error with a traceback through per cause and minute. Otherwise an outage of a minute fills the log.

    The cause is the kind of error and the line that raised it. The next one that is logged says how many were not. A
    visitor causes a wrong ``Host``, and our own lines explain nothing about it, so these have no traceback.
    """

    SECONDS = 60.0

    def __init__(self) -> None:
        super().__init__()
        self._lock = threading.Lock()
        self._seen: dict[Hashable, tuple[float, int]] = {}

    def filter(self, record: logging.LogRecord) -> bool:
        if not record.exc_info or not record.exc_info[0]:
            return True
        kind, _, traceback = record.exc_info
        while traceback and traceback.tb_next:
            traceback = traceback.tb_next
        line = (traceback.tb_frame.f_code.co_filename, traceback.tb_lineno) if traceback else None
        if record.name == WRONG_HOST:
            record.exc_info = record.exc_text = None
        now, cause = time.monotonic(), (record.name, kind, line)
        with self._lock:
            since, left_out = self._seen.get(cause, (now - self.SECONDS, 0))
            if now - since < self.SECONDS:
                self._seen[cause] = (since, left_out + 1)
                return False
            if len(self._seen) >= MOST_CAUSES:
                self._seen.clear()
            self._seen[cause] = (now, 0)
        if left_out:
            record.msg = f"{record.getMessage()} ({left_out:,} more like this one were not logged)"
            record.args = ()
        return True


class NoAccessLog(Logger):  # type: ignore[misc] # gunicorn has no types
    """Gunicorn's log without a line for every request, which it would format even if nobody reads it."""

    def access(self, *args: object, **kwargs: object) -> None:
        return
