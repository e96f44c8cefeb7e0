"""Middleware for every response: policies, limits, and workers' pages without cookies."""

from collections.abc import Callable, Sequence

from django.conf import settings
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.template.loader import render_to_string
from django.urls import Resolver404, resolve

from hitserver.errors import problem

GetResponse = Callable[[HttpRequest], HttpResponseBase]
HEADER = "Content-Security-Policy"
#: Workers' pages accept only text: anybody may have a link, so nobody can send files there.
TEXT_ONLY = ("/w/", "/s/", "/p/")


def policy(frame_ancestors: Sequence[str] = (), form_sites: Sequence[str] = ()) -> str:
    """The policy for pages. They load only this server's own files, appear in frames only on the sites in
    ``frame_ancestors``, and send forms only to this server or to ``form_sites``."""
    framed_by = " ".join(frame_ancestors) or "'none'"
    sent_to = " ".join(["'self'", *form_sites])
    return (
        "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' data:; media-src 'self'; "
        f"connect-src 'self'; form-action {sent_to}; base-uri 'none'; frame-ancestors {framed_by}"
    )


def content_security_policy(get_response: GetResponse) -> GetResponse:
    """Sets the policy unless a view has set its own.

    The sites in FRAME_ANCESTORS may frame a response marked with Django's `xframe_options_exempt`. `form_sites` lists
    other sites to which its forms may be sent.
    """
    closed = policy()
    frameable = policy(settings.FRAME_ANCESTORS)

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        exempt = getattr(response, "xframe_options_exempt", False)
        form_sites = getattr(response, "form_sites", None)
        if form_sites:
            response.headers[HEADER] = policy(settings.FRAME_ANCESTORS, form_sites)
        response.headers.setdefault(HEADER, frameable if exempt else closed)
        return response

    return middleware


def most_bytes(path: str) -> int:
    """The largest body that any view at this address reads."""
    if path.startswith(TEXT_ONLY):
        return min(settings.DATA_UPLOAD_MAX_MEMORY_SIZE, settings.MAX_UPLOAD_BYTES)
    return settings.MAX_UPLOAD_BYTES


def too_large(path: str, most: int) -> HttpResponse:
    """The answer to a request with more than ``most`` bytes: a page, or JSON for programs."""
    limit = f"{most / 1024**2:,.4g} MB"
    if path.startswith("/api/"):
        detail = f"At most {limit} can be sent to this server at once. Send less, such as fewer items."
        return problem(413, "too-large", "Too large", detail)
    return HttpResponse(render_to_string("too_large.html", {"most": limit}), status=413)


def upload_limit(get_response: GetResponse) -> GetResponse:
    """Refuses a request that is larger than any view at its address reads, before reading a byte of its body.

    ``web_worker`` does the same while the request is still arriving. This is for all other servers.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        length = request.META.get("CONTENT_LENGTH") or "0"
        most = most_bytes(request.path_info)
        if not length.isdigit() or int(length[:18]) > most:
            return too_large(request.path_info, most)
        return get_response(request)

    return middleware


def workers_pages_without_cookies(get_response: GetResponse) -> GetResponse:
    """Answers a worker's page here, before the middleware that needs cookies (sessions, users, messages).

    So these pages can never start to need a cookie, and the most frequent requests skip that middleware.
    """

    def middleware(request: HttpRequest) -> HttpResponseBase:
        if not request.path_info.startswith(("/w/", "/p/")):
            return get_response(request)
        request.get_host()  # raises DisallowedHost, as the skipped middleware would
        try:
            match = request.resolver_match = resolve(request.path_info)
        except Resolver404:  # perhaps the last slash is missing
            return get_response(request)
        response: HttpResponse = match.func(request, *match.args, **match.kwargs)
        # Without a length, the connection would have to close or send the page in chunks.
        response.headers.setdefault("Content-Length", str(len(response.content)))
        return response

    return middleware
