"""What the API answers instead of a result: problem details (RFC 9457) with every reason and how to fix it."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from types import MappingProxyType
from typing import Any

from django.core.exceptions import PermissionDenied, RequestDataTooBig, SuspiciousOperation
from django.http import Http404
from rest_framework import exceptions
from rest_framework.response import Response

from annotation.api.plain_reasons import missing, plain_words
from annotation.platforms.calls import PlatformTrouble
from annotation.studies.storing import Frozen
from annotation.table_files import TableProblems
from annotation.task_types.registry import UnknownTaskType
from common.problems import LONGEST_PART, Refused
from common.words import counted

CONTENT_TYPE = "application/problem+json"
#: The page that explains each kind; the address of a problem's type ends in its name.
TYPES = "/api/v1/docs/#problem-"
MOST_ERRORS = 200


@dataclass(frozen=True, slots=True)
class Kind:
    """A kind of problem: its name in addresses, its title, and what it means for the program."""

    name: str
    title: str
    meaning: str


KINDS: dict[int, Kind] = {
    400: Kind("unreadable", "The request cannot be read", "The body is not valid JSON, or a parameter is wrong."),
    401: Kind("not-signed-in", "Not signed in", "There is no token and no session, or the token does not work."),
    403: Kind("not-allowed", "Not allowed", "The account, its role or the token's scopes do not allow this."),
    404: Kind("not-found", "Not found", "There is no such thing, or the user may not see it."),
    405: Kind("method", "Method not allowed", "The address does not support this method."),
    406: Kind("not-acceptable", "Not acceptable", "The API cannot answer in the media type that Accept asks for."),
    409: Kind("conflict", "Not possible now", "The study's state does not allow this."),
    413: Kind("too-large", "Too large", "The request is larger than this server accepts."),
    415: Kind("media-type", "Unsupported media type", "The address does not read this Content-Type."),
    422: Kind("refused", "Refused", "The content has problems. Nothing was written."),
    429: Kind("too-many-requests", "Too many requests", "Wait as many seconds as Retry-After says."),
    500: Kind("failed", "Server error", "Something went wrong on the server. The error is in its log."),
    502: Kind("platform", "The platform did not answer", "The platform refused the call or could not be reached."),
    503: Kind("away", "Not available", "The server cannot read or save anything now. Try again in a minute."),
}


@dataclass(frozen=True, slots=True)
class Reason:
    """One thing to fix. ``field`` is the key as in a study file, or the parameter; ``row`` counts from 1 in a table."""

    reason: str
    fix: str = ""
    field: str = ""
    row: int | None = None
    column: str | None = None


def problem(status: int, detail: str, reasons: Iterable[Reason] = ()) -> dict[str, Any]:
    """The body of a problem."""
    kind = KINDS.get(status, KINDS[400 if status < 500 else 500])
    errors = [asdict(reason) for reason in reasons]
    body = {"type": TYPES + kind.name, "title": kind.title, "status": status, "detail": detail[:LONGEST_PART]}
    return body | {"errors": errors}


def problem_response(
    status: int, detail: str, reasons: Iterable[Reason] = (), headers: Mapping[str, str] | None = None
) -> Response:
    return Response(problem(status, detail, reasons), status, headers=dict(headers or {}), content_type=CONTENT_TYPE)


def answer_for(error: Exception, route: str = "", kwargs: Mapping[str, Any] = MappingProxyType({})) -> Response | None:
    """The answer for an exception of a view. None for a fault of the server, which is logged and answered by Django.

    ``route`` and ``kwargs``: the address as Django resolved it.
    """
    if isinstance(error, exceptions.APIException):
        return _of_framework(error)
    if isinstance(error, TableProblems):
        rows = [Reason(p.what, p.fix, "items", p.row or None, p.column or None) for p in error.problems[:MOST_ERRORS]]
        return problem_response(422, _sentence([f"{p.what} {p.fix}" for p in error.problems], error.total), rows)
    if isinstance(error, Refused):
        refused = error.problems
        reasons = [Reason(problem.what, problem.fix, problem.where) for problem in refused[:MOST_ERRORS]]
        conflict = isinstance(error, Frozen) or any(problem.where == "status" for problem in refused)
        sentence = _sentence([f"{problem.what} {problem.fix}".strip() for problem in refused], len(refused))
        return problem_response(409 if conflict else 422, sentence, reasons)
    if isinstance(error, UnknownTaskType):
        return problem_response(409, str(error), [Reason(error.what, error.fix, "task_type")])
    if isinstance(error, PlatformTrouble):
        return problem_response(502, str(error), [Reason(error.what, error.fix)])
    if isinstance(error, Http404):
        field, what, fix = missing(error, route, kwargs)
        return problem_response(404, f"{what} {fix}".strip(), [Reason(what, fix, field)] if field else ())
    if isinstance(error, PermissionDenied):
        return problem_response(403, str(error) or KINDS[403].meaning)
    if isinstance(error, RequestDataTooBig):
        return problem_response(413, "The text fields of this form are too large. Send large data as a file.")
    if isinstance(error, SuspiciousOperation):
        return problem_response(400, str(error) or KINDS[400].meaning)
    return None


def _sentence(reasons: Sequence[str], total: int) -> str:
    if total == 1:
        return reasons[0]
    return f"{counted(total, 'problem')}. The first: {reasons[0]}" if reasons else KINDS[422].meaning


def _of_framework(error: exceptions.APIException) -> Response:
    headers = {}
    if header := getattr(error, "auth_header", None):
        headers["WWW-Authenticate"] = header
    if wait := getattr(error, "wait", None):
        headers["Retry-After"] = str(int(wait) + 1)
    if isinstance(error, exceptions.ValidationError):
        reasons = list(_validation(error.detail, ""))
        return problem_response(
            422, _sentence([f"{reason.reason} {reason.fix}" for reason in reasons], len(reasons)), reasons, headers
        )
    reasons = [Reason(**extra) for extra in getattr(error, "reasons", ())]
    return problem_response(error.status_code, str(error.detail), reasons, headers)


def _validation(detail: Any, field: str) -> Iterable[Reason]:
    """The reasons of a serializer, with the path of each field."""
    if isinstance(detail, Mapping):
        for name, inner in detail.items():
            own = "" if name == "non_field_errors" else str(name + 1) if isinstance(name, int) else str(name)
            yield from _validation(inner, ".".join(filter(None, (field, own))))
    elif isinstance(detail, list | tuple):
        for number, inner in enumerate(detail, 1):
            nested = isinstance(inner, Mapping | list)
            yield from _validation(inner, f"{field}.{number}".strip(".") if nested and inner else field)
    else:
        reason, fix = plain_words(str(detail), getattr(detail, "code", ""))
        yield Reason(reason, fix, field)
