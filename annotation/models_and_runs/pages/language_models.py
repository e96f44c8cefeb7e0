"""The registry of language models. Researchers see the list; administrators change it."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.http import Http404, HttpResponse
from django.shortcuts import get_object_or_404, redirect, render
from django.urls import reverse
from django.utils import timezone
from django.views.decorators.http import require_http_methods, require_POST

from annotation.models_and_runs.pages.forms import ModelForm
from annotation.shell.page import SignedIn, signed_in, superuser
from common.numbers import whole_number
from common.problems import Invalid
from generation.models import LanguageModel
from generation.queueing import send_check
from generation.registry import registration as registry
from generation.registry.presence import all_alive

#: A page on which somebody asked for a check shows news for so long.
CHECK_SECONDS = 120


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def models(request: SignedIn) -> HttpResponse:
    if request.method == "POST" and not request.user.is_superuser:
        raise Http404
    form = ModelForm(request.POST or None)
    if request.method == "POST" and form.is_valid():
        try:
            model = registry.register_model(**form.cleaned_data, actor=request.user.get_username())
        except Invalid as refused:
            show(form, refused)
        else:
            return ask_for_check(request, model)
    context: dict[str, Any] = {
        "form": form,
        "models": LanguageModel.objects.order_by("retired", "name"),
        "workers": all_alive(),
        "here": "models",
        "checking": is_checking(request),
    }
    return render(request, "models_and_runs/models.html", context, status=422 if form.errors else 200)


def show(form: forms.Form, refused: Invalid) -> None:
    """Shows each problem next to its field."""
    for problem in refused.problems:
        form.add_error(problem.where if problem.where in form.fields else None, f"{problem.what} {problem.fix}".strip())


def ask_for_check(request: SignedIn, model: LanguageModel) -> HttpResponse:
    """Sends the check to a worker; to the page that shows its result."""
    if send_check(model.pk):
        messages.success(request, f"{model.name} is being checked; this takes up to a minute.")
        until = int(timezone.now().timestamp()) + CHECK_SECONDS
        return redirect(f"{reverse('console_models')}?until={until}")
    messages.error(request, f"{model.name} was not checked: the task queue does not respond. Check it later.")
    return redirect("console_models")


def is_checking(request: SignedIn) -> bool:
    """Whether a check was asked for a short while ago, so that the page shows its result by itself."""
    now, until = timezone.now().timestamp(), whole_number(request.GET.get("until", ""), least=0, most=2**40)
    return until is not None and now < until <= now + CHECK_SECONDS


@require_POST
@superuser
def check(request: SignedIn, name: str) -> HttpResponse:
    return ask_for_check(request, get_object_or_404(LanguageModel, name=name))


@require_POST
@superuser
def retire(request: SignedIn, name: str) -> HttpResponse:
    """Retires the model or, if it is retired, allows it again."""
    model = get_object_or_404(LanguageModel, name=name)
    registry.retire_model(model_id=model.pk, retired=not model.retired, actor=request.user.get_username())
    messages.success(request, f"{name} can be used again." if model.retired else f"{name} is retired.")
    return redirect("console_models")
