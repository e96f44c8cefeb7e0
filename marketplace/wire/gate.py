"""The first middleware: it takes requests to the endpoint out of the way of all others.

Those that follow redirect, want a session or a form's token, and answer in HTML. A client of the API understands none
of that; it gets what the endpoint says, in AWS's shape, or nothing but a broken connection.
"""

from collections.abc import Callable

from django.http import HttpRequest, HttpResponseBase
from django.urls import Resolver404, resolve

from marketplace.wire.endpoint import endpoint

PREFIX = "/marketplace/api"


def endpoint_first(
    get_response: Callable[[HttpRequest], HttpResponseBase],
) -> Callable[[HttpRequest], HttpResponseBase]:
    def middleware(request: HttpRequest) -> HttpResponseBase:
        return endpoint(request) if _is_for_endpoint(request.path_info) else get_response(request)

    return middleware


def _is_for_endpoint(path: str) -> bool:
    if not path.startswith(PREFIX):
        return False
    try:
        return resolve(path).func is endpoint
    except Resolver404:
        return False
