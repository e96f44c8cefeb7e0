"""What a visitor gets when a page fails: that it is not their mistake, and whether trying again soon will help."""

from __future__ import annotations

import errno
import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, HttpResponsePermanentRedirect, JsonResponse
from django.template.loader import get_template
from django.urls import is_valid_path
from django.views.defaults import page_not_found

from hitserver.watch.current_work import current_number

RETRY_SECONDS = 10
#: The page that explains the API's problems; the address of a problem's type ends in its name.
PROBLEMS = "/api/v1/docs/#problem-"
AWAY = "The server cannot read or save anything at the moment. Try again in a minute."
FAILED = "Something went wrong on the server. The error is in its log."


def is_outage(error: BaseException | None) -> bool:
    """Whether the cause is a database that is locked, full or gone, or a full disk, and not a fault in the code."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return True
    return isinstance(error, OperationalError | InterfaceError)


def problem(status: int, name: str, title: str, detail: str) -> JsonResponse:
    """Problem details (RFC 9457) like those of the API, for what is refused or fails outside its views."""
    body = {"type": PROBLEMS + name, "title": title, "status": status, "detail": detail, "errors": []}
    return JsonResponse(body, status=status, content_type="application/problem+json")


def not_found(request: HttpRequest, exception: Exception) -> HttpResponse:
    """Django calls this for an address that does not exist. Programs get JSON, or the address with its last slash."""
    path = request.path_info
    if not path.startswith("/api/"):
        return page_not_found(request, exception)
    if not path.endswith("/") and is_valid_path(f"{path}/"):
        query = request.META.get("QUERY_STRING", "")
        # The method and the body stay the same.
        return HttpResponsePermanentRedirect(f"{request.path}/{f'?{query}' if query else ''}", preserve_request=True)
    detail = f"There is nothing at {request.path[:200]}. The addresses are listed at /api/v1/docs/."
    return problem(404, "not-found", "Not found", detail)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django calls this while it handles the exception of a page. Programs get JSON."""
    away = is_outage(sys.exception())
    status = 503 if away else 500
    response: HttpResponse
    number = current_number()
    text = AWAY if away else f"{FAILED} Tell the administrator this number: {number}."
    if request.path_info.startswith("/api/"):
        response = problem(status, "away" if away else "failed", "Not available" if away else "Server error", text)
    else:
        response = HttpResponse(get_template(f"{status}.html").render({"number": number}, request=None), status=status)
    if away:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response
