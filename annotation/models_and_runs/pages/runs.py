"""Generation runs: the list, a new one, and one run with its progress."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

from django.contrib import messages
from django.http import HttpResponse, HttpResponseBase
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods, require_POST, require_safe

from annotation.access import run_for, runs_of
from annotation.models_and_runs.pages.forms import RunForm
from annotation.shell.page import SignedIn, page_of, signed_in
from common.problems import Invalid, Problem, invalid
from generation.models import GenerationRun, LanguageModel
from generation.registry import presence
from generation.runs import lifecycle as service
from generation.runs.progress import latest_samples, progress, runs_with_counts
from generation.runs.run_files import RunFile, read_run
from generation.runs.yaml_documents import parse_yaml

SHOWN_SAMPLES = 12


@require_safe
@signed_in
def runs(request: SignedIn) -> HttpResponse:
    mine = runs_with_counts().filter(pk__in=runs_of(request.user).values("pk"))
    context = {"page": page_of(mine, request, 30), "here": "runs", "workers": presence.alive().count()}
    return render(request, "models_and_runs/runs.html", context)


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def new_run(request: SignedIn) -> HttpResponse:
    """A new run from a typed or pasted run file, and an optional file of contexts."""
    form = RunForm(request.POST or None, request.FILES or None)
    problems: list[Problem] = []
    if request.method == "POST" and form.is_valid():
        try:
            file = read_upload(form.cleaned_data["run_file"], form.cleaned_data["contexts"])
            run, created = service.create_run(file=file, actor=request.user.get_username())
            if not created:
                run_for(request.user, run.name)
        except Invalid as refused:
            problems = refused.problems
        else:
            service.start_run(run_id=run.pk)
            text = f"{run.name} has started." if created else f"{run.name} already exists with the same contents."
            messages.success(request, text)
            return redirect("console_run", run.name)
    language_models = LanguageModel.objects.filter(retired=False).order_by("name")
    context = {"form": form, "problems": problems, "models": language_models, "here": "runs"}
    return render(request, "models_and_runs/run_new.html", context, status=422 if problems or form.errors else 200)


def read_upload(text: str, contexts: Any) -> RunFile:
    """The run that a typed run file describes. Raises Invalid.

    It can use only the uploaded file of contexts, never a path on this server.
    """
    with tempfile.TemporaryDirectory(prefix="run-") as folder:
        path = Path(folder) / "run.yaml"
        path.write_text(text, encoding="utf-8")
        document, lines = parse_yaml(path)
        described = document.get("contexts")
        named = described.get("file") if isinstance(described, dict) else described
        if contexts is not None:
            upload = Path(folder) / Path(contexts.name).name
            upload.write_bytes(contexts.read())
            document["contexts"] = described | {"file": upload.name} if isinstance(described, dict) else upload.name
        elif isinstance(named, str):
            what = f"The run file names {named[:60]}, but no file was uploaded."
            raise invalid("contexts", what, "Choose the file below the run file, or write the contexts as a list.")
        return read_run(document, folder=Path(folder), lines=lines)


@require_safe
@signed_in
def run_page(request: SignedIn, name: str) -> HttpResponse:
    context = progress_context(run_for(request.user, name)) | {"here": "runs"}
    return render(request, "models_and_runs/run.html", context)


@require_safe
@signed_in
def run_progress(request: SignedIn, name: str) -> HttpResponse:
    """The part that the run's page fetches every few seconds. Once the run has ended, the whole page reloads and stops
    fetching."""
    context = progress_context(run_for(request.user, name))
    response = render(request, "models_and_runs/_run_progress.html", context)
    if not context["polled"]:
        response["HX-Refresh"] = "true"
    return response


def progress_context(run: GenerationRun) -> dict[str, Any]:
    run_progress = progress(run)
    return {
        "run": run,
        "progress": run_progress,
        "polled": not run_progress.ended,
        "samples": latest_samples(run, SHOWN_SAMPLES),
    }


def _act(done: str, act: Callable[..., object]) -> Callable[..., HttpResponseBase]:
    @require_POST
    @signed_in
    def view(request: SignedIn, name: str) -> HttpResponse:
        run = run_for(request.user, name)
        try:
            act(run_id=run.pk, actor=request.user.get_username())
        except Invalid as refused:
            for problem in refused.problems:
                messages.error(request, f"{problem.what} {problem.fix}".strip())
        else:
            messages.success(request, done)
        return redirect("console_run", name)

    return view


cancel = _act("The run is cancelled. Its stored samples stay.", service.cancel_run)
resume = _act("The run continues where it stopped.", service.resume_run)
