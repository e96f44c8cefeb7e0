"""What goes wrong, in the shapes that AWS gives it.

Handlers raise these; the endpoint alone turns them into responses. `RequestError` is the caller's mistake (HTTP 400)
and `ServiceFault` ours (HTTP 500), which clients try again. A refusal has a `code` (the model's `TurkErrorCode`) and a
message that ends in the time in milliseconds and that code, which is what scripts look for.
"""

PREFIX = "AWS.MechanicalTurk."


class WireError(Exception):
    """An answer that is not a result. `type` is what clients see as the error's code."""

    type = "RequestError"
    status = 400

    def __init__(self, message: str, *, code: str = "") -> None:
        super().__init__(message)
        self.message = message
        self.code = code


class RequestError(WireError):
    """The request cannot be carried out: `RequestError("HIT 3X does not exist.", code="…HITDoesNotExist")`."""

    def __init__(self, message: str, *, code: str) -> None:
        super().__init__(message, code=code if code.startswith("AWS.") else PREFIX + code)


class ParameterValidationError(RequestError):
    """A parameter has a value that is never right, whatever the state of things."""

    type = "ParameterValidationError"


class ServiceFault(WireError):
    """This server could not do it now; the same request may succeed later."""

    type = "ServiceFault"
    status = 500

    def __init__(self, message: str = "The marketplace could not process your request. Please try again.") -> None:
        super().__init__(message, code=PREFIX + "ServiceFault")


class AuthenticationError(WireError):
    """Who is asking is not known or not proven. AWS gives these a type each and no code of MTurk's."""

    def __init__(self, type_: str, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.type = type_
        self.status = status


class ProtocolError(WireError):
    """What arrived is no request of this service."""

    def __init__(self, type_: str, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.type = type_
        self.status = status


class ThrottlingError(WireError):
    """Too many requests: clients wait and try again."""

    type = "ThrottlingException"

    def __init__(self, message: str = "Rate exceeded") -> None:
        super().__init__(message)


# --- By name: the refusals that operations share ------------------------------------------------------------


def not_found(kind: str, identifier: str) -> RequestError:
    """Nothing of that kind has this id, or it is somebody else's, which must look the same.

    `kind` is "HIT", "Assignment", "HITType", "QualificationType", "QualificationRequest", "Qualification" or "Worker".
    """
    return RequestError(f"{kind} {identifier} does not exist.", code=f"{kind}DoesNotExist")


def not_allowed(what: str) -> RequestError:
    """The thing may be seen by the caller and not changed."""
    return RequestError(what, code="PermissionDeniedException")


def wrong_state(kind: str, identifier: str, *, state: str, wanted: str | tuple[str, ...]) -> RequestError:
    """`wrong_state("HIT", id, state="Assignable", wanted="Reviewable")` gives code InvalidHITState."""
    states = wanted if isinstance(wanted, str) else ", ".join(wanted)
    message = f"This operation can be called with a status of: {states}. {kind} {identifier} has the status {state}."
    return RequestError(message, code=f"Invalid{kind}State")


def bad_parameter(name: str, value: object, why: str = "") -> ParameterValidationError:
    """A value that the parameter can never take; `why` says what it takes, as a sentence."""
    shown = str(value)
    shown = shown if len(shown) <= 100 else shown[:100] + "…"
    message = f'The value "{shown}" is not valid for the parameter {name}.'
    return ParameterValidationError(f"{message} {why}".strip(), code="InvalidParameterValue")


def missing_parameter(name: str, why: str = "") -> ParameterValidationError:
    message = f"Your request is missing the required parameter {name}."
    return ParameterValidationError(f"{message} {why}".strip(), code="MissingParameter")


def bad_question(details: str) -> ParameterValidationError:
    """The XML of a question, test or answer key is broken or says what it may not."""
    message = "There was an error parsing the XML question or answer data in your request."
    return ParameterValidationError(f"{message} {details}".strip(), code="XMLParseError")


def too_large(name: str, *, size: int, most: int) -> ParameterValidationError:
    """A text over its limit, as an oversize question."""
    message = f"Your request parameter {name} has {size} bytes and exceeds the maximum length of {most} bytes."
    return ParameterValidationError(message, code="ParameterTooLong")


def insufficient_funds(*, wanted: object, available: object) -> RequestError:
    message = f"This requester's balance of {available} USD does not cover the {wanted} USD that the request needs."
    return RequestError(message, code="InsufficientFunds")


def already_exists(kind: str, identifier: str, *, code: str = "") -> RequestError:
    """A request token was used before, or a name is taken; the message holds the id of what exists.

    `kind="HIT"` gives HitAlreadyExists, which is how the model's documentation spells it.
    """
    named = "Hit" if kind == "HIT" else kind
    return RequestError(f"{kind} {identifier} already exists.", code=code or f"{named}AlreadyExists")


def not_supported(what: str) -> RequestError:
    """Something of MTurk's that this marketplace does not do: it says so and does not do half of it."""
    return RequestError(what, code="NotSupported")
