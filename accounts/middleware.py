"""Keeps a session alive while it is in use."""

from collections.abc import Callable

from django.contrib.auth import SESSION_KEY
from django.http import HttpRequest, HttpResponseBase

GetResponse = Callable[[HttpRequest], HttpResponseBase]


def keep_session_alive(get_response: GetResponse) -> GetResponse:
    """Saves a session again when it is used. A page that refreshes itself does not count as use; otherwise an open tab
    would keep its user signed in forever."""

    def middleware(request: HttpRequest) -> HttpResponseBase:
        response = get_response(request)
        session = request.session
        refreshes_itself = request.method == "GET" and "HX-Request" in request.headers
        if session.accessed and not refreshes_itself and getattr(session, "is_due", False) and SESSION_KEY in session:
            session.modified = True
        return response

    return middleware
