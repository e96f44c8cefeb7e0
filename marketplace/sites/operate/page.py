"""What all pages of operators and requesters share: who can see them, and how they are rendered."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.forms import Form
from django.http import HttpRequest, HttpResponse, HttpResponseBase, StreamingHttpResponse
from django.shortcuts import render
from django.views.decorators.cache import never_cache

from accounts.factor_pages import stopped
from accounts.web import SignedIn as SignedIn
from accounts.web import go_to_sign_in
from accounts.web import page_of as page_of
from accounts.web import query_without_page as query_without_page
from marketplace.access import is_operator, requester_of, require_operator, require_requester
from marketplace.models import Requester
from marketplace.services.messages.worker_messages import unread_replies
from marketplace.sites.operate.csv_file import csv_lines

P = ParamSpec("P")


def signed_in(
    view: Callable[Concatenate[SignedIn, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Sends everybody else to the sign-in page, and then back to the page they wanted."""

    @never_cache
    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.user.is_authenticated:
            first = stopped(request, view, site="operate", runs_server=is_operator)  # type: ignore[arg-type]
            return first or view(request, *args, **kwargs)  # type: ignore[arg-type]
        return go_to_sign_in(request, login="operate_login", home="operate_home")

    return wrapped


def for_operators(
    view: Callable[Concatenate[SignedIn, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """For operators only; 404 for everybody else who is signed in."""

    @signed_in
    @wraps(view)
    def wrapped(request: SignedIn, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        require_operator(request.user)
        return view(request, *args, **kwargs)

    return wrapped


def for_requesters(
    view: Callable[Concatenate[SignedIn, Requester, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """Passes the user's requester to the view; 404 for everybody else."""

    @signed_in
    @wraps(view)
    def wrapped(request: SignedIn, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        return view(request, require_requester(request.user), *args, **kwargs)

    return wrapped


def show(
    request: HttpRequest, template: str, context: dict[str, Any], *, role: str = "operator", status: int = 200
) -> HttpResponse:
    """A page with the menu for one role, and a link to the other role for users who have both."""
    requester = requester_of(request.user)
    shared = {
        "role": role,
        "has_both": requester is not None and is_operator(request.user),
        "n_replies": unread_replies(requester if role == "requester" else None),
    }
    return render(request, f"marketplace/operate/{template}", shared | context, status=status)


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
    danger: bool = True,
    hidden_fields: Sequence[tuple[str, str]] = (),
    status: int = 200,
) -> HttpResponse:
    """A page that asks before an action that cannot be undone. It sends the same form again, with ``confirmed``.

    The fields in ``kept`` replace sent fields with the same name.
    """
    own_names = {
        "csrfmiddlewaretoken",
        "confirmed",
        *(form.fields if form else ()),
        *(name for name, _ in hidden_fields),
    }
    sent_fields = [(name, value) for name, values in request.POST.lists() for value in values if name not in own_names]
    context = {
        "heading": heading,
        "text": text,
        "lines": lines,
        "button": button,
        "back": back,
        "kept": [*sent_fields, *hidden_fields],
        "form": form,
        "danger": danger,
        "section": section,
    }
    return show(request, "confirm.html", context, role=role, status=status)


def csv_response(name: str, columns: Sequence[str], rows: Iterable[Sequence[object]]) -> HttpResponseBase:
    """A file to save. It is streamed, so it can have any length."""
    lines = csv_lines(columns, rows)
    response = StreamingHttpResponse(lines, content_type="text/csv; charset=utf-8")
    response["Content-Disposition"] = f'attachment; filename="{name}"'
    return response
