"""What every page of the console shares: who may see it, and how it is drawn."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec, TypeVar

from django.contrib import messages
from django.contrib.auth.models import User
from django.contrib.auth.views import redirect_to_login
from django.core.paginator import Page, Paginator
from django.db.models import Model, QuerySet
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from annotation.access import study_for
from annotation.models import Membership, Study
from annotation.services.refusals import Refused
from annotation.task_types.registry import UnknownTaskType, get_type

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
    """Sends everybody else to the sign-in page and back here afterwards."""

    @never_cache
    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if request.user.is_authenticated:
            return view(request, *args, **kwargs)  # type: ignore[arg-type]  # the check above makes it one
        login = reverse("console_login")
        if "HX-Request" in request.headers:
            return HttpResponse(status=204, headers={"HX-Redirect": login})
        back = request.get_full_path() if request.method in SAFE_METHODS else reverse("console_studies")
        return redirect_to_login(back, login)

    return wrapped


def superuser(
    view: Callable[Concatenate[SignedIn, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """For those who run the server; nobody else learns that there is such a page."""

    @signed_in
    @wraps(view)
    def wrapped(request: SignedIn, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_superuser:
            raise Http404
        return view(request, *args, **kwargs)

    return wrapped


def member(
    *, read: str = "viewer", write: str = "editor"
) -> Callable[
    [Callable[Concatenate[SignedIn, Study, P], HttpResponseBase]],
    Callable[..., HttpResponseBase],
]:
    """Turns the slug in an address into the study, for members whose role is enough; 404 for everybody else.

    A page that cannot do without the study's task type says so where that is not installed any more.
    """

    def decorate(
        view: Callable[Concatenate[SignedIn, Study, P], HttpResponseBase],
    ) -> Callable[..., HttpResponseBase]:
        @signed_in
        @wraps(view)
        def wrapped(request: SignedIn, /, slug: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            study = study_for(request.user, slug, read if request.method in SAFE_METHODS else write)
            try:
                return view(request, study, *args, **kwargs)
            except UnknownTaskType:
                return study_page(request, study, "no_type.html", {}, section="", status=409)

        return wrapped

    return decorate


def role_in(study: Study, user: User) -> str:
    """The user's role; a superuser counts as an owner everywhere."""
    if user.is_superuser:
        return Membership.Role.OWNER
    return Membership.objects.values_list("role", flat=True).get(study=study, user=user)


def task_title(name: str) -> str:
    """The type's title; its name if it is not installed any more."""
    try:
        return get_type(name).title
    except UnknownTaskType:
        return name


def study_page(
    request: SignedIn, study: Study, template: str, context: dict[str, Any], *, section: str, status: int = 200
) -> HttpResponse:
    """A page of one study: the heading, the study's menu with ``section`` marked, and what the user may do."""
    role = role_in(study, request.user)
    shared = {
        "study": study,
        "task_title": task_title(study.task_type),
        "role": role,
        "can_edit": role in (Membership.Role.OWNER, Membership.Role.EDITOR),
        "is_owner": role == Membership.Role.OWNER,
        "is_draft": study.status == Study.Status.DRAFT,
        "section": section,
    }
    return render(request, f"console/{template}", shared | context, status=status)


def page_of(rows: QuerySet[M, Any], request: HttpRequest, per_page: int = PER_PAGE) -> Page[M]:
    """The page that ``?page=`` asks for; the nearest there is when it asks for nonsense."""
    return Paginator(rows, per_page).get_page(request.GET.get("page"))


def query_without_page(request: HttpRequest) -> str:
    """The filters of the address, to be put before ``page=`` in the links between pages."""
    query = request.GET.copy()
    query.pop("page", None)
    return query.urlencode()


def say_refused(request: HttpRequest, refused: Refused) -> None:
    """Why a service said no, as messages on the next page."""
    for problem in refused.problems:
        messages.error(request, f"{problem.what} {problem.mend}".strip())
