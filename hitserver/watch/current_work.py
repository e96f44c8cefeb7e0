"""What this thread works on, a request or a task, and the number by which its log lines are found.

The number comes with the request in ``X-Request-ID``, from the web server in front, or is made here. It goes back in
the same header, and with each task that the request sends.
"""

from __future__ import annotations

import re
import secrets
from contextvars import ContextVar, Token
from dataclasses import dataclass

from django.http import HttpRequest

HEADER = "X-Request-ID"
#: Where a request keeps its number. Headers of a client begin with HTTP_, so none can set it.
_NUMBER = "HITSERVER_REQUEST_ID"
#: Anything else could break a log line, or fill it.
_ACCEPTED = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]{0,63}", re.ASCII)

#: The routes of workers' pages, whose addresses begin with these.
WORKERS = ("/w/", "/s/", "/p/")


@dataclass(frozen=True, slots=True)
class Task:
    """A background task with the number of the request that sent it; without one, its own."""

    name: str
    number: str


_current: ContextVar[HttpRequest | Task | None] = ContextVar("current_work", default=None)


def accepted(number: str) -> bool:
    """Whether a number from outside can be used: 1 to 64 letters, digits, dots, hyphens and underscores."""
    return bool(_ACCEPTED.fullmatch(number))


def begin_request(request: HttpRequest) -> Token[HttpRequest | Task | None]:
    number = request.META.get("HTTP_X_REQUEST_ID", "")
    request.META[_NUMBER] = number if number and accepted(number) else secrets.token_hex(8)
    return _current.set(request)


def begin_task(name: str, number: str) -> None:
    _current.set(Task(name, number if accepted(number) else secrets.token_hex(8)))


def end(token: Token[HttpRequest | Task | None]) -> None:
    _current.reset(token)


def end_task() -> None:
    _current.set(None)


def current() -> HttpRequest | Task | None:
    return _current.get()


def number_of(work: HttpRequest | Task | None) -> str:
    """The number of a request or task; empty without one."""
    if isinstance(work, Task):
        return work.number
    return str(work.META.get(_NUMBER, "")) if work is not None else ""


def current_number() -> str:
    return number_of(current())


def route_of(request: HttpRequest) -> str:
    """The name of the request's address, which holds neither ids nor tokens. ``unknown`` for what does not exist."""
    match = request.resolver_match
    if match is not None:
        return match.view_name or "unnamed"
    return "static" if request.path_info.startswith("/static/") else "unknown"


def user_kind(request: HttpRequest) -> str:
    """What kind of user sent the request, as far as that is known already. Asks no database."""
    if request.path_info.startswith(WORKERS):
        return "worker"
    if request.path_info.startswith(("/api/", "/marketplace/api")):
        return "program"
    user = getattr(request, "_cached_user", None)
    if user is None or not user.is_authenticated:
        return "visitor"
    return "administrator" if user.is_superuser else "user"
