"""What all pages of the console share: who can see them, and how they are rendered."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any, Concatenate, ParamSpec

from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase
from django.shortcuts import render
from django.urls import reverse
from django.views.decorators.cache import never_cache

from accounts.factor_pages import stopped
from accounts.roles import is_administrator, is_researcher
from accounts.web import SAFE_METHODS, go_to_sign_in
from accounts.web import SignedIn as SignedIn
from accounts.web import page_of as page_of
from accounts.web import query_without_page as query_without_page
from annotation.access import Capability, capabilities_in, study_for
from annotation.models import Study
from annotation.task_types.registry import UnknownTaskType, get_type
from annotation.work.member_work import works_blind
from common.problems import Refused

P = ParamSpec("P")


def signed_in(
    view: Callable[Concatenate[SignedIn, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """For researchers. Visitors sign in first and come back here. An account that is not a researcher's gets a 403."""

    @never_cache
    @wraps(view)
    def wrapped(request: HttpRequest, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if is_researcher(request.user):
            first = stopped(request, view, site="console", runs_server=is_administrator)  # type: ignore[arg-type]
            return first or view(request, *args, **kwargs)  # type: ignore[arg-type]  # the check above makes it one
        if request.user.is_authenticated:
            return render(request, "console/not_researcher.html", status=403)
        if "HX-Request" in request.headers:
            return HttpResponse(status=204, headers={"HX-Redirect": reverse("console_login")})
        return go_to_sign_in(request, login="console_login", home="console_studies")

    return wrapped


def superuser(
    view: Callable[Concatenate[SignedIn, P], HttpResponseBase],
) -> Callable[Concatenate[HttpRequest, P], HttpResponseBase]:
    """For administrators. All other researchers get a 404."""

    @signed_in
    @wraps(view)
    def wrapped(request: SignedIn, /, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
        if not request.user.is_superuser:
            raise Http404
        return view(request, *args, **kwargs)

    return wrapped


def member(
    *, read: str | tuple[str, ...] = "viewer", write: str | tuple[str, ...] = "editor", answers: bool = False
) -> Callable[
    [Callable[Concatenate[SignedIn, Study, P], HttpResponseBase]],
    Callable[..., HttpResponseBase],
]:
    """Turns the slug in an address into the study, for members with a sufficient role. Other researchers get a 404.

    Several roles: one of them is enough.

    A page that needs the study's task type shows a message if the type is no longer installed. ``answers``: the page
    shows what people answered, so coders see it only when they are done.
    """

    def decorate(
        view: Callable[Concatenate[SignedIn, Study, P], HttpResponseBase],
    ) -> Callable[..., HttpResponseBase]:
        @signed_in
        @wraps(view)
        def wrapped(request: SignedIn, /, slug: str, *args: P.args, **kwargs: P.kwargs) -> HttpResponseBase:
            study = study_for(request.user, slug, read if request.method in SAFE_METHODS else write)
            try:
                if answers and works_blind(study, request.user):
                    return blind_page(request, study)
                return view(request, study, *args, **kwargs)
            except UnknownTaskType:
                return study_page(request, study, "console/no_type.html", {}, section="", status=409)

        return wrapped

    return decorate


def blind_page(request: SignedIn, study: Study) -> HttpResponse:
    """Instead of a page with others' answers, for a member who has not coded everything yet."""
    return study_page(request, study, "console/blind.html", {}, section="", status=403)


def task_title(name: str) -> str:
    """The type's title, or its name if it is no longer installed."""
    try:
        return get_type(name).title
    except UnknownTaskType:
        return name


def for_members(name: str) -> bool:
    """Whether members of the study do its work, by the type called ``name``."""
    try:
        return get_type(name).for_members
    except UnknownTaskType:
        return False


def study_page(
    request: SignedIn, study: Study, template: str, context: dict[str, Any], *, section: str, status: int = 200
) -> HttpResponse:
    """A page of one study: the heading, the study's menu with ``section`` marked, and what the user may do."""
    shared = {
        "study": study,
        "task_title": task_title(study.task_type),
        **rights(study, request.user),
        "is_draft": study.status == Study.Status.DRAFT,
        "section": section,
        "for_members": for_members(study.task_type),
    }
    return render(request, template, shared | context, status=status)


def rights(study: Study, user: User) -> dict[str, bool]:
    """What the user may do in the study, for templates."""
    capabilities = capabilities_in(study, user)
    may_edit, may_pay = Capability.COLLECT in capabilities, Capability.PAY in capabilities
    return {
        "can_edit": may_edit,
        "can_pay": may_pay,
        "sees_payments": may_edit or may_pay,
        "is_owner": Capability.MANAGE in capabilities,
    }


def say_refused(request: HttpRequest, refused: Refused) -> None:
    """Shows the service's reasons as messages on the next page."""
    for problem in refused.problems:
        messages.error(request, f"{problem.what} {problem.fix}".strip())
