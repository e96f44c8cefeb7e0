"""How a service refuses."""

from __future__ import annotations

from django.db import IntegrityError

from common.languages import gettext as _


class Refusal(ValueError):
    """Nothing was written. ``message`` is for people; ``code`` is the API's code, without its prefix."""

    def __init__(self, message: str, *, code: str = "NotAllowed") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class InvalidParameter(Refusal):
    """A value that is never valid. ``parameter`` is its name in the API."""

    def __init__(self, parameter: str, message: str, *, code: str = "InvalidParameterValue") -> None:
        super().__init__(message, code=code)
        self.parameter = parameter


class NotFound(Refusal):
    """It does not exist, or it belongs to somebody else."""

    def __init__(self, kind: str, identifier: str) -> None:
        super().__init__(f"{kind} {identifier} does not exist.", code=f"{kind}DoesNotExist")
        self.kind, self.identifier = kind, identifier


class WrongState(Refusal):
    """It exists, but its state does not allow this now."""

    def __init__(self, kind: str, identifier: str, *, state: str, allowed: str) -> None:
        text = _("The status must be %(allowed)s for this. %(kind)s %(identifier)s has the status %(state)s.")
        message = text % {"allowed": _(allowed), "kind": kind, "identifier": identifier, "state": _(state)}
        super().__init__(message, code=f"Invalid{kind}State")
        self.kind, self.identifier, self.state, self.allowed = kind, identifier, state, allowed


class AlreadyExists(Refusal):
    """A request token was used before, or a name is taken. ``identifier`` names what exists."""

    def __init__(self, kind: str, identifier: str, *, code: str = "") -> None:
        super().__init__(f"{kind} {identifier} already exists.", code=code or f"{kind}AlreadyExists")
        self.kind, self.identifier = kind, identifier


def violates(error: IntegrityError, constraint: str, *columns: str) -> bool:
    """Whether this constraint was violated: PostgreSQL names the constraint, SQLite the columns."""
    text = str(error)
    return constraint in text or (bool(columns) and all(column in text for column in columns))
