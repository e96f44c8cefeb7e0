"""How a service says no."""

from __future__ import annotations

from django.db import IntegrityError


class Refused(ValueError):
    """Nothing was written. ``message`` is for people; ``code`` is what the API calls it, without its prefix."""

    def __init__(self, message: str, *, code: str = "NotAllowed") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class Invalid(Refused):
    """A value that is never right. ``parameter`` is its name in the API."""

    def __init__(self, parameter: str, message: str, *, code: str = "InvalidParameterValue") -> None:
        super().__init__(message, code=code)
        self.parameter = parameter


class NotFound(Refused):
    """There is no such thing, or it is somebody else's."""

    def __init__(self, kind: str, identifier: str) -> None:
        super().__init__(f"{kind} {identifier} does not exist.", code=f"{kind}DoesNotExist")
        self.kind, self.identifier = kind, identifier


class WrongState(Refused):
    """The thing exists and this cannot be done to it now."""

    def __init__(self, kind: str, identifier: str, *, state: str, wanted: str) -> None:
        message = f"This can be done when the status is {wanted}. {kind} {identifier} has the status {state}."
        super().__init__(message, code=f"Invalid{kind}State")
        self.kind, self.identifier, self.state, self.wanted = kind, identifier, state, wanted


class AlreadyExists(Refused):
    """A request token was used before, or a name is taken. ``identifier`` names what exists."""

    def __init__(self, kind: str, identifier: str, *, code: str = "") -> None:
        super().__init__(f"{kind} {identifier} already exists.", code=code or f"{kind}AlreadyExists")
        self.kind, self.identifier = kind, identifier


def violates(error: IntegrityError, constraint: str, *columns: str) -> bool:
    """Whether this is the constraint that was violated: PostgreSQL names it, SQLite names the columns."""
    text = str(error)
    return constraint in text or (bool(columns) and all(column in text for column in columns))
