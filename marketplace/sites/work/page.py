"""What all pages of the workers' site share: who can see them, and how they are rendered."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.contrib import messages
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.utils.cache import patch_vary_headers
from django.utils.http import url_has_allowed_host_and_scheme
from django.views.decorators.cache import never_cache
from django.views.decorators.http import require_POST

from accounts.web import SignedIn as SignedIn
from accounts.web import go_to_sign_in
from accounts.web import page_of as page_of
from accounts.web import query_without_page as query_without_page
from common.languages import LANGUAGES, preferred, speaking, spoken_code
from marketplace.access import worker_of
from marketplace.models import HITType, Worker
from marketplace.services.messages.worker_messages import unread

P = ParamSpec("P")
V = TypeVar("V", bound=HttpResponseBase)
PER_PAGE = 25
MOST_SEARCH = 200
ACCEPT_NEXT = "market_accept_next"
LANGUAGE_COOKIE = "market_language"
LANGUAGE_DAYS = 365


def for_workers(
    view: Callable[Concatenate[SignedIn, Worker, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Passes the signed-in worker to the view.

    Everybody else goes to the sign-in page, and then to the page they wanted. Users who are not workers get a page
    that explains this.
    """

    @never_cache
    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            return go_to_sign_in(request, login="market_sign_in", home="market_home")
        worker = worker_of(request.user)
        if worker is None:
            return render(request, "marketplace/work/not_a_worker.html", status=403)
        return view(request, worker, *args, **kwargs)  # type: ignore[arg-type]

    return wrapped


def in_their_language(view: Callable[Concatenate[HttpRequest, P], V]) -> Callable[Concatenate[HttpRequest, P], V]:
    """Words a page in the language that the worker chose on this site, or else in that of their browser."""

    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> V:
        chosen = request.COOKIES.get(LANGUAGE_COOKIE, "")
        code = chosen if chosen in LANGUAGES else preferred(request.headers.get("Accept-Language", ""))
        with speaking(code):
            response = view(request, *args, **kwargs)
        patch_vary_headers(response, ["Accept-Language", "Cookie"])
        return response

    return wrapped


@require_POST
def choose_language(request: HttpRequest) -> HttpResponse:
    """Saves the worker's choice in this browser, and shows the page again."""
    back = request.POST.get("next", "")
    safe = url_has_allowed_host_and_scheme(back, allowed_hosts={request.get_host()}, require_https=request.is_secure())
    response = redirect(back if safe and back.startswith("/") else "market_home")
    if (code := request.POST.get("language", "")) in LANGUAGES:
        response.set_cookie(
            LANGUAGE_COOKIE, code, max_age=LANGUAGE_DAYS * 86400, secure=request.is_secure(), samesite="Lax"
        )
    return response


def accepts_next(request: SignedIn, hit_type: HITType) -> bool:
    """Whether the worker wants the next task of this group as soon as one is submitted."""
    return bool(request.session.get(ACCEPT_NEXT) == hit_type.type_id)


def set_accepts_next(request: SignedIn, hit_type: HITType, *, on: bool) -> None:
    """Save this choice for one group. It lasts until the worker changes it or signs out."""
    if on:
        request.session[ACCEPT_NEXT] = hit_type.type_id
    else:
        request.session.pop(ACCEPT_NEXT, None)


def show(
    request: HttpRequest,
    template: str,
    context: dict[str, Any] | None = None,
    *,
    worker: Worker | None = None,
    section: str = "",
    status: int = 200,
) -> HttpResponse:
    """A page. With a worker, it has the menu at the top."""
    shared: dict[str, Any] = {"section": section, "languages": LANGUAGES.values(), "spoken_code": spoken_code()}
    if worker is not None:
        shared |= {"worker": worker, "n_unread": unread(worker)}
    return render(request, f"marketplace/work/{template}", shared | (context or {}), status=status)


def say(
    request: HttpRequest,
    heading: str,
    *lines: str,
    worker: Worker | None = None,
    link: tuple[str, str] | None = None,
    status: int = 200,
) -> HttpResponse:
    """A page with a short message and a link to continue. ``link`` is an address and its text."""
    way_on = {"url": link[0], "text": link[1]} if link else None
    context = {"heading": heading, "lines": lines, "link": way_on}
    return show(request, "message.html", context, worker=worker, status=status)


def say_refused(request: HttpRequest, refused: Exception) -> None:
    """Show the reason for a refusal on the next page."""
    messages.error(request, str(refused))


def search_of(request: HttpRequest) -> str:
    """The words to search for. PostgreSQL refuses NUL characters."""
    return request.GET.get("q", "").replace("\x00", "").strip()[:MOST_SEARCH]
