"""Pages of the console that a program can open, too: exports and reports."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, cast

from django.http import HttpRequest, HttpResponse, HttpResponseBase
from rest_framework.exceptions import AuthenticationFailed
from rest_framework.request import Request

from accounts.authentication import SCHEME, TokenAuthentication
from accounts.models import ApiToken

View = Callable[..., HttpResponseBase]
NO_SCOPE = "This token lacks the scope “read”. Create a token that has it: Your account."


def opens_with_token(view: View) -> View:
    """Lets a request with an API token that may read see what its user sees, without a session."""

    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: Any, **kwargs: Any) -> HttpResponseBase:
        try:
            # It reads only the header, which both kinds of requests have.
            identified = TokenAuthentication().authenticate(cast("Request", request))
        except AuthenticationFailed as failed:
            return _refused(401, str(failed.detail), {"WWW-Authenticate": SCHEME})
        if identified is not None:
            user, token = identified
            if not token.allows(ApiToken.Scope.READ):
                return _refused(403, NO_SCOPE, {})
            request.user = user
        return view(request, *args, **kwargs)

    return wrapped


def _refused(status: int, text: str, headers: dict[str, str]) -> HttpResponse:
    headers = {**headers, "Cache-Control": "private, no-store"}
    return HttpResponse(f"{text}\n", "text/plain; charset=utf-8", status, headers=headers)
