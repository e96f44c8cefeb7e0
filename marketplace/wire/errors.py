"""Errors in AWS's formats.

Handlers raise these; only the endpoint turns them into responses. `RequestError` is the caller's mistake (HTTP 400).
`ServiceFault` is ours (HTTP 500), and clients retry it. A refusal has a `code` (the model's `TurkErrorCode`) and a
message that ends with the time in milliseconds and that code. Scripts look for the code.
"""

PREFIX = "AWS.MechanicalTurk."


class WireError(Exception):
    """A response that reports an error. Clients see `type` as the error's code."""

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
    """A parameter has a value that is never valid, in any state."""

    type = "ParameterValidationError"


class ServiceFault(WireError):
    """This server could not carry out the request now; the same request may succeed later."""

    type = "ServiceFault"
    status = 500

    def __init__(self, message: str = "The marketplace could not process your request. Please try again.") -> None:
        super().__init__(message, code=PREFIX + "ServiceFault")


class AuthenticationError(WireError):
    """The caller could not be authenticated. On AWS, each of these errors has its own type and no MTurk code."""

    def __init__(self, type_: str, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.type = type_
        self.status = status


class ProtocolError(WireError):
    """This is not a valid request to this service."""

    def __init__(self, type_: str, message: str, *, status: int = 400) -> None:
        super().__init__(message)
        self.type = type_
        self.status = status


class ThrottlingError(WireError):
    """Too many requests: clients should wait and try again."""

    type = "ThrottlingException"

    def __init__(self, message: str = "Rate exceeded") -> None:
        super().__init__(message)


# --- In MTurk's words ---------------------------------------------------------------------------------------
#
# Tools that see no code rely on these sentences: docs/marketplace-errors.md lists who saw them. The text after the
# first sentence is ours: what exactly is wrong, and how to fix it.


def not_found(kind: str, identifier: str) -> RequestError:
    """Nothing of that kind has this ID, or it belongs to somebody else. Both must look the same.

    `kind` is "HIT", "Assignment", "HITType", "QualificationType", "QualificationRequest", "Qualification" or "Worker".
    On MTurk, an unknown worker is an invalid parameter.
    """
    if kind == "Worker":
        return bad_parameter("WorkerId", identifier, "There is no such worker.")
    if kind == "Qualification":
        message = f"You requested a Qualification that does not exist. That is {identifier}."
        return RequestError(message, code="QualificationDoesNotExist")
    return RequestError(f"{kind} {identifier} does not exist.", code=f"{kind}DoesNotExist")


def wrong_state(kind: str, identifier: str, *, state: str, allowed: str) -> RequestError:
    """`wrong_state("HIT", id, state="Assignable", allowed="Reviewing, Reviewable")` gives code InvalidHITState.

    Other people's tools look for the first sentences in MTurk's words: Dallinger for "currently in the state
    'Disposed'", ParlAI for "This operation can be called with a status of: Reviewable,Approved,Rejected".
    """
    rule = f"This operation can be called with a status of: {allowed}."
    if kind == "HIT":
        message = f"This HIT is currently in the state '{state}'.  {rule} Its id is {identifier}."
    else:
        message = f"{rule} {kind} {identifier} has the status {state}."
    return RequestError(message, code=f"Invalid{kind}State")


def bad_parameter(name: str, value: object, why: str = "") -> ParameterValidationError:
    """A value that is never valid for the parameter; `why` is a sentence about valid values."""
    if isinstance(value, str | int | float):
        shown = str(value) if len(str(value)) <= 100 else str(value)[:100] + "…"
        message = f'The value "{shown}" is not valid for the parameter {name}.'
    else:  # no value, or a structure, which would fill the message
        message = f"The value is not valid for the parameter {name}."
    return ParameterValidationError(f"{message} {why}".strip(), code="InvalidParameterValue")


def bad_question(name: str, details: str) -> ParameterValidationError:
    """The XML of a question, test or answer key is broken or not allowed."""
    message = (
        "There was an error parsing the XML question or answer data in your request.  Please make sure the data is "
        f"well-formed and validates against the appropriate schema. Details: {name}: {details}"
    )
    return ParameterValidationError(message, code="XMLParseError")


def insufficient_funds(*, needed: object, available: object) -> RequestError:
    message = (
        "This Requester has insufficient funds in their account to complete this transaction. "
        f"The balance of ${available} does not cover ${needed}."
    )
    return RequestError(message, code="InsufficientFunds")


def hit_exists(hit_id: str) -> RequestError:
    """An earlier request with this token created the HIT. A client that tries again needs its ID."""
    return RequestError(f'The HIT with ID "{hit_id}" already exists.', code="HitAlreadyExists")


def token_used(token: str, *, what: str, code: str) -> RequestError:
    """An earlier request with this token was carried out, with this result."""
    return RequestError(f'The idempotency token "{token}" has already been processed. Result: {what}.', code=code)


def name_taken(identifier: str) -> RequestError:
    """The requester has a qualification type with this name. Mephisto and Dallinger rely on the first sentence."""
    message = (
        "You have already created a QualificationType with this name. A QualificationType's name must be unique "
        f"among all of the QualificationTypes created by the same user: {identifier}."
    )
    return RequestError(message, code="QualificationTypeAlreadyExists")
