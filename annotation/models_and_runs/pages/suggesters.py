"""Suggesters, for studies in which models and workers write together: the list, one suggester, its pool, the queue.

Every researcher can see and try them. Only the person who made one, or an administrator, can change it and fill its
pool.
"""

from __future__ import annotations

import secrets
import tempfile
from pathlib import Path
from typing import Any

from django import forms
from django.contrib import messages
from django.contrib.auth.models import User
from django.core.files.uploadedfile import UploadedFile
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import studies_of
from annotation.models_and_runs.pages.suggester_forms import (
    PoolForm,
    RulesForm,
    SuggesterForm,
    TryForm,
    rules_of_suggester,
)
from annotation.shell.page import SignedIn, say_refused, signed_in
from common.problems import Refused
from common.words import counted
from generation.models import Suggester, Suggestion
from generation.suggestions import monitoring
from generation.suggestions.asking import ask_suggesters, read_suggestions
from generation.suggestions.definitions import change_suggester, create_suggester
from generation.suggestions.pool_filling import Filled, fill_from_csv, fill_from_run
from generation.suggestions.suggester_uses import users_of
from generation.suggestions.weights import accept_weights, changed_weights

TRIED = "tried in the console"


@require_safe
@signed_in
def suggesters(request: SignedIn) -> HttpResponse:
    listed = list(Suggester.objects.select_related("model").order_by("-active", "name"))
    pools = monitoring.pool_rounds(suggesters=listed)
    rows = [
        {
            "suggester": suggester,
            "waits": monitoring.waits(suggester=suggester),
            "texts": sum(pool.texts for pool in pools if pool.suggester == suggester.name),
            "uses": _uses(request, suggester),
            "changed": changed_weights(suggester),
        }
        for suggester in listed
    ]
    return render(request, "models_and_runs/suggesters.html", {"rows": rows, "here": "suggesters"} | waiting_context())


@require_safe
@signed_in
def waiting(request: SignedIn) -> HttpResponse:
    """The part that the list fetches every few seconds."""
    return render(request, "models_and_runs/_waiting_now.html", waiting_context())


def waiting_context() -> dict[str, Any]:
    now = timezone.now()
    return {"waiting": monitoring.waiting_now(now=now), "processes": monitoring.processes(now=now)}


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def new_suggester(request: SignedIn) -> HttpResponse:
    form = SuggesterForm(request.POST if request.method == "POST" else None)
    if request.method == "POST" and form.is_valid():
        try:
            suggester = create_suggester(**form.values(), created_by=request.user.get_username())
        except Refused as refused:
            _show(form, refused)
        else:
            messages.success(request, f"Suggester {suggester.name} is ready. Try it, and fill its pool.")
            return redirect("console_suggester", suggester.name)
    context = {"form": form, "here": "suggesters", "suggester": None}
    return render(request, "models_and_runs/suggester_form.html", context, status=422 if form.errors else 200)


@require_safe
@signed_in
def suggester(request: SignedIn, name: str) -> HttpResponse:
    return _page(request, _suggester(name))


def _page(
    request: SignedIn, suggester: Suggester, *, pool: PoolForm | None = None, status: int = 200, **context: Any
) -> HttpResponse:
    shared = {
        "suggester": suggester,
        "waits": monitoring.waits(suggester=suggester),
        "rounds": monitoring.pool_rounds(suggesters=[suggester]),
        "uses": _uses(request, suggester),
        "alive": monitoring.any_alive(now=timezone.now()),
        "may_change": _may_change(request, suggester),
        "changed": changed_weights(suggester),
        "try_form": TryForm(),
        "pool_form": pool or PoolForm(user=request.user),
        "here": "suggesters",
    }
    return render(request, "models_and_runs/suggester.html", shared | context, status=status)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def change(request: SignedIn, name: str) -> HttpResponse:
    suggester = _changeable(request, name)
    form = RulesForm(request.POST if request.method == "POST" else None, initial=rules_of_suggester(suggester))
    if request.method == "POST" and form.is_valid():
        try:
            change_suggester(suggester=suggester, **form.values(suggester.limits))
        except Refused as refused:
            _show(form, refused)
        else:
            messages.success(request, "Saved.")
            return redirect("console_suggester", name)
    context = {"form": form, "here": "suggesters", "suggester": suggester, "uses": _uses(request, suggester)}
    return render(request, "models_and_runs/suggester_form.html", context, status=422 if form.errors else 200)


@require_POST
@signed_in
def switch(request: SignedIn, name: str) -> HttpResponse:
    """Activates or stops a suggester. If it is stopped, writers immediately get texts from its pool."""
    suggester = _changeable(request, name)
    change_suggester(suggester=suggester, active=not suggester.active)
    text = "Stopped: writers get texts from its pool." if suggester.active else "Active: it writes for writers again."
    messages.success(request, text)
    return redirect("console_suggester", name)


@require_POST
@signed_in
def accept(request: SignedIn, name: str) -> HttpResponse:
    """Accepts the new files of a suggester's model."""
    suggester = _changeable(request, name)
    try:
        accept_weights(suggester=suggester)
    except Refused as refused:
        say_refused(request, refused)
    else:
        messages.success(request, "Accepted. This suggester now uses the new files of its model.")
    return redirect("console_suggester", name)


# --- trying it ---


@require_POST
@signed_in
def try_out(request: SignedIn, name: str) -> HttpResponse:
    suggester, form = _suggester(name), TryForm(request.POST)
    if not form.is_valid():
        return _page(request, suggester, try_form=form, status=422)
    try:
        (request_row,) = ask_suggesters(
            suggesters=[suggester],
            key=f"{tried_by(request.user)}{secrets.token_hex(8)}",
            story_fields={"story": form.cleaned_data["story"]},
            round=1,
            seed=secrets.randbelow(2**31),
        )
    except Refused as refused:
        say_refused(request, refused)
        return redirect("console_suggester", name)
    return redirect("console_tried_suggester", name, request_row.pk)


@require_safe
@signed_in
def tried(request: SignedIn, name: str, pk: int) -> HttpResponse:
    """What a suggester wrote for a text that this user tried: a fragment for htmx, otherwise the whole page."""
    suggester = _suggester(name)
    row = get_object_or_404(Suggestion, pk=pk, suggester=suggester, key__startswith=tried_by(request.user))
    (status,) = read_suggestions(suggestions=[row.pk])
    row.refresh_from_db()
    context: dict[str, Any] = {"tried": row, "came": status}
    if "HX-Request" in request.headers:
        return render(request, "models_and_runs/_tried.html", context | {"suggester": suggester})
    return _page(request, suggester, **context)


def tried_by(user: User) -> str:
    """How the keys of what this user tries begin. A text may be a draft that nobody else should read."""
    return f"{TRIED} by {user.pk}: "


# --- the pool ---


@require_POST
@signed_in
def fill_pool(request: SignedIn, name: str) -> HttpResponse:
    suggester = _changeable(request, name)
    form = PoolForm(request.POST, request.FILES, user=request.user)
    if form.is_valid():
        try:
            filled = _fill(suggester, form)
        except Refused as refused:
            for problem in refused.problems:
                # The line of an uploaded file, without the server's temporary folder.
                line = problem.where.partition("pool.csv, ")[2].capitalize()
                form.add_error(None, f"{line}{': ' if line else ''}{problem.what} {problem.fix}".strip())
        else:
            text = f"{counted(filled.added, 'text')} added, {filled.duplicates:,} already in the pool."
            (messages.success if filled.added else messages.warning)(request, text)
            for why, count in filled.unusable.most_common(5):
                messages.warning(request, f"{counted(count, 'text')} not used: {why}.")
            return redirect("console_suggester", name)
    return _page(request, suggester, pool=form, status=422)


def _fill(suggester: Suggester, form: PoolForm) -> Filled:
    run, file = form.cleaned_data["run"], form.cleaned_data["file"]
    if run:
        return fill_from_run(suggester=suggester, run=run)
    assert isinstance(file, UploadedFile)  # noqa: S101 - the form has one of the two
    with tempfile.TemporaryDirectory(prefix="pool-") as folder:
        path = Path(folder) / "pool.csv"
        with path.open("wb") as out:
            out.writelines(file.chunks())
        return fill_from_csv(suggester=suggester, path=path)


# --- shared ---


def _suggester(name: str) -> Suggester:
    return get_object_or_404(Suggester.objects.select_related("model"), name=name)


def _may_change(request: SignedIn, suggester: Suggester) -> bool:
    return request.user.is_superuser or suggester.created_by == request.user.get_username()


def _changeable(request: SignedIn, name: str) -> Suggester:
    """The suggester with this name. Raises Http404 for somebody else's."""
    suggester = _suggester(name)
    if not _may_change(request, suggester):
        raise Http404("You have no suggester with this name.")
    return suggester


def _uses(request: SignedIn, suggester: Suggester) -> list[str]:
    """The studies that use it. Studies that the user cannot see are only counted."""
    names = users_of(suggester)
    visible = set(studies_of(request.user).filter(slug__in=names).values_list("slug", flat=True))
    hidden = len(set(names) - visible)
    others = [f"{hidden} other stud{'y' if hidden == 1 else 'ies'}"] if hidden else []
    return sorted(visible) + others


def _show(form: forms.Form, refused: Refused) -> None:
    """Shows each problem next to its field."""
    for problem in refused.problems:
        where = problem.where.partition(",")[0]
        form.add_error(where if where in form.fields else None, f"{problem.what} {problem.fix}".strip())
