"""What all workers' pages share: rendering without request, session or cookie, what forms measure, and clear messages
about errors."""

from __future__ import annotations

import json
import logging
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import wraps
from typing import Any, TypeVar

from django.core.exceptions import ObjectDoesNotExist, RequestDataTooBig, TooManyFieldsSent
from django.db import InterfaceError, OperationalError, connection
from django.http import HttpRequest, HttpResponse, HttpResponseRedirect, UnreadablePostError
from django.template import Context
from django.template.loader import get_template

from annotation.languages import gettext as _
from annotation.languages import marked, preferred, speak, stop_speaking
from annotation.task_types.base import Page
from annotation.task_types.questions import clean_text
from annotation.tokens import BadToken

logger = logging.getLogger(__name__)
View = Callable[..., HttpResponse]
T = TypeVar("T")
RETRY_SECONDS = 10
#: Errors of a database that is locked, full, gone or out of connections.
UNAVAILABLE = (OperationalError, InterfaceError)


@dataclass(frozen=True, slots=True)
class Notice:
    """A box above the page's content. ``tone`` is a class of the stylesheet: good, warn, bad or empty.

    Title and text are in English: the template translates them.
    """

    tone: str
    title: str
    text: str


@dataclass(frozen=True, slots=True)
class Link:
    url: str
    text: str


#: For a step that was already stored with other answers. The worker is on the next page.
ALREADY_SENT = Notice(
    "warn",
    marked("You have already sent that step"),
    marked(
        "The answers that you sent first, perhaps from another tab, are saved and count. What you just sent was not "
        "saved."
    ),
)


#: For a step or a questionnaire that the database could not take. The worker stays on the page.
NOT_SAVED = Notice(
    "bad",
    marked("This could not be saved just now"),
    marked(
        "The server has a problem right now. Nothing is lost: everything you entered is still below. Wait a minute, "
        "then "
        "press the button again."
    ),
)
MOST_TIMING = 50_000
#: Names that a task's template looks up and most pages lack. To look up a missing name takes about ten times as long.
UNUSED = {
    "preview": False,
    "trying": "",
    "waiting": None,
    "events_token": "",
    "recording": "",
    "item_image": None,
    "practice": None,
    "again": (),
}


class SeeOther(HttpResponseRedirect):
    """After a form was sent: redirects with GET, so that reloading does not send the form again."""

    status_code = 303


def problems_of(due: Page, errors: Mapping[str, str]) -> list[tuple[str, str, str]]:
    """Key, name and error of every question with an error. Questions with the same wording are named by number."""
    questions = due.questions
    alike = len({question.label for question in questions}) < len(questions)
    return [
        (
            question.key,
            _("Question %(number)s:") % {"number": number} if alike else question.label,
            errors[question.key],
        )
        for number, question in enumerate(questions, start=1)
        if question.key in errors
    ]


def page(template: str, context: Mapping[str, Any], *, status: int = 200) -> HttpResponse:
    """The page without request, session or cookie.

    Numbers and times on it are formatted in the language of the page by our own tags, so Django need not look for a
    format of each value again.
    """
    values = Context(dict(context), use_l10n=False)
    compiled: Any = get_template(template)
    return HttpResponse(compiled.template.render(values), status=status)


def message(
    heading: str,
    *lines: str,
    status: int,
    link: Link | None = None,
    contact: str = "",
    asks_browser: bool = False,
    record_url: str = "",
) -> HttpResponse:
    """A page with one message and where to go next. ``asks_browser``: it has a button for people who have started."""
    context = {"heading": heading, "lines": lines, "link": link, "contact": contact, "asks_browser": asks_browser}
    context["record_url"] = record_url
    return page("annotation/message.html", context, status=status)


def broken_link() -> HttpResponse:
    return message(
        _("This link is not complete"),
        _(
            "Part of it is missing or changed. Long links are sometimes cut in two, or lose their last letters when "
            "they are copied."
        ),
        _("Open the study again from where you found it, or copy the whole link."),
        status=404,
    )


def workers_page(view: View) -> View:
    """Marks a view as a worker's page: it uses signed tokens instead of cookies, and can appear in allowed frames.

    For a wrong token, or a database that does not respond, it shows a page that explains what to do.
    """

    @wraps(view)
    def answer(request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponse:
        try:
            response = once_more(lambda: view(request, *args, **kwargs))
        except (BadToken, ObjectDoesNotExist):
            speak(preferred(request.headers.get("Accept-Language", "")))
            response = broken_link()
        except (RequestDataTooBig, TooManyFieldsSent):
            speak(preferred(request.headers.get("Accept-Language", "")))
            response = message(
                _("This is too long to send"),
                _("It was not saved. Go back: what you wrote should still be there. Shorten it, then send it again."),
                status=413,
            )
        except UnreadablePostError:
            speak(preferred(request.headers.get("Accept-Language", "")))
            response = message(
                _("Only part of this arrived"),
                _(
                    "The connection was lost, so nothing was saved. Go back: what you wrote should still be there. "
                    "Then send it again."
                ),
                status=400,
            )
        except UNAVAILABLE:
            logger.exception("A worker's page could not be served")
            speak(preferred(request.headers.get("Accept-Language", "")))
            response = unavailable(request)
        finally:
            stop_speaking()
        # Not "no-store": the browser would forget what was typed when people come back from an error or another page.
        response.headers["Cache-Control"] = "private, no-cache"
        response.xframe_options_exempt = True
        return response

    answer.csrf_exempt = True  # type: ignore[attr-defined]
    return answer


def once_more(action: Callable[[], T]) -> T:
    """Runs ``action``, and runs it again if the database connection is gone, for example after a restart.

    Only for actions that can be repeated, like everything on a worker's page.
    """
    try:
        return action()
    except UNAVAILABLE:
        if connection.in_atomic_block or connection.connection is None or connection.is_usable():
            raise
        connection.close()
        return action()


def timing_of(typed: Mapping[str, str]) -> dict[str, Any]:
    """The browser's measurements in a sent form; empty if they are not in the form that the page sends."""
    timing_json = typed.get("timing", "")
    try:
        measured = json.loads(timing_json) if len(timing_json) <= MOST_TIMING else {}
    except (ValueError, RecursionError):
        return {}
    return measured if isinstance(measured, dict) else {}


#: Fields of a form that contain no text of the worker.
NOT_WRITTEN = ("form", "timing", "start", "k", "edit_log")


def unavailable(request: HttpRequest) -> HttpResponse:
    """The page if the database cannot even be read. It contains what was sent, in a form that sends it again."""
    if request.method == "POST":
        fields = []
        for name, value in request.POST.items():
            text = str(value)
            is_written = name not in NOT_WRITTEN and (len(text) > 10 or "\n" in text)
            fields.append((name, clean_text(text), is_written))
        response = page("annotation/unsaved.html", {"sent": fields}, status=503)
    else:
        response = page("503.html", {}, status=503)
    response.headers["Retry-After"] = str(RETRY_SECONDS)
    return response
