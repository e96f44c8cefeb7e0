"""What all addresses of the API share: who may call them, in which format, and how they answer a problem."""

from __future__ import annotations

from collections.abc import Callable, Collection
from functools import partial
from typing import Any, ClassVar, NoReturn

from django.contrib.auth.models import User
from django.views.decorators.cache import never_cache
from rest_framework.authentication import SessionAuthentication
from rest_framework.exceptions import NotAuthenticated, PermissionDenied
from rest_framework.generics import GenericAPIView
from rest_framework.pagination import BasePagination
from rest_framework.permissions import SAFE_METHODS, BasePermission
from rest_framework.renderers import BaseRenderer, JSONRenderer
from rest_framework.request import Request
from rest_framework.response import Response
from rest_framework.views import APIView

from accounts.authentication import TokenAuthentication
from accounts.confirming import is_fresh
from accounts.roles import is_administrator, is_researcher
from accounts.second_factor import is_missing
from annotation.access import Role, study_for
from annotation.api.idempotency import answer_once
from annotation.api.paging import Pages
from annotation.api.parsing import Json
from annotation.api.problems import answer_for
from annotation.api.throttling import Limited
from annotation.models import Study
from annotation.work.member_work import works_blind

__all__ = ["BLIND", "NOT_RESEARCHER", "SIGN_IN", "Endpoint", "HasScope", "Role", "Writes"]

SIGN_IN = (
    "Send an API token (Authorization: Bearer …), or sign in to the console first. Tokens are on the page Your account."
)
NOT_RESEARCHER = "This account is not a researcher's, so it cannot use the API. Ask an administrator for access."
NO_SECOND_FACTOR = "On this server you need a second step when you sign in. Open the console and set it up."
OLD_SIGN_IN = "You signed in to the console a while ago. Sign in again for this, or send a token."
BLIND = "You see what others answered when you have coded all your items."


class HasScope(BasePermission):
    """Lets researchers call the API: with a session, or with a token that has the scope of the address."""

    def has_permission(self, request: Request, view: APIView) -> bool:
        if not is_researcher(request.user):
            return False
        assert isinstance(view, Endpoint)  # noqa: S101 - no other view has this permission
        token: Any = request.auth  # an ApiToken, whose class the framework does not know
        if token is None:
            return not is_missing(request, request.user, is_administrator) and not view.needs_newer_sign_in(request)
        return bool(token.allows(view.needed_scope(request.method or "GET")))


class Writes(APIView):
    """Runs the handler of a method that writes once for each ``Idempotency-Key``."""

    #: Whether an answer to a write has a secret, which is shown once and stored nowhere in plain text.
    answers_secrets: ClassVar[bool] = False

    def once(self, handler: Callable[..., Response], request: Request, *args: Any, **kwargs: Any) -> Response:
        write = partial(handler, request, *args, **kwargs)
        slug, secret = str(kwargs.get("slug", "")), self.answers_secrets
        return answer_once(request, write, prepare=self.prepare, slug=slug, secret=secret)

    def prepare(self) -> None:
        """Asks other servers what the write needs to know. It runs before the write's transaction begins."""


class Endpoint(Limited, Writes, GenericAPIView[Any]):
    """An address of the API. It answers researchers, in JSON that no cache stores.

    Safe methods need ``scope``, all others ``write_scope``. A handler's docstring describes it in the schema: its first
    sentence is the summary.
    """

    scope: ClassVar[str] = "read"
    write_scope: ClassVar[str] = "collect"
    #: Methods for which a session must be new, because they open accounts or spend money.
    asks_again: ClassVar[tuple[str, ...]] = ()
    #: Whether it answers something else than JSON, so that any Accept is right. Problems are still JSON.
    answers_files: ClassVar[bool] = False
    #: Statuses of problems besides those of every address.
    more_problems: ClassVar[tuple[int, ...]] = ()
    authentication_classes = (TokenAuthentication, SessionAuthentication)
    permission_classes = (HasScope,)
    renderer_classes = (JSONRenderer,)
    parser_classes: Any = (Json,)
    pagination_class: type[BasePagination] | None = Pages

    @classmethod
    def as_view(cls, **initkwargs: Any) -> Any:
        return never_cache(super().as_view(**initkwargs))

    def needs_newer_sign_in(self, request: Request) -> bool:
        return request.method in self.asks_again and not is_fresh(request, self.user)

    def needed_scope(self, method: str) -> str:
        return self.scope if method in SAFE_METHODS else self.write_scope

    def perform_content_negotiation(self, request: Request, force: bool = False) -> tuple[BaseRenderer, str]:
        negotiated: tuple[BaseRenderer, str] = super().perform_content_negotiation(request, force or self.answers_files)
        return negotiated

    def initial(self, request: Request, *args: Any, **kwargs: Any) -> None:
        super().initial(request, *args, **kwargs)
        method = (request.method or "").lower()
        handler = getattr(self, method, None)
        if request.method not in SAFE_METHODS and handler is not None and method in self.http_method_names:
            setattr(self, method, partial(self.once, handler))

    def permission_denied(self, request: Request, message: str | None = None, code: str | None = None) -> NoReturn:
        if not request.user.is_authenticated:
            raise NotAuthenticated(SIGN_IN)
        if not is_researcher(request.user):
            raise PermissionDenied(NOT_RESEARCHER)
        if request.auth is None:
            raise PermissionDenied(OLD_SIGN_IN if self.needs_newer_sign_in(request) else NO_SECOND_FACTOR)
        scope = self.needed_scope(request.method or "GET")
        raise PermissionDenied(f"This token lacks the scope “{scope}”. Create a token that has it: Your account.")

    def get_exception_handler(self) -> Callable[[Exception, dict[str, Any]], Response | None]:
        match = self.request.resolver_match
        route = match.route if match else ""
        return lambda error, context: answer_for(error, route, self.kwargs)

    @property
    def user(self) -> User:
        user = self.request.user
        assert isinstance(user, User)  # noqa: S101 - nobody else gets past the permission
        return user

    @property
    def actor(self) -> str:
        """The name in the audit entries of what this request writes."""
        return self.user.get_username()

    def study(self, role: str | Collection[str] = Role.VIEWER, *, answers: bool = False) -> Study:
        """The study in the address, for those who can do there what ``role`` can, or one of several. Raises Http404.

        ``answers``: what people answered is to be shown, which coders see only when they are done.
        """
        study = study_for(self.user, self.kwargs["slug"], role)
        if answers and works_blind(study, self.user):
            raise PermissionDenied(BLIND)
        return study
