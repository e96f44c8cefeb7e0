"""Platform accounts: the list, a new one, and one account with what can be done to it. Keys are never shown."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.db.models import F
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.views.decorators.debug import sensitive_post_parameters
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts.confirming import recently_confirmed
from annotation.access import studies_of
from annotation.models import PlatformAccount
from annotation.platforms import all_platforms, connect_account
from annotation.platforms.base import Platform
from annotation.platforms.calls import PlatformTrouble
from annotation.platforms.paying_accounts import endpoints_of, may_use_servers, usable_by, visible_to
from annotation.recruiting import platform_accounts as service
from annotation.recruiting.pages.platform_account_forms import AccountForm, DetailsForm, KeysForm
from annotation.shell.page import SignedIn, say_refused, signed_in
from common.problems import Refused

HERE = {"here": "account"}


@require_safe
@signed_in
def accounts(request: SignedIn) -> HttpResponse:
    """The accounts that the user may see, and this server's own."""
    rows = visible_to(request.user).order_by(F("retired_at").asc(nulls_first=True), "title")
    usable = set(usable_by(request.user).values_list("pk", flat=True))
    context = {
        "rows": [(account, _place(account), account.pk in usable) for account in rows],
        "kinds": _kinds(),
        "servers": [kind for kind in _kinds() if _has_keys(kind)] if may_use_servers(request.user) else [],
        "may_use_servers": may_use_servers(request.user),
        **HERE,
    }
    return render(request, "recruiting/platform_accounts.html", context)


@sensitive_post_parameters()
@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
@recently_confirmed(site="console", base="console/base.html")
def new_account(request: SignedIn, platform: str) -> HttpResponse:
    """A form for the keys. They are checked before anything is saved."""
    kind = all_platforms().get(platform)
    if kind is None or not kind.has_accounts:
        raise Http404("This platform has no accounts.")
    form = AccountForm(platform, request.user, request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        entry = service.Entry(
            owner=form.owner_chosen(),
            platform=platform,
            **{name: form.cleaned_data.get(name, "") for name in ("title", "endpoint", "region", "project")},
        )
        try:
            account = service.add_account(
                entry=entry,
                keys=form.keys(),
                unchecked=form.cleaned_data["unchecked"],
                actor=request.user.get_username(),
            )
        except (Refused, PlatformTrouble) as trouble:
            _show(form, trouble)
        else:
            _say_saved(request, account)
            return redirect("console_platform_account", account.slug)
    context = {"platform": kind, "form": form, **HERE}
    return render(request, "recruiting/new_platform_account.html", context, status=422 if form.errors else 200)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def account(request: SignedIn, slug: str) -> HttpResponse:
    """One account. A POST changes its title and its project."""
    shown = _account(request, slug, manage=request.method == "POST")
    form = DetailsForm(request.POST if request.method == "POST" else None, initial=vars(shown), label_suffix="")
    if request.method == "POST" and form.is_valid():
        service.change_account(account=shown, actor=request.user.get_username(), **form.cleaned_data)
        messages.success(request, "Saved.")
        return redirect("console_platform_account", slug)
    return _account_page(request, shown, details=form)


@sensitive_post_parameters()
@require_POST
@signed_in
@recently_confirmed(site="console", base="console/base.html")
def replace_keys(request: SignedIn, slug: str) -> HttpResponse:
    """New keys for the account. If the platform refuses them, the old ones stay."""
    shown = _account(request, slug, manage=True)
    form = KeysForm(shown.platform, request.POST)
    if form.is_valid():
        unchecked = form.cleaned_data["unchecked"]
        try:
            service.replace_keys(
                account=_account(request, slug, manage=True),
                keys=form.keys(),
                unchecked=unchecked,
                actor=request.user.get_username(),
            )
        except (Refused, PlatformTrouble) as trouble:
            _show(form, trouble)
        else:
            _say_saved(request, _account(request, slug, manage=True))
            return redirect("console_platform_account", slug)
    return _account_page(request, shown, keys=form)


@require_POST
@signed_in
def check(request: SignedIn, slug: str) -> HttpResponse:
    """Asks the platform with the stored keys."""
    try:
        service.check_account(account=_account(request, slug, manage=True))
    except PlatformTrouble as trouble:
        messages.error(request, str(trouble))
    else:
        messages.success(request, "The platform accepts the keys.")
    return redirect("console_platform_account", slug)


@require_POST
@signed_in
def get_notices(request: SignedIn, slug: str) -> HttpResponse:
    """Gets the secret of the platform's notices, so that nobody has to enter it."""
    try:
        service.get_notices(account=_account(request, slug, manage=True), actor=request.user.get_username())
    except PlatformTrouble as trouble:
        messages.error(request, str(trouble))
    else:
        messages.success(request, "Studies that are published from now on with this account get notices.")
    return redirect("console_platform_account", slug)


@require_POST
@signed_in
def retire(request: SignedIn, slug: str) -> HttpResponse:
    """Retires the account, or allows it again. Administrators can, too."""
    shown = _account(request, slug, manage=not request.user.is_superuser)
    retired = request.POST.get("retired") == "on"
    service.retire_account(account=shown, retired=retired, actor=request.user.get_username())
    messages.success(request, "Retired: nothing is done with it any more." if retired else "It can be used again.")
    return redirect("console_platform_account", slug)


@require_POST
@signed_in
def delete(request: SignedIn, slug: str) -> HttpResponse:
    shown = _account(request, slug, manage=True)
    try:
        service.delete_account(account=shown, actor=request.user.get_username())
    except Refused as refused:
        say_refused(request, refused)
        return redirect("console_platform_account", slug)
    messages.success(request, f"“{shown.title}” and its keys are deleted here. On the platform, nothing changed.")
    return redirect("console_platform_accounts")


def _account(request: SignedIn, slug: str, *, manage: bool) -> PlatformAccount:
    """The account, for those who may see it or, with ``manage``, replace its keys. Raises Http404 for all others."""
    rows = usable_by(request.user) if manage else visible_to(request.user)
    return get_object_or_404(rows, slug=slug)


def _account_page(
    request: SignedIn, shown: PlatformAccount, *, details: DetailsForm | None = None, keys: KeysForm | None = None
) -> HttpResponse:
    studies = service.studies_of_account(shown)
    visible = studies_of(request.user).filter(pk__in=studies.values("pk")).order_by("title")
    failed = bool((details and details.errors) or (keys and keys.errors))
    context: dict[str, Any] = {
        "account": shown,
        "platform": all_platforms()[shown.platform],
        "place": _place(shown),
        "studies": visible,
        "n_others": studies.count() - visible.count(),
        "can_manage": usable_by(request.user).filter(pk=shown.pk).exists(),
        "form": details or DetailsForm(initial=vars(shown), label_suffix=""),
        "keys_form": keys or KeysForm(shown.platform),
        "keys_failed": bool(keys and keys.errors),
        **HERE,
    }
    return render(request, "recruiting/platform_account.html", context, status=422 if failed else 200)


def _show(form: KeysForm, trouble: Refused | PlatformTrouble) -> None:
    """Puts each problem next to its field; what the platform said above the form."""
    if isinstance(trouble, PlatformTrouble):
        form.add_error(None, f"Nothing was saved. {trouble}")
        if trouble.again:
            form.offer_unchecked()
        return
    for problem in trouble.problems:
        form.add_error(problem.where if problem.where in form.fields else None, f"{problem.what} {problem.fix}".strip())


def _say_saved(request: SignedIn, account: PlatformAccount) -> None:
    if account.checked_at is None:
        messages.warning(request, f"Saved, but not checked. {account.trouble}")
    else:
        messages.success(request, "Saved. The platform accepts the keys.")


def _kinds() -> list[type[Platform]]:
    return [kind for kind in all_platforms().values() if kind.has_accounts]


def _place(account: PlatformAccount) -> str:
    return dict(endpoints_of(account.platform)).get(account.endpoint, account.endpoint)


def _has_keys(kind: type[Platform]) -> bool:
    """Whether the server itself has keys for the platform."""
    try:
        connect_account(kind.name, None)
    except PlatformTrouble:
        return False
    return True
