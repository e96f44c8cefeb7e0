"""What every page of the workers' site shares: who may see it, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from marketplace.access import worker_of
from marketplace.models import Worker
from marketplace.services.messages import unread

P = ParamSpec("P")
M = TypeVar("M", bound=Model)
SAFE_METHODS = ("GET", "HEAD")
PER_PAGE = 25
MOST_SEARCH = 200


class SignedIn(HttpRequest):
    """A request of a user: ``for_workers`` lets no other through."""

    user: User


def for_workers(
    view: Callable[Concatenate[SignedIn, Worker, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Gives the view the worker who is signed in.

    Others are sent to the sign-in page, and from there to what they wanted to read. Whoever is signed in and no
    worker is told so.
    """

    @never_cache
    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_authenticated:
            back = request.get_full_path() if request.method in SAFE_METHODS else reverse("market_home")
            return redirect_to_login(back, reverse("market_sign_in"))
        worker = worker_of(request.user)
        if worker is None:
            return render(request, "marketplace/work/not_a_worker.html", status=403)
        return view(request, worker, *args, **kwargs)  # type: ignore[arg-type]

    return wrapped


def show(
    request: HttpRequest,
    template: str,
    context: dict[str, Any] | None = None,
    *,
    worker: Worker | None = None,
    section: str = "",
    status: int = 200,
) -> HttpResponse:
    """A page; with a worker, the menu is above it."""
    shared: dict[str, Any] = {"section": section}
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
    """A page that says one thing and shows the way on. ``link`` is an address and its text."""
    way_on = {"url": link[0], "text": link[1]} if link else None
    context = {"heading": heading, "lines": lines, "link": way_on}
    return show(request, "message.html", context, worker=worker, status=status)


def say_refused(request: HttpRequest, refused: Exception) -> None:
    """Why a service said no, on the next page."""
    messages.error(request, str(refused))


def page_of(rows: QuerySet[M, Any] | Sequence[Any], request: HttpRequest, per_page: int = PER_PAGE) -> Page[Any]:
    """The page that ``?page=`` asks for; the nearest there is when it asks for nonsense."""
    return Paginator(rows, per_page).get_page(request.GET.get("page"))


def search_of(request: HttpRequest) -> str:
    """The words searched for. PostgreSQL knows no NUL characters."""
    return request.GET.get("q", "").replace("\x00", "").strip()[:MOST_SEARCH]


def query_without_page(request: HttpRequest) -> str:
    """The filters of the address, to be put before ``page=`` in the links between pages."""
    query = request.GET.copy()
    query.pop("page", None)
    return query.urlencode()
