"""What the pages of the console and of both marketplace sites repeat: who asks, the way to sign in, lists in pages."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, TypeVar

from django.conf import settings
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import HttpRequest, HttpResponseRedirect
from django.urls import reverse

M = TypeVar("M", bound=Model)
SAFE_METHODS = ("GET", "HEAD")
PER_PAGE = 50


class SignedIn(HttpRequest):
    """A signed-in user's request. Each site has decorators that let only its own people through."""

    user: User


def go_to_sign_in(request: HttpRequest, *, login: str, home: str) -> HttpResponseRedirect:
    """To the page ``login``, and from there back to this page; after a form was sent, to the page ``home``."""
    back = request.get_full_path() if request.method in SAFE_METHODS else reverse(home)
    return redirect_to_login(back, reverse(login))


def absolute(request: HttpRequest, path: str) -> str:
    """``path``, which begins with a slash, as an address that works outside this server."""
    return f"{settings.BASE_URL}{path}" if settings.BASE_URL_IS_SET else request.build_absolute_uri(path)


def page_of(rows: QuerySet[M, Any] | Sequence[Any], request: HttpRequest, per_page: int = PER_PAGE) -> Page[Any]:
    """The page that ``?page=`` asks for, or the nearest one if there is no such page."""
    return Paginator(rows, per_page).get_page(request.GET.get("page"))


def query_without_page(request: HttpRequest) -> str:
    """The filters in the address, to go before ``page=`` in the links between pages."""
    query = request.GET.copy()
    query.pop("page", None)
    return query.urlencode()
