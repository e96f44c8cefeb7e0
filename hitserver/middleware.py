"""What every response carries."""

from collections.abc import Callable, Sequence

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.urls import Resolver404, resolve

GetResponse = Callable[[HttpRequest], HttpResponseBase]
HEADER = "Content-Security-Policy"


def policy(frame_ancestors: Sequence[str] = ()) -> str:
    """The server's own files and nothing else; framed by nobody but those listed."""
    framed_by = " ".join(frame_ancestors) or "'none'"
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; connect-src 'self'; "
        f"form-action 'self'; base-uri 'none'; frame-ancestors {framed_by}"
    )


def content_security_policy(get_response: GetResponse) -> GetResponse:
    """Sets the policy where a view has not set its own.

    A view marked with Django's `xframe_options_exempt` may be framed by the sites of FRAME_ANCESTORS.
    """
    closed = policy()
    frameable = policy(settings.FRAME_ANCESTORS)

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        exempt = getattr(response, "xframe_options_exempt", False)
        response.headers.setdefault(HEADER, frameable if exempt else closed)
        return response

    return middleware


def upload_limit(get_response: GetResponse) -> GetResponse:
    """Turns away a request that is larger than any upload may be, before a byte of it is read."""
    limit = settings.MAX_UPLOAD_BYTES
    text = f"At most {limit // 1024**2} MB can be sent at once.\n"

    def middleware(request: HttpRequest) -> HttpResponseBase:
        length = request.META.get("CONTENT_LENGTH") or "0"
        if not length.isdigit() or int(length) > limit:
            return HttpResponse(text, status=413, content_type="text/plain; charset=utf-8")
        return get_response(request)

    return middleware


def workers_pages_without_cookies(get_response: GetResponse) -> GetResponse:
    """Answers a worker's page here: what comes behind (sessions, users, messages) works with cookies.

    So these pages cannot come to need one, and the requests that there are most of are spared the way.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith("/w/"):
            return get_response(request)
        request.get_host()  # raises DisallowedHost: one thing that what comes behind would see to
        try:
            match = resolve(request.path_info)
        except Resolver404:  # perhaps the last slash is missing
            return get_response(request)
        response: HttpResponse = match.func(request, *match.args, **match.kwargs)
        # Without a length the connection could not be kept, or would carry the page in chunks.
        response.headers.setdefault("Content-Length", str(len(response.content)))
        return response

    return middleware
