"""Serves the images and recordings of items. Names are hashes of the content, so browsers may keep them for good."""

from __future__ import annotations

from django.http import HttpRequest, HttpResponse, HttpResponseBase, HttpResponseNotModified
from django.urls import path
from django.views.decorators.http import require_safe

from annotation.studies.image_files import file_of, is_key, is_picture, read_copy
from annotation.studies.pages.recording_files import send_recording

YEAR = 365 * 24 * 3600
CONTENT_TYPES = {"png": "image/png", "jpg": "image/jpeg", "webp": "image/webp"}


@require_safe
def media_file(request: HttpRequest, name: str, width: int | None = None) -> HttpResponseBase:
    """An image or a recording, for everybody who knows its name: 256 bits that only its pages contain. Needs no cookie.

    With ``width``, its smaller copy of this width; the image itself if that has to be made and cannot be made now.
    """
    if not is_key(name):
        return _missing()
    if not is_picture(name):
        return send_recording(request, name) if width is None else _missing()
    tag = f'"{name[:64]}"' if width is None else f'"{name[:64]}-{width}"'
    is_stand_in = False
    response: HttpResponse
    if request.headers.get("If-None-Match") == tag:
        response = HttpResponseNotModified()
    else:
        try:
            copy = None if width is None else read_copy(name, width)
            content = file_of(name).read_bytes() if copy is None else copy
        except FileNotFoundError:
            return _missing()
        is_stand_in = width is not None and copy is None
        response = HttpResponse(content, content_type=CONTENT_TYPES[name.rpartition(".")[2]])
    if is_stand_in:
        response.headers["Cache-Control"] = "no-store"
    else:
        response.headers["ETag"] = tag
        response.headers["Cache-Control"] = f"public, max-age={YEAR}, immutable"
    response.headers["X-Content-Type-Options"] = "nosniff"
    response.headers["Content-Security-Policy"] = "default-src 'none'; frame-ancestors 'none'; sandbox"
    return response


def _missing() -> HttpResponse:
    return HttpResponse("There is no such file.", status=404, content_type="text/plain; charset=utf-8")


urlpatterns = [
    path("media/<str:name>", media_file, name="media_file"),
    path("media/<str:name>/<int:width>", media_file, name="media_copy"),
]
