"""A new closed study from ratings that people gave in another tool."""

from __future__ import annotations

from django import forms
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import redirect, render
from django.views.decorators.http import require_http_methods

from annotation.shell.page import SignedIn, signed_in
from annotation.studies.importing_ratings import import_ratings, read_ratings
from annotation.studies.pages.forms import short_name
from annotation.studies.uploaded_ratings import SUFFIXES, saved_ratings
from common.problems import Refused
from common.words import counted


class RatingsForm(forms.Form):
    """The file, and what the study is called."""

    file = forms.FileField(
        label="Exported file",
        widget=forms.ClearableFileInput(attrs={"accept": ",".join(SUFFIXES)}),
        help_text="Label Studio: JSON, JSON-MIN or CSV. Argilla: JSON, JSON lines or Parquet. Potato: the output "
        "folder as a zip file, or one of its files.",
    )
    title = forms.CharField(
        max_length=200, required=False, help_text="Leave it empty to have it made from the name of the file."
    )
    slug = forms.CharField(
        label="Short name in addresses",
        max_length=60,
        required=False,
        help_text="Lower-case letters, digits and hyphens. Leave it empty to have it made from the title.",
    )

    def clean(self) -> dict[str, object]:
        cleaned: dict[str, object] = super().clean() or self.cleaned_data
        if file := self.cleaned_data.get("file"):
            title = self.cleaned_data.get("title") or str(file.name).rpartition(".")[0]
            cleaned["slug"] = short_name(self.cleaned_data.get("slug") or "", title)
        return cleaned


@require_http_methods(["GET", "HEAD", "POST"])
@signed_in
def import_page(request: SignedIn) -> HttpResponse:
    """Reads the file and makes the study at once, or says what is wrong."""
    form = RatingsForm(request.POST, request.FILES) if request.method == "POST" else RatingsForm()
    if request.method == "POST" and form.is_valid():
        sent = form.cleaned_data
        file = sent["file"]
        try:
            with saved_ratings(file.chunks(), file.name) as path:
                elsewhere = read_ratings(path, file.name)
            made = import_ratings(
                elsewhere=elsewhere,
                file=file.name,
                slug=sent["slug"],
                title=sent["title"],
                owner=request.user,
                actor=request.user.get_username(),
            )
        except Refused as refused:
            for problem in refused.problems:
                field = problem.where if problem.where in form.fields else None
                form.add_error(field, f"{problem.what} {problem.fix}".strip())
        else:
            answers = counted(len(elsewhere.answers), "answer")
            messages.success(request, f"{answers} from {elsewhere.tool} are now a closed study.")
            return redirect("console_study", made.study.slug)
    context = {"form": form, "here": "new"}
    return render(request, "studies/import_ratings.html", context, status=422 if form.errors else 200)
