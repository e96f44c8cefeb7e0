"""What every page of operators and requesters shares: who may see it, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from marketplace.access import is_operator, requester_of, require_operator, require_requester
from marketplace.models import Requester
from marketplace.sites.operate.cells import csv_lines

P = ParamSpec("P")
M = TypeVar("M", bound=Model)
SAFE_METHODS = ("GET", "HEAD")
PER_PAGE = 50


class SignedIn(HttpRequest):
    """A request of a user: ``signed_in`` lets no other through."""

    user: User


def signed_in(
    view: Callable[Concatenate[SignedIn, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Sends everybody else to the sign-in page and, where they were reading, back here afterwards."""

    @never_cache
    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)  # type: ignore[arg-type]
        back = request.get_full_path() if request.method in SAFE_METHODS else reverse("operate_home")
        return redirect_to_login(back, reverse("operate_login"))

    return wrapped


def for_operators(
    view: Callable[Concatenate[SignedIn, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """For those who run the marketplace; 404 for everybody else who is signed in."""

    @signed_in
    @wraps(view)
    def wrapped(request: SignedIn, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        require_operator(request.user)
        return view(request, *args, **kwargs)

    return wrapped


def for_requesters(
    view: Callable[Concatenate[SignedIn, Requester, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Gives the view the requester whom the user signs in for; 404 for everybody who is none."""

    @signed_in
    @wraps(view)
    def wrapped(request: SignedIn, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        return view(request, require_requester(request.user), *args, **kwargs)

    return wrapped


def show(
    request: HttpRequest, template: str, context: dict[str, Any], *, role: str = "operator", status: int = 200
) -> HttpResponse:
    """A page with the menu of one role, and the way to the other for whoever has both."""
    other = requester_of(request.user) is not None if role == "operator" else is_operator(request.user)
    return render(
        request, f"marketplace/operate/{template}", {"role": role, "has_both": other} | context, status=status
    )


def confirmed(request: HttpRequest) -> bool:
    """Whether this form comes from the page that `ask` shows."""
    return request.POST.get("confirmed") == "yes"


def ask(
    request: HttpRequest,
    *,
    heading: str,
    text: str,
    button: str,
    back: str,
    section: str,
    lines: Sequence[str] = (),
    form: Form | None = None,
    role: str = "operator",
    status: int = 200,
) -> HttpResponse:
    """A page that asks before something that cannot be undone: it sends the same form again, with ``confirmed``."""
    own = {"csrfmiddlewaretoken", "confirmed", *(form.fields if form else ())}
    kept = [(name, value) for name, values in request.POST.lists() for value in values if name not in own]
    context = {
        "heading": heading,
        "text": text,
        "lines": lines,
        "button": button,
        "back": back,
        "kept": kept,
        "form": form,
        "section": section,
    }
    return show(request, "confirm.html", context, role=role, status=status)


def page_of(rows: QuerySet[M, Any] | Sequence[Any], request: HttpRequest, per_page: int = PER_PAGE) -> Page[Any]:
    """The page that ``?page=`` asks for; the nearest there is when it asks for nonsense."""
    return Paginator(rows, per_page).get_page(request.GET.get("page"))


def filters_of(request: HttpRequest) -> str:
    """The filters of the address, to be put before ``page=`` in the links between pages."""
    query = request.GET.copy()
    query.pop("page", None)
    return query.urlencode()


def csv_response(name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> HttpResponseBase:
    """A file to save; written while it is read, so that its length does not matter."""
    lines = csv_lines(columns, rows)
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
