"""Signing in: one way for the console, the operators' site and the workers' site.

Each is an ``Entrance`` that admits only its own people: workers cannot sign in to the console, nor researchers to the
workers' site. The brake counts wrong passwords for all of them together, and the server's log records every attempt,
except those that the brake holds back.
"""

from __future__ import annotations

import logging
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from typing import Any

from django.conf import settings
from django.contrib import messages
from django.contrib.auth import authenticate
from django.contrib.auth import login as open_session
from django.contrib.auth.forms import AuthenticationForm, PasswordChangeForm
from django.contrib.auth.models import User
from django.contrib.auth.views import LoginView, PasswordChangeView
from django.core.exceptions import NON_FIELD_ERRORS, ValidationError
from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.urls import reverse
from django.utils import timezone
from django.utils.crypto import constant_time_compare

from accounts import identities, second_factor
from accounts.log import Kind, address_of, record
from accounts.models import Session
from accounts.roles import is_researcher
from accounts.session_store import ORIGIN
from accounts.users import end_sessions
from common import brake
from common.languages import gettext as _
from common.languages import marked

logger = logging.getLogger(__name__)
BACKEND = "django.contrib.auth.backends.ModelBackend"
WRONG = marked("The user name or the password is wrong.")
#: Where a session keeps who has given their password, and how long the page for the code waits.
WAITING, TIME_FOR_CODE = "_waiting", timedelta(minutes=10)
TOO_MANY, WRONG_PASSWORD, NOT_HERE = "too_many", "wrong_password", "not_here"


@dataclass(frozen=True, slots=True)
class Entrance:
    """A page where people sign in. ``refusal`` explains why somebody with the right password cannot sign in here.

    ``code_page`` is the page that asks for the second factor.
    """

    name: str
    admits: Callable[[User], bool]
    refusal: str
    code_page: str


class SignInRefused(Exception):
    """Nobody was signed in. ``message`` is for the page, ``code`` is TOO_MANY, WRONG_PASSWORD or NOT_HERE."""

    def __init__(self, message: str, code: str) -> None:
        super().__init__(message)
        self.message, self.code = message, code


def check_password(request: HttpRequest, *, name: str, password: str, entrance: Entrance) -> User:
    """The user with this name and password, if they can sign in here. Raises SignInRefused."""
    if not brake.may_try(request, name):
        logger.warning("Sign-in held back after too many wrong passwords, from %s", address_of(request))
        raise SignInRefused(_(brake.WAIT), TOO_MANY)
    user = authenticate(request, username=name, password=password)
    if not isinstance(user, User):
        # Without the name of an account that does not exist: people sometimes type their password into the wrong box.
        username = User.objects.filter(username__iexact=name).values_list("username", flat=True).first() or ""
        record(
            kind=Kind.SIGN_INS, actor="", action="sign-in failed", about=username, request=request, page=entrance.name
        )
        logger.warning("Wrong user name or password from %s", address_of(request))
        raise SignInRefused(_(WRONG), WRONG_PASSWORD)
    brake.forgive(request, name)
    if settings.OIDC and settings.OIDC_ONLY and is_researcher(user):
        _record(request, user, "sign-in refused", entrance, by="password")
        raise SignInRefused(f"Researchers sign in with {settings.OIDC.name}, not with a password.", NOT_HERE)
    if not entrance.admits(user):
        _record(request, user, "sign-in refused", entrance)
        raise SignInRefused(_(entrance.refusal), NOT_HERE)
    return user


def check_own_password(request: HttpRequest, user: User, password: str) -> None:
    """Whether somebody who is signed in knows the password of their account. Raises SignInRefused.

    Guesses count like those of a sign-in page: whoever finds a browser signed in could otherwise try every password.
    """
    name = user.get_username()
    if not brake.may_try(request, name):
        logger.warning("A current password held back after too many wrong ones, from %s", address_of(request))
        raise SignInRefused(_(brake.WAIT), TOO_MANY)
    if not user.check_password(password):
        record(kind=Kind.SIGN_INS, actor=name, action="current password wrong", about=name, request=request)
        raise SignInRefused(_("This is not your current password."), WRONG_PASSWORD)
    brake.forgive(request, name)


def enter(
    request: HttpRequest,
    user: User,
    *,
    entrance: Entrance,
    to: str,
    by: str = "password",
    verified: bool = False,
    extra: dict[str, Any] | None = None,
) -> HttpResponseRedirect:
    """Signs in a user whose password or link has been checked, or first asks for their second factor. Then goes ``to``.

    ``verified``: they have shown a second factor elsewhere. ``extra`` is kept in the session.
    """
    if verified or not second_factor.has_factor(user):
        sign_in(request, user, entrance=entrance, by=by, verified=verified, extra=extra)
        return HttpResponseRedirect(to)
    request.session[WAITING] = {
        "user": user.pk,
        "hash": user.get_session_auth_hash(),
        "entrance": entrance.name,
        "to": to,
        "by": by,
        "extra": extra or {},
        "until": (timezone.now() + TIME_FOR_CODE).isoformat(),
    }
    return HttpResponseRedirect(reverse(entrance.code_page))


@dataclass(frozen=True, slots=True)
class HalfSignedIn:
    """Somebody who has given their password, and not yet their second factor."""

    user: User
    entrance: str
    to: str
    by: str
    extra: dict[str, Any]


def half_signed_in(request: HttpRequest) -> HalfSignedIn | None:
    """Who has to show a second factor in this browser. None if nobody, or if it took them too long."""
    waiting = request.session.get(WAITING)
    if not waiting or datetime.fromisoformat(waiting["until"]) < timezone.now():
        return None
    user = User.objects.filter(pk=waiting["user"], is_active=True).first()
    if user is None or not constant_time_compare(user.get_session_auth_hash(), waiting["hash"]):
        return None
    return HalfSignedIn(user, waiting["entrance"], waiting["to"], waiting["by"], waiting["extra"])


def sign_in(
    request: HttpRequest,
    user: User,
    *,
    entrance: Entrance,
    by: str = "password",
    verified: bool = False,
    extra: dict[str, Any] | None = None,
) -> None:
    """Opens a session for a user who has shown all that they must, and deletes expired sessions of everybody."""
    request.session.pop(WAITING, None)
    Session.objects.filter(expire_date__lt=timezone.now()).delete()
    open_session(request, user, backend=BACKEND)
    request.session[ORIGIN] = {
        "since": timezone.now().isoformat(),
        "entrance": entrance.name,
        "address": address_of(request),
        "device": request.headers.get("User-Agent", "")[:200],
    }
    request.session.update(extra or {})
    if verified:
        request.session[second_factor.VERIFIED] = True
    _record(request, user, "signed in", entrance, by=by)
    if settings.OIDC and is_researcher(user) and identities.connect_noted(request, user):
        messages.success(request, f"From now on you can sign in with {settings.OIDC.name}.")


def _record(request: HttpRequest, user: User, action: str, entrance: Entrance, **detail: Any) -> None:
    name = user.get_username()
    record(kind=Kind.SIGN_INS, actor=name, action=action, about=name, request=request, page=entrance.name, **detail)


class SignInForm(AuthenticationForm):
    """Django's form with the brake, the log and the page's entrance."""

    def __init__(self, *args: Any, entrance: Entrance, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.entrance = entrance

    def clean(self) -> dict[str, Any]:
        if self.request is None:
            raise TypeError("This form needs a request: wrong passwords are counted by address.")
        name, password = (self.cleaned_data.get(field) for field in ("username", "password"))
        if name and password:
            try:
                self.user_cache = check_password(self.request, name=name, password=password, entrance=self.entrance)
            except SignInRefused as refused:
                raise ValidationError(refused.message, code=refused.code) from None
        return self.cleaned_data

    @property
    def status(self) -> int:
        """The HTTP status of the page that shows this form after a refusal."""
        return 429 if self.has_error(NON_FIELD_ERRORS, TOO_MANY) else 422


class SignInView(LoginView):
    """Signs in through ``entrance``, which subclasses set. Whoever may enter already goes straight to the next page."""

    authentication_form = SignInForm
    entrance: Entrance

    def dispatch(self, request: HttpRequest, *args: Any, **kwargs: Any) -> HttpResponseBase:
        user = request.user
        if request.method == "GET" and isinstance(user, User) and self.entrance.admits(user):
            return HttpResponseRedirect(self.get_success_url())
        return super().dispatch(request, *args, **kwargs)

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "entrance": self.entrance}

    def form_valid(self, form: Any) -> HttpResponse:
        return enter(self.request, form.get_user(), entrance=self.entrance, to=self.get_success_url())

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = form.status
        return response


class OwnPasswordForm(PasswordChangeForm):
    """Django's form to change one's own password, with the brake and the log. Views pass ``request``."""

    def __init__(self, *args: Any, request: HttpRequest, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.request = request

    def clean_old_password(self) -> str:
        typed: str = self.cleaned_data["old_password"]
        try:
            check_own_password(self.request, self.user, typed)
        except SignInRefused as refused:
            raise ValidationError(refused.message, code=refused.code) from None
        return typed

    @property
    def status(self) -> int:
        """The HTTP status of the page that shows this form after a refusal."""
        return 429 if self.has_error("old_password", TOO_MANY) else 200


class OwnPasswordView(PasswordChangeView):
    """Changes the user's own password, which ends all their other sessions."""

    form_class = OwnPasswordForm

    def get_form_kwargs(self) -> dict[str, Any]:
        return {**super().get_form_kwargs(), "request": self.request}

    def form_valid(self, form: Any) -> HttpResponse:
        response = super().form_valid(form)
        end_sessions(user=form.user, actor=form.user.get_username(), keep=self.request.session.session_key)
        messages.success(self.request, "Your password has been changed, and all your other sessions have ended.")
        return response

    def form_invalid(self, form: Any) -> HttpResponse:
        response = super().form_invalid(form)
        response.status_code = form.status
        return response
