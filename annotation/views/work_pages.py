"""What all workers' pages share: rendered without request, session or cookie; clear words when something is wrong."""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from django.core.exceptions import ObjectDoesNotExist, RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, UnreadablePostError
from django.template.loader import get_template

from annotation.task_types.questions import clean_text
from annotation.tokens import BadToken

logger = logging.getLogger(__name__)
View = Callable[..., HttpResponse]
T = TypeVar("T")
RETRY_SECONDS = 10
#: What a database says when it is locked, full, gone or out of connections.
UNAVAILABLE = (OperationalError, InterfaceError)


@dataclass(frozen=True, slots=True)
class Notice:
    """A box above the page's content. ``tone`` is a class of the stylesheet: good, warn, bad or empty."""

    tone: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Link:
    url: str
    text: str


class SeeOther(HttpResponseRedirect):
    """After a form was sent: go there with GET, so that reloading does not send it again."""

    status_code = 303


def page(template: str, context: Mapping[str, Any], *, status: int = 200) -> HttpResponse:
    return HttpResponse(get_template(template).render(dict(context)), status=status)


def message(heading: str, *lines: str, status: int, link: Link | None = None, contact: str = "") -> HttpResponse:
    """A page that says one thing and shows the way on."""
    context = {"heading": heading, "lines": lines, "link": link, "contact": contact}
    return page("annotation/message.html", context, status=status)


def broken_link() -> HttpResponse:
    return message(
        "This link is not complete",
        "Something is missing from it or was changed: long links are sometimes cut in two, or lose their last letters "
        "when they are copied.",
        "Open the study again from where you found it, or copy the whole link.",
        status=404,
    )


def workers_page(view: View) -> View:
    """Marks a view as one of a worker's pages: signed tokens in place of cookies, may be framed where that is allowed.

    Tokens that this server did not make, and a database that does not answer, are told in plain words.
    """

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response = once_more(lambda: view(request, *args, **kwargs))
        except (BadToken, ObjectDoesNotExist):
            response = broken_link()
        except (RequestDataTooBig, TooManyFieldsSent):
            response = message(
                "This is too much to send at once",
                "Go back: what you wrote should still be there. Shorten it, then send it again.",
                status=413,
            )
        except UnreadablePostError:
            response = message(
                "This did not arrive as a whole",
                "The connection was lost on the way. Go back: what you wrote should still be there. Send it again.",
                status=400,
            )
        except UNAVAILABLE:
            logger.exception("A worker's page could not be served")
            response = unavailable(request)
        # Not "no-store": a browser then forgets what was typed when its user comes back from an error or another page.
        response.headers["Cache-Control"] = "private, no-cache"
        response.xframe_options_exempt = True
        return response

    answer.csrf_exempt = True  # type: ignore[attr-defined]
    return answer


def once_more(action: Callable[[], T]) -> T:
    """``action``, a second time if the kept connection to the database turns out to be gone, say after a restart.

    For what may be repeated: everything on a worker's page may.
    """
    try:
        return action()
    except UNAVAILABLE:
        if connection.in_atomic_block or connection.connection is None or connection.is_usable():
            raise
        connection.close()
        return action()


def _is_written(name: str, value: str) -> bool:
    """Whether a field is to be seen: a text of some length, and not one that the page itself filled in."""
    return name not in ("form", "timing", "start", "k") and (len(value) > 10 or "\n" in value)


def unavailable(request: HttpRequest) -> HttpResponse:
    """The database cannot even be read. What was sent goes back in a form that sends it again."""
    if request.method == "POST":
        sent = [(name, clean_text(str(value)), _is_written(name, str(value))) for name, value in request.POST.items()]
        response = page("annotation/unsaved.html", {"sent": sent}, status=503)
    else:
        response = page("503.html", {}, status=503)
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response
