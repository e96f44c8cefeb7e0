"""The pages of the second factor: the code after the password, and adding and removing factors.

The console and the operators' site have the same ones, each with its own frame and for its own people.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import wraps
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.http import Http404, HttpRequest, HttpResponse, HttpResponseBase, HttpResponseRedirect
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import URLPattern, path, reverse
from django.views.decorators.cache import never_cache
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import confirming, second_factor
from accounts.confirming import confirm_page, recently_confirmed, redirect_to_confirm, safe_next
from accounts.models import SecondFactor
from accounts.signing_in import Entrance, half_signed_in, sign_in
from accounts.users import end_sessions
from accounts.web import SignedIn
from common.problems import Refused
from common.words import counted

View = Callable[..., HttpResponseBase]
#: Where a session keeps the sealed secret of an app that is being added.
NEW_SECRET = "_new_secret"  # noqa: S105 - a name


class CodeForm(forms.Form):
    """The code after the password."""

    code = forms.CharField(
        label="Code",
        max_length=40,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "autofocus": True, "spellcheck": "false"}),
        help_text="Six digits from your authenticator app, or one of your recovery codes.",
        error_messages={"required": "Type the code that your app shows."},
    )


class AppForm(forms.Form):
    """An app that shows, with its first code, that it has the secret."""

    code = forms.CharField(
        label="Code that the app shows now",
        max_length=20,
        widget=forms.TextInput(attrs={"autocomplete": "one-time-code", "inputmode": "numeric", "spellcheck": "false"}),
        error_messages={"required": "Type the six digits that the app shows."},
    )
    name = forms.CharField(
        label="Name", max_length=80, required=False, help_text="So that you recognise it, such as “my phone”."
    )


def without_factor(view: View) -> View:
    """Marks a page that people can open before they have the second factor that they must have."""

    @wraps(view)
    def wrapped(*args: Any, **kwargs: Any) -> HttpResponseBase:
        return view(*args, **kwargs)

    wrapped.before_factor = True  # type: ignore[attr-defined]  # read by `stopped`
    return wrapped


def stopped(request: SignedIn, view: object, *, site: str, runs_server: Callable[[User], bool]) -> HttpResponse | None:
    """Where somebody goes first who must have a second factor and has not shown one; None for everybody else."""
    if getattr(view, "before_factor", False) or not second_factor.is_missing(request, request.user, runs_server):
        return None
    if second_factor.has_factor(request.user):
        response = redirect_to_confirm(request, site)
    else:
        messages.warning(request, "On this server you need a second step when you sign in. Set it up to continue.")
        response = redirect(f"{site}_factors")
    if "HX-Request" in request.headers:
        return HttpResponse(status=204, headers={"HX-Redirect": response["Location"]})
    return response


@dataclass(frozen=True)
class FactorPages:
    """The pages for one site. ``entrances`` are those whose people type their code here."""

    site: str
    base: str
    guard: Callable[[View], View]
    entrances: Sequence[Entrance]
    home: str
    runs_server: Callable[[User], bool]

    def urls(self, account: str, code: str) -> list[URLPattern]:
        """Their addresses: below ``account``, and ``code`` for the page after the password."""
        fresh = recently_confirmed(site=self.site, base=self.base)

        def page(view: View, *, ask: bool = False) -> View:
            return self.guard(without_factor(fresh(view) if ask else view))

        both = require_http_methods(["GET", "HEAD", "POST"])
        return [
            path(code, self.code, name=f"{self.site}_code"),
            path(account, require_safe(page(self.factors)), name=f"{self.site}_factors"),
            path(account + "app/", both(page(self.add_app, ask=True)), name=f"{self.site}_add_app"),
            path(account + "codes/", require_POST(page(self.new_codes, ask=True)), name=f"{self.site}_recovery_codes"),
            path(account + "<int:pk>/remove/", both(page(self.remove)), name=f"{self.site}_remove_factor"),
            path(account + "confirm/", both(page(self.confirm)), name=f"{self.site}_confirm"),
        ]

    def render(self, request: HttpRequest, name: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
        shared = {
            "base": self.base,
            "here": "account",
            "factors_url": reverse(f"{self.site}_factors"),
            "add_app_url": reverse(f"{self.site}_add_app"),
            "codes_url": reverse(f"{self.site}_recovery_codes"),
            "remove_name": f"{self.site}_remove_factor",
            "login_url": reverse(f"{self.site}_login"),
            "home_url": reverse(self.home),
        }
        return render(request, f"accounts/{name}.html", shared | context, status=status)

    @property
    def code(self) -> View:
        """Asks for the second factor of somebody who has just given their password."""

        @never_cache
        @sensitive_post_parameters()
        @require_http_methods(["GET", "HEAD", "POST"])
        def view(request: HttpRequest) -> HttpResponseBase:
            self._must_be_on()
            half = half_signed_in(request)
            entrance = next((door for door in self.entrances if half and door.name == half.entrance), None)
            if half is None or entrance is None:
                messages.warning(request, "That took too long. Sign in again.")
                return redirect(f"{self.site}_login")
            form, status = CodeForm(request.POST if request.method == "POST" else None, label_suffix=""), 200
            if form.is_valid():
                try:
                    how = second_factor.check_code(request, half.user, form.cleaned_data["code"])
                except second_factor.WrongCode as wrong:
                    form.add_error("code", wrong.message)
                    status = 429 if wrong.must_wait else 422
                else:
                    by = f"{half.by} and {how}"
                    sign_in(request, half.user, entrance=entrance, by=by, verified=True, extra=half.extra)
                    if how == "recovery code":
                        left = counted(second_factor.codes_left(half.user), "code").capitalize()
                        what = f"You used a recovery code. {left} left."
                        fix = "If you lost your app, remove it under Your account and add a new one."
                        messages.warning(request, f"{what} {fix}")
                    return HttpResponseRedirect(half.to)
            elif form.errors:
                status = 422
            return self.render(request, "code", {"form": form, "who": half.user.get_username()}, status)

        return view

    def factors(self, request: SignedIn) -> HttpResponse:
        self._must_be_on()
        context = {
            "factors": second_factor.factors_of(request.user),
            "left": second_factor.codes_left(request.user),
        }
        return self.render(request, "factors", context)

    def add_app(self, request: SignedIn) -> HttpResponse:
        """Shows a new secret as a QR code. It counts once the app has shown a code."""
        self._must_be_on()
        secret = second_factor.open_secret(request.user, request.session.get(NEW_SECRET, ""))
        if not secret:
            secret = second_factor.new_secret()
            request.session[NEW_SECRET] = second_factor.seal_secret(request.user, secret)
        sent = request.method == "POST" and "code" in request.POST
        form = AppForm(request.POST if sent else None, label_suffix="")
        if form.is_valid():
            try:
                codes = second_factor.add_app(user=request.user, secret=secret, **form.cleaned_data)
            except Refused as refused:
                for problem in refused.problems:
                    form.add_error(problem.where, f"{problem.what} {problem.fix}")
            else:
                del request.session[NEW_SECRET]
                # From now on this session counts as verified, and all others end.
                request.session[second_factor.VERIFIED] = True
                end_sessions(user=request.user, actor=request.user.get_username(), keep=request.session.session_key)
                if codes:
                    return self.render(request, "recovery_codes", {"codes": codes, "is_first": True})
                messages.success(request, "Added. All your other sessions have ended.")
                return redirect(f"{self.site}_factors")
        account, server = request.user.get_username(), request.get_host()
        uri = second_factor.uri_of(secret, account=account, server=server)
        context = {
            "form": form,
            "drawing": second_factor.qr_svg(uri),
            "secret": " ".join(secret[start : start + 4] for start in range(0, len(secret), 4)),
            "uri": uri,
        }
        return self.render(request, "add_app", context, 422 if form.errors else 200)

    def new_codes(self, request: SignedIn) -> HttpResponse:
        self._must_be_on()
        if not second_factor.has_factor(request.user):
            return redirect(f"{self.site}_factors")
        codes = second_factor.new_recovery_codes(user=request.user)
        return self.render(request, "recovery_codes", {"codes": codes})

    def remove(self, request: SignedIn, pk: int) -> HttpResponse:
        """Asks for the password again, however new the sign-in is."""
        self._must_be_on()
        factor = get_object_or_404(SecondFactor, pk=pk, user=request.user)
        is_last = second_factor.factors_of(request.user).count() == 1
        if is_last and second_factor.is_required(request.user, self.runs_server):
            messages.error(request, "On this server you need a second step. Add another one before you remove this.")
            return redirect(f"{self.site}_factors")
        context: dict[str, Any] = {"removed": factor, "is_last": is_last, "back": reverse(f"{self.site}_factors")}
        if request.method != "POST":
            return confirm_page(request, base=self.base, **context)
        error, status = confirming.problem_with(request)
        if error:
            return confirm_page(request, base=self.base, error=error, status=status, **context)
        second_factor.remove_factor(factor=factor, actor=request.user.get_username())
        messages.success(request, f"“{factor.name}” is removed.")
        return redirect(f"{self.site}_factors")

    def confirm(self, request: SignedIn) -> HttpResponseBase:
        """Asks who it is, and goes to the page ``next``."""
        target = safe_next(request, reverse(self.home))
        if request.method != "POST":
            return confirm_page(request, base=self.base, back=target, next=target)
        error, status = confirming.problem_with(request)
        if error:
            return confirm_page(request, base=self.base, error=error, status=status, back=target, next=target)
        return HttpResponseRedirect(target)

    @staticmethod
    def _must_be_on() -> None:
        if not second_factor.is_on():
            raise Http404
