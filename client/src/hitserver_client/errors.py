"""What can go wrong, with every reason that the server gives and how to fix it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

SHOWN_REASONS = 20


class HitserverError(Exception):
    """The base class of everything that this package raises on purpose."""


class Unreachable(HitserverError):
    """The server did not answer, however often it was asked."""


class JobFailed(HitserverError):
    """A job ended without a result. ``job`` is its last state, as the API writes it."""

    def __init__(self, job: Mapping[str, Any]) -> None:
        self.job = dict(job)
        reason = f"{job.get('message') or job['state']} {job.get('fix') or ''}".strip()
        super().__init__(f"{job['kind']}: {reason}")


@dataclass(frozen=True)
class Reason:
    """One thing to fix. ``row`` counts from 1 in a table."""

    reason: str
    fix: str = ""
    field: str = ""
    row: int | None = None
    column: str | None = None

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> Reason:
        names = ("reason", "fix", "field", "row", "column")
        return cls(**{name: data[name] for name in names if data.get(name) is not None})

    def __str__(self) -> str:
        place = [self.field] if self.field else []
        place += [f"row {self.row}"] if self.row else []
        place += [f"column {self.column}"] if self.column else []
        return f"{', '.join(place)}{': ' if place else ''}{self.reason} {self.fix}".strip()


class ProblemError(HitserverError):
    """The server refused a request. ``errors`` has every reason, ``status`` the HTTP status."""

    def __init__(self, status: int, title: str, detail: str, errors: tuple[Reason, ...] = ()) -> None:
        self.status, self.title, self.detail, self.errors = status, title, detail, errors
        super().__init__(status, title, detail)

    def __str__(self) -> str:
        if len(self.errors) == 1:
            return str(self.errors[0])
        lines = [self.detail or self.title, *(f"  {reason}" for reason in self.errors[:SHOWN_REASONS])]
        if len(self.errors) > SHOWN_REASONS:
            lines.append(f"  and {len(self.errors) - SHOWN_REASONS:,} more")
        return "\n".join(lines)


class NotSignedIn(ProblemError):
    """There is no token, or the token does not work."""


class NotAllowed(ProblemError):
    """The account, its role or the token's scopes do not allow this."""


class NotFound(ProblemError):
    """There is no such thing, or the user may not see it."""


class Conflict(ProblemError):
    """The state of the study does not allow this."""


class Refused(ProblemError):
    """The content has problems. Nothing was written."""


class TooManyRequests(ProblemError):
    """The server asks for a break that is longer than this client waits."""


class ServerFailed(ProblemError):
    """Something went wrong on the server, or on the platform behind it."""


_CLASSES: dict[int, type[ProblemError]] = {
    401: NotSignedIn,
    403: NotAllowed,
    404: NotFound,
    409: Conflict,
    422: Refused,
    429: TooManyRequests,
}


def problem_of(status: int, body: Any) -> ProblemError:
    """The error for an answer with this status. ``body`` is its JSON, or None if it has none."""
    data: Mapping[str, Any] = body if isinstance(body, Mapping) else {}
    kind = _CLASSES.get(status, ServerFailed if status >= 500 else ProblemError)
    raw = data.get("errors")
    errors = tuple(Reason.read(error) for error in raw) if isinstance(raw, list) else ()
    title = str(data.get("title") or f"HTTP {status}")
    detail = str(data.get("detail") or "The answer is not from a HITServer API. Check the address of the server.")
    return kind(status, title, detail, errors)
