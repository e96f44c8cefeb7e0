"""Where a draft's items come from: a file, another study's outputs, or a generation run."""

from __future__ import annotations

from django.conf import settings
from django.contrib import messages
from django.forms import Form
from django.http import Http404, HttpResponse
from django.shortcuts import redirect
from django.views.decorators.http import require_http_methods, require_POST

from annotation.access import run_for, runs_of, studies_of
from annotation.models import Item, ItemFeed, Study
from annotation.shell.page import SignedIn, member, say_refused, study_page
from annotation.studies import importing_items, item_sources, outputs
from annotation.studies.factor_notes import factor_notes
from annotation.studies.identical_items import identical_in_words, identical_items
from annotation.studies.images import Images
from annotation.studies.pages.forms import ItemsFileForm, OutputsForm, RunChoiceForm
from annotation.studies.pages.stepper import stepper
from annotation.studies.staged_uploads import StagedUpload, stage_upload
from annotation.table_files import TableProblems, read_table
from annotation.table_files.mapping import lacks_columns
from annotation.task_types.registry import get_type
from annotation.task_types.settings import ConfigForm
from common.problems import Refused
from common.words import counted
from generation.models import GenerationRun

Status = Study.Status
SHOWN_ITEMS = 8
MOST_CHOICES = 200


class _Forms:
    """The sources that the study's type supports. ``study`` and ``run`` are None if it cannot use them."""

    def __init__(self, request: SignedIn, study: Study, way: str) -> None:
        task = get_type(study.task_type)
        is_post = request.method == "POST"
        data = {way: request.POST} if is_post else {}
        files = {way: request.FILES} if is_post else {}
        feeding = [
            source
            for source in studies_of(request.user).exclude(pk=study.pk).order_by("-pk")[:MOST_CHOICES]
            if set(outputs.output_kinds(source)) & set(task.takes_outputs)
        ]
        done = runs_of(request.user).filter(state=GenerationRun.State.DONE)
        runs = list(done.order_by("-pk")[:MOST_CHOICES])
        self.file = ItemsFileForm(data.get("file"), files.get("file"))
        self.study: OutputsForm | None = None
        if task.takes_outputs:
            kinds = task.takes_outputs
            self.study = OutputsForm(data.get("study"), sources=feeding, kinds=kinds, prefix="study")
        self.run: RunChoiceForm | None = None
        self.options: ConfigForm | None = None
        if task.sample_form is not None:
            self.run = RunChoiceForm(
                data.get("run"), files.get("run"), runs=runs, adds_file=task.adds_file, prefix="run"
            )
            self.options = task.sample_form(data.get("run"), prefix="options")

    def used(self, way: str) -> list[Form]:
        ways: dict[str, list[Form | None]] = {
            "file": [self.file],
            "study": [self.study],
            "run": [self.run, self.options],
        }
        return [form for form in ways.get(way, []) if form is not None]


@require_http_methods(["GET", "HEAD", "POST"])
@member(read="editor", write="editor")
def upload(request: SignedIn, study: Study) -> HttpResponse:
    if study.status != Status.DRAFT:
        messages.info(request, "You cannot change the items of a study after its launch: its ratings belong to them.")
        return redirect("console_items", study.slug)
    way = request.POST.get("way", "file")
    forms = _Forms(request, study, way)
    refused_table: TableProblems | None = None
    used = forms.used(way)
    if request.method == "POST" and used and all(form.is_valid() for form in used):
        try:
            if way == "file" and (waiting := _stage_if_unclear(request, study, forms.file)):
                return redirect("console_upload_columns", study.slug, waiting.key)
            say_imported(request, study, _import(request, study, forms, way))
        except TableProblems as refused:
            refused_table = importing_items.also_in_rows(refused, study.task_type, study.config, Images(study))
        except Refused as refused:
            say_refused(request, refused)
            return redirect("console_upload", study.slug)
        else:
            return redirect("console_upload", study.slug)
    task = get_type(study.task_type)
    items = Item.objects.filter(study=study)
    rows = [(item, task.export_columns(item.payload)) for item in items.order_by("position")[:SHOWN_ITEMS]]
    status = 422 if refused_table or any(form.errors for form in used) else 200
    uploaded = forms.run if way == "run" and forms.run else forms.file
    file = uploaded.cleaned_data.get("file") if refused_table else None
    context = {
        "forms": forms,
        "refused": refused_table,
        "columns": task.columns(study.config),
        "limit_mb": settings.MAX_UPLOAD_BYTES // 1024**2,
        "limit_bytes": settings.MAX_UPLOAD_BYTES,
        "n_items": items.count(),
        "feed": ItemFeed.objects.select_related("source").filter(study=study).first(),
        "rows": rows,
        "header": list(dict.fromkeys(name for _, cells in rows for name in cells)),
        "steps": stepper(study, "items"),
        "way": way,
        "file_name": file.name[:100] if file else "",
    }
    return study_page(request, study, "studies/upload.html", context, section="items", status=status)


def _import(request: SignedIn, study: Study, forms: _Forms, way: str) -> str:
    """Imports the items and returns a message about it. Raises TableProblems or Refused."""
    actor = request.user.get_username()
    if way == "study" and forms.study is not None:
        chosen = forms.study.cleaned_data
        source = studies_of(request.user).get(slug=chosen["source"])
        terms = {"arms": chosen["arms"], "kind": chosen.get("kind", ""), "follow": chosen["follow"]}
        count = outputs.set_feed(study=study, source=source, **terms, actor=actor)
        return f"{counted(count, 'item')} imported from the study {source.slug}."
    if way == "run" and forms.run is not None and forms.options is not None:
        run = run_for(request.user, forms.run.cleaned_data["run"])
        file = forms.run.cleaned_data.get("file")
        added = read_table(file.file, name=file.name) if file else None
        done = item_sources.import_run(
            study=study, run=run, options=forms.options.cleaned_data, actor=actor, added=added
        )
        were = "was" if done.left_out == 1 else "were"
        left_out = f" {counted(done.left_out, 'sample')} {were} left over." if done.left_out else ""
        return f"{counted(done.items, 'item')} imported from the run {run.name}.{left_out}"
    file = forms.file.cleaned_data["file"]
    table = read_table(file.file, name=file.name)
    count = importing_items.import_items(study=study, table=table, actor=actor)
    return " ".join([f"{counted(count, 'item')} imported from {file.name[:100]}.", *table.notes])


def _stage_if_unclear(request: SignedIn, study: Study, form: ItemsFileForm) -> StagedUpload | None:
    """The file as stored for the next page, if somebody must say how to read it; None if it can be read as it is.

    Raises TableProblems if no choice would help.
    """
    file = form.cleaned_data["file"]
    try:
        table = read_table(file.file, name=file.name)
        columns = get_type(study.task_type).columns(study.config)
        if not form.cleaned_data["choose_columns"] and not lacks_columns(table.columns, columns):
            file.seek(0)
            return None
    except TableProblems as refused:
        if refused.offer is None:
            raise
    return stage_upload(study=study, user=request.user, file=file.file, name=file.name)


def say_imported(request: SignedIn, study: Study, message: str) -> None:
    """Messages about an import, and about what the new items mean for the study."""
    messages.success(request, message)
    if same := identical_in_words(identical_items(study)):
        messages.warning(request, same)
    notes = factor_notes(Study.objects.get(pk=study.pk))
    for problem in notes.problems:
        messages.warning(request, f"The declared factors: {problem.what} {problem.fix}")
    if notes.suggestion:
        messages.info(request, f"{notes.suggestion} To choose yourself, declare factors in the settings.")


@require_POST
@member()
def take_outputs(request: SignedIn, study: Study) -> HttpResponse:
    """Imports new outputs of the study that this one judges; in a live study, also sets whether to follow it.

    Only for users who can also see that study.
    """
    feed = ItemFeed.objects.select_related("source").filter(study=study).first()
    if feed is None or not studies_of(request.user).filter(pk=feed.source_id).exists():
        raise Http404("No such source.")
    back = "console_upload" if study.status == Status.DRAFT else "console_items"
    actor = request.user.get_username()
    try:
        if "follow" in request.POST:
            outputs.set_follow(study=study, follow=request.POST["follow"] == "yes", actor=actor)
            messages.success(request, "Saved.")
        else:
            new = outputs.feed_items(study=study, actor=actor)
            text = f"Added {counted(new, 'item')}." if new > 0 else "There are no new outputs."
            messages.success(request, text if study.status != Status.DRAFT else "The items are up to date.")
    except TableProblems as refused:
        messages.error(request, f"{refused.problems[0].what} {refused.problems[0].fix}")
    except Refused as refused:
        say_refused(request, refused)
    return redirect(back, study.slug)
