"""What a visitor gets when a page fails: that it is not their mistake, and whether trying again soon will help."""

from __future__ import annotations

import errno
import sys

from django.db import InterfaceError, OperationalError
from django.http import HttpRequest, HttpResponse, JsonResponse
from django.template.loader import get_template

RETRY_SECONDS = 10
AWAY = "The server cannot read or save anything at the moment. Try again in a minute."
FAILED = "Something went wrong on the server. The error is in its log."


def is_outage(error: BaseException | None) -> bool:
    """Whether the cause is a database that is locked, full or gone, or a full disk, and not a fault in the code."""
    if isinstance(error, OSError) and error.errno in (errno.ENOSPC, errno.EDQUOT, errno.EROFS):
        return True
    return isinstance(error, OperationalError | InterfaceError)


def server_error(request: HttpRequest) -> HttpResponse:
    """Django calls this while it handles the exception of a page. Programs get JSON."""
    away = is_outage(sys.exception())
    status = 503 if away else 500
    response: HttpResponse
    if request.path_info.startswith("/api/"):
        response = JsonResponse({"detail": AWAY if away else FAILED}, status=status)
    else:
        response = HttpResponse(get_template(f"{status}.html").render({}, request=None), status=status)
    if away:
        response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response
