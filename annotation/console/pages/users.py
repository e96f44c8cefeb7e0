"""For administrators: the users of this server, their rights, and the server's log."""

from __future__ import annotations

from typing import Any

from django.contrib import messages
from django.contrib.auth.forms import BaseUserCreationForm
from django.contrib.auth.models import User
from django.db.models import Count, Exists, OuterRef, Q, QuerySet
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from accounts import log as server_log
from accounts import second_factor
from accounts import users as service
from accounts.models import LogEntry, TeamMember
from accounts.roles import RESEARCHERS, is_workers_account
from annotation.models import Membership
from annotation.shell.page import SignedIn, page_of, query_without_page, say_refused, superuser
from common.problems import Refused
from common.words import counted

SHOWN = {"researchers": "Researchers", "others": "Other accounts", "inactive": "Deactivated"}


class NewUserForm(BaseUserCreationForm):  # type: ignore[type-arg]  # it is generic for the type checker alone
    """Name, password, and whether the user is also an administrator."""

    def __init__(self, *args: Any, **kwargs: Any) -> None:
        super().__init__(*args, **kwargs)
        self.fields["username"].widget.attrs.pop("autofocus", None)  # the list above it comes first

    class Meta:
        model = User
        fields = ("username", "is_superuser")
        labels = {"username": "User name", "is_superuser": "Administrator"}
        help_texts = {
            "username": "Letters, digits and @ . + - _ only.",
            "is_superuser": "Sees every study, manages users, registers models.",
        }


@superuser
@require_http_methods(["GET", "HEAD", "POST"])
def users(request: SignedIn) -> HttpResponse:
    form = NewUserForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        values = form.cleaned_data
        newcomer = service.create_researcher(
            username=values["username"],
            password=values["password1"],
            administrator=values["is_superuser"],
            actor=request.user.get_username(),
        )
        messages.success(request, f"{newcomer.username} can sign in now. Pass the password on yourself.")
        return redirect("console_users")
    show = request.GET.get("show", "researchers")
    search = request.GET.get("q", "").replace("\x00", "").strip()[:150]
    context: dict[str, Any] = {
        "form": form,
        "page": page_of(find_users(show, search), request),
        "show": show,
        "shown": SHOWN,
        "heading": SHOWN.get(show, SHOWN["researchers"]),
        "search": search,
        "query": query_without_page(request),
        "here": "users",
    }
    return render(request, "console/users.html", context, status=422 if form.errors else 200)


def find_users(show: str, search: str) -> QuerySet[User]:
    """Users by name, each with ``is_researcher``, ``n_studies`` and ``n_sessions``."""
    of_group = User.groups.through.objects.filter(user=OuterRef("pk"), group__name=RESEARCHERS)
    is_open = Q(sessions__expire_date__gt=timezone.now())
    users = User.objects.annotate(
        is_researcher=Exists(of_group),
        n_studies=Count("memberships", distinct=True),
        n_sessions=Count("sessions", filter=is_open, distinct=True),
    ).order_by("username")
    may = Q(is_superuser=True) | Q(is_researcher=True)
    chosen = {"others": Q(is_active=True) & ~may, "inactive": Q(is_active=False)}.get(show, Q(is_active=True) & may)
    return users.filter(chosen, username__icontains=search)


@require_safe
@superuser
def user(request: SignedIn, pk: int) -> HttpResponse:
    shown_user = get_object_or_404(User, pk=pk)
    context = {
        "found": shown_user,
        "is_researcher": shown_user.is_superuser or shown_user.groups.filter(name=RESEARCHERS).exists(),
        "is_worker": is_workers_account(shown_user),
        "memberships": Membership.objects.filter(user=shown_user).select_related("study").order_by("study__title"),
        "teams": TeamMember.objects.filter(user=shown_user).select_related("team").order_by("team__name"),
        "sessions": service.open_sessions(shown_user),
        "factors": second_factor.factors_of(shown_user),
        "identities": shown_user.identities.order_by("pk"),
        "entries": LogEntry.objects.filter(about=shown_user.username, kind__in=("users", "sign-ins")).order_by("-pk")[
            :20
        ],
        "here": "users",
    }
    return render(request, "console/user.html", context)


@require_POST
@superuser
def change(request: SignedIn, pk: int) -> HttpResponse:
    """Makes one change to one user. The button that was pressed decides which."""
    changed_user = get_object_or_404(User, pk=pk)
    name, actor = changed_user.get_username(), request.user.get_username()
    action = request.POST.get("do", "")
    try:
        if action == "grant":
            service.grant_researcher(user=changed_user, actor=actor)
            done = f"{name} is a researcher now."
        elif action == "revoke":
            service.revoke_researcher(user=changed_user, actor=actor)
            done = f"{name} is no longer a researcher, and is signed out everywhere."
        elif action == "deactivate":
            service.deactivate(user=changed_user, actor=actor)
            done = f"{name} is deactivated, and is signed out everywhere."
        elif action == "activate":
            service.activate(user=changed_user, actor=actor)
            done = f"{name} can sign in again."
        elif action == "remove-factors":
            removed = second_factor.remove_all(user=changed_user, actor=actor)
            done = f"{counted(removed, 'second step')} of {name} removed. They can add a new one when they sign in."
        elif action == "end-sessions":
            done = f"{counted(service.end_sessions(user=changed_user, actor=actor), 'session')} of {name} ended."
        else:
            return redirect("console_user", pk)
    except Refused as refused:
        say_refused(request, refused)
    else:
        messages.success(request, done)
    return redirect("console_user", pk)


@require_safe
@superuser
def log(request: SignedIn) -> HttpResponse:
    kind = request.GET.get("kind", "")
    context = {
        "page": page_of(server_log.entries(kind), request),
        "kind": kind,
        "kinds": LogEntry.Kind.choices,
        "query": query_without_page(request),
        "here": "users",
    }
    return render(request, "console/log.html", context)
