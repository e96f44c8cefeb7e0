"""The images and recordings of a study: uploads, alternative texts, and which items show them."""

from __future__ import annotations

from typing import Any

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST

from annotation.models import Media, Study
from annotation.shell.page import SignedIn, member, page_of, say_refused, study_page
from annotation.studies import images as service
from annotation.studies.recording_checks import is_recording
from annotation.studies.recordings import add_file
from common.problems import Refused

PER_PAGE = 24
ACCEPT = "image/png,image/jpeg,image/webp,audio/*,video/mp4,video/webm,.vtt"


class ImageForm(forms.Form):
    """One image or recording. Its content is checked by the service."""

    file = forms.FileField(
        label="File",
        error_messages={"required": "Choose an image or a recording.", "empty": "This file is empty."},
        widget=forms.ClearableFileInput(attrs={"accept": ACCEPT}),
    )
    alt = forms.CharField(
        label="Alternative text",
        max_length=service.MOST_ALT,
        required=False,
        help_text="For an image: what it shows, in a few words, for people who cannot see it.",
    )

    def clean(self) -> dict[str, Any]:
        cleaned: dict[str, Any] = super().clean() or self.cleaned_data
        if (file := cleaned.get("file")) and "alt" not in self.errors and not cleaned["alt"]:
            file.seek(0)
            if not is_recording(file.name, file.read(16)):
                self.add_error("alt", "Describe what the image shows, for people who cannot see it.")
        return cleaned


@require_http_methods(["GET", "HEAD", "POST"])
@member(write="editor")
def images(request: SignedIn, study: Study) -> HttpResponse:
    """GET: the images. POST: adds one to a draft."""
    form = ImageForm(request.POST, request.FILES) if request.method == "POST" else ImageForm()
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        try:
            file.seek(0)
            media = add_file(
                study=study,
                name=file.name,
                file=file.file,
                size=file.size,
                alt=form.cleaned_data["alt"],
                actor=request.user.get_username(),
                user=request.user,
            )
        except Refused as refused:
            for problem in refused.problems:
                form.add_error("alt" if problem.where == service.ALT else "file", f"{problem.what} {problem.fix}")
        else:
            messages.success(request, f"{media.name} is stored. Name it in your items file.")
            return redirect("console_images", study.slug)
    page = page_of(Media.objects.filter(study=study).order_by("-pk"), request, PER_PAGE)
    context = {
        "form": form,
        "page": page,
        "images": [(media, service.items_with(media).count()) for media in page],
        "limit_mb": settings.MEDIA_MAX_BYTES // 1024**2,
        "recording_mb": min(settings.RECORDING_MAX_BYTES, settings.MAX_UPLOAD_BYTES) // 1024**2,
        "limit_bytes": max(settings.MEDIA_MAX_BYTES, min(settings.RECORDING_MAX_BYTES, settings.MAX_UPLOAD_BYTES)),
        "accept": ACCEPT,
        "megapixels": settings.MEDIA_MAX_PIXELS // 1_000_000,
    }
    return study_page(
        request, study, "studies/images.html", context, section="items", status=422 if form.errors else 200
    )


@require_POST
@member()
def delete_image(request: SignedIn, study: Study, pk: int) -> HttpResponse:
    media = get_object_or_404(Media, pk=pk, study=study)
    try:
        service.delete_media(media=media, actor=request.user.get_username())
        messages.success(request, f"{media.name} is deleted.")
    except Refused as refused:
        say_refused(request, refused)
    return redirect("console_images", study.slug)
