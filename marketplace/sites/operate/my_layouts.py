"""A requester's HIT layouts: pages with placeholders. CreateHIT uses them by ID."""

from __future__ import annotations

from typing import Any

from django import forms
from django.contrib import messages
from django.core.files.uploadedfile import UploadedFile
from django.db.models import Count
from django.http import Http404, HttpResponse, HttpResponseBase
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_safe

from marketplace.models import HITLayout, Requester
from marketplace.models import UploadedFile as WorkersFile
from marketplace.questions import MOST_BYTES
from marketplace.services.hits import layouts as services
from marketplace.services.hits import uploaded_files
from marketplace.services.refusals import InvalidParameter, Refusal
from marketplace.sites.operate.page import SignedIn, for_requesters, page_of, show


class LayoutForm(forms.Form):
    """A new layout, typed or from a file."""

    name = forms.CharField(label="Name", max_length=services.NAME_LENGTH, help_text="For you: workers do not see it.")
    html = forms.CharField(
        label="Page",
        required=False,
        strip=False,
        widget=forms.Textarea(attrs={"rows": 14, "spellcheck": "false", "class": "code-input"}),
        help_text="HTML with ${placeholders} where the HITs differ: letters, digits and _ between the braces.",
    )
    file = forms.FileField(
        label="Or a file with the page",
        required=False,
        widget=forms.ClearableFileInput(attrs={"accept": ".html,.htm,text/html"}),
        help_text=f"In UTF-8, at most {MOST_BYTES // 1024 + 1} kB.",
    )
    frame_height = forms.IntegerField(
        label="Height in pixels",
        min_value=0,
        max_value=services.TALLEST,
        initial=0,
        help_text="Of the frame that workers see the page in; 0 fills most of their window.",
    )

    def clean(self) -> dict[str, Any]:
        data: dict[str, Any] = super().clean() or {}
        file: UploadedFile[bytes] | None = data.pop("file", None)
        if file is not None and data.get("html", "").strip():
            self.add_error("file", "Type the page or choose a file, not both.")
        elif file is not None and (file.size or 0) > MOST_BYTES:
            self.add_error("file", f"The file has {file.size:,} bytes. It can have at most {MOST_BYTES:,}.")
            data["html"] = ""
        elif file is not None:
            try:
                data["html"] = str(file.read(), "utf-8-sig")
            except UnicodeDecodeError:
                self.add_error("file", "This file is not UTF-8 text.")
                data["html"] = ""
        elif not data.get("html", "").strip() and "html" not in self.errors:
            self.add_error("html", "Type the page or choose a file.")
        return data


@for_requesters
@require_safe
def layouts(request: SignedIn, requester: Requester) -> HttpResponse:
    rows = requester.layouts.defer("html").annotate(n_hits=Count("hits")).order_by("-created_at", "-pk")
    return _show(request, "my_layouts.html", {"page": page_of(rows, request)})


@for_requesters
@require_http_methods(["GET", "HEAD", "POST"])
def new(request: SignedIn, requester: Requester) -> HttpResponseBase:
    """A new layout. ``?like=`` starts with the page of another layout, because a layout never changes."""
    like = requester.layouts.filter(layout_id=request.GET.get("like", "").replace("\x00", "")).first()
    before = {"name": like.name, "html": like.html, "frame_height": like.frame_height} if like else None
    form = LayoutForm(request.POST, request.FILES) if request.method == "POST" else LayoutForm(initial=before)
    if request.method == "POST" and form.is_valid():
        try:
            layout = services.create_layout(requester=requester, **form.cleaned_data)
        except InvalidParameter as invalid:
            form.add_error(invalid.parameter, invalid.message)
        else:
            messages.success(request, "Layout created.")
            return redirect("operate_my_layout", layout.layout_id)
    return _show(request, "my_layout_new.html", {"form": form}, status=422 if request.method == "POST" else 200)


@for_requesters
@require_safe
def layout(request: SignedIn, requester: Requester, layout_id: str) -> HttpResponse:
    shown = get_object_or_404(HITLayout, layout_id=layout_id, requester=requester)
    names = services.placeholders(shown.html)
    return _show(request, "my_layout.html", {"layout": shown, "names": names, "n_hits": shown.hits.count()})


def _show(request: SignedIn, template: str, context: dict[str, Any], status: int = 200) -> HttpResponse:
    return show(request, template, {"section": "layouts"} | context, role="requester", status=status)


@for_requesters
@require_safe
def workers_file(request: SignedIn, requester: Requester, key: str) -> HttpResponseBase:
    """A file that answers one of this requester's questions: redirects to its temporary address."""
    files = WorkersFile.objects.select_related("assignment__hit")
    file = get_object_or_404(files, key=key, submitted=True, assignment__hit__requester=requester)
    try:
        return redirect(
            uploaded_files.temporary_path(uploaded_files.submitted_file(file.assignment, file.question_identifier))
        )
    except Refusal as refused:
        raise Http404(refused.message) from None
