"""The images of a study: uploads, alternative texts, and which items show them."""

from __future__ import annotations

from django import forms
from django.conf import settings
from django.contrib import messages
from django.http import HttpResponse
from django.shortcuts import get_object_or_404, redirect
from django.views.decorators.http import require_http_methods, require_POST

from annotation.models import Media, Study
from annotation.shell.page import SignedIn, member, page_of, say_refused, study_page
from annotation.studies import images as service
from common.problems import Refused

PER_PAGE = 24


class ImageForm(forms.Form):
    """One image. Its content is checked by the service."""

    file = forms.FileField(
        label="Image",
        error_messages={"required": "Choose a PNG, JPEG or WebP file.", "empty": "This file is empty."},
        widget=forms.ClearableFileInput(attrs={"accept": "image/png,image/jpeg,image/webp"}),
    )
    alt = forms.CharField(
        label="Alternative text",
        max_length=service.MOST_ALT,
        help_text="What the image shows, in a few words, for people who cannot see it.",
        error_messages={"required": "Describe what the image shows, for people who cannot see it."},
    )


@require_http_methods(["GET", "HEAD", "POST"])
@member(write="editor")
def images(request: SignedIn, study: Study) -> HttpResponse:
    """GET: the images. POST: adds one to a draft."""
    form = ImageForm(request.POST, request.FILES) if request.method == "POST" else ImageForm()
    if request.method == "POST" and form.is_valid():
        file = form.cleaned_data["file"]
        try:
            media = service.add_media(
                study=study,
                name=file.name,
                data=file.read(settings.MEDIA_MAX_BYTES + 1),
                alt=form.cleaned_data["alt"],
                actor=request.user.get_username(),
                user=request.user,
            )
        except Refused as refused:
            for problem in refused.problems:
                form.add_error("alt" if problem.where == service.ALT else "file", f"{problem.what} {problem.fix}")
        else:
            messages.success(request, f"{media.name} is stored. Name it in the column “image” of your items.")
            return redirect("console_images", study.slug)
    page = page_of(Media.objects.filter(study=study).order_by("-pk"), request, PER_PAGE)
    context = {
        "form": form,
        "page": page,
        "images": [(media, service.items_with(media).count()) for media in page],
        "limit_mb": settings.MEDIA_MAX_BYTES // 1024**2,
        "limit_bytes": settings.MEDIA_MAX_BYTES,
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
